"""Parse and check the header of a stored Zarr array before any value is read.

The format allows any decoder, objects and chunks of any size. Only plain numbers are accepted."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.errors import UnsafeInputError

MAX_HEADER = 1 << 20
MAX_AXES = 8
MAX_ARRAY_BYTES = 1 << 44
MAX_CHUNK_BYTES = 1 << 28
MAX_SHARD_BYTES = 1 << 34
MAX_CHUNKS = 1 << 20
NUMBERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
           "float16", "float32", "float64")  # fmt: skip
PACKERS = ("zstd", "gzip", "blosc")
KEYS = {"zarr_format", "node_type", "shape", "data_type", "chunk_grid", "chunk_key_encoding",
        "codecs", "fill_value", "attributes", "dimension_names",
        "storage_transformers"}  # fmt: skip
INDEX = [("bytes", {"endian": "little"}), ("crc32c", {})]
Codec = tuple[str, dict[str, Any]]


@dataclass(frozen=True)
class ZarrHeader:
    """How large a stored array is, what it holds, and how many rows are in one file."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    shard_rows: int


@dataclass(frozen=True)
class ChunkLayout:
    """How the values of an array lie in its files."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    stored: np.dtype[Any]
    """With the byte order of the file."""
    files: tuple[int, ...]
    """The shape of what one file holds."""
    chunk: tuple[int, ...]
    """The shape of what is packed together: a file, or a part of one."""
    order: tuple[int, ...]
    """The order in which a chunk's axes are stored."""
    packing: tuple[str, ...]
    """How its bytes were packed, in that order."""
    sharded: bool
    index_last: bool
    separator: str

    @property
    def chunk_bytes(self) -> int:
        """What one chunk unpacks to."""
        return math.prod(self.chunk) * self.dtype.itemsize


def parse_layout(content: bytes, what: str) -> ChunkLayout:
    """The layout that a ``zarr.json`` gives; whatever is not plain in it is refused."""
    try:
        header = json.loads(content)
        if not isinstance(header, dict) or header.get("zarr_format") != 3:
            raise UnsafeInputError(what, "another format", "Zarr version 3", "Save it again so.")
        return _layout(header, what)
    except UnsafeInputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        reason = " ".join(f"{type(error).__name__} {error}".split())[:100]
        raise UnsafeInputError(what, f"a broken header ({reason})", "Zarr version 3") from error


def _layout(header: dict[str, Any], what: str) -> ChunkLayout:
    name = header["data_type"]
    if header["node_type"] != "array" or not isinstance(name, str) or name not in NUMBERS:
        got = f"{header['node_type']} of {name}"
        raise UnsafeInputError(what, got, "an array of numbers", "Save it as numbers.")
    extra = sorted(set(header) - KEYS)
    if extra or header.get("storage_transformers"):
        got = f"{extra or 'storage transformers'}"
        raise UnsafeInputError(what, got, "a plain array", "Save it again without.")
    shape, dtype = _sizes(header["shape"], 0), np.dtype(name)
    grid, keys = header["chunk_grid"], header["chunk_key_encoding"]
    separator = keys.get("configuration", {}).get("separator", "/")
    if grid["name"] != "regular" or keys["name"] != "default" or separator not in ("/", "."):
        raise UnsafeInputError(
            what, f"{grid['name']} pieces, {keys['name']} names", "regular, default"
        )
    files = chunk = _sizes(grid["configuration"]["chunk_shape"], 1)
    codecs = _codecs(header["codecs"], what)
    sharded, index_last = codecs[0][0] == "sharding_indexed", True
    if sharded:
        configuration = codecs[0][1]
        index_last = configuration.get("index_location", "end") == "end"
        chunk = _sizes(configuration["chunk_shape"], 1)
        if len(codecs) > 1 or _codecs(configuration["index_codecs"], what) != INDEX:
            raise UnsafeInputError(what, "shards packed in a rare way", "an index with a checksum")
        codecs = _codecs(configuration["codecs"], what)
    order, stored, packing = _chain(codecs, len(shape), dtype, what)
    layout = ChunkLayout(
        shape, dtype, stored, files, chunk, order, packing, sharded, index_last, separator
    )  # fmt: skip
    _check_sizes(layout, what)
    return layout


