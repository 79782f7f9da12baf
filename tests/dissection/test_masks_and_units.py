"""Masks packed and stored, thresholds, upsampling, and arrays at the door."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from support.runs.dissected import (
    GRID,
    MASKS,
    packed,
)
from theodolite.dissection.atoms import pack
from theodolite.dissection.dissect import dissect
from theodolite.dissection.quantiles import TopValues, ValueCounts
from theodolite.dissection.search import search
from theodolite.dissection.units import REFERENCE, mark, thresholds
from theodolite.errors import EvidenceError


def test_packing_keeps_every_mask() -> None:
    random = np.random.default_rng(0)
    layers = [random.integers(0, 6, (n, 8, 8)).astype(np.uint16) for n in (1, 3, 2)]
    scenes = [(5,), (), (0, 5)]
    atoms = pack(layers, scenes, list("abcdef"), grid=(8, 8))
    for i, (maps, scene) in enumerate(zip(layers, scenes, strict=True)):
        for c in range(6):
            expected = (maps == c + 1).any(axis=0) | (c in scene)
            assert_array_equal(atoms.mask(i, c), expected)
    assert atoms.weight.sum() == 3 * 64
    rare = atoms.without_rare(3)
    assert set(rare.concepts) == {
        n for n, k in zip("abcdef", atoms.images_with, strict=True) if k >= 3
    }
    for new, name in enumerate(rare.concepts):
        assert_array_equal(rare.mask(1, new), atoms.mask(1, "abcdef".index(name)))


@pytest.mark.parametrize(
    ("layers", "scenes", "grid", "says"),
    [
        ([np.full((1, 2, 3), 9)], [()], (2, 3), "0 to 1"),
        ([np.full((1, 2, 3), 65_537)], [()], (2, 3), "0 to 1"),
        ([np.full((1, 2, 3), -65_535)], [()], (2, 3), "0 to 1"),
        ([np.full((1, 2, 3), 0.7)], [()], (2, 3), "whole numbers"),
        ([np.zeros((1, 3, 2), int)], [()], (2, 3), "2 rows and 3 columns"),
        ([np.zeros((1, 2, 3), int)], [(), ()], (2, 3), "2, as in `scenes`"),
        ([np.zeros((1, 2, 3), int)] * 200, [()], (2, 3), "1, as in `scenes`"),
        ([np.zeros((1, 2, 3), int)], [(1,)], (2, 3), "0 to 0"),
        ([np.zeros((1, 2, 3), int)], [(-1,)], (2, 3), "0 to 0"),
        ([np.zeros((1, 2, 3), int)], [()], (5000, 5000), "16,777,216"),
    ],
)
def test_label_maps_that_cannot_be_packed(
    layers: Sequence[np.ndarray],
    scenes: Sequence[tuple[int, ...]],
    grid: tuple[int, int],
    says: str,
) -> None:
    with pytest.raises(EvidenceError, match=says):
        pack(layers, scenes, ["one"], grid=grid)


def test_rare_concepts_only_is_said() -> None:
    with pytest.raises(EvidenceError, match="Lower the minimum"):
        packed(MASKS, GRID).without_rare(9)


@given(
    seed=st.integers(0, 999),
    quantile=st.sampled_from([0.9, 0.995, REFERENCE]),
    method=st.sampled_from(["linear", "hazen"]),
)
@settings(max_examples=40)
def test_thresholds_are_numpys_quantiles(seed: int, quantile: float, method: str) -> None:
    random = np.random.default_rng(seed)
    maps = random.normal(size=(40, 3, 4, 4)).astype(np.float32)
    maps[:, 2] = np.maximum(maps[:, 2] - 3, 0)  # mostly silent
    batches = np.array_split(maps, random.integers(1, 9))
    result = thresholds(batches, 40 * 16, quantile=quantile, method=method)  # type: ignore[arg-type]
    flat = maps.transpose(1, 0, 2, 3).reshape(3, -1).astype(np.float64)
    assert_allclose(
        result, np.quantile(flat, quantile, axis=1, method=method), rtol=1e-6, atol=1e-7
    )
    shards = [TopValues(3, 70) for _ in range(3)]
    for number, batch in enumerate(batches):
        shards[number % 3].take(batch)
    merged = shards[2] + (shards[0] + shards[1])
    assert merged.seen == 640
    assert_array_equal(merged.largest(), np.sort(flat.astype(np.float32), axis=1)[:, ::-1][:, :70])


@given(seed=st.integers(0, 999), quantile=st.sampled_from([0.02, 0.5, 0.995]))
@settings(max_examples=30)
def test_binned_thresholds_are_off_by_less_than_they_say(seed: int, quantile: float) -> None:
    random = np.random.default_rng(seed)
    maps = (random.normal(size=(40, 3, 4, 4)) * 10.0 ** random.integers(-6, 6)).astype(np.float32)
    maps[:, 2] = np.maximum(maps[:, 2], 0)
    result = thresholds(np.array_split(maps, 4), 640, quantile=quantile, exact=False)
    flat = np.sort(maps.transpose(1, 0, 2, 3).reshape(3, -1).astype(np.float64), axis=1)
    expected = flat[:, int(np.floor(quantile * 639))]
    assert (np.abs(result - expected) <= np.abs(expected) * ValueCounts.relative_error).all()
    parts = [ValueCounts(3), ValueCounts(3)]
    for part, batch in zip(parts, np.array_split(maps, 2), strict=True):
        part.take(batch)
    assert_array_equal((parts[1] + parts[0]).quantile(quantile), result)


def test_upsampling_is_the_usual_one() -> None:
    """Half-pixel bilinear: the spec's example, PIL and torch, pixel by pixel."""
    torch = pytest.importorskip("torch")
    small = np.array([[0, 1], [2, 4]], np.float32)
    expected = [[0, 0.25, 0.75, 1], [0.5, 0.8125, 1.4375, 1.75], [1.5, 1.9375, 2.8125, 3.25],
                [2, 2.5, 3.5, 4]]  # fmt: skip
    nothing = pack([np.zeros((1, 4, 4), np.uint16)], [()], ["a"], grid=(4, 4))
    for limit in np.linspace(-0.01, 4.01, 41):
        units = mark(lambda a, b: small[None, None], nothing, np.array([limit]))
        assert units.sizes()[0] == (np.array(expected) > limit).sum()
    random = np.random.default_rng(0)
    for side, grid in ((7, 112), (14, 112), (13, 113)):
        maps = np.abs(random.normal(size=(6, 5, side, side))).astype(np.float32)
        limits = np.quantile(maps.transpose(1, 0, 2, 3).reshape(5, -1), 0.97, axis=1)
        # a label for each pixel, so that masks come back pixel by pixel
        label = (np.arange(grid * grid) % 200 + 1).reshape(1, grid, grid).astype(np.uint16)
        atoms = pack([label] * 6, [()] * 6, [str(c) for c in range(200)], grid=(grid, grid))
        units = mark(lambda a, b, maps=maps: maps[a:b], atoms, limits, chunk=4)  # type: ignore[misc]
        big = torch.nn.functional.interpolate(
            torch.from_numpy(maps), size=(grid, grid), mode="bilinear", align_corners=False
        ).numpy()
        by_pil = np.stack(
            [[np.asarray(Image.fromarray(one).resize((grid, grid), Image.Resampling.BILINEAR))
              for one in image] for image in maps]
        )  # fmt: skip
        for upsampled in (big, by_pil):
            above = upsampled > limits[:, None, None]
            assert_array_equal(units.sizes(), above.sum(axis=(0, 2, 3)))
            expected_counts = np.stack(
                [
                    np.bincount(np.tile(label.ravel() - 1, 6), above[:, u].ravel(), 200)
                    for u in range(5)
                ]
            )
            assert_array_equal(units.with_concepts(atoms)[0], expected_counts)


