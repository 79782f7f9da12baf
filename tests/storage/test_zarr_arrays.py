"""Arrays in shards: what is written comes back as numpy has it, zarr agrees, damage is refused."""

import json
import math
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from theodolite._storage.stores import Store
from theodolite._storage.zarr import arrays as zarr_arrays
from theodolite._storage.zarr.arrays import ZarrHeader, ZarrWriter, read_zarr_header, read_zarr_rows
from theodolite._storage.zarr.header import NUMBERS
from theodolite.errors import EvidenceError, UnsafeInputError

zarr = pytest.importorskip("zarr")
google_crc32c = pytest.importorskip("google_crc32c")
ROWS = np.arange(7 * 5 * 3, dtype=np.float16).reshape(7, 5, 3)


def written(store: Store, rows: np.ndarray, shard_rows: int, chunk_rows: int | None = None) -> None:
    with ZarrWriter(store, "a", rows.dtype, rows.shape[1:], shard_rows, chunk_rows) as writer:
        writer.append(rows)


def test_rows_come_back(store: Store) -> None:
    with ZarrWriter(store, "a/b", np.float16, (5, 3), shard_rows=4, chunk_rows=2) as writer:
        for some in (ROWS[:1], ROWS[1:1], ROWS[1:6], ROWS[6:]):
            writer.append(some)
    assert read_zarr_header(store, "a/b") == ZarrHeader((7, 5, 3), np.dtype(np.float16), 4)
    for first, last in ((0, 7), (0, 0), (7, 7), (3, 5), (6, 7), (1, 4)):
        result = read_zarr_rows(store, "a/b", first, last)
        np.testing.assert_array_equal(result, ROWS[first:last], strict=True)
    assert store.names() == ["a/b/c/0/0/0", "a/b/c/1/0/0", "a/b/zarr.json"]


