"""Read the packed chunks of a stored Zarr array with a memory limit.

They are unpacked here and not by zarr, because zarr unpacks to whatever size a chunk has: a file
of some kilobytes could fill the memory. Here a chunk that exceeds its stated size is refused.
"""

import math
import struct
import zlib

import numpy as np

from theodolite._storage._store_errors import explain_store_error
from theodolite._storage.stores import Store
from theodolite._storage.zarr.header import PACKERS, ChunkLayout
from theodolite.errors import UnsafeInputError

LEFT_OUT = (1 << 64) - 1
CHECKSUM = 4


def read_file(
    store: Store, name: str, layout: ChunkLayout, place: tuple[int, ...], rows: tuple[int, int]
) -> dict[tuple[int, ...], np.ndarray]:
    """The chunks of one file that hold the given rows, by their place in it.

    ``place`` is the file's place among the files; rows count from the file's first.
    """
    what, size = f"file {name!r} of {str(store)!r}", store.size(name)
    if size is None:
        raise UnsafeInputError(what, "nothing there", "all files of the array; it is cut off")
    if not layout.sharded:
        check_packed(size, layout.chunk_bytes, what)
        return {(0,) * len(layout.shape): unpack_chunk(store.read(name, size), layout, what)}
    first, last = rows[0] // layout.chunk[0], -(-rows[1] // layout.chunk[0])
    ends = [
        -(-min(n, whole - p * n) // m)
        for whole, p, n, m in zip(layout.shape, place, layout.files, layout.chunk, strict=True)
    ]
    used = (slice(first, last), *(slice(end) for end in ends[1:]))
    index: np.ndarray = read_shard_index(store, name, size, layout, what)[used]
    if (index == LEFT_OUT).any():
        do = "If it was empty: save it again with write_empty_chunks=True."
        raise UnsafeInputError(what, "omitted chunks", "all of it; it is cut off", do)
    extents = {}
    for at in np.ndindex(index.shape[:-1]):
        start, length = (int(n) for n in index[at])
        check_packed(length, layout.chunk_bytes, what)
        if start + length > size:
            raise UnsafeInputError(what, "a piece past its end", "all of it; it is cut off")
        inner = (first + at[0], *at[1:])
        extents[inner] = (start, length)
    packed = _pieces(store, name, extents)
    return {at: unpack_chunk(content, layout, what) for at, content in packed.items()}


def read_shard_index(
    store: Store, name: str, size: int, layout: ChunkLayout, what: str
) -> np.ndarray:
    """Return where each chunk of a shard begins and how long it is."""
    counts = [n // m for n, m in zip(layout.files, layout.chunk, strict=True)]
    length = math.prod(counts) * 16 + CHECKSUM
    if size < length:
        raise UnsafeInputError(what, f"{size:,} bytes", "all of it; it is cut off")
    content = store.read_part(name, size - length if layout.index_last else 0, length)
    return np.frombuffer(_checked(content, what), "<u8").reshape(*counts, 2)


def _pieces(
    store: Store, name: str, extents: dict[tuple[int, ...], tuple[int, int]]
) -> dict[tuple[int, ...], bytes]:
    """The bytes of chunks: in one go if they lie together."""
    begin = min((start for start, _ in extents.values()), default=0)
    span = max((start + length for start, length in extents.values()), default=0) - begin
    if span > 2 * sum(length for _, length in extents.values()):
        return {place: store.read_part(name, *where) for place, where in extents.items()}
    content = memoryview(store.read_part(name, begin, span))
    return {
        place: bytes(content[start - begin : start - begin + length])
        for place, (start, length) in extents.items()
    }


def check_packed(size: int, unpacked_size: int, what: str) -> None:
    """Packing never makes much larger: more is not a piece, whatever it is."""
    if size > 2 * unpacked_size + 4096:
        raise UnsafeInputError(what, f"{size:,} bytes packed", f"{unpacked_size:,} unpacked")


def unpack_chunk(content: bytes | memoryview, layout: ChunkLayout, what: str) -> np.ndarray:
    """The values of one chunk."""
    for at in reversed(range(len(layout.packing))):
        # checksums that were added before the packing are inside
        inside = layout.chunk_bytes + CHECKSUM * layout.packing[:at].count("crc32c")
        packer = layout.packing[at]
        content = (
            _unpack(packer, content, inside, what) if packer in PACKERS else _checked(content, what)
        )
    if len(content) != layout.chunk_bytes:
        got = f"a piece of {len(content):,} bytes"
        raise UnsafeInputError(what, got, f"{layout.chunk_bytes:,}, as its header says")
    if layout.dtype == np.bool_ and np.frombuffer(content, np.uint8).max(initial=0) > 1:
        raise UnsafeInputError(what, "flags that are neither 0 nor 1", "flags")
    shape = [layout.chunk[axis] for axis in layout.order]
    stored: np.ndarray = np.frombuffer(content, layout.stored).reshape(shape)
    return np.transpose(stored, np.argsort(layout.order).tolist())


def _unpack(packer: str, content: bytes | memoryview, size: int, what: str) -> bytes:
    try:
        return {"zstd": _zstd, "gzip": _gzip, "blosc": _blosc}[packer](content, size)
    except (OSError, ValueError, RuntimeError, zlib.error, struct.error) as error:
        needed = f"a piece that unpacks to {size:,} bytes"
        raise UnsafeInputError(what, f"broken {packer} data", needed) from error


def _zstd(content: bytes | memoryview, size: int) -> bytes:
    import pyarrow as pa  # noqa: PLC0415  slow, and it never writes more than it is told

    data: bytes = pa.decompress(content, decompressed_size=size, codec="zstd", asbytes=True)
    return data


def _gzip(content: bytes | memoryview, size: int) -> bytes:
    unpacker = zlib.decompressobj(zlib.MAX_WBITS | 16)
    data = unpacker.decompress(content, size + 1)
    if len(data) != size or not unpacker.eof or unpacker.unused_data:
        raise ValueError("another size")
    return data


def _blosc(content: bytes | memoryview, size: int) -> bytes:
    with explain_store_error("packed arrays"):
        from numcodecs import blosc  # noqa: PLC0415  optional
    unpacked_size, _, packed_size = struct.unpack_from("<III", content, 4)
    if (unpacked_size, packed_size) != (size, len(content)):
        raise ValueError("another size")
    return bytes(blosc.decompress(content))


def _checked(content: bytes | memoryview, what: str) -> bytes | memoryview:
    with explain_store_error("checksums of arrays"):
        import google_crc32c  # noqa: PLC0415  optional; comes with zarr
    body, last = content[:-CHECKSUM], content[-CHECKSUM:]
    if len(last) != CHECKSUM or struct.unpack("<I", last)[0] != google_crc32c.value(bytes(body)):
        raise UnsafeInputError(what, "another checksum than it was written with", "unchanged bytes")
    return body
