"""Color maps for relevance, perceptually even and readable for color-blind people."""

from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

from theodolite.errors import EvidenceError

Colors: TypeAlias = UInt8[np.ndarray, "steps 3"]
Legend: TypeAlias = Literal["signed", "unsigned"]
STEPS = 256
HIGHEST = 0.99
"""Number of values that are distinguished: one pixel must not hide all others."""

# Lightness, green to red, blue to yellow, in Oklab (Ottosson 2020).
AGAINST, NOTHING, FOR = (0.5, -0.035, -0.165), (0.97, 0.0, 0.0), (0.5, 0.155, 0.08)
CIVIDIS = (
    "00224e002d681637702e416d3f4c6c4e566c5c616e696b71767676838179928c78a09875afa471bfb06bcfbd62"
    "dfca57f0d846fee838"
)
"""Eighteen of its colors (Nunez, Anderton and Renslow 2018), evenly along it."""


def signed_colors() -> Colors:
    """Against to for: dark blue over near white to dark red, equally far from the middle."""
    return _even((AGAINST, NOTHING, FOR))


def unsigned_colors() -> Colors:
    """Nothing to most: cividis, dark blue over gray to yellow, ever lighter."""
    anchors = np.frombuffer(bytes.fromhex(CIVIDIS), np.uint8).reshape(-1, 3)
    along = np.linspace(0, len(anchors) - 1, STEPS)
    columns = [np.interp(along, np.arange(len(anchors)), column) for column in anchors.T]
    return np.asarray(np.rint(np.stack(columns, axis=1)), np.uint8)


def usual_colors(legend: Legend) -> Colors:
    """Those that a legend asks for."""
    return signed_colors() if legend == "signed" else unsigned_colors()


def scaled_map(
    relevance: Float[np.ndarray, "rows columns"], *, positive: bool
) -> Float[np.ndarray, "rows columns"]:
    """The map from -1 to 1, by its own largest values.

    A signed one keeps its zero. A ``positive`` one has none to keep: it goes from 0, at its lowest
    values, to 1. A map without any differences is 0 all over.
    """
    values = np.asarray(relevance, np.float64)
    if not values.size or not np.isfinite(values).all():
        raise EvidenceError("map", "NaN, infinity or nothing", "finite numbers")
    if positive:
        values = np.maximum(values - np.quantile(values, 1 - HIGHEST), 0.0)
    size = np.abs(values)
    top = float(np.quantile(size, HIGHEST)) or float(size.max()) or 1.0
    return np.asarray(np.clip(values / top, -1.0, 1.0))


def map_image(
    values: Float[np.ndarray, "rows columns"],
    size: tuple[int, int],
    legend: Legend,
    colors: Colors | None = None,
) -> Image.Image:
    """A map from -1 to 1 (unsigned: 0 to 1) in colors, stretched to a width and a height.

    It is an image with a palette, of at most 256 colors: its file is small.
    """
    if not np.isfinite(values).all():
        raise EvidenceError("map", "NaN or infinity", "finite numbers")
    stretched = Image.fromarray(np.asarray(values, np.float32)).resize(
        size, Image.Resampling.BILINEAR
    )
    place = np.asarray(stretched, np.float64)
    place = (place + 1) / 2 if legend == "signed" else place
    table = usual_colors(legend) if colors is None else colors
    steps = np.rint(np.clip(place, 0, 1) * (len(table) - 1)).astype(np.uint8)
    colored = Image.fromarray(steps)
    colored.putpalette(table.tobytes())
    return colored


def _even(anchors: tuple[tuple[float, float, float], ...]) -> Colors:
    """Colors along straight lines between the anchors, all steps of one length in Oklab."""
    points = np.array(anchors)
    far = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    along = np.linspace(0, far[-1], STEPS)
    lab = np.stack([np.interp(along, far, column) for column in points.T], axis=1)
    return np.asarray(np.rint(_srgb(lab) * 255), np.uint8)


def _srgb(lab: Float[np.ndarray, "colors 3"]) -> Float[np.ndarray, "colors 3"]:
    """From Oklab to red, green and blue; what no screen shows is cut off."""
    to_cones = np.array(
        [
            [1.0, 0.3963377774, 0.2158037573],
            [1.0, -0.1055613458, -0.0638541728],
            [1.0, -0.0894841775, -1.2914855480],
        ]
    )
    to_linear = np.array(
        [
            [4.0767416621, -3.3077115913, 0.2309699292],
            [-1.2684380046, 2.6097574011, -0.3413193965],
            [-0.0041960863, -0.7034186147, 1.7076147010],
        ]
    )
    linear = np.clip((lab @ to_cones.T) ** 3 @ to_linear.T, 0.0, 1.0)
    bent = 1.055 * np.power(linear, 1 / 2.4) - 0.055
    return np.asarray(np.where(linear <= 0.0031308, 12.92 * linear, bent))