def test_files_are_written_once_and_the_header_last(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[str] = []
    write = Store.write

    def noted(self: Store, name: str, content: bytes) -> None:
        order.append(name)
        write(self, name, content)

    monkeypatch.setattr(Store, "write", noted)
    writer = ZarrWriter(store, "a", np.float16, (5, 3), shard_rows=2)
    for row in ROWS:
        writer.append(row[None])
    assert order == ["a/c/0/0/0", "a/c/1/0/0", "a/c/2/0/0"]
    writer.close()
    assert order[3:] == ["a/c/3/0/0", "a/zarr.json"]


def test_half_an_array_is_none(tmp_path: Path) -> None:
    store = Store.at(tmp_path)
    written(store, ROWS, 1)
    stopped = ZarrWriter(store, "a", np.float16, (5, 3), 2)
    with suppress(RuntimeError), stopped:
        stopped.append(ROWS)
        raise RuntimeError
    with pytest.raises(UnsafeInputError, match=r"zarr\.json.*nothing there"):
        read_zarr_rows(store, "a", 0, 1)
    written(store, ROWS[:2], 2)  # shorter than before: nothing of the old one is left
    assert store.names() == ["a/c/0/0/0", "a/zarr.json"]


def test_the_callers_array_may_change(tmp_path: Path) -> None:
    store, rows = Store.at(tmp_path), ROWS.copy()
    with ZarrWriter(store, "a", np.float16, (5, 3), 7) as writer:
        writer.append(rows[:3])
        rows[:] = 0
        writer.append(ROWS[3:])
    np.testing.assert_array_equal(read_zarr_rows(store, "a", 0, 7), ROWS)


@st.composite
def arrays(draw: st.DrawFn) -> tuple[np.ndarray, int, int | None, int, int]:
    rows, shard = draw(st.integers(0, 30)), draw(st.integers(1, 12))
    shape = (rows, *draw(st.lists(st.integers(1, 4), max_size=3)))
    values = np.random.default_rng(draw(st.integers(0, 9))).integers(-99, 99, shape)
    divisors = [n for n in range(1, shard + 1) if shard % n == 0]
    chunk = draw(st.sampled_from([None, *divisors]))
    first = draw(st.integers(0, rows))
    dtype = draw(st.sampled_from(NUMBERS))
    return values.astype(dtype), shard, chunk, first, draw(st.integers(first, rows))


@given(case=arrays())
@settings(max_examples=60)
def test_the_same_as_numpy_and_as_zarr(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[np.ndarray, int, int | None, int, int]
) -> None:
    values, shard, chunk, first, last = case
    folder = tmp_path_factory.mktemp("store")
    store = Store.at(folder)
    written(store, values, shard, chunk)
    result = read_zarr_rows(store, "a", first, last)
    np.testing.assert_array_equal(result, values[first:last], strict=True)
    np.testing.assert_array_equal(zarr.open_array(folder / "a", mode="r")[:], values, strict=True)
    assert len(store.names()) == 1 + math.ceil(len(values) / shard)


CODECS = {
    "zstd": zarr.codecs.ZstdCodec(), "gzip": zarr.codecs.GzipCodec(),
    "blosc": zarr.codecs.BloscCodec(typesize=8), "none": None,
    "summed": [zarr.codecs.Crc32cCodec(), zarr.codecs.ZstdCodec(), zarr.codecs.Crc32cCodec()],
}  # fmt: skip


@pytest.mark.parametrize("packing", CODECS)
@pytest.mark.parametrize("shards", [None, (6, 8, 2)])
@pytest.mark.parametrize("extra", [{}, {"filters": zarr.codecs.TransposeCodec(order=(2, 0, 1))}])
def test_arrays_of_others(tmp_path: Path, packing: str, shards: Any, extra: Any) -> None:
    """Whatever zarr itself writes: other pieces, packers, orders, names of files."""
    values = np.random.default_rng(0).normal(size=(13, 9, 3))
    separator = "/" if shards else "."
    zarr.create_array(
        tmp_path / "a", shape=values.shape, dtype=">f8" if extra else "<f8", chunks=(3, 4, 2),
        shards=shards, compressors=CODECS[packing],
        chunk_key_encoding={"name": "default", "separator": separator}, **extra,
    )[:] = values  # fmt: skip
    for first, last in ((0, 13), (4, 5), (5, 13)):
        result = read_zarr_rows(Store.at(tmp_path), "a", first, last)
        np.testing.assert_array_equal(result, values[first:last])


def test_rows_of_the_wrong_kind_are_not_taken(tmp_path: Path) -> None:
    writer = ZarrWriter(Store.at(tmp_path), "a", np.float16, (5, 3), 2)
    for rows in (ROWS.astype(float), ROWS[:, :2], ROWS[..., 0]):
        with pytest.raises(EvidenceError, match=r"needed float16 \(5, 3\)"):
            writer.append(rows)
    for dtype, shape, shard in ((object, (), 1), ("U3", (), 1), (float, (0,), 1), (float, (), 0)):
        with pytest.raises(EvidenceError, match="at least one row of numbers"):
            ZarrWriter(Store.at(tmp_path), "b", dtype, shape, shard)
    with pytest.raises(EvidenceError, match="a divisor of 4"):
        ZarrWriter(Store.at(tmp_path), "b", float, (), 4, 3)


def test_chunks_are_of_about_a_mebibyte(tmp_path: Path) -> None:
    for shard, row_bytes, chunk in ((1024, 1024, 1024), (1000, 50_000, 20), (6, 1 << 30, 1)):
        writer = ZarrWriter(Store.at(tmp_path), "a", np.uint8, (row_bytes,), shard)
        assert writer._chunk_rows == chunk


def test_rows_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store.at(tmp_path)
    written(store, ROWS, 2)
    for first, last in ((0, 8), (-1, 2), (3, 2), (8, 8)):
        with pytest.raises(UnsafeInputError, match="got 7 rows"):
            read_zarr_rows(store, "a", first, last)
    for limit, says in (("MAX_VALUES_BYTES", "values at once"), ("MAX_FILES", "more than 1 files")):
        with monkeypatch.context() as changed:
            changed.setattr(zarr_arrays, limit, 1)
            with pytest.raises(UnsafeInputError, match=says):
                read_zarr_rows(store, "a", 0, 7)
    with pytest.raises(UnsafeInputError, match="nothing there"):
        read_zarr_header(store, "none")
    with pytest.raises(UnsafeInputError, match="a relative path"):
        read_zarr_header(store, "../a")


def test_a_missing_file_is_not_taken_for_zeros(store: Store) -> None:
    written(store, ROWS, 2)
    store.remove("a/c/1/0/0")
    np.testing.assert_array_equal(read_zarr_rows(store, "a", 4, 7), ROWS[4:])
    with pytest.raises(UnsafeInputError, match="cut off"):
        read_zarr_rows(store, "a", 0, 7)


@pytest.mark.parametrize("shards", [None, (4, 3)])
def test_a_left_out_piece_is_not_taken_for_zeros(tmp_path: Path, shards: Any) -> None:
    array = zarr.create_array(
        tmp_path / "a", shape=(8, 3), dtype="i4", chunks=(2, 3), shards=shards
    )
    array[3:] = 1  # zarr does not write the first, empty piece
    np.testing.assert_array_equal(read_zarr_rows(Store.at(tmp_path), "a", 2, 8), array[2:])
    with pytest.raises(UnsafeInputError, match="cut off"):
        read_zarr_rows(Store.at(tmp_path), "a", 0, 8)


@pytest.mark.parametrize("kept", [0, 1, 19, 20, -1, -21])
def test_a_cut_off_file_is_refused(store: Store, kept: int) -> None:
    written(store, ROWS, 4, 2)
    content = store.read("a/c/0/0/0")
    store.write("a/c/0/0/0", content[:kept])
    for first, last in ((0, 7), (1, 2)):
        with pytest.raises(UnsafeInputError):
            read_zarr_rows(store, "a", first, last)


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    store = Store.at(tmp_path)
    written(store, ROWS, 7, 7)
    content = store.read("a/c/0/0/0")
    for place in range(len(content)):
        changed = bytearray(content)
        changed[place] ^= 0x55
        store.write("a/c/0/0/0", bytes(changed))
        try:
            np.testing.assert_array_equal(read_zarr_rows(store, "a", 0, 7), ROWS)
        except UnsafeInputError:
            continue
        # bits of a frame's header that the packer ignores: the values are the same
        assert place < 8, place


def sealed(index: np.ndarray) -> bytes:
    raw = index.astype("<u8").tobytes()
    return raw + struct.pack("<I", google_crc32c.value(raw))


@pytest.mark.parametrize("entry", [(1 << 40, 10), (0, 1 << 40), (0, 0), ((1 << 64) - 2, 99)])
def test_an_index_that_points_elsewhere(tmp_path: Path, entry: tuple[int, int]) -> None:
    store = Store.at(tmp_path)
    written(store, ROWS, 7, 7)
    content = store.read("a/c/0/0/0")
    store.write("a/c/0/0/0", content[:-20] + sealed(np.array(entry, np.uint64)))
    with pytest.raises(UnsafeInputError):
        read_zarr_rows(store, "a", 0, 7)


def test_the_header_is_what_zarr_writes(tmp_path: Path) -> None:
    store = Store.at(tmp_path)
    written(store, ROWS, 4, 2)
    header = json.loads(store.read("a/zarr.json"))
    inner = header["codecs"][0]["configuration"]
    assert [codec["name"] for codec in inner["codecs"]] == ["bytes", "zstd"]
    assert inner["codecs"][1]["configuration"] == {"level": 1, "checksum": True}
    assert [codec["name"] for codec in inner["index_codecs"]] == ["bytes", "crc32c"]
    assert (header["shape"], inner["chunk_shape"]) == ([7, 5, 3], [2, 5, 3])
