"""dSprites: images against genuine ones, the chain of concepts, and the published faults."""

import zipfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from theodolite._storage.arrays import read_npz
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_reproductions.datasets.dsprites import _labels, _latents, dsprites
from theodolite_reproductions.datasets.dsprites_images import dsprites_images
from theodolite_reproductions.datasets.npz_rows import read_npz_rows

SIZES = (3, 6, 40, 32, 32)
BELOW = (2, 3, 20, 16, 16)
# of each link: how many values, of those from the first on, of those up to the last
LINKS = ((3, range(4), range(2, 6)), (20, range(30), range(10, 40)),
         (16, range(20), range(12, 32)), (16, range(20), range(12, 32)))  # fmt: skip


def latents(gamma: int, form: str = "mended", seed: int = 0) -> np.ndarray:
    return _latents(gamma, form, np.random.default_rng(seed))


def test_images_agree_with_genuine_ones(shared_data: Path) -> None:
    genuine = read_npz(shared_data / "dsprites" / "real_frames.npz")
    true = np.unpackbits(genuine["samples"]).reshape(-1, 64, 64)
    drawn = dsprites_images(genuine["samples_latents"][:, 1:].astype(np.int64))
    exact = (drawn == true).all(axis=(1, 2))
    overlap = (drawn & true).sum(axis=(1, 2)) / (drawn | true).sum(axis=(1, 2))
    assert exact.sum() == 90
    assert overlap.mean() > 0.9988 and overlap.min() > 0.94


T = np.linspace(0, 2 * np.pi, 2001)
HEART_X = 9.595 * np.sin(T) ** 3
HEART_Y = 13 * np.cos(T) - 5 * np.cos(2 * T) - 2 * np.cos(3 * T) - np.cos(4 * T)
HEART_Y = -0.662 * HEART_Y - 1.435


def in_heart(u: float, v: float) -> bool:
    """Whether a ray from the place crosses the outline an odd number of times."""
    x, y = HEART_X, HEART_Y
    above = np.greater(y, v)
    at = np.flatnonzero(above[1:] != above[:-1])
    share = (v - y[at]) / (y[at + 1] - y[at])
    return int((x[at] + share * (x[at + 1] - x[at]) > u).sum()) % 2 == 1


def naive(shape: int, scale: int, rotation: int, column: int, row: int) -> np.ndarray:
    """Pixel by pixel; the heart as a polygon with many corners."""
    image = np.zeros((64, 64), np.uint8)
    angle, size = 2 * np.pi * rotation / 39, 0.5 + scale / 10
    for j in range(64):
        for i in range(64):
            x, y = i - 15.5 - 32 * column / 31, j - 15.5 - 32 * row / 31
            u = (np.cos(angle) * x - np.sin(angle) * y) / size
            v = (np.sin(angle) * x + np.cos(angle) * y) / size
            if shape == 0:
                image[j, i] = max(abs(u), abs(v)) <= 9.6 + 1e-6
            elif shape == 1:
                image[j, i] = (u / 12.7675) ** 2 + (v / 7.2125) ** 2 <= 1 + 1e-6
            else:
                image[j, i] = in_heart(u, v)
    return image


def test_images_are_what_the_definition_says() -> None:
    random = np.random.default_rng(0)
    some = np.stack([random.integers(0, n, 9) for n in SIZES], axis=1)
    some[:, 0] = np.arange(9) % 3
    some[:3, 1:] = (5, 5, 31, 31)  # as far into the corner as they get
    expected = np.stack([naive(*map(int, row)) for row in some])
    assert (dsprites_images(some) != expected).sum() <= 1, "the polygon has straight sides"


def test_images_do_not_depend_on_their_neighbors() -> None:
    rows = latents(0)[::11]
    together = dsprites_images(rows)
    assert (dsprites_images(rows[::-1])[::-1] == together).all()
    assert (dsprites_images(rows.astype(np.int8)) == together).all(), "no overflow"
    assert dsprites_images(rows[:0]).shape == (0, 64, 64)
    for wrong in ([3, 0, 0, 0, 0], [0, 0, 0, 0, 32], [0, -1, 0, 0, 0]):
        with pytest.raises(EvidenceError, match="latents of dSprites"):
            dsprites_images(np.array([wrong]))


