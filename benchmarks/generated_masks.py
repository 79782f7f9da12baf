"""Label maps and activations with realistic sizes: scenes, objects, parts and scattered colors.

Roughly the mix of ADE20K with Broden's colors: 27 % image-level scenes, 62 % objects and parts of
Zipf-like frequency, 11 % color-like concepts that are scattered over most of an image.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

GRID = 112


@dataclass(frozen=True)
class Generated:
    """A data set that is drawn image by image."""

    n_images: int = 2000
    n_concepts: int = 1093
    seed: int = 0

    @property
    def n_scenes(self) -> int:
        return round(0.27 * self.n_concepts)

    @property
    def n_colors(self) -> int:
        return max(round(0.11 * self.n_concepts), 1)

    @property
    def concepts(self) -> list[str]:
        return [f"concept {c}" for c in range(self.n_concepts)]

    def scenes(self) -> list[list[int]]:
        """One scene an image, frequent ones more often."""
        chance = 1 / np.arange(1, self.n_scenes + 1) ** 0.8
        drawn = np.random.default_rng(self.seed).choice(
            self.n_scenes, self.n_images, p=chance / chance.sum()
        )
        return [[int(scene)] for scene in drawn]

    def layers(self) -> Iterator[np.ndarray]:
        """Objects, parts on top of some of them, and colors."""
        n_objects = self.n_concepts - self.n_scenes - self.n_colors
        chance = 1 / np.arange(1, n_objects + 1) ** 0.9
        chance /= chance.sum()
        first_color = self.n_scenes + n_objects
        for image in range(self.n_images):
            random = np.random.default_rng([self.seed, image])
            maps = np.zeros((3, GRID, GRID), np.uint16)
            names = random.choice(n_objects, 18, p=chance) + self.n_scenes + 1
            height = (GRID * random.uniform(0.05, 0.9, 18) ** 1.3).astype(int) + 2
            width = (GRID * random.uniform(0.05, 0.9, 18) ** 1.3).astype(int) + 2
            top, left = random.integers(0, GRID, (2, 18))
            for k in np.argsort(-height * width):
                layer = 0 if k < 13 else 1
                maps[layer, top[k] : top[k] + height[k], left[k] : left[k] + width[k]] = names[k]
            palette = random.choice(self.n_colors, min(6, self.n_colors), replace=False)
            blocks = palette[random.integers(0, len(palette), (28, 28))] + first_color + 1
            maps[2] = np.kron(blocks, np.ones((4, 4), int))
            yield maps

    def activations(self, units: int, side: int = 7) -> np.ndarray:
        """Noise, plus for each unit the places of one to three concepts; half precision."""
        random = np.random.default_rng(self.seed + 1)
        liked = [random.choice(self.n_concepts, random.integers(1, 4)) for _ in range(units)]
        strength = np.zeros((self.n_concepts + 1, units), np.float32)
        for u, concepts in enumerate(liked):
            strength[concepts + 1, u] = random.uniform(1.0, 4.0, len(concepts))
        result = np.empty((self.n_images, units, side, side), np.float16)
        scenes = self.scenes()
        middles = ((np.arange(side) + 0.5) * GRID / side).astype(int)
        for image, maps in enumerate(self.layers()):
            noise = np.random.default_rng([self.seed + 2, image])
            signal = strength[maps[:, middles][:, :, middles]].sum(axis=0)
            signal += strength[scenes[image][0] + 1]
            drawn = noise.standard_normal((units, side, side), dtype=np.float32)
            result[image] = np.abs(drawn) * 0.7 + signal.transpose(2, 0, 1)
        return result
