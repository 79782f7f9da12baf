"""Arrays from .npy, .npz and .safetensors: headers are checked before anything is allocated."""

import io
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialize

from theodolite._storage.memory_limit import check_memory
from theodolite._storage.paths import _is_suspicious, all_or_nothing, existing
from theodolite.errors import UnsafeInputError

MAX_MEMBERS = 1_000
MAX_ARRAY_BYTES = 1 << 40
BLOCK_BYTES = 1 << 24
MAX_SAFETENSORS_HEADER = 10 << 20
MAX_TENSORS = 100_000
_HEADER_FAULTS = (ValueError, KeyError, EOFError, SyntaxError, TypeError, RecursionError)


def read_npy(path: Path, *, mapped: bool = False) -> np.ndarray:
    """One array. ``mapped`` leaves it on disk until it is touched."""
    with existing(path, "array").open("rb") as stream:
        shape, dtype, start, _ = read_npy_header(stream, path.name)
        needed = start + math.prod(shape) * dtype.itemsize
        size = path.stat().st_size
    if size != needed:
        got = f"{size:,} bytes"
        raise UnsafeInputError(f"array {path.name!r}", got, f"{needed:,}; it is cut off")
    array = np.load(path, mmap_mode="r" if mapped and size > start else None, allow_pickle=False)
    return np.asarray(array)


