"""A writer of evidence in pieces by somebody who has docs/file-format.md and not theodolite."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numcodecs import Zstd


def content_of(array):
    array = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False)
    return hashlib.sha256(f"{array.dtype.str}\0{array.shape}\0".encode() + array.tobytes()).digest()


def main(folder: Path) -> None:
    rng = np.random.default_rng(5)
    n, step = 150, 64
    values = rng.normal(size=(n, 3)).astype(np.float32)
    arrays = {
        "values": values, "truth": values > 0.2, "labels": np.arange(n) % 2,
        "predicted": np.arange(n) // 3 % 2,
    }  # fmt: skip
    ids = [f"bild {i} é" for i in range(n)]
    layouts, rows = {}, []
    (folder / "data").mkdir(parents=True)

    def put(name, piece, rows_of_piece, first, array, **more):
        order = {"endian": "little"} if array.dtype.itemsize > 1 else {}
        layouts[name] = {
            "dtype": array.dtype.str, "shape": list(array.shape[1:]), "chunk": None,
            "fill_value": 0,
            "codecs": [
                {"name": "bytes", "configuration": order},
                {"name": "zstd", "configuration": {"level": 3, "checksum": False}},
            ],
        }  # fmt: skip
        packed = b"" if more else Zstd(level=3).encode(array.tobytes())
        file = "data/all"  # one file for all chunks, as they come
        with (folder / file).open("ab") as stream:
            offset = stream.tell()
            stream.write(packed)
        rows.append({
            "piece": piece, "rows": rows_of_piece, "first": first, "array": name,
            "size": len(array), "file": file, "offset": offset, "length": len(packed),
            "corner": None, "stored": hashlib.sha256(packed).digest(),
            "content": content_of(array), "index_first": None, "index_step": None,
        } | more)  # fmt: skip

    weights = rng.normal(size=(3, 2))
    put("weights", -1, 0, 0, weights)
    for piece, at in enumerate(range(0, n, step)):
        last = min(at + step, n)
        head = (piece, last - at, at)
        for name, array in arrays.items():
            put(name, *head, array[at:last])
        put("of index", *head, np.arange(at, last), index_first=at, index_step=1)
        texts = [text.encode() for text in ids[at:last]]
        put("of ids", *head, np.frombuffer(b"".join(texts), np.uint8))
        put("of ids ends", *head, np.cumsum([len(text) for text in texts], dtype=np.int64))
    names = {"names": ["a", "b", "c"], "kinds": ["binary"] * 3, "cardinalities": [2] * 3}
    bundle = {
        "kind": "concept", "kind_version": 1, "inner": {},
        "arrays": dict.fromkeys(arrays, True) | {"weights": False},
        "axes": {"concepts": names, "classes": {"names": ["no", "yes"]}},
    }  # fmt: skip
    schema = pa.schema(
        {
            "piece": pa.int32(), "rows": pa.int32(), "first": pa.int64(), "array": pa.string(),
            "size": pa.int64(), "file": pa.string(), "offset": pa.int64(), "length": pa.int64(),
            "corner": pa.list_(pa.int64()), "stored": pa.binary(32), "content": pa.binary(32),
            "index_first": pa.int64(), "index_step": pa.int64(),
        }
    ).with_metadata(
        {"theodolite.bundle": json.dumps(bundle), "theodolite.layouts": json.dumps(layouts)}
    )  # fmt: skip
    path = folder / "unnamed"
    pq.write_table(pa.Table.from_pylist(rows, schema), path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    path.rename(folder / f"manifest-{digest[:16]}.parquet")
    header = {
        "format": "theodolite-shards", "format_version": [2, 0], "written_by": "somebody else",
        "needs": [], "manifest": f"manifest-{digest[:16]}.parquet", "sha256": digest,
    }  # fmt: skip
    (folder / "header.json").write_text(json.dumps(header))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