def test_without_links_every_combination_is_there() -> None:
    data = dsprites()
    assert len(data) == 3 * 3 * 10 * 16 * 16 == 23_040
    assert [len(rows) for rows in (data.train, data.validation, data.test)] == [16128, 2304, 4608]
    assert data.inputs.shape == (23_040, 64, 64) and data.inputs.max() == 1
    assert data.told_by_concepts() == 1
    assert sorted(set(data.labels.tolist())) == list(range(8))
    assert "Re-rendered" in data.notes[0]
    incomplete = data.without(data.concepts.names[3:])
    assert incomplete.told_by_concepts() == pytest.approx(0.75), "the paper prints 0.749"
    result = np.corrcoef(data.truth.T)
    assert abs(result - np.eye(5)).max() < 1e-12, "independent concepts"


@pytest.mark.parametrize("gamma", [1, 2, 3, 4])
def test_links_tie_each_number_to_the_next(gamma: int) -> None:
    chosen = latents(gamma)
    assert 18_000 < len(chosen) < 28_000
    result = np.corrcoef((chosen < BELOW).T)
    for i, (drawn, lower, upper) in enumerate(LINKS):
        if i >= gamma:
            assert abs(result[i, i + 1]) < 0.1
            continue
        assert result[i, i + 1] > 0.15
        for low, wanted in ((True, lower), (False, upper)):
            seen = set()
            for parent in np.unique(chosen[(chosen[:, i] < BELOW[i]) == low, i]):
                children = set(chosen[chosen[:, i] == parent, i + 1].tolist())
                assert len(children) <= drawn and children <= set(wanted)
                seen |= children
            if gamma == 4 and i > 1:  # the whole grid is there, and many parents
                assert len(children) == drawn and seen == set(wanted)


def test_a_larger_gamma_keeps_the_links_of_a_smaller_one() -> None:
    for small, large in pairwise(range(5)):
        for i in range(small):
            few, many = (set(map(tuple, latents(g)[:, i : i + 2].tolist())) for g in (small, large))
            assert few <= many, "the same pairs, on a finer grid"


@pytest.mark.parametrize("task", ["linear", "nonlinear"])
@pytest.mark.parametrize("gamma", [0, 1, 4])
def test_mended_labels_follow_from_the_concepts(gamma: int, task: str) -> None:
    data = dsprites(gamma, task=task, at_most=3000)
    c1, c2, c3, c4, c5 = data.truth.T.astype(int)
    y = (1 - c1) * (2 * c4 + c5 + 4) + c1 * (2 * c2 + c3)
    if task == "nonlinear":
        y = y - (1 - c1) * c3 * c4 - c1 * (c2 * c5 + c3 * c5 + c2 * c4)
    assert (data.labels == y).all() and set(y.tolist()) <= set(range(8))
    assert len(data) == 3000


def test_the_published_link_loses_the_hearts_or_ignores_them() -> None:
    """Fault (i): a heart is asked whether its own number, 2, is among three of the scales 2 to 5."""
    kept = []
    for seed in range(60):
        chosen = latents(1, "reference", seed)
        scales = np.unique(chosen[chosen[:, 0] == 2, 1])
        assert len(scales) in (0, 6), "all or nothing, whatever the scale"
        kept.append(len(scales) > 0)
        mended = latents(1, "mended", seed)
        assert len(np.unique(mended[mended[:, 0] == 2, 1])) == 3
        other = chosen[:, 0] < 2
        assert (chosen[other] == mended[mended[:, 0] < 2]).all(), "the other shapes are the same"
    assert 0.75 - 4 * np.sqrt(0.75 * 0.25 / 60) < np.mean(kept) < 1


def test_published_labels_contradict_the_concepts() -> None:
    """Fault (iii): labels split columns and rows at 15, concepts at 16."""
    seed = next(s for s in range(20) if (latents(4, "reference", s)[:, 0] == 2).any())
    assert dsprites(0, form="reference", at_most=2000).told_by_concepts() == 1, "even numbers only"
    data = dsprites(4, form="reference", seed=seed)
    chosen = latents(4, "reference", seed)
    contradicting = data.labels != _labels(data.truth, "linear")
    at_15 = (chosen[:, 3] == 15) | (chosen[:, 4] == 15)
    assert (contradicting == (at_15 & (chosen[:, 0] == 2))).all(), "only hearts have a place"
    assert 0.02 < contradicting.mean() < 0.09
    assert f"{100 * contradicting.mean():.2f} % of the labels" in data.notes[-1]


