"""The twelve changes: against a plain second writing, their traps, and the random state."""

import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image, ImageEnhance, ImageFilter, ImageOps

from theodolite.errors import EvidenceError
from theodolite.explainers.perturbations import PERTURBATIONS, perturb_image

torch = pytest.importorskip("torch", reason="no torch here: pip install 'theodolite[torch]'")

numbers = range(12)
RANDOM = (0, 1, 2, 4, 11)


def image(rows: int = 32, columns: int = 40, seed: int = 0) -> Image.Image:
    values = np.random.default_rng(seed).integers(0, 256, (rows, columns, 3), np.uint8)
    values = np.array(Image.fromarray(values).filter(ImageFilter.BoxBlur(1)))
    values[:4, :4] = 255  # solarizing begins at the brightest values
    return Image.fromarray(values)


def array(of: Image.Image) -> np.ndarray:
    return np.asarray(of).astype(int)


def written_again(given: Image.Image, number: int, m: float) -> Image.Image:
    """Those that draw nothing, by Pillow alone."""
    if number == 5:
        return ImageEnhance.Brightness(given).enhance(1 + 0.5 * m)
    if number == 6:
        return ImageEnhance.Color(given).enhance(1 + 2 * m)
    if number == 7:
        return ImageEnhance.Contrast(given).enhance(1 + m)
    if number == 8:
        return ImageEnhance.Sharpness(given).enhance(1 + 5 * m)
    if number == 9:
        bits = int(8 - min(8, m + 1))
        return Image.fromarray(np.asarray(given) & np.uint8(256 - 2 ** (8 - bits)))
    return ImageOps.solarize(given, 256 - min(256, 5 * m))


@pytest.mark.parametrize("number", [5, 6, 7, 8, 9, 10])
@given(m=st.floats(0, 12))
@settings(max_examples=25)
def test_fixed_changes_are_what_pillow_does(number: int, m: float) -> None:
    result = perturb_image(image(), number, magnitude=m, seed=1)
    assert_array_equal(array(result), array(written_again(image(), number, m)))


@pytest.mark.parametrize(
    ("number", "enhancer"), [(0, ImageEnhance.Brightness), (1, ImageEnhance.Contrast)]
)
@pytest.mark.parametrize("m", [0.5, 1.0, 4.0])
def test_jitter_draws_a_factor_around_one_in_both_directions(
    number: int, enhancer: type, m: float
) -> None:
    """The factor is found again by trying all of them."""
    reach = math.tanh(0.5 * m)
    factors = np.linspace(max(0, 1 - reach), 1 + reach, 401)
    tries = np.stack([array(enhancer(image()).enhance(f)) for f in factors])
    used = []
    for seed in range(30):
        result = array(perturb_image(image(), number, magnitude=m, seed=seed))
        errors = np.abs(tries - result).mean(axis=(1, 2, 3))
        assert errors.min() < 0.6
        used.append(factors[errors.argmin()])
    assert min(used) < 1 - reach / 2
    assert max(used) > 1 + reach / 2


def test_the_crop_gets_smaller_with_the_magnitude() -> None:
    """Positions as colors: the spread of what is seen is the share of the image."""
    down, across = np.mgrid[0:1:64j, 0:1:64j]
    places = np.stack([down, across, 0 * down], axis=2)
    given = Image.fromarray((255 * places).round().astype(np.uint8))
    for m in (0.5, 1.0, 3.0):
        for seed in range(5):
            seen = array(perturb_image(given, 2, magnitude=m, seed=seed))[..., :2] / 255
            share = np.prod([np.ptp(seen[..., k]) for k in range(2)])
            assert_allclose(share, 1 - math.tanh(0.3 * m), atol=0.06)