def read_npy_header(
    stream: io.BufferedIOBase, name: str
) -> tuple[tuple[int, ...], np.dtype[Any], int, bool]:
    """Shape, type, where values begin, and whether they lie column by column."""
    try:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, by_columns, dtype = read(stream, max_header_size=10_000)
    except (*_HEADER_FAULTS, tokenize.TokenError) as error:
        raise UnsafeInputError(
            f"array {name!r}", "no readable .npy header", "a .npy file"
        ) from error
    if dtype.hasobject:
        raise UnsafeInputError(
            f"array {name!r}",
            "Python objects, which could run code when read",
            "numbers, or strings",
            "Save it again: array.astype(float), or np.array(names, dtype=str) for names.",
        )
    if math.prod(shape) * dtype.itemsize > MAX_ARRAY_BYTES:
        raise UnsafeInputError(f"array {name!r}", f"shape {shape}", "a size that fits a machine")
    return shape, dtype, stream.tell(), by_columns


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a .npz file by name, if they fit into the memory that may be taken."""
    with existing(path, "arrays").open("rb") as stream:
        return parse_npz(stream, path.name)


def parse_npz(file: io.BufferedIOBase, name: str) -> dict[str, np.ndarray]:
    """Read sizes from a stream: those of the archive's list and of each array's header."""
    with list_npz_members(file, name) as members:
        sizes = (max(m.packed.file_size, m.size) for m in members.values())
        check_memory(sum(sizes), f"arrays {name!r}", suggest_streaming(name))
        arrays = {}
        for key, member in members.items():
            with member.opened() as stream:
                arrays[key] = _array_from(stream, member.packed.filename)
    return arrays


def suggest_streaming(name: str) -> str:
    """What to do about evidence that is too large to be unpacked."""
    return (
        f"Write shards, which takes little memory: `theodolite data store {name} NEW`, then "
        "audit NEW; or allow more with --max-memory."
    )


@dataclass(frozen=True)
class NpzMember:
    """An array in a .npz file whose header was read."""

    archive: zipfile.ZipFile
    packed: zipfile.ZipInfo
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    by_columns: bool

    @property
    def size(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def as_evidence(self) -> int:
        """Its bytes and those of the copy that becomes evidence, where that has wider numbers."""
        narrow = self.dtype.kind in "iu" and self.dtype.itemsize < 8
        return self.size + (8 * math.prod(self.shape) if narrow else 0)

    def opened(self) -> io.BufferedIOBase:
        return cast(io.BufferedIOBase, self.archive.open(self.packed))


@contextmanager
def list_npz_members(
    file: io.BufferedIOBase, name: str, chosen: Sequence[str] | None = None
) -> Iterator[dict[str, NpzMember]]:
    """Some arrays of a .npz file by name, or all, none of them unpacked but for its header."""
    try:
        with zipfile.ZipFile(cast(IO[bytes], file)) as archive:
            packed = archive.infolist()
            if len(packed) > MAX_MEMBERS or len({m.filename for m in packed}) < len(packed):
                got = f"{len(packed):,} members"
                raise UnsafeInputError(f"arrays {name!r}", got, f"{MAX_MEMBERS:,} distinct names")
            members = {m.filename.removesuffix(".npy"): m for m in packed}
            yield {
                key: _member(archive, member, name)
                for key, member in members.items()
                if chosen is None or key in chosen
            }
    except (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError
    ) as error:  # fmt: skip
        raise UnsafeInputError(f"arrays {name!r}", "a broken archive", "a .npz file") from error


def _member(archive: zipfile.ZipFile, packed: zipfile.ZipInfo, name: str) -> NpzMember:
    what = f"array {packed.filename!r} of {name!r}"
    if reason := _is_suspicious(packed.orig_filename):  # before zipfile cuts it at a NUL
        raise UnsafeInputError(what, reason, "a plain name")
    with archive.open(packed) as stream:
        opened = cast(io.BufferedIOBase, stream)
        shape, dtype, start, by_columns = read_npy_header(opened, packed.filename)
    needed = start + math.prod(shape) * dtype.itemsize
    if packed.file_size != needed:
        got = f"{packed.file_size:,} bytes"
        raise UnsafeInputError(what, got, f"{needed:,}, as its header says; it is cut off")
    return NpzMember(archive, packed, shape, dtype, by_columns)


def parse_npy(content: bytes, name: str) -> np.ndarray:
    """An array from the bytes of a .npy file."""
    stream = io.BytesIO(content)
    shape, dtype, start, _ = read_npy_header(stream, name)
    needed = start + math.prod(shape) * dtype.itemsize
    if len(content) != needed:
        raise UnsafeInputError(f"array {name!r}", f"{len(content):,} bytes", f"{needed:,}; cut off")
    stream.seek(0)
    return _array_from(stream, name)


def _array_from(stream: io.BufferedIOBase, name: str) -> np.ndarray:
    """An array of the size that its header says, filled as its bytes come."""
    shape, dtype, _, by_columns = read_npy_header(stream, name)
    flat = np.empty(math.prod(shape), dtype)
    room = flat.view(np.uint8) if flat.size and dtype.itemsize else np.empty(0, np.uint8)
    place = 0
    while place < len(room):
        part = stream.read(min(BLOCK_BYTES, len(room) - place))
        if not part:
            raise UnsafeInputError(f"array {name!r}", f"{place:,} bytes", f"{len(room):,}; cut off")
        room[place : place + len(part)] = np.frombuffer(part, np.uint8)
        place += len(part)
    if stream.read(1):
        raise UnsafeInputError(f"array {name!r}", "more bytes than its header says", f"{place:,}")
    return flat.reshape(shape, order="F" if by_columns else "C")


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a .safetensors file by name."""
    what = f"weights {path.name!r}"
    with existing(path, "weights").open("rb") as stream:
        lead = stream.read(8)
    header = struct.unpack("<Q", lead)[0] if len(lead) == 8 else 0
    if not 2 <= header <= min(MAX_SAFETENSORS_HEADER, path.stat().st_size):
        raise UnsafeInputError(what, f"a header of {header:,} bytes", "a .safetensors file")
    check_memory(path.stat().st_size, what, suggest_streaming(path.name))
    try:
        with safe_open(path, framework="numpy") as tensors:
            if len(tensors.keys()) > MAX_TENSORS:
                raise UnsafeInputError(what, f"{len(tensors.keys()):,} tensors", f"{MAX_TENSORS:,}")
            return {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, OSError) as error:
        raise UnsafeInputError(
            what, f"{error}", "tensors in float16, float32 or integers", "Save it again so."
        ) from error


def write_npy(path: Path, array: np.ndarray) -> None:
    """Write one array, all or nothing."""
    with all_or_nothing(path) as stream:
        np.save(stream, np.asarray(array, order="C"), allow_pickle=False)


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name, all or nothing."""
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    with all_or_nothing(path) as stream:
        stream.write(serialize(plain))