def _sizes(sizes: Any, least: int) -> tuple[int, ...]:
    if not isinstance(sizes, list) or any(type(n) is not int or n < least for n in sizes):
        raise ValueError("a size that is none")
    return tuple(sizes)


def _codecs(codecs: list[Any], what: str) -> list[Codec]:
    pairs = []
    for codec in codecs:
        name = codec if isinstance(codec, str) else codec["name"]
        configuration = {} if isinstance(codec, str) else codec.get("configuration") or {}
        if name not in ("sharding_indexed", "transpose", "bytes", "crc32c", *PACKERS):
            known = f"bytes, transpose, crc32c, {', '.join(PACKERS)}"
            raise UnsafeInputError(
                what, f"decoder {name!r}", known, "Save it again with one of them."
            )
        pairs.append((name, dict(configuration)))
    return pairs


def _chain(
    codecs: list[Codec], axes: int, dtype: np.dtype[Any], what: str
) -> tuple[tuple[int, ...], np.dtype[Any], tuple[str, ...]]:
    """Order of axes, type with byte order, and packing: in this order, at most one packer."""
    names = [name for name, _ in codecs]
    order = tuple(range(axes))
    if names[:1] == ["transpose"]:
        order = _sizes(codecs[0][1]["order"], 0)
        codecs, names = codecs[1:], names[1:]
    packing = tuple(names[1:])
    packers = [name for name in packing if name in PACKERS]
    plain = names[:1] == ["bytes"] and set(packing) <= {"crc32c", *PACKERS} and len(packers) <= 1
    if not plain or sorted(order) != list(range(axes)):
        raise UnsafeInputError(what, f"decoders {names}", "bytes, then at most one that packs")
    endian = codecs[0][1].get("endian", "little" if dtype.itemsize == 1 else None)
    if endian not in ("little", "big"):
        raise ValueError("no byte order")
    return order, np.dtype(f"{'<' if endian == 'little' else '>'}{dtype.str[1:]}"), packing


def parse_packing(
    codecs: list[Any], axes: int, dtype: np.dtype[Any], what: str
) -> tuple[tuple[int, ...], np.dtype[Any], tuple[str, ...]]:
    """Order of axes, type with byte order, and packing, as decoders in a list say."""
    return _chain(_codecs(codecs, what), axes, dtype, what)


def _check_sizes(layout: ChunkLayout, what: str) -> None:
    item = layout.dtype.itemsize
    axes = {len(layout.shape), len(layout.files), len(layout.chunk)}
    if len(axes) > 1 or not 1 <= len(layout.shape) <= MAX_AXES:
        raise ValueError("sizes with different numbers of axes")
    if any(n % m for n, m in zip(layout.files, layout.chunk, strict=True)):
        raise ValueError("shards that are not whole chunks")
    chunks = math.prod(layout.files) // math.prod(layout.chunk)
    whole, shard = math.prod(layout.shape) * item, math.prod(layout.files) * item
    if layout.chunk_bytes > MAX_CHUNK_BYTES or shard > MAX_SHARD_BYTES or chunks > MAX_CHUNKS:
        got = f"chunks of {layout.chunk_bytes:,} bytes in files of {shard:,}"
        needed = f"at most {MAX_CHUNK_BYTES:,} bytes, in files of at most {MAX_SHARD_BYTES:,}"
        raise UnsafeInputError(what, got, needed, "Save it again in smaller chunks.")
    if whole > MAX_ARRAY_BYTES:
        raise UnsafeInputError(what, f"shape {layout.shape}", "a size that fits a machine")