def test_without_hearts_published_concepts_split_the_scales_elsewhere() -> None:
    """No heart, so scales 0 to 3 at most: concepts split those in half, labels at 3."""
    shares = {}
    for seed in range(60):
        chosen = latents(1, "reference", seed)
        if (chosen[:, 0] == 2).any():
            continue
        scales = np.unique(chosen[:, 1])
        small = scales[: -(-len(scales) // 2)]
        shares[seed] = ((chosen[:, 1] < 3) != np.isin(chosen[:, 1], small)).mean()
    assert min(shares.values()) == 0, "it depends on the draw"
    seed = max(shares, key=lambda s: shares[s])
    data = dsprites(1, form="reference", seed=seed)
    assert (data.labels != _labels(data.truth, "linear")).mean() == shares[seed] == 1 / 3
    assert "no hearts, and 33.33 % of the labels" in data.notes[-1] and data.truth[:, 0].all()
    assert dict(data.summary())["classes"].startswith("8, 4")


def test_the_seed_decides_and_nothing_else() -> None:
    first, again = (dsprites(2, at_most=500) for _ in range(2))
    assert (first.inputs == again.inputs).all() and (first.test == again.test).all()
    other = dsprites(2, seed=88, at_most=500)
    assert (first.inputs != other.inputs).any()
    with pytest.raises(EvidenceError, match=r"to 4 .the whole chain"):
        dsprites(5)
    with pytest.raises(EvidenceError, match="at least 20"):
        dsprites(at_most=3)


def official(path: Path, rows: np.ndarray, *, marked: int = 0) -> Path:
    """A file like the official one: pickled metadata, rows in another order."""
    order = np.random.default_rng(0).permutation(len(rows))
    images = dsprites_images(rows)
    images[:, 0, :5] = np.arange(len(rows))[:, None] >> np.arange(5) & 1  # tells them apart
    arrays = {
        "metadata": np.array({"title": "x"}, object),
        "imgs": images[order] + np.uint8(marked),
        "latents_classes": np.column_stack([np.zeros(len(rows), int), rows])[order],
    }
    np.savez_compressed(path, **arrays)
    return path


def test_images_of_the_official_file(tmp_path: Path) -> None:
    chosen = latents(0)[:: 23_040 // 300]
    path = official(tmp_path / "dsprites.npz", chosen)
    with pytest.raises(UnsafeInputError, match="Python objects"):
        read_npz(path)
    with pytest.raises(UnsafeInputError, match="images missing"):
        dsprites(official=path)
    random = np.random.default_rng(87)
    drawn = _latents(0, "mended", random)
    rows = np.sort(random.choice(len(drawn), 64, replace=False))
    data = dsprites(at_most=64, official=official(path, drawn[rows]))
    plain = dsprites(at_most=64)
    assert (data.inputs[:, 1:] == plain.inputs[:, 1:]).all()
    marks = (data.inputs[:, 0, :5] << np.arange(5)).sum(axis=1)
    assert (marks == np.arange(64) % 32).all(), "each image has its own latents"
    assert list(data.digests) == ["dsprites.npz"] and data.name == "dSprites(0)"
    with pytest.raises(UnsafeInputError, match="0 and 1"):
        dsprites(at_most=64, official=official(path, drawn[rows], marked=1))


def test_rows_of_an_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, content = tmp_path / "a.npz", np.arange(5000).reshape(1000, 5)
    objects = np.array([{}], object)
    np.savez(path, good=content, columns=np.asfortranarray(content), one=np.float64(3), bad=objects)
    monkeypatch.setattr("theodolite_reproductions.datasets.npz_rows.BLOCK_BYTES", 400)
    assert (read_npz_rows(path, "good") == content).all()
    for rows in ([], [0], [999], [3, 4, 500, 998]):
        assert (read_npz_rows(path, "good", np.array(rows, int)) == content[rows]).all()
    for rows in ([1000], [-1], [3, 3], [4, 3]):
        with pytest.raises(UnsafeInputError, match="ascending"):
            read_npz_rows(path, "good", np.array(rows))
    for name, says in (("columns", "C order"), ("one", "C order"), ("bad", "Python objects"),
                       ("absent", "one array 'absent'")):  # fmt: skip
        with pytest.raises(UnsafeInputError, match=says):
            read_npz_rows(path, name)
    monkeypatch.setenv("THEODOLITE_MOST_MEMORY", "1000")
    with pytest.raises(UnsafeInputError, match="at most 1,000 "):
        read_npz_rows(path, "good")


def test_an_archive_that_lies_about_its_length(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.save(tmp_path / "a.npy", np.arange(100))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.npy", (tmp_path / "a.npy").read_bytes()[:-80])
    with pytest.raises(UnsafeInputError, match="it is cut off"):
        read_npz_rows(path, "a")
    path.write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(UnsafeInputError, match="broken archive"):
        read_npz_rows(path, "a")
