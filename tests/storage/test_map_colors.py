"""Colors of maps: even steps, told apart by everybody, and where zero is."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from theodolite._storage.map_colors import (
    map_image,
    scaled_map,
    signed_colors,
    unsigned_colors,
)
from theodolite.errors import EvidenceError
from theodolite.explainers.rendering import bwr

# What people with no red, green or blue cones see (Machado, Oliveira and Fernandes 2009).
BLIND = {
    "none": np.eye(3),
    "red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998]],
    "green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
              [-0.011820, 0.042940, 0.968881]],
    "blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
             [0.004733, 0.691367, 0.303900]],
}  # fmt: skip


def linear(colors: np.ndarray) -> np.ndarray:
    c = np.asarray(colors, float) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def cielab(light: np.ndarray) -> np.ndarray:
    """Another space of even differences than the one that the colors were made in."""
    to_xyz = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750],
                       [0.0193339, 0.1191920, 0.9503041]])  # fmt: skip
    xyz = np.clip(light, 0, 1) @ to_xyz.T / [0.95047, 1.0, 1.08883]
    f = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116)
    return np.stack([116 * f[:, 1] - 16, 500 * (f[:, 0] - f[:, 1]), 200 * (f[:, 1] - f[:, 2])], 1)


def seen(colors: np.ndarray, blind: str) -> np.ndarray:
    return cielab(linear(colors) @ np.array(BLIND[blind]).T)


def unevenness(colors: np.ndarray) -> float:
    """Of steps over 16 colors: rounding is not what is looked at."""
    steps = np.linalg.norm(np.diff(cielab(linear(colors))[::15], axis=0), axis=1)
    return float(steps.std() / steps.mean())


def test_steps_look_even() -> None:
    paper = np.rint(bwr() * 255).astype(np.uint8)
    assert unevenness(signed_colors()) < 0.15
    assert unevenness(unsigned_colors()) < 0.3
    assert unevenness(paper) > 0.25
    light = cielab(linear(paper))[:, 0]
    assert abs(light[0] - light[-1]) > 15, "the published ones: blue is darker than red"


@pytest.mark.parametrize("blind", BLIND)
def test_everybody_tells_them_apart(blind: str) -> None:
    ends = seen(signed_colors(), blind)
    assert np.linalg.norm(ends[0] - ends[-1]) > 40
    middle = seen(signed_colors(), blind)[127:129].mean(axis=0)
    assert min(np.linalg.norm(ends[0] - middle), np.linalg.norm(ends[-1] - middle)) > 40
    light = seen(unsigned_colors(), blind)[:, 0]
    assert (np.diff(light[::8]) > 0).all() and light[-1] - light[0] > 70


def test_magnitudes_are_cividis() -> None:
    colormaps = pytest.importorskip("matplotlib").colormaps
    published = np.rint(colormaps["cividis"](np.arange(256))[:, :3] * 255)
    apart = np.abs(unsigned_colors() - published)
    assert apart.max() < 12 and apart.mean() < 0.6


def test_zero_is_near_white_and_both_ends_are_equally_dark() -> None:
    table = signed_colors()
    assert table[127:129].min() > 235 and np.ptp(table[127:129].astype(int), axis=1).max() < 8
    light = cielab(linear(table))[:, 0]
    assert_allclose(light[0], light[-1], atol=8)
    assert table[0].argmax() == 2 and table[-1].argmax() == 0


def test_signed_maps_keep_their_zero() -> None:
    given = np.array([[-2.0, 0.0], [1.0, 4.0]])
    result = scaled_map(given, positive=False)
    assert_allclose(result, given / np.quantile(np.abs(given), 0.99), atol=0.04)
    assert result[0, 1] == 0 and abs(result).max() == 1
    assert_array_equal(given, [[-2, 0], [1, 4]])


def test_positive_maps_begin_at_their_lowest() -> None:
    result = scaled_map(np.linspace(5, 6, 1000).reshape(20, 50), positive=True)
    assert result.min() == 0 and result.max() == 1
    assert_allclose(result[10, 0], 0.5, atol=0.02)


def test_one_pixel_does_not_hide_the_others() -> None:
    given = np.zeros((40, 40))
    given[:20] = 1.0
    given[0, 0] = 1e6
    assert_array_equal(scaled_map(given, positive=False)[:20], 1.0)
    lone = np.zeros((40, 40))
    lone[3, 4] = -7.0
    assert scaled_map(lone, positive=False)[3, 4] == -1


def test_maps_without_differences() -> None:
    assert_array_equal(scaled_map(np.zeros((3, 3)), positive=False), 0)
    assert_array_equal(scaled_map(np.full((3, 3), 8.0), positive=True), 0)
    for bad in (np.full((2, 2), np.nan), np.full((2, 2), np.inf), np.zeros((0, 2))):
        with pytest.raises(EvidenceError, match="map"):
            scaled_map(bad, positive=False)
    with pytest.raises(EvidenceError, match="map"):
        map_image(np.full((2, 2), np.nan), (4, 4), "signed")


def test_numbers_become_their_colors() -> None:
    values = np.repeat(np.array([[-1.0, 0.0, 1.0]]), 2, axis=0)
    result = np.asarray(map_image(values, (3, 2), "signed").convert("RGB"))
    table = signed_colors()
    assert_array_equal(result[0, 0], table[0])
    assert_array_equal(result[1, 2], table[-1])
    assert_allclose(result[0, 1].astype(int), table[128].astype(int), atol=2)
    ends = np.asarray(map_image(np.array([[0.0, 1.0]]), (2, 1), "unsigned").convert("RGB"))
    assert_array_equal(ends[0], unsigned_colors()[[0, -1]])
    assert map_image(values, (60, 40), "signed").size == (60, 40)
    own = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    painted = map_image(np.array([[-1.0, 1.0]]), (2, 1), "signed", own).convert("RGB")
    assert_array_equal(np.asarray(painted)[0], own)
