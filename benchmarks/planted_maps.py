"""Label maps of drawn shapes, and units that follow them: to any size, and the truth is known.

Everything is a pure function of the seed and the image's number, so any shard can be made alone.
"""

import hashlib
import json
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float32, UInt16

from theodolite.errors import EvidenceError

SHAPES = 3
NOISE = 0.1
Batch = tuple[
    Float32[np.ndarray, "images units height width"],
    UInt16[np.ndarray, "images 2 rows columns"],
]


@dataclass(frozen=True, kw_only=True)
class PlantedMaps:
    """Source of shards of activations and label maps, each drawn when it is read.

    Three shapes an image, of different concepts: rectangles on the first layer, a disc on the
    second. A unit is high where its concept is; every third has two, and is high where either is.

    >>> maps = PlantedMaps(n_images=5, n_units=4, n_concepts=6, shard_rows=2)
    >>> maps.planted
    ((0,), (1,), (2, 5), (3,))
    >>> [len(maps.shard(number)[0]) for number in range(3)]
    [2, 2, 1]
    """

    n_images: int
    n_units: int
    n_concepts: int
    side_of_grid: int = 28
    side: int = 7
    seed: int = 0
    shard_rows: int = 512

    def __post_init__(self) -> None:
        if self.side < 1 or self.side_of_grid % self.side or self.side_of_grid < 8:
            got = f"a grid of {self.side_of_grid} and maps of {self.side}"
            raise EvidenceError("sides", got, "a grid of at least 8, a multiple of the maps' side")
        if self.n_concepts < SHAPES or min(self.n_images, self.n_units, self.shard_rows) < 1:
            got = f"{self.n_concepts} concepts, {self.n_units} units, {self.n_images} images"
            raise EvidenceError("sizes", got, f"at least {SHAPES} concepts, and one of the others")

    def __len__(self) -> int:
        return self.n_images

    @property
    def concepts(self) -> tuple[str, ...]:
        """Their names."""
        return tuple(f"shape {c}" for c in range(self.n_concepts))

    @property
    def categories(self) -> tuple[str, ...]:
        """All are objects."""
        return ("object",) * self.n_concepts

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the label maps."""
        return (self.side_of_grid, self.side_of_grid)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Images, units, height and width of all activations."""
        return (self.n_images, self.n_units, self.side, self.side)

    @property
    def planted(self) -> tuple[tuple[int, ...], ...]:
        """The concepts that each unit follows."""
        n = self.n_concepts
        pairs = [(u % n, (u + n // 2) % n) for u in range(self.n_units)]
        return tuple(pair if u % 3 == 2 else pair[:1] for u, pair in enumerate(pairs))

    @cached_property
    def _follows(self) -> Bool[np.ndarray, "concepts units"]:
        follows = np.zeros((self.n_concepts, self.n_units), bool)
        for unit, concepts in enumerate(self.planted):
            follows[list(concepts), unit] = True
        return follows

    def digest(self, number: int) -> str:
        """Of what decides a shard."""
        text = json.dumps([asdict(self), number], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def shard(self, number: int) -> Batch:
        """Activations and label maps of some images."""
        first = number * self.shard_rows
        n = min(self.shard_rows, self.n_images - first)
        maps = np.empty((n, *self.shape[1:]), np.float32)
        labels = np.zeros((n, 2, *self.grid), np.uint16)
        for row in range(n):
            self._draw(np.random.default_rng((self.seed, first + row)), maps[row], labels[row])
        return maps, labels

    def _draw(
        self,
        random: np.random.Generator,
        maps: Float32[np.ndarray, "units height width"],
        labels: UInt16[np.ndarray, "2 rows columns"],
    ) -> None:
        """One image."""
        grid, cell = self.side_of_grid, self.side_of_grid // self.side
        random.standard_normal(out=maps, dtype=np.float32)
        maps *= NOISE
        concepts = random.choice(self.n_concepts, SHAPES, replace=False)
        sides = random.integers(grid // 5, grid // 2, (SHAPES, 2))
        corners = (random.random((SHAPES, 2)) * (grid - sides)).astype(int)
        for c, (high, wide), (top, left) in zip(concepts[1:], sides[1:], corners[1:], strict=True):
            labels[0, top : top + high, left : left + wide] = c + 1
        (radius, _), middle = sides[0] / 2, corners[0] + sides[0] / 2 - 0.5
        down, across = (np.arange(grid) - at for at in middle)
        labels[1][down[:, None] ** 2 + across**2 <= radius**2] = concepts[0] + 1
        signal = np.zeros_like(maps)
        for c in concepts:
            where = (labels == c + 1).any(axis=0)
            share = where.reshape(self.side, cell, self.side, cell).mean(axis=(1, 3), dtype="f4")
            units = self._follows[c]
            signal[units] = np.maximum(signal[units], share)
        maps += signal