def test_masks_of_other_images() -> None:
    random = np.random.default_rng(0)
    maps = random.random((5, 2, 3, 3)).astype(np.float32)
    masks = random.random((4, 5, 36)) < 0.3
    atoms = packed(masks, (6, 6))
    other = np.array([1, 2, 3, 4, 0])
    limits = np.array([0.6, 0.7])
    dealt = mark(lambda a, b: maps[a:b], atoms, limits, images=other).by_image(atoms)
    plain = mark(lambda a, b: maps[np.argsort(other)][a:b], atoms, limits)
    assert_array_equal(dealt.with_concepts(atoms)[0], plain.with_concepts(atoms)[0])
    assert_array_equal(dealt.with_concepts(atoms)[1], plain.with_concepts(atoms)[1])
    assert search(atoms, dealt).best(1) == search(atoms, plain).best(1)


N_IMAGES = 12


def plain_arrays() -> tuple[np.ndarray, list[np.ndarray]]:
    random = np.random.default_rng(0)
    maps = [np.kron(random.integers(0, 4, (4, 4)), np.ones((2, 2), int)) for _ in range(N_IMAGES)]
    return random.random((N_IMAGES, 3, 4, 4)), maps


def test_from_arrays_to_scores() -> None:
    activations, maps = plain_arrays()
    for number, one in enumerate(maps):
        activations[number, 1] += 9 * (one[::2, ::2] == 2)
    result = dissect(activations, maps, ["a", "b", "c"], quantile=0.8)
    assert result.formulas()[1].startswith(("b", "(b"))
    assert len(result.evidence) == N_IMAGES and len(result.evidence.units) == 3
    listed = dissect(activations.tolist(), [one.tolist() for one in maps], ("a", "b", "c"),
                     quantile=0.8)  # fmt: skip
    assert listed.formulas() == result.formulas()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"activations": np.zeros((N_IMAGES, 3, 4))}, "activations"),
        ({"activations": np.zeros((3, 3, 4, 4))}, "for 12 images"),
        ({"activations": np.zeros((N_IMAGES, 0, 4, 4))}, "activations"),
        ({"activations": np.full((N_IMAGES, 3, 4, 4), np.nan)}, "NaN or infinite"),
        ({"activations": np.full((N_IMAGES, 3, 4, 4), "a")}, "numbers"),
        ({"label_maps": []}, "for each image"),
        ({"label_maps": [np.zeros(5)] * N_IMAGES}, "label map"),
        ({"concepts": []}, "distinct names"),
        ({"concepts": ["a", "a", "b"]}, "distinct names"),
        ({"concepts": "abc"}, "distinct names"),
        ({"scenes": [[0]]}, "12, one per image"),
        ({"scenes": [["a"]] * N_IMAGES}, "numbers of concepts"),
        ({"min_images": 99}, "Lower the minimum"),
        ({"quantile": 2.0}, "between 0 and 1"),
    ],
)
def test_arrays_that_cannot_be_dissected(change: dict[str, object], says: str) -> None:
    activations, maps = plain_arrays()
    given = {"activations": activations, "label_maps": maps, "concepts": ["a", "b", "c"]} | change
    with pytest.raises(EvidenceError, match=says):
        dissect(**given)  # type: ignore[arg-type]


