"""Columns of other programs pass one gate: what cannot be computed with is refused in words.

Kept from a search over mutated files; 31 of these failed before there was a gate.
"""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from theodolite.errors import EvidenceError
from theodolite.evidence.sources.store_rows import store

N = 24
VALUES = np.random.default_rng(0).normal(size=(N, 2)).astype(np.float32)
LABELS = {
    "dates": np.zeros(N, "M8[D]"), "spans of time": np.zeros(N, "m8[s]"),
    "dates without a unit": np.zeros(N, "M8"), "records": np.zeros(N, [("a", "f4"), ("b", "i2")]),
    "records of dates": np.zeros(N, "f4,M8[s]"), "nested records": np.zeros(N, [("a", "f4", (3,))]),
    "raw bytes": np.zeros(N, "V8"), "bytes that are no UTF-8": np.full(N, b"\xff\xfe"),
    "infinite": np.full(N, np.inf), "minus infinite": np.full(N, -np.inf),
    "half infinite": np.where(np.arange(N) > 9, np.inf, 0.0), "complex": np.zeros(N, complex),
    "wider than 64 bits": np.zeros(N, np.longdouble),
}  # fmt: skip


def words(content: bytes) -> pa.Array:
    """Words of two bytes each, of which nobody has checked that they are UTF-8."""
    n = len(content) // 2
    ends = pa.py_buffer(np.arange(0, 2 * n + 1, 2, dtype=np.int32).tobytes())
    return pa.Array.from_buffers(pa.string(), n, [None, ends, pa.py_buffer(content)])


COLUMNS: dict[str, Callable[[], Any]] = {
    "words that are no UTF-8": lambda: words(b"\xff\xfe" * N),
    "a dictionary that is no UTF-8": lambda: pa.DictionaryArray.from_arrays(
        pa.array([0] * N, pa.int8()), words(b"\xff\xfe")
    ),
    "infinite numbers": lambda: pa.array([float("inf")] * N),
    "dates": lambda: pa.array([0] * N, pa.date32()),
    "times": lambda: pa.array([0] * N, pa.timestamp("ns")),
    "decimals": lambda: pa.array([0] * N, pa.decimal128(10, 2)),
    "records": lambda: pa.array([{"a": 1}] * N),
    "maps": lambda: pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    "nothing": lambda: pa.nulls(N),
}


def refusal(path: Path, fields: dict[str, str] | None = None) -> str:
    with pytest.raises(EvidenceError) as caught:
        store(path, path.parent / "new", fields=fields)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", ["labels", "ids", "clusters"])
@pytest.mark.parametrize("sort", LABELS)
def test_arrays_of_other_types_are_refused(tmp_path: Path, sort: str, name: str) -> None:
    arrays: dict[str, Any] = {"values": VALUES, name: LABELS[sort]}
    np.savez(tmp_path / "x.npz", **arrays)
    assert "infinite" not in sort or "infinite" in refusal(tmp_path / "x.npz")
    if "infinite" not in sort:
        refusal(tmp_path / "x.npz")


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("sort", COLUMNS)
def test_columns_of_other_types_are_refused(tmp_path: Path, sort: str, suffix: str) -> None:
    path, table = tmp_path / f"x.{suffix}", pa.table({"v": VALUES[:, 0], "y": COLUMNS[sort]()})
    if suffix == "parquet":
        pq.write_table(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    refusal(path, {"values": "v", "labels": "y"})


def test_a_name_comes_once(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array(VALUES[:, 0])] * 2, names=["values_0", "values_0"])
    with pa.ipc.new_file(tmp_path / "x.arrow", table.schema) as writer:
        writer.write_table(table)
    assert "each name once" in refusal(tmp_path / "x.arrow")
    with pytest.raises(EvidenceError, match="each name once"):
        store(table, tmp_path / "new")


def test_damaged_pages_are_refused(tmp_path: Path) -> None:
    stream = io.BytesIO()
    pq.write_table(pa.table({"values": VALUES.tolist()}), stream, compression="zstd")
    whole = stream.getvalue()
    for at in range(4, 200, 3):
        content = bytearray(whole)
        content[at] ^= 0xFF
        (tmp_path / "x.parquet").write_bytes(content)
        try:
            store(tmp_path / "x.parquet", tmp_path / f"new-{at}")
        except EvidenceError as error:
            assert "\n" not in str(error)


def test_an_impossible_shape_in_a_tar_is_refused(tmp_path: Path) -> None:
    for shape in ("(-3,)", "(9223372036854775807, 4)", "(0, 99999999999999999999)"):
        head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
        content = b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()
        with tarfile.open(tmp_path / "x.tar", "w") as archive:
            member = tarfile.TarInfo("0.values.npy")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        refusal(tmp_path / "x.tar")
