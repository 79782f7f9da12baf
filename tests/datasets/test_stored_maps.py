"""Activations and label maps on disk: what is read is what was written, or it is refused."""

import json
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from planted_maps import PlantedMaps

from support.runs.command_line import theodolite
from theodolite.datasets.masks.stored_maps import StoredMaps, open_maps, stored_maps
from theodolite.datasets.masks.stored_maps_writer import write_maps
from theodolite.dissection.shards import MapShards
from theodolite.errors import EvidenceError, UnsafeInputError

pytest.importorskip("zarr")
NAMES = ("horn", "tusk", "tree")
N = 23
RANDOM = np.random.default_rng(0)
MAPS = RANDOM.normal(size=(N, 4, 3, 5)).astype(np.float16)
LABELS = RANDOM.integers(0, 4, (N, 2, 6, 7)).astype(np.uint16)


def batches(sizes: list[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    ends = np.cumsum(sizes)
    return [(MAPS[e - n : e], LABELS[e - n : e]) for n, e in zip(sizes, ends, strict=True)]


@pytest.fixture
def maps(tmp_path: Path) -> StoredMaps:
    return write_maps(tmp_path / "maps", batches([N]), NAMES, shard_rows=8)


@pytest.mark.parametrize("sizes", [[N], [1, 22], [8, 8, 7], [5, 0, 13, 5], [1] * N])
@pytest.mark.parametrize("rows", [1, 8, 23, 100])
def test_whatever_the_batches_the_shards_are_the_same(
    tmp_path: Path, sizes: list[int], rows: int
) -> None:
    result = write_maps(tmp_path / "maps", batches(sizes), NAMES, ("part",) * 3, shard_rows=rows)
    assert result == stored_maps(tmp_path / "maps")
    assert (len(result), result.n_shards) == (N, -(-N // rows))
    assert result.shape == MAPS.shape and result.grid == (6, 7) and result.layers == 2
    assert (result.concepts, result.categories) == (NAMES, ("part",) * 3)
    parts = [result.shard(number) for number in range(result.n_shards)]
    assert all(part.dtype == np.float32 for part, _ in parts)
    assert_array_equal(np.concatenate([part for part, _ in parts]), MAPS.astype(np.float32))
    assert_array_equal(np.concatenate([part for _, part in parts]), LABELS)
    expected = write_maps(tmp_path / "again", batches([N]), NAMES, shard_rows=rows)
    assert result.digests_of_shards == expected.digests_of_shards
    assert isinstance(result, MapShards)


def test_single_precision_and_another_process(tmp_path: Path) -> None:
    single = MAPS.astype(np.float32) / 3
    result = write_maps(tmp_path / "maps", [(single, LABELS)], NAMES, shard_rows=8)
    sent = pickle.loads(pickle.dumps(result))  # noqa: S301  our own bytes
    assert sent == result and len(pickle.dumps(result)) < 2000
    assert_array_equal(sent.shard(2)[0], single[16:])


def test_digests_depend_on_every_value(tmp_path: Path, maps: StoredMaps) -> None:
    for which in (0, 1):
        changed = [MAPS.copy(), LABELS.copy()]
        changed[which][9].flat[0] = 2
        other = write_maps(tmp_path / f"{which}", [tuple(changed)], NAMES, shard_rows=8)
        same = [maps.digest(i) == other.digest(i) for i in range(3)]
        assert same == [True, False, True]
        assert maps.digests() != other.digests()


@pytest.mark.parametrize("array", ["activations", "labels"])
def test_what_was_changed_after_writing_is_refused(
    tmp_path: Path, maps: StoredMaps, array: str
) -> None:
    """Whole files of another, equally formed set of maps: nothing but the digest can tell."""
    write_maps(tmp_path / "other", [(MAPS[::-1], LABELS[::-1])], NAMES, shard_rows=8)
    files = sorted((tmp_path / "other" / array / "c").glob("1*"))
    shutil.copytree(files[0], tmp_path / "maps" / array / "c" / "1", dirs_exist_ok=True)
    maps.shard(0)
    with pytest.raises(UnsafeInputError, match=r"shard 1 of 'maps': got other content"):
        maps.shard(1)
    again = stored_maps(tmp_path / "maps")
    with pytest.raises(UnsafeInputError, match="Copy or write the maps again"):
        again.shard(1)


def test_maps_that_were_not_written_to_the_end_are_not_read(
    tmp_path: Path, maps: StoredMaps
) -> None:
    def breaks() -> list[tuple[np.ndarray, np.ndarray]]:
        yield from batches([8, 8])  # type: ignore[misc]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_maps(tmp_path / "maps", breaks(), NAMES, shard_rows=8)
    with pytest.raises(UnsafeInputError, match=r"header.json.*nothing there"):
        open_maps(tmp_path / "maps")


@pytest.mark.parametrize(
    ("activations", "labels", "says"),
    [
        (MAPS.astype(int), LABELS, r"activations of batch 1: got int64 of shape .* float16 or"),
        (MAPS[:, 0], LABELS, r"got float16 of shape \(23, 3, 5\)"),
        (MAPS, LABELS[:5], "whole numbers, .* of 23 images"),
        (MAPS, LABELS.astype(float), "label maps of batch 1: got float64"),
        (MAPS, LABELS[:, 0], "layers, rows, columns"),
        (MAPS, LABELS + np.uint16(1), r"label maps of batch 1: got numbers from 1 to 4; needed 0"),
        (MAPS, LABELS.astype(np.int32) - 1, "numbers from -1 to 2; needed 0 to 3"),
        (np.full_like(MAPS, np.inf), LABELS, "65,504"),
        (np.full_like(MAPS, np.nan), LABELS, "NaN or infinite"),
        (MAPS[:, :2], LABELS, r"batch 1: got float16 \(2, 3, 5\) .* as in the first batch"),
        (MAPS.astype(np.float32), LABELS, "as in the first batch"),
        (MAPS, LABELS[:, :1], "as in the first batch"),
    ],
)
def test_what_cannot_be_written(
    tmp_path: Path, activations: np.ndarray, labels: np.ndarray, says: str
) -> None:
    with pytest.raises(EvidenceError, match=says):
        write_maps(tmp_path / "maps", [(MAPS, LABELS), (activations, labels)], NAMES)


def test_names_and_sizes_that_make_no_sense(tmp_path: Path) -> None:
    for names, kinds, says in (
        ("horn", None, "a list of names"),
        ((), None, "got 0; needed 1 to 65,535"),
        (("a", "a"), None, "distinct names"),
        (("a", "b"), ("part",), "categories: got 1; needed 2"),
    ):
        with pytest.raises(EvidenceError, match=says):
            write_maps(tmp_path / "maps", batches([N]), names, kinds)
    with pytest.raises(EvidenceError, match="at least 1"):
        write_maps(tmp_path / "maps", batches([N]), NAMES, shard_rows=0)
    for none in ([], batches([0])):
        with pytest.raises(EvidenceError, match="at least one, of at least one image"):
            write_maps(tmp_path / "maps", none, NAMES)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": "theodolite-masks"}, "another format"),
        ({"version": 2}, "version 2"),
        ({"concepts": "horn"}, "concepts that are not a list"),
        ({"concepts": ["a", 1, "b"]}, "concepts that are not a list"),
        ({"concepts": ["a", "a", "b"]}, "distinct names"),
        ({"concepts": ["a", "b\x1b[31m", "c"]}, "control characters"),
        ({"categories": ["part"]}, "categories: got 1"),
        ({"digests": {}}, "digests that are not a list"),
        ({"digests": ["a"]}, "got 1 digests; needed 3 for 23 images"),
        ({"shard_rows": 0}, "shard_rows 0"),
        ({"shard_rows": True}, "shard_rows True"),
        ({"shard_rows": "8"}, "shard_rows '8'"),
    ],
)
def test_headers_that_are_refused(
    tmp_path: Path, maps: StoredMaps, change: dict[str, object], says: str
) -> None:
    path = tmp_path / "maps" / "header.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(EvidenceError, match=says):
        stored_maps(tmp_path / "maps")


@pytest.mark.parametrize("content", ["", "{", "[" * 100_000, "[]", '"maps"'])
def test_headers_that_are_not_json(tmp_path: Path, maps: StoredMaps, content: str) -> None:
    (tmp_path / "maps" / "header.json").write_text(content)
    with pytest.raises(UnsafeInputError, match=r"broken JSON|another format"):
        stored_maps(tmp_path / "maps")


def test_arrays_that_do_not_fit_each_other(tmp_path: Path, maps: StoredMaps) -> None:
    write_maps(tmp_path / "short", [(MAPS[:9], LABELS[:9])], NAMES, shard_rows=8)
    shutil.rmtree(tmp_path / "maps" / "labels")
    shutil.copytree(tmp_path / "short" / "labels", tmp_path / "maps" / "labels")
    with pytest.raises(UnsafeInputError, match=r"labels uint16 \(9, 2, 6, 7\)"):
        stored_maps(tmp_path / "maps")
    shutil.rmtree(tmp_path / "maps" / "labels")
    shutil.copytree(tmp_path / "maps" / "activations", tmp_path / "maps" / "labels")
    with pytest.raises(UnsafeInputError, match="labels float16"):
        stored_maps(tmp_path / "maps")


def test_a_folder_or_an_address_in_a_bucket(tmp_path: Path, maps: StoredMaps) -> None:
    """A spec may not read folders by their address: `root` stays below the data folder."""
    for root, address, says in (
        (None, None, "neither"),
        (tmp_path / "maps", "s3://bucket/maps", "both"),
        (None, f"file://{tmp_path}/maps", "Name a folder as `root`"),
        (None, str(tmp_path / "maps"), "Name a folder as `root`"),
        (None, "https://example.org/maps", "the kind of address"),
    ):
        with pytest.raises(EvidenceError, match=says):
            stored_maps(root, address)


def test_in_a_bucket(s3: str, maps: StoredMaps) -> None:
    write_maps(f"{s3}/maps", batches([N]), NAMES, shard_rows=8)
    result = stored_maps(address=f"{s3}/maps")
    assert result == replace(maps, store=result.store) and result.name == "maps"
    for number in range(3):
        for part, other in zip(result.shard(number), maps.shard(number), strict=True):
            assert_array_equal(part, other)


def test_the_command_line_knows_them(tmp_path: Path, maps: StoredMaps) -> None:
    for arguments, says in (
        (("data", "list"), "Activations and label maps in shards"),
        (("data", "check", "stored_maps", tmp_path / "maps"), "23 in 3 shards"),
    ):
        result = theodolite(*arguments)
        assert result.returncode == 0 and says in result.stdout, result.stderr


# --- planted maps ----------------------------------------------------------------------------------


def test_planted_images_depend_on_seed_and_number_only() -> None:
    one = PlantedMaps(n_images=40, n_units=5, n_concepts=6, shard_rows=40, seed=1)
    whole = one.shard(0)
    for rows in (1, 7, 16):
        other = replace(one, shard_rows=rows)
        alone = other.shard(39 // rows)
        for part, full in zip(alone, whole, strict=True):
            assert_array_equal(part, full[39 // rows * rows :])
    assert (replace(one, seed=2).shard(0)[0] != whole[0]).all(axis=(1, 2, 3)).all()
    assert len({one.digest(0), one.digest(1), replace(one, seed=2).digest(0)}) == 3
    with pytest.raises(EvidenceError, match="multiple"):
        replace(one, side=5)
    with pytest.raises(EvidenceError, match="at least 3 concepts"):
        replace(one, n_concepts=2)


def test_planted_units_are_high_where_their_concepts_are() -> None:
    maps = PlantedMaps(n_images=60, n_units=6, n_concepts=6, shard_rows=60)
    activations, labels = maps.shard(0)
    assert labels.max() <= 6 and labels[:, 0].any() and labels[:, 1].any()
    for unit, concepts in enumerate(maps.planted):
        there = np.isin(labels, [c + 1 for c in concepts]).any(axis=1)
        full = there.reshape(60, 7, 4, 7, 4).mean(axis=(2, 4))
        low, high = activations[:, unit][full == 0], activations[:, unit][full == 1]
        assert len(high) > 20 and high.min() > 0.5 > low.max()


def test_masks_of_0_and_1_are_not_taken_for_label_maps(tmp_path: Path) -> None:
    masks = np.random.default_rng(0).random((N, len(NAMES), 6, 6)) < 0.3
    with pytest.raises(EvidenceError, match="only 0 and 1, in 3 layers each"):
        write_maps(tmp_path / "maps", [(MAPS, masks.astype(np.uint8))], NAMES)
    assert not (tmp_path / "maps" / "header.json").exists()
    with pytest.raises(EvidenceError, match="whole numbers"):
        write_maps(tmp_path / "maps", [(MAPS, masks)], NAMES)
    numbers = masks * np.arange(1, len(NAMES) + 1)[:, None, None]
    write_maps(tmp_path / "maps", [(MAPS, numbers)], NAMES)
