"""The same rows by every way in."""

import io
import json
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

N, K = 2000, 6
CLASSES = ["crane", "duck", "eagle"]
CONCEPTS = [f"concept {i}" for i in range(K)]
FIELDS = {"values": "logits", "truth": "attrs", "labels": "y", "ids": "path", "clusters": "patient"}


class Rows:
    """Rows as arrays: of truth some is not known."""

    def __init__(self, n: int = N) -> None:
        rng = np.random.default_rng(7)
        self.logits = rng.normal(size=(n, K)).astype(np.float32)
        self.attrs = (self.logits + rng.normal(size=(n, K)) > 0).astype(np.float32)
        self.attrs[n // 2 :: 97, 1] = np.nan
        self.y = rng.integers(0, len(CLASSES), n)
        self.path = np.array([f"images/{i:06}.png" for i in range(n)])
        self.patient = np.array([f"p{i // 4}" for i in range(n)])
        self.n = n

    def arrays(self, start: int = 0, stop: int | None = None) -> dict[str, Any]:
        names = ("logits", "attrs", "y", "path", "patient")
        return {name: getattr(self, name)[start:stop] for name in names}

    def table(self) -> pa.Table:
        attrs = pa.array(self.attrs.ravel(), from_pandas=True).cast(pa.int8())
        words = pa.array([CLASSES[i] for i in self.y]).dictionary_encode()
        return pa.table({
            "logits": pa.FixedSizeListArray.from_arrays(self.logits.ravel(), K),
            "attrs": pa.FixedSizeListArray.from_arrays(attrs, K), "y": words,
            "path": self.path, "patient": self.patient,
        })  # fmt: skip

    def wide(self) -> pa.Table:
        table = self.table().drop_columns(["logits", "attrs"])
        for i, name in reversed(list(enumerate(CONCEPTS))):  # pairs are told by names, not by place
            table = table.append_column(
                f"attr_{name}", pa.array(self.attrs[:, i], from_pandas=True)
            )
        for i, name in enumerate(CONCEPTS):
            table = table.append_column(f"logit_{name}", pa.array(self.logits[:, i]))
        return table


def tar(rows: Rows, path: Path) -> Path:
    def npy(array: Any) -> bytes:
        stream = io.BytesIO()
        np.save(stream, array)
        return stream.getvalue()

    with tarfile.open(path, "w") as archive:
        for i in range(rows.n):
            about = {"path": rows.path[i].item(), "patient": rows.patient[i].item()}
            packed = io.BytesIO()
            np.savez(packed, attrs=rows.attrs[i])
            members = {
                "logits.npy": npy(rows.logits[i]), "attrs.npz": packed.getvalue(),
                "y.cls": str(rows.y[i]).encode(), "json": json.dumps(about).encode(), "jpg": b"\xff",
            }  # fmt: skip
            for suffix, content in members.items():
                info = tarfile.TarInfo(f"{i:06}.{suffix}")
                info.size = len(content)
                info.mtime = 1.5 * (i % 100 == 0)  # which makes an extended header
                archive.addfile(info, io.BytesIO(content))
    return path


class Device:
    """What speaks DLPack and nothing else."""

    def __init__(self, array: np.ndarray, device: int = 1) -> None:
        self.array, self.device = array, device

    def __dlpack__(self, **named: Any) -> Any:
        return self.array.__dlpack__(**named)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (self.device, 0)


def batches(rows: Rows, step: int = 300) -> Iterator[dict[str, Any]]:
    return (rows.arrays(i, i + step) for i in range(0, rows.n, step))


def saved(write: Callable[[pa.Table, str], object], name: str) -> Callable[[Rows, Path], Any]:
    def source(rows: Rows, folder: Path) -> str:
        write(rows.table(), str(folder / name))
        return str(folder / name)

    return source


def stream_file(table: pa.Table, path: str) -> None:
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=500)


def parquet_folder(rows: Rows, folder: Path) -> str:
    (folder / "many").mkdir()
    for i in range(4):
        part = rows.table().slice(i * rows.n // 4, rows.n // 4)
        pq.write_table(part, folder / "many" / f"part-{i}.parquet", row_group_size=211)
    return f"{folder}/many"


def npz(rows: Rows, folder: Path) -> str:
    np.savez_compressed(folder / "x.npz", **rows.arrays())
    return f"{folder}/x.npz"


def hugging_face(rows: Rows, folder: Path) -> Any:
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset(rows.table())


def hugging_face_folder(rows: Rows, folder: Path) -> Any:
    hugging_face(rows, folder).save_to_disk(str(folder / "saved"), num_shards=3)
    return str(folder / "saved")


def duckdb_relation(rows: Rows, folder: Path) -> Any:
    duckdb = pytest.importorskip("duckdb")
    own = duckdb.connect()
    own.register("seen", rows.table())
    return own.sql("select * from seen")


def polars_frame(rows: Rows, folder: Path) -> Any:
    return pytest.importorskip("polars").from_arrow(rows.table())


def torch_loader(rows: Rows, folder: Path) -> Any:
    torch = pytest.importorskip("torch")
    tensors = [torch.from_numpy(array) for array in (rows.logits, rows.attrs, rows.y)]
    items = [
        {"logits": tensors[0][i], "attrs": tensors[1][i], "y": tensors[2][i],
         "path": rows.path[i].item(), "patient": rows.patient[i].item()}
        for i in range(rows.n)
    ]  # fmt: skip
    return torch.utils.data.DataLoader(items, batch_size=77)


def dlpack(rows: Rows, folder: Path) -> Any:
    arrays = rows.arrays()
    return {n: Device(a) if a.dtype.kind in "fi" else a for n, a in arrays.items()}


WAYS: dict[str, Callable[[Rows, Path], Any]] = {
    "table": lambda rows, folder: rows.table(),
    "reader": lambda rows, folder: rows.table().to_reader(max_chunksize=123),
    "record batches": lambda rows, folder: iter(rows.table().to_batches(max_chunksize=700)),
    "parquet": saved(lambda t, p: pq.write_table(t, p, row_group_size=600), "x.parquet"),
    "parquet, second form of pages": saved(
        lambda t, p: pq.write_table(t, p, data_page_version="2.0", compression="zstd"), "x.parquet"
    ),
    "folder of parquet": parquet_folder,
    "feather": saved(lambda t, p: feather.write_feather(t, p, compression="zstd"), "x.feather"),
    "arrow stream": saved(stream_file, "x.arrow"),
    "npz": npz,
    "webdataset": lambda rows, folder: str(tar(rows, folder / "x.tar")),
    "hugging face": hugging_face,
    "hugging face, streaming": lambda rows, folder: hugging_face(rows, folder).to_iterable_dataset(),
    "hugging face, folder": hugging_face_folder,
    "duckdb": duckdb_relation,
    "polars": polars_frame,
    "torch loader": torch_loader,
    "dicts of arrays": lambda rows, folder: batches(rows),
    "tuples of arrays": lambda rows, folder: [tuple(b.values()) for b in batches(rows)],
    "arrays by dlpack": dlpack,
}  # fmt: skip


def options(way: str) -> dict[str, Any]:
    fields: Any = FIELDS
    if way == "tuples of arrays":
        fields = dict(zip(FIELDS, range(5), strict=True))
    return {"fields": fields, "classes": CLASSES, "concepts": CONCEPTS}
