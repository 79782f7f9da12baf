"""Images whose class is the color of one square among distractors, and a trained network.

The pixels that decide the class are known, so saliency maps can be compared with the truth.
Distractors have two channels of three, a color that is no class: neither edges nor colorful pixels
tell where the square is.
"""

from importlib.resources import as_file, files
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float32, Int64

from theodolite._storage.arrays import read_npz
from theodolite._storage.optional import require

if TYPE_CHECKING:
    import torch

SIDE, SQUARE, CLASSES, DISTRACTORS = 32, 8, 3, 3
GROUND, NOISE = 0.1, 0.15
CONTRAST, CONTRAST_NOISE = 1.5, 0.1
TRAINED, STEPS, BATCH, RATE = 1500, 220, 48, 3e-3
WEIGHTS = "shape_images.npz"
"""Weights of the network that was trained with seed 0, written by packaging/shape_images.py."""


def planted_shapes(
    n: int = 100, seed: int = 0
) -> "tuple[torch.nn.Module, torch.Tensor, torch.Tensor]":
    """Return a trained network, images and the masks of the square that decides the class.

    Args:
        n: Number of images.
        seed: Seed of the images. The network is always the same.

    >>> net, images, masks = planted_shapes(4)
    >>> tuple(images.shape), tuple(masks.shape), int(masks.sum())
    ((4, 3, 32, 32), (4, 32, 32), 256)
    """
    torch = require("torch", "planted_shapes", "explain")
    images, _, masks = draw_shapes(n, seed)
    network = make_network()
    with as_file(files("theodolite.datasets") / WEIGHTS) as path:
        weights = read_npz(path)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items()})
    return network.eval(), torch.from_numpy(images), torch.from_numpy(masks)


def draw_shapes(
    n: int, seed: int = 0
) -> tuple[Float32[np.ndarray, "n 3 32 32"], Int64[np.ndarray, " n"], Bool[np.ndarray, "n 32 32"]]:
    """Return images, their classes and the masks of the squares."""
    random = np.random.default_rng((20, seed))
    images = random.normal(GROUND, NOISE, (n, 3, SIDE, SIDE))
    classes = random.integers(CLASSES, size=n)
    masks = np.zeros((n, SIDE, SIDE), bool)
    for image, label, mask in zip(images, classes, masks, strict=True):
        for _ in range(DISTRACTORS):
            where = _draw_distractor(random)
            mixed = np.arange(CLASSES) != random.integers(CLASSES)
            color = random.choice((-1.0, 1.0)) * CONTRAST * mixed[:, None]
            image[:, where] = color + random.normal(0, CONTRAST_NOISE, where.sum())
        top, left = random.integers(SIDE - SQUARE + 1, size=2)
        mask[top : top + SQUARE, left : left + SQUARE] = True
        image[:, mask] = random.normal(0, NOISE, (3, SQUARE**2))
        image[label, mask] += 1
    return images.astype(np.float32), classes, masks


def _draw_distractor(random: np.random.Generator) -> Bool[np.ndarray, "32 32"]:
    """Return the pixels of a disc or a bar."""
    down, across = np.indices((SIDE, SIDE))
    if random.integers(2):
        middle = random.integers(3, SIDE - 3, size=2)
        radius = random.integers(6, 16)
        return np.asarray((down - middle[0]) ** 2 + (across - middle[1]) ** 2 <= radius)
    high, wide = random.permutation((3, 9))
    top, left = random.integers(SIDE - high + 1), random.integers(SIDE - wide + 1)
    inside = (down >= top) & (down < top + high) & (across >= left) & (across < left + wide)
    return np.asarray(inside)


def make_network() -> "torch.nn.Sequential":
    """Return the untrained network: three convolutions and a global maximum, 8,811 weights."""
    nn = require("torch", "planted_shapes", "explain").nn
    network: torch.nn.Sequential = nn.Sequential(
        nn.Conv2d(3, 12, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(),
        nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(),
        nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(24, CLASSES),
    )  # fmt: skip
    return network


def train_network(seed: int = 0) -> "torch.nn.Sequential":
    """Train the network from scratch, in about 9 CPU seconds."""
    torch = require("torch", "planted_shapes", "explain")
    random = np.random.default_rng((21, seed))
    images, classes, _ = draw_shapes(TRAINED, 1_000_000 + seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = make_network()
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    for _ in range(STEPS):
        rows = random.choice(TRAINED, BATCH, replace=False)
        output = network(torch.from_numpy(images[rows]))
        loss = torch.nn.functional.cross_entropy(output, torch.from_numpy(classes[rows]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval()