def test_blur_is_the_gaussian_of_fifteen_pixels() -> None:
    m, given = 1.0, image()
    offsets = np.arange(-7, 8)
    kernel = np.exp(-0.5 * (offsets / (2 * (m + 1e-5))) ** 2)
    kernel /= kernel.sum()
    padded = np.pad(np.asarray(given, float), ((7, 7), (7, 7), (0, 0)), mode="reflect")
    rows = sum(k * padded[i : i + 32] for i, k in enumerate(kernel))
    both = sum(k * rows[:, i : i + 40] for i, k in enumerate(kernel))
    assert np.abs(array(perturb_image(given, 3, seed=0)) - both).max() <= 1


@pytest.mark.parametrize("m", [1.0, 3.0, 10.0])
def test_perspective_moves_the_corners_and_leaves_black_behind(m: float) -> None:
    white = Image.new("RGB", (40, 32), (255, 255, 255))
    result = [array(perturb_image(white, 4, magnitude=m, seed=seed)) for seed in range(8)]
    assert all(one.shape == (32, 40, 3) for one in result)
    assert np.mean([(one == 0).mean() for one in result]) > 0.05


def test_masks_are_whole_black_rectangles() -> None:
    white = Image.new("RGB", (40, 32), (255, 255, 255))
    shares = []
    for seed in range(60):
        one = array(perturb_image(white, 11, seed=seed))
        assert set(np.unique(one)) == {0, 255}
        black = (one == 0).all(axis=2)
        rows, columns = black.any(axis=1), black.any(axis=0)
        assert_array_equal(black, rows[:, None] & columns[None])
        shares.append(black.mean())
    assert min(shares) < 0.05
    assert max(shares) > 0.5
    five = [
        (array(perturb_image(white, 11, magnitude=5.9, seed=seed)) == 0).mean()
        for seed in range(60)
    ]
    assert np.mean(five) > 2 * np.mean(shares)


def test_below_one_there_are_no_masks_and_six_bits() -> None:
    assert_array_equal(array(perturb_image(image(), 11, magnitude=0.99, seed=3)), array(image()))
    for m, bits in ((0.0, 7), (0.01, 6), (0.9, 6), (1.0, 6), (2.0, 5), (7.0, 0), (99.0, 0)):
        result = perturb_image(image(), 9, magnitude=m, seed=0)
        assert_array_equal(array(result), array(image()) >> (8 - bits) << (8 - bits))


@pytest.mark.parametrize("number", numbers)
def test_the_seed_settles_all_and_nothing_else_is_touched(number: int) -> None:
    given = image()
    before = array(given)
    states = torch.random.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()  # noqa: NPY002
    first = array(perturb_image(given, number, magnitude=2, seed=5))
    assert_array_equal(torch.random.get_rng_state(), states[0])
    assert_array_equal(np.random.get_state()[1], states[1])  # noqa: NPY002
    assert random.getstate() == states[2]
    torch.rand(1)
    assert_array_equal(array(perturb_image(given, number, magnitude=2, seed=5)), first)
    others = [array(perturb_image(given, number, magnitude=2, seed=seed)) for seed in range(6, 12)]
    assert any((other != first).any() for other in others) == (number in RANDOM)
    assert first.shape == before.shape
    assert (first != before).any()
    assert_array_equal(array(given), before)


def test_the_table_is_in_order_and_says_where_the_publication_differs() -> None:
    assert [one.number for one in PERTURBATIONS] == list(numbers)
    assert len({one.name for one in PERTURBATIONS}) == 12
    assert {one.number for one in PERTURBATIONS if one.printed} == {0, 1, 2, 5, 9, 10}


def test_what_cannot_be_changed_is_refused() -> None:
    with pytest.raises(EvidenceError, match="number: got 12; needed 0 to 11"):
        perturb_image(image(), 12, seed=0)
    with pytest.raises(EvidenceError, match="magnitude"):
        perturb_image(image(), 0, magnitude=-1.0, seed=0)
    with pytest.raises(EvidenceError, match="magnitude"):
        perturb_image(image(), 0, magnitude=math.nan, seed=0)
    with pytest.raises(EvidenceError, match="40 by 7 pixels"):
        perturb_image(image(7), 3, seed=0)
