"""Removal of pixels: worked numbers, the printed algorithm, planted maps, and what ties do."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from support.exact_imputation import impute_pixels_exactly
from support.printed_removal import as_printed
from theodolite.errors import EvidenceError
from theodolite.explainers.probing._order import count_pixels, rank_pixels
from theodolite.explainers.probing.pixel_removal import (
    PERCENTS,
    WAYS,
    Removal,
    RemovalCurves,
    compute_removal_curves,
)

ZERO = np.zeros(3)


def scores(curves: RemovalCurves, thresholds: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Sufficiency and necessity at each threshold, from the beginnings of the curves."""
    least, most = (
        np.stack(
            [
                np.abs(curves.clean[:, None, None] - left)[..., curves.percents < t].mean(axis=-1)
                for t in thresholds
            ],
            axis=-1,
        )
        for left in (curves.least_first, curves.most_first)
    )
    return np.exp(-least), 1 - np.exp(-most)


def test_the_worked_example_to_six_digits() -> None:
    """100 pixels; the first ten make the score, and are the most relevant."""
    values = np.random.RandomState(0).uniform(size=100)
    relevance = np.concatenate([np.arange(10.0, 0, -1), np.linspace(0.5, 0.1, 90)])

    def probabilities(images: np.ndarray) -> np.ndarray:
        score = images[:, 0].reshape(len(images), 100)[:, :10].sum(axis=1)
        first = 1 / (1 + np.exp(-score))
        return np.stack([first, 1 - first], axis=1)

    thresholds = (5, 10, 20, 50, 100)
    removal = Removal(black=ZERO, seed=0, ways=["black"], percents=range(1, 100, 2), batch=7)
    images = np.broadcast_to(values.reshape(1, 1, 10, 10), (1, 3, 10, 10)).copy()
    maps, targets = relevance.reshape(1, 10, 10), np.array([0])
    curves = compute_removal_curves(probabilities, images, maps, targets=targets, removal=removal)
    suf, nec = (value[0, 0] for value in scores(curves, thresholds))
    assert_allclose(curves.clean, [0.997887], atol=5e-7)
    assert_allclose(suf, [1, 1, 1, 1, 0.988714], atol=5e-7)
    assert_allclose(nec, [0.006446, 0.102914, 0.261582, 0.342973, 0.368059], atol=5e-7)
    harmonic = 2 * suf.max() * nec.max() / (suf.max() + nec.max())
    assert_allclose(harmonic, 0.538075, atol=5e-7)
    printed = as_printed(
        probabilities, images, maps, targets=targets, removal=removal, thresholds=thresholds
    )
    assert_allclose(printed.sufficiency[0, 0], suf, rtol=1e-13)
    assert_allclose(printed.necessity[0, 0], nec, rtol=1e-10)
    # two directions, one forward for the whole image: 92 and 50 steps
    assert (printed.forwards, curves.forwards) == (2 * 92 + 1, 2 * 50 + 1)


def network(seed: int, pixels: int, classes: int = 4):
    """A layer of hidden units, each image by itself, so that batches cannot matter."""
    random = np.random.default_rng(seed)
    first = random.normal(size=(3 * pixels, 8)) / np.sqrt(3 * pixels)
    second = random.normal(size=(8, classes))
    calls: list[int] = []

    def probabilities(images: np.ndarray) -> np.ndarray:
        calls.append(len(images))
        rows = [np.tanh(one.reshape(-1).astype(np.float64) @ first) @ second for one in images]
        powers = np.exp(np.array(rows))
        return powers / powers.sum(axis=1, keepdims=True)

    return probabilities, calls


