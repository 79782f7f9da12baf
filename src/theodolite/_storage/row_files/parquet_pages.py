"""Read the page headers of a Parquet file, to bound its memory before unpacking.

The footer's sizes are not reliable, and pyarrow allocates what a page's own header says. So the
headers are parsed: each is a Thrift struct in compact form, of which a few numbers are needed."""

import io
from dataclasses import dataclass
from typing import Any

from theodolite._storage.memory_limit import check_memory
from theodolite.errors import UnsafeInputError

HEADER = 1 << 16
MOST_PAGES = 1_000_000
DELTA_BYTE_ARRAY = 7
_STRUCT, _STOP = 12, 0
_NUMBERS = (4, 5, 6)
_DEEPEST = 8
SMALLER_GROUPS = "Write it with smaller row groups, or set --max-memory."


class ThriftReader:
    """Numbers of a Thrift struct in compact form."""

    def __init__(self, content: bytes) -> None:
        self._content, self.place = content, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The whole numbers and structs of a struct by the number of their field."""
        if depth > _DEEPEST:
            raise ValueError("too deep")
        fields: dict[int, Any] = {}
        number = 0
        while (head := self._byte()) != _STOP:
            kind, step = head & 15, head >> 4
            number = number + step if step else self._number()
            value = self._value(kind, depth)
            if value is not None:
                fields[number] = value
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind in (1, 2):  # a truth value is in its kind
            return None
        if kind == 3:
            self._byte()
        elif kind in _NUMBERS:
            return self._number()
        elif kind == 7:
            self.place += 8
        elif kind == 8:
            length = self._unsigned()
            self.place += length
        elif kind == _STRUCT:
            return self.struct(depth + 1)
        else:
            raise ValueError("a field that page headers do not have")
        return None

    def _byte(self) -> int:
        value = self._content[self.place]
        self.place += 1
        return value

    def _unsigned(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
        raise ValueError("a number without end")

    def _number(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)


@dataclass(frozen=True)
class PageSizes:
    """What the pages of a column chunk unpack to."""

    values: int
    unpacked: int
    largest: int
    is_delta: bool
    """Whether words are stored as differences: a few bytes may then be long words."""


def read_page_sizes(stream: io.BufferedIOBase, chunk: Any, what: str) -> PageSizes:
    """Walk the headers of the pages of a column chunk; ``chunk`` is the metadata by pyarrow."""
    # a table without rows has no page of data: its place is 0
    start = min(filter(None, (chunk.data_page_offset, chunk.dictionary_page_offset)), default=0)
    end = start + chunk.total_compressed_size
    values = unpacked = largest = pages = 0
    is_delta = False
    while start < end:
        stream.seek(start)
        reader = ThriftReader(stream.read(min(HEADER, end - start)))
        try:
            header = reader.struct()
            size, packed = header[2], header[3]
            count = header.get(5, header.get(8, {1: 0}))[1]
            encoding = header[8][4] if 8 in header else header.get(5, {2: 0})[2]
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise UnsafeInputError(what, "a page without a readable header", "Parquet") from error
        pages += 1
        if min(size, packed, count) < 0 or pages > MOST_PAGES:
            raise UnsafeInputError(what, f"a page of {size:,} bytes, {count:,} values", "Parquet")
        is_delta = is_delta or encoding == DELTA_BYTE_ARRAY
        values, unpacked, largest = values + count, unpacked + size, max(largest, size)
        check_memory(largest, f"a page of {what}", SMALLER_GROUPS)
        start += reader.place + packed
    return PageSizes(values, unpacked, largest, is_delta)
