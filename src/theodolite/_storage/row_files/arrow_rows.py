"""Arrow files, Feather files and Arrow streams in batches of rows.

All three are messages one after another (a file has a mark before them and a list of them after).
pyarrow gets them through a stream that looks at each message first: how long it is, what its
buffers unpack to, and that it names no types that another package may have made known to pyarrow
and that may unpickle what the file says.
"""

import io
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from theodolite._storage.memory_limit import check_memory
from theodolite.errors import UnsafeInputError

MARK = b"ARROW1"
TYPE_KEY, HIDDEN_KEY = b"ARROW:extension:name", b"ARROW:extensiom:name"
TYPE_ABOUT = b"ARROW:extension:metadata"
MOST_ABOUT = 1 << 24
GOES_ON = b"\xff\xff\xff\xff"
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_FAULTS = (struct.error, IndexError, ValueError)
SMALLER = "Write it with smaller record batches, or set --max-memory."


def strip_extension_types(message: bytes, what: str) -> Any:
    """A schema whose types are all pyarrow's own; others are what they are stored as."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.ipc as ipc  # noqa: PLC0415

    try:
        return ipc.read_schema(pa.py_buffer(message.replace(TYPE_KEY, HIDDEN_KEY)))
    except (pa.ArrowException, OSError, ValueError) as error:
        raise UnsafeInputError(what, "no readable list of its types", "a plain table") from error


@contextmanager
def read_arrow_rows(stream: io.BufferedIOBase, what: str) -> Iterator[tuple[Any, Iterator[Any]]]:
    """The schema, and batches of rows, of a file of Arrow messages."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.ipc as ipc  # noqa: PLC0415

    messages = ArrowMessages(stream, what)
    try:
        reader = ipc.open_stream(pa.PythonFile(messages, "r"))
        yield reader.schema, _check_batches(reader)
    except (pa.ArrowException, OSError, OverflowError) as error:
        if messages.refusal is not None:
            raise messages.refusal from error
        raise UnsafeInputError(what, "no readable Arrow", "an Arrow file or stream") from error


def _check_batches(reader: Any) -> Iterator[Any]:
    """Batches whose buffers are as long as they should be, and whose offsets lie inside."""
    while True:
        try:
            batch = reader.read_next_batch()
        except StopIteration:
            return
        batch.validate(full=True)
        yield batch


class ArrowMessages(io.RawIOBase):
    """The messages as pyarrow reads them, each looked at before its first byte is passed on."""

    def __init__(self, stream: io.BufferedIOBase, what: str) -> None:
        self._stream, self._what = stream, what
        self._size = stream.seek(0, 2)
        stream.seek(0)
        start = stream.read(8)
        stream.seek(8 if start.startswith(MARK) else 0)
        self._head = b""
        self._body = 0
        self._ended = False
        self.refusal: UnsafeInputError | None = None
        """Why reading ended; pyarrow has only words for it."""

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        parts = []
        while size > 0 and not self._ended:
            if not self._head and not self._body:
                self._look()
                continue
            part = self._head[:size] or self._stream.read(min(size, self._body))
            if not part:
                break
            if self._head:
                self._head = self._head[len(part) :]
            else:
                self._body -= len(part)
            parts.append(part)
            size -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _look(self) -> None:
        """At the next message."""
        try:
            self._next()
        except UnsafeInputError as refusal:
            self.refusal = refusal
            raise
        except _FAULTS as error:
            self.refusal = UnsafeInputError(self._what, "a broken message", "Arrow messages")
            raise self.refusal from error

    def _next(self) -> None:
        prefix = self._stream.read(4)
        lead = prefix if prefix == GOES_ON else b""
        number = self._stream.read(4) if lead else prefix
        length = struct.unpack("<I", number)[0] if len(number) == 4 else 0
        if not length:
            self._ended = True
            return
        if length > MOST_ABOUT:
            raise UnsafeInputError(
                self._what, f"a message head of {length:,} bytes", "at most 16 MiB"
            )
        head = self._stream.read(length)
        kind, body, buffers = _message(head)
        start = self._stream.tell()
        if len(head) < length or not 0 <= body <= self._size - start:
            raise UnsafeInputError(self._what, f"a message of {body:,} bytes", "all of it; cut off")
        unpacked = body
        for place, size in buffers:
            if not 0 <= place <= place + size <= body:
                raise UnsafeInputError(
                    self._what, "a buffer outside of its message", "Arrow messages"
                )
            if size >= 8:
                self._stream.seek(start + place)
                (claim,) = struct.unpack("<q", self._stream.read(8))
                unpacked += max(claim, 0)
        check_memory(unpacked, f"a record batch of {self._what}", SMALLER)
        self._stream.seek(start)
        if kind == _SCHEMA:
            head = head.replace(TYPE_KEY, HIDDEN_KEY)
        self._head, self._body = lead + number + head, body


class FlatTable:
    """A table of a FlatBuffer: fields by number, missing ones nothing."""

    def __init__(self, content: bytes, place: int) -> None:
        self._content, self._place = content, place
        (back,) = struct.unpack_from("<i", content, place)
        self._fields = place - back
        if self._fields < 0 or place < 0:
            raise ValueError("a place outside")
        (self._length,) = struct.unpack_from("<H", content, self._fields)

    def _at(self, number: int) -> int:
        if 4 + 2 * number + 2 > self._length:
            return 0
        (offset,) = struct.unpack_from("<H", self._content, self._fields + 4 + 2 * number)
        return self._place + int(offset) if offset else 0

    def number(self, field: int, form: str) -> int:
        place = self._at(field)
        return int(struct.unpack_from(form, self._content, place)[0]) if place else 0

    def table(self, field: int) -> "FlatTable | None":
        place = self._at(field)
        if not place:
            return None
        return FlatTable(self._content, place + self._step(place))

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A list of pairs of whole numbers."""
        place = self._at(field)
        if not place:
            return []
        start = place + self._step(place)
        (count,) = struct.unpack_from("<I", self._content, start)
        if count * 16 > len(self._content):
            raise ValueError("a list longer than its message")
        return [struct.unpack_from("<qq", self._content, start + 4 + 16 * i) for i in range(count)]

    def _step(self, place: int) -> int:
        return int(struct.unpack_from("<I", self._content, place)[0])


def _message(content: bytes) -> tuple[int, int, list[tuple[int, int]]]:
    """Its kind, the length of its body, and where the packed buffers lie in that."""
    message = FlatTable(content, struct.unpack_from("<I", content)[0])
    kind, head = message.number(1, "<B"), message.table(2)
    body = message.number(3, "<q")
    if head is None:
        raise ValueError("an empty message")
    batch: FlatTable | None = head if kind == _BATCH else None
    if kind == _DICTIONARY:
        batch = head.table(1)
    if batch is None or batch.table(3) is None:
        return kind, body, []
    return kind, body, batch.pairs(2)
