"""Filling in pixels: the equations themselves, the exact solver, and ROAD's code in two libraries."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.ndimage import gaussian_filter

from support.exact_imputation import impute_pixels_exactly
from theodolite.errors import EvidenceError
from theodolite.explainers.probing.imputation import impute_pixels

seeds = st.integers(0, 2**31)


def case(
    seed: int, rows: int, columns: int, share: float, smooth: float
) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    image = (random.normal(size=(3, rows, columns)) * 2 + 1).astype(np.float32)
    relevance = random.normal(size=(rows, columns))
    relevance = gaussian_filter(relevance, smooth) if smooth else relevance
    count = min(int(share * relevance.size), relevance.size - 1)
    removed = np.zeros(relevance.size, bool)
    removed[relevance.ravel().argsort()[:count]] = True
    return image, removed.reshape(rows, columns)


@given(seeds, st.integers(1, 30), st.integers(1, 30), st.floats(0, 1), st.sampled_from([0, 1, 5]))
@settings(max_examples=150)
def test_the_kernel_solves_what_the_exact_solver_does(
    seed: int, rows: int, columns: int, share: float, smooth: float
) -> None:
    image, removed = case(seed, rows, columns, share, smooth)
    before = image.copy()
    result, exact = impute_pixels(image, removed), impute_pixels_exactly(image, removed)
    assert np.abs(result - exact).max() <= 1e-3 * np.ptp(image)
    assert_array_equal(result[:, ~removed], image[:, ~removed])
    assert_array_equal(exact[:, ~removed], image[:, ~removed])
    assert_array_equal(image, before)


@pytest.mark.parametrize("share", [0.01, 0.25, 0.49, 0.99])
@pytest.mark.parametrize("smooth", [0, 2, 40])
def test_the_kernel_at_full_size(share: float, smooth: float) -> None:
    image, removed = case(0, 224, 224, share, smooth)
    error = np.abs(impute_pixels(image, removed) - impute_pixels_exactly(image, removed)).max()
    assert error < 1e-3 * np.ptp(image)


@given(seeds, st.integers(1, 9), st.integers(1, 9), st.floats(0, 1))
def test_each_removed_pixel_is_the_mean_of_its_neighbors(
    seed: int, rows: int, columns: int, share: float
) -> None:
    image, removed = case(seed, rows, columns, share, 0)
    result = impute_pixels_exactly(image.astype(np.float64), removed)
    for r, c in np.argwhere(removed):
        total, weight = np.zeros(3), 0.0
        for i in range(max(r - 1, 0), min(r + 2, rows)):
            for j in range(max(c - 1, 0), min(c + 2, columns)):
                if (i, j) != (r, c):
                    share_of_it = 1 / 6 if i == r or j == c else 1 / 12
                    total += share_of_it * result[:, i, j]
                    weight += share_of_it
        assert_allclose(result[:, r, c], total / weight, atol=1e-9)


def test_nothing_of_a_removed_pixel_is_left() -> None:
    """Not even in the last digit, whatever it was."""
    image, removed = case(3, 40, 33, 0.6, 3)
    other = np.where(removed, 1e6, image).astype(np.float32)
    assert_array_equal(impute_pixels(image, removed), impute_pixels(other, removed))


def test_planes_and_constants_are_filled_in_without_a_seam() -> None:
    """A slope inside the image has no other solution than itself."""
    down, across = np.mgrid[:40, :50].astype(np.float32)
    image = np.stack([down, 3 - 2 * across, 0 * down + 5])
    removed = np.zeros((40, 50), bool)
    removed[4:36, 6:44] = True
    assert_allclose(impute_pixels(image, removed), image, atol=1e-3 * np.ptp(image))
    flat = np.full((3, 8, 8), 2.5, np.float32)
    removed = np.arange(64).reshape(8, 8) > 0
    assert_allclose(impute_pixels(flat, removed), flat, atol=1e-6)


def test_with_nothing_left_it_is_refused() -> None:
    with pytest.raises(EvidenceError, match="removed: got every pixel"):
        impute_pixels(np.zeros((3, 2, 2), np.float32), np.ones((2, 2), bool))
    same = impute_pixels(np.ones((3, 2, 2), np.float32), np.zeros((2, 2), bool))
    assert_array_equal(same, np.ones((3, 2, 2)))


def test_as_in_grad_cams_copy_of_road() -> None:
    torch = pytest.importorskip("torch", reason="no torch here")
    road = pytest.importorskip("pytorch_grad_cam.metrics.road", reason="no grad-cam here")
    for smooth in (0, 3):
        image, removed = case(7, 20, 20, 0.4, smooth)
        keep = torch.from_numpy((~removed).astype(np.float32))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "__array_wrap__", DeprecationWarning)
            theirs = road.NoisyLinearImputer(noise=0)(torch.from_numpy(image), keep).numpy()
        assert_allclose(impute_pixels_exactly(image, removed), theirs, atol=1e-5)
        assert_allclose(impute_pixels(image, removed), theirs, atol=1e-3 * np.ptp(image))


def test_as_in_quantus() -> None:
    functions = pytest.importorskip("quantus.functions.perturb_func", reason="no quantus here")
    for smooth in (0, 3):
        image, removed = case(8, 20, 24, 0.4, smooth)
        indices = np.flatnonzero(removed)
        theirs = functions.noisy_linear_imputation(image, indices, noise=0.0)
        assert_allclose(
            impute_pixels_exactly(image, removed), theirs.reshape(image.shape), atol=1e-5
        )
