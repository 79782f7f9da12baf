"""Zarr arrays made to harm. See ``malicious``."""

import copy
import json
import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from support.hostile.malicious import Payload

BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
PLAIN: dict[str, Any] = {
    "zarr_format": 3, "node_type": "array", "shape": [4, 2], "data_type": "float64",
    "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 2]}},
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "fill_value": 0.0, "codecs": [BYTES], "attributes": {}, "storage_transformers": [],
}  # fmt: skip
SHARDED = {
    "name": "sharding_indexed",
    "configuration": {
        "chunk_shape": [4, 2], "codecs": [BYTES], "index_location": "end",
        "index_codecs": [BYTES, {"name": "crc32c"}],
    },
}  # fmt: skip
VALUES = np.arange(8.0).tobytes()


def array(folder: Path, content: bytes = VALUES, **changes: Any) -> None:
    """An array ``a`` of one file, changed."""
    header = copy.deepcopy(PLAIN) | changes
    (folder / "a" / "c" / "0").mkdir(parents=True)
    (folder / "a" / "c" / "0" / "0").write_bytes(content)
    (folder / "a" / "zarr.json").write_text(json.dumps(header))


def version_2(folder: Path, canary: Path) -> None:
    (folder / "a").mkdir()
    about = {
        "zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "|O", "fill_value": None,
        "order": "C", "compressor": None, "filters": [{"id": "pickle", "protocol": 5}],
    }  # fmt: skip
    (folder / "a" / ".zarray").write_text(json.dumps(about))
    (folder / "a" / "0").write_bytes(pickle.dumps(np.array([Payload(canary)], object)))


def linked(folder: Path, canary: Path) -> None:
    array(folder)
    (folder / "a" / "c" / "0" / "0").unlink()
    (folder.parent / f"{folder.name}-secret").write_bytes(VALUES)
    (folder / "a" / "c" / "0" / "0").symlink_to(folder.parent / f"{folder.name}-secret")


def missing(folder: Path, canary: Path) -> None:
    array(folder)
    (folder / "a" / "c" / "0" / "0").unlink()


def large(folder: Path, canary: Path) -> None:
    """Two gigabytes by its header, and one small file."""
    array(folder, shape=[1, 1 << 28], chunk_grid=grid(1, 1 << 24))


def grid(*sizes: int) -> dict[str, Any]:
    return {"name": "regular", "configuration": {"chunk_shape": list(sizes)}}


WIDE = {"shape": [4096, 2], "chunk_grid": grid(4096, 2)}
"""So large that a bomb of 64 MiB is not known by its packed size alone."""


def packed(name: str, content: bytes) -> dict[str, Any]:
    codecs = [BYTES, {"name": name, "configuration": {}}]
    return {"codecs": codecs, "content": content} | WIDE


def changed_shard(**changes: Any) -> list[dict[str, Any]]:
    return [{"name": SHARDED["name"], "configuration": {**SHARDED["configuration"], **changes}}]  # type: ignore[dict-item]


ZEROS = bytes(1 << 26)
PICKLED = {"name": "numcodecs.pickle", "configuration": {"protocol": 5}}
ZARR: dict[str, Callable[[Path, Path], None]] = {
    "version 2 with pickled objects": version_2,
    "file that is a link": linked,
    "missing file": missing,
    "missing files of a large array": large,
}
CHANGED: dict[str, Callable[[], dict[str, Any]]] = {
    "unknown decoder": lambda: {"codecs": [BYTES, {"name": "evil"}]},
    "pickling decoder": lambda: {"codecs": [PICKLED]},
    "objects": lambda: {"data_type": "object"},
    "texts": lambda: {"data_type": "string"},
    "fields": lambda: {"data_type": {"name": "struct", "configuration": {"fields": []}}},
    "raw bits": lambda: {"data_type": "r64"},
    "giant chunk": lambda: {"chunk_grid": grid(1 << 20, 1 << 20)},
    "giant shard": lambda: {"chunk_grid": grid(1 << 34, 2), "codecs": [SHARDED]},
    "giant index": lambda: {
        "chunk_grid": grid(4 << 21, 2),
        "codecs": changed_shard(chunk_shape=[1, 1]),
    },
    "giant array": lambda: {"shape": [1 << 60, 2]},
    "number that is none": lambda: {"shape": [4.5, 2]},
    "negative size": lambda: {"shape": [-4, 2]},
    "chunk of nothing": lambda: {"chunk_grid": grid(0, 2)},
    "too many axes": lambda: {"shape": [1] * 99, "chunk_grid": grid(*[1] * 99)},
    "storage transformer": lambda: {"storage_transformers": [{"name": "x"}]},
    "something more": lambda: {"extension": {"name": "x", "must_understand": True}},
    "other pieces": lambda: {"chunk_grid": {"name": "rectilinear", "configuration": {}}},
    "a group": lambda: {"node_type": "group"},
    "shards in shards": lambda: {"codecs": changed_shard(codecs=[SHARDED])},
    "shards packed again": lambda: {"codecs": [SHARDED, {"name": "gzip"}]},
    "an index without a checksum": lambda: {"codecs": changed_shard(index_codecs=[BYTES])},
    "a packed index": lambda: {
        "codecs": changed_shard(index_codecs=[BYTES, {"name": "gzip"}, {"name": "crc32c"}])
    },
    "packed twice": lambda: {"codecs": [BYTES, {"name": "gzip"}, {"name": "zstd"}]},
    "bomb of zstd": lambda: packed("zstd", pa.compress(ZEROS, "zstd", asbytes=True)),
    "bomb of gzip": lambda: packed("gzip", zlib.compress(ZEROS, 9, 31)),
    "gzip without its checksum": lambda: packed(
        "gzip", zlib.compress(ZEROS[: 1 << 16], 9, 31)[:-8]
    ),
    "bomb of blosc": lambda: packed("blosc", b"\x02\x01\x21\x08" + b"\xff" * 12 + bytes(99)),
    "longer than its values": lambda: {"content": bytes(1 << 20)},
    "shorter than its values": lambda: {"content": VALUES[:-1]},
    "flags that are none": lambda: {"data_type": "bool", "content": b"\x07" * 8},
    "a large header": lambda: {"attributes": {"x": "y" * (2 << 20)}},
}
for name, change in CHANGED.items():
    ZARR[name] = lambda folder, canary, change=change: array(folder, **change())