def test_one_image_has_no_other() -> None:
    with pytest.raises(EvidenceError, match="at least two"):
        dissect(np.random.default_rng(0).random((1, 2, 4, 4)), [np.ones((4, 4), int)], ["a"])


def test_minus_zero_is_zero() -> None:
    maps = np.full((50, 1, 4, 4), -0.0, np.float32)
    maps[0, 0, 0, 0] = 1.0
    assert thresholds([maps], 800, exact=False)[0] == thresholds([maps], 800)[0] == 0.0


def overlapping_masks() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(1)
    masks = random.random((N_IMAGES, 3, 4, 4)) < 0.3
    masks = np.kron(masks, np.ones((2, 2), bool)).astype(bool)
    activations = random.random((N_IMAGES, 3, 4, 4)) + 9 * masks[:, :, ::2, ::2]
    return activations, masks


def test_masks_of_true_and_false_are_a_concept_each() -> None:
    activations, masks = overlapping_masks()
    numbers = masks * np.arange(1, 4)[:, None, None]
    names = ["a", "b", "c"]
    result, numbered = (dissect(activations, m, names, quantile=0.75) for m in (masks, numbers))
    assert result.formulas() == numbered.formulas()
    assert [formula.strip("(")[0] for formula in result.formulas()] == names
    np.testing.assert_array_equal(result.evidence.shared_pixels, numbered.evidence.shared_pixels)
    single = dissect(activations, masks[:, 1], ["b"], quantile=0.75)
    assert single.formulas()[1] == "b"


def test_masks_that_would_be_taken_for_one_concept_are_refused() -> None:
    activations, masks = overlapping_masks()
    for dtype in (np.uint8, np.int64):
        with pytest.raises(EvidenceError, match=r"masks\.astype\(bool\)"):
            dissect(activations, masks.astype(dtype), ["a", "b", "c"])
    with pytest.raises(EvidenceError, match="2 masks of true and false; needed 3, one per concept"):
        dissect(activations, masks[:, :2], ["a", "b", "c"])
    with pytest.raises(EvidenceError, match="1 masks of true and false; needed 3"):
        dissect(activations, masks[:, 0], ["a", "b", "c"])
    with pytest.raises(EvidenceError, match="bool"):
        pack(list(masks), [()] * N_IMAGES, ["a", "b", "c"], grid=(8, 8))