def sample(seed: int, n: int = 2, side: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    images = random.normal(size=(n, 3, side, side)).astype(np.float32)
    maps = random.integers(-3, 4, (n, side, side)) + 0.0  # many ties
    return images, maps, random.integers(0, 4, n)


@pytest.mark.parametrize(("seed", "batch"), [(0, 1), (1, 7), (2, 64)])
def test_curves_hold_what_the_printed_algorithm_computes(seed: int, batch: int) -> None:
    images, maps, targets = sample(seed)
    probabilities, calls = network(seed, 144)
    removal = Removal(black=ZERO - 1, seed=seed, batch=batch)
    curves = compute_removal_curves(probabilities, images, maps, targets=targets, removal=removal)
    changed = len(calls)
    assert calls[:-1] == [batch] * (changed - 1)  # full batches
    assert sum(calls) == curves.forwards == 2 * (1 + 2 * len(WAYS) * len(PERCENTS))
    thresholds = (5, 30, 50)
    printed = as_printed(
        probabilities, images, maps, targets=targets, removal=removal, thresholds=thresholds
    )
    suf, nec = scores(curves, thresholds)
    assert_allclose(printed.sufficiency, suf, rtol=1e-13)
    assert_allclose(printed.necessity, nec, rtol=1e-10)
    assert sum(calls[changed:]) == printed.forwards == 2 * (1 + 2 * len(WAYS) * (2 + 15 + 25))


def test_the_kernel_and_the_exact_solver_give_the_same_scores() -> None:
    images, maps, targets = sample(0, n=3, side=24)
    probabilities, _ = network(0, 576)
    fast, exact = (
        compute_removal_curves(
            probabilities, images, maps, targets=targets,
            removal=Removal(black=ZERO, seed=0, ways=["road"], **how),
        )
        for how in ({}, {"impute": impute_pixels_exactly})
    )  # fmt: skip
    assert_allclose(fast.least_first, exact.least_first, atol=1e-4)
    assert_allclose(fast.most_first, exact.most_first, atol=1e-4)
    assert (fast.most_first != fast.clean[:, None, None]).any()


def recorded(
    removal: Removal, image: np.ndarray, relevance: np.ndarray, **given: object
) -> np.ndarray:
    """All images that the network sees, by direction, way and step."""
    seen = []

    def probabilities(images: np.ndarray) -> np.ndarray:
        seen.extend(images)
        return np.ones((len(images), 1))

    compute_removal_curves(
        probabilities,
        image[None],
        relevance[None],
        targets=np.array([0]),
        removal=removal,
        **given,
    )
    assert_array_equal(seen[0], image)
    return np.stack(seen[1:]).reshape(2, len(removal.ways), len(removal.percents), *image.shape)


def test_what_is_removed_and_what_is_put_in_its_place() -> None:
    random = np.random.default_rng(1)
    image = random.normal(2, 3, (3, 20, 30)).astype(np.float32)
    relevance = random.normal(size=(20, 30))
    black = np.array([-7.0, -8.0, -9.0])
    removal = Removal(black=black, seed=3, percents=(1, 10, 50, 90))
    seen = recorded(removal, image, relevance)
    order = relevance.ravel().argsort()
    for direction, ranked in enumerate((order, order[::-1])):
        for step, count in enumerate((6, 60, 300, 540)):
            gone = np.zeros(600, bool)
            gone[ranked[:count]] = True
            gone = gone.reshape(20, 30)
            for way in range(4):
                assert_array_equal((seen[direction, way, step] != image).all(axis=0), gone)
            assert_array_equal(seen[direction, 1, step][:, gone], np.tile(black[:, None], count))
            road = seen[direction, 0, step] - impute_pixels_exactly(image, gone)
            assert np.abs(road).max() < 0.05
            if count > 200:
                assert_allclose(road[:, gone].std(), 0.01, rtol=0.15)
                for k in range(3):
                    uniform, normal = (seen[direction, way, step][k][gone] for way in (2, 3))
                    low, high = image[k].min(), image[k].max()
                    assert low <= uniform.min() and uniform.max() <= high
                    assert_allclose(uniform.mean(), (low + high) / 2, atol=0.2 * image.std())
                    assert_allclose(uniform.std(), (high - low) / 12**0.5, rtol=0.1)
                    assert_allclose(normal.mean(), image[k].mean(), atol=0.2 * image.std())
                    assert_allclose(normal.std(), image[k].std(), rtol=0.15)
    for way in (2, 3):  # one field for all steps and both directions
        last = seen[0, way, 3]
        for direction, step in np.ndindex(2, 4):
            both = (seen[direction, way, step] != image) & (last != image)
            assert_array_equal(seen[direction, way, step][both], last[both])


@given(n=st.integers(1, 300), percents=st.lists(st.floats(0.01, 100), min_size=1, max_size=5))
def test_counts_are_the_nearest_with_halves_up_and_never_none(
    n: int, percents: list[float]
) -> None:
    for percent, count in zip(percents, count_pixels(percents, n), strict=True):
        assert 1 <= count <= n
        assert count == 1 or abs(count - percent * n / 100) <= 0.5 + 1e-9
    assert_array_equal(count_pixels((0.1, 12.5, 13.5, 49, 100), 100), [1, 13, 14, 49, 100])


def test_ties_are_in_no_order_of_position() -> None:
    """A constant map removes pixels from everywhere, other ones for another seed."""
    constant = np.zeros((20, 20))
    one, two = (rank_pixels(constant, np.random.default_rng(seed)) for seed in range(2))
    for place in (one, two):
        assert_array_equal(np.sort(place.ravel()), np.arange(400))
        assert abs(np.corrcoef(place.ravel(), np.arange(400))[0, 1]) < 0.2
        assert 40 < (place[:10] < 100).sum() * 2 - 0 < 160
    assert (one != two).mean() > 0.9
    halves = rank_pixels(
        np.repeat([[1.0], [0.0]], 10, axis=0) * np.ones((1, 20)), np.random.default_rng(0)
    )
    assert halves[10:].max() == 199


def test_a_perfect_and_a_worst_map() -> None:
    """The network looks at one corner; a map of that corner, and its opposite."""

    def probabilities(images: np.ndarray) -> np.ndarray:
        seen = images[:, :, :4, :4].mean(axis=(1, 2, 3))
        first = 1 / (1 + np.exp(-8 * seen))
        return np.stack([first, 1 - first], axis=1)

    image = np.ones((1, 3, 16, 16), np.float32)
    corner = np.zeros((1, 16, 16))
    corner[0, :4, :4] = 1
    removal = Removal(black=ZERO - 1, seed=0, ways=["black"])
    best, worst = (
        compute_removal_curves(probabilities, image, one, targets=np.array([0]), removal=removal)
        for one in (corner, -corner)
    )
    assert_array_equal(best.least_first, np.broadcast_to(best.clean[0], (1, 1, 25)))
    assert best.most_first[0, 0, 3] < 0.01  # 7 % of 256 are all sixteen
    assert_array_equal(best.least_first, worst.most_first)
    assert_allclose(worst.least_first[0, 0, 3:], best.most_first[0, 0, 3:])


def test_parts_give_what_the_whole_does_and_inputs_stay() -> None:
    images, maps, targets = sample(5, n=4)
    copies = images.copy(), maps.copy(), targets.copy()
    probabilities, _ = network(5, 144)
    removal = Removal(black=ZERO, seed=9, percents=(3, 20))
    whole = compute_removal_curves(probabilities, images, maps, targets=targets, removal=removal)
    part = slice(2, 4)
    again = compute_removal_curves(
        probabilities, images[part], maps[part], targets=targets[part], removal=removal,
        numbers=np.array([2, 3]),
    )  # fmt: skip
    assert_array_equal(whole.clean[part], again.clean)
    assert_array_equal(whole.least_first[part], again.least_first)
    assert_array_equal(whole.most_first[part], again.most_first)
    other = compute_removal_curves(
        probabilities, images, maps, targets=targets,
        removal=Removal(black=ZERO, seed=10, percents=(3, 20)),
    )  # fmt: skip
    assert (other.most_first != whole.most_first).any()
    for now, before in zip((images, maps, targets), copies, strict=True):
        assert_array_equal(now, before)


def test_no_images_give_no_curves() -> None:
    images, maps, targets = sample(0, n=0)
    result = compute_removal_curves(
        network(0, 144)[0], images, maps, targets=targets, removal=Removal(black=ZERO, seed=0)
    )
    assert result.forwards == 0
    assert result.least_first.shape == (0, 4, 25)


def test_what_cannot_be_removed_is_refused() -> None:
    images, maps, targets = sample(0)
    probabilities, _ = network(0, 144)
    with pytest.raises(EvidenceError, match=r"ways: got .*'white'"):
        Removal(black=ZERO, seed=0, ways=["white"])
    with pytest.raises(EvidenceError, match="ways: got none"):
        Removal(black=ZERO, seed=0, ways=[])
    for percents in ((), (0,), (101,), (np.nan,)):
        with pytest.raises(EvidenceError, match="percents"):
            Removal(black=ZERO, seed=0, percents=percents)
    with pytest.raises(EvidenceError, match="batch"):
        Removal(black=ZERO, seed=0, batch=0)
    settings = Removal(black=ZERO, seed=0, percents=(100,))
    with pytest.raises(EvidenceError, match="every pixel"):
        compute_removal_curves(probabilities, images, maps, targets=targets, removal=settings)
    maps[1, 0, 0] = np.nan
    with pytest.raises(EvidenceError, match="maps: got NaN or infinity in 1 samples"):
        compute_removal_curves(probabilities, images, maps, targets=targets, removal=settings)
    with pytest.raises(EvidenceError, match="thresholds"):
        as_printed(probabilities, images, maps, targets=targets, removal=settings, thresholds=(1,))
