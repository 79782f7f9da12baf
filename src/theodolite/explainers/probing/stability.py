"""Measure how much saliency maps change when noise is added to images.

Used by the saliency pipeline and by ``theodolite.audit_saliency``.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.explainers.probing.pixel_removal import Images, Maps, check_image_numbers

NOISES = ("uniform", "gaussian")

Explain = Callable[
    [Float[np.ndarray, "n 3 rows columns"], Int[np.ndarray, " n"]],
    Float[np.ndarray, "n rows columns"],
]


@dataclass(frozen=True, kw_only=True)
class StabilitySettings:
    """Settings of the noise that is added to every pixel.

    Attributes:
        draws: Number of draws for each kind of noise.
        seed: Seed; together with the number of an image it determines the noise.
        noises: "uniform" lies between -radius and radius; "gaussian" has the radius as its standard
            deviation, which makes it about 1.7 times as strong.
        radius: Strength, in units of the preprocessed image (for most networks, standard deviations
            of the training images).
        batch: Number of images that are explained at once.
    """

    draws: int
    seed: int
    noises: Sequence[str] = NOISES
    radius: float = 0.2
    batch: int = 8

    def __post_init__(self) -> None:
        unknown = [noise for noise in self.noises if noise not in NOISES]
        if unknown or not self.noises:
            raise EvidenceError("noises", f"{unknown or 'none'}", f"some of {', '.join(NOISES)}")
        for name in ("draws", "batch"):
            if getattr(self, name) < 1:
                raise EvidenceError(name, f"{getattr(self, name)}", "at least 1")
        if not (np.isfinite(self.radius) and self.radius > 0):
            raise EvidenceError("radius", f"{self.radius}", "a number above 0")


@dataclass(frozen=True, eq=False)
class MapChanges:
    """Euclidean length of each map, and of its changes under noise.

    The largest change over the length is the relative max-sensitivity of Quantus; the largest
    change alone is the absolute one.
    """

    norms: Float[np.ndarray, " samples"]
    changes: Float[np.ndarray, "samples noises draws"]


def measure_map_changes(
    explain: Explain,
    images: Images,
    maps: Maps,
    *,
    targets: Int[np.ndarray, " samples"],
    settings: StabilitySettings,
    numbers: Int[np.ndarray, " samples"] | None = None,
) -> MapChanges:
    """Explain each image again under noise, for the same class, and measure the change.

    ``maps`` are the explanations of the images without noise. The same class is explained even if
    it is no longer predicted under noise. ``numbers`` are the indices of the images in the whole
    data set, so that parts of it get the same noise as the whole.
    """
    numbers = check_image_numbers(images, maps, numbers)
    shape = (len(images), len(settings.noises), settings.draws)
    changes = np.full(shape, np.nan)
    flat, each = changes.reshape(-1), shape[1] * shape[2]
    for start in range(0, flat.size, settings.batch):
        places = np.arange(start, min(start + settings.batch, flat.size))
        owner = places // each
        noisy = [
            images[i] + draw_noise(settings, images.shape[1:], int(numbers[i]), int(place % each))
            for i, place in zip(owner, places, strict=True)
        ]
        again = explain(np.stack(noisy).astype(images.dtype), targets[owner])
        flat[places] = _compute_lengths(again.astype(np.float64) - maps[owner])
    return MapChanges(_compute_lengths(maps), changes)


def draw_noise(
    settings: StabilitySettings, shape: tuple[int, ...], number: int, place: int
) -> Float[np.ndarray, "3 rows columns"]:
    """Return the noise of one image and one draw, numbered over all kinds of noise."""
    kind, draw = divmod(place, settings.draws)
    noise = settings.noises[kind]
    random = np.random.default_rng([settings.seed, number, NOISES.index(noise), draw])
    if noise == "uniform":
        return random.uniform(-settings.radius, settings.radius, shape)
    return settings.radius * random.standard_normal(shape)


def compute_chance_changes(maps: Maps, *, seed: int) -> Float[np.ndarray, " samples"]:
    """Return the distance of each map to a random other image's map: the baseline.

    NaN if there is no other image.
    """
    n = len(maps)
    if n < 2:
        return np.full(n, np.nan)
    others = (np.arange(n) + np.random.default_rng(seed).integers(1, n, n)) % n
    return _compute_lengths(maps[others].astype(np.float64) - maps)


def _compute_lengths(maps: Maps) -> Float[np.ndarray, " samples"]:
    return np.asarray(np.sqrt((maps.astype(np.float64) ** 2).sum(axis=(1, 2))))
