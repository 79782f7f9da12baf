"""3dshapes(gamma): a solid in a room, six concepts that depend on each other by choice."""

from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from theodolite._storage.paths import sha256_of
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.axes import Classes, Concepts
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData
from theodolite_reproductions.datasets.hdf5 import hdf5_shape, read_hdf5_rows
from theodolite_reproductions.datasets.latent_grid import (
    Link,
    checked_gamma,
    grid,
    linked_mask,
    scaled_note,
    scaled_numbers,
    some_rows,
)

CONCEPTS = (
    "floor hue below 0.5", "wall hue below 0.5", "object hue below 0.5", "small",
    "first two shapes", "orientation below 0",
)  # fmt: skip
SIZES = (10, 10, 10, 8, 4, 15)
"""How many hues of floor, wall and object, scales, shapes and orientations there are."""
BELOW = (5, 5, 5, 4, 2, 7)
"""A concept is there if its number is below this."""
STARTS = (0.0, 0.0, 0.0, 0.75, 0.0, -30.0)
WIDTHS = (0.1, 0.1, 0.1, 0.5 / 7, 1.0, 60 / 14)
"""Value i of a number is in the file as its start plus i times its width."""
STEPS = (
    (2, 2, 2, 1, 1, 4), (1, 2, 2, 1, 1, 4), (1, 1, 2, 1, 1, 4),
    (1, 1, 1, 1, 1, 4), (1, 1, 1, 1, 1, 2), (1, 1, 1, 1, 1, 1),
)  # fmt: skip
"""For each gamma every how many values of each number are used, to keep the sets alike in size."""
DRAWN_OF = ((5, 7), (5, 7), (4, 6), (2, 3), (7, 9))
"""For each link how many values are drawn, of how many."""
SIDE = 64


def shapes3d(  # noqa: PLR0913  each open choice is an option
    path: Path | None = None,
    gamma: int = 0,
    *,
    seed: int = 0,
    task: Literal["linear", "nonlinear"] = "linear",
    concepts: Literal["all", "incomplete"] = "all",
    at_most: int | None = None,
    side: int = SIDE,
    noise: float = 0.0,
) -> BottleneckData:
    """Take 3dshapes(gamma) from the official file, as in the leakage paper.

    Args:
        path: ``3dshapes.h5`` with ``images`` and ``labels``. Images are found by their labels, so
            a file with some of the 480,000 images will do; those that it lacks are left out.
            Without a file the inputs are the six numbers of an image, each from 0 to 1.
        gamma: How many links of the chain floor, wall, object, scale, shape, orientation hold: each
            value of one goes with few, random values of the next. 0: all are independent.
        seed: Of those random values, of ``at_most`` and of the split (70 / 10 / 20 %).
        task: The label, a number below 12: (1 - c5)(2 c1 + c2) + c5 (4 c3 + 2 c4 + c6 + 4), or
            with further products of concepts, which no linear head can give.
        concepts: ``incomplete`` leaves out the third and the last, which the label needs.
        at_most: Only so many samples, drawn at random.
        side: Images are shrunk to this many pixels a side: 64, 32, 16 or 8.
        noise: Of numbers that stand in for images: the standard deviation of what is added.
    """
    if side not in (64, 32, 16, 8):
        raise EvidenceError("side", f"{side}", "64, 32, 16 or 8")
    random = np.random.default_rng(seed)
    combinations = _latents(checked_gamma(gamma, len(DRAWN_OF)), random)
    at = np.arange(len(combinations)) if path is None else _rows_in(path, combinations)
    there = at >= 0
    latents, at = combinations[there], at[there]
    rows = some_rows(len(latents), at_most, random)
    truth = latents[rows] < BELOW
    order = random.permutation(len(rows))
    train, validation, test = np.split(order, [round(0.7 * len(rows)), round(0.8 * len(rows))])
    lacking = f"The file lacks {int((~there).sum()):,} of {len(combinations):,} images."
    notes = () if there.all() else (lacking,)
    if path is None:
        inputs, notes = (
            scaled_numbers(latents[rows], SIZES, noise, random),
            (scaled_note("3dshapes", noise),),
        )
    else:
        inputs = _images(path, at[rows], side)
    data = BottleneckData(
        name=f"3dshapes({gamma}){'' if path else ' latents'}"
        + ("" if task == "linear" else f", {task}"),
        inputs=inputs,
        truth=truth,
        labels=_labels(truth, task),
        train=train,
        validation=validation,
        test=test,
        concepts=Concepts(CONCEPTS),
        classes=Classes.numbered(12),
        notes=notes,
        digests={} if path is None else {path.name: sha256_of(path)},
    )
    return data.without((CONCEPTS[2], CONCEPTS[5])) if concepts == "incomplete" else data


def _rows_in(path: Path, combinations: Int[np.ndarray, "n 6"]) -> Int[np.ndarray, " n"]:
    """The row of each image in the file; -1 where it has none."""
    at = _row_of(path)[np.ravel_multi_index(tuple(combinations.T), SIZES)]
    if (at >= 0).sum() < 20:
        got = f"{int((at >= 0).sum())} of {len(combinations):,} images"
        raise UnsafeInputError(f"3dshapes {path.name!r}", got, "at least 20 of them")
    return np.asarray(at)


def _latents(gamma: int, random: np.random.Generator) -> Int[np.ndarray, "n 6"]:
    """The combinations that are left. All links are drawn, so a larger gamma only adds some."""
    tables = [
        Link(SIZES[i], BELOW[i], SIZES[i + 1], reach, n_allowed).allowed(random)
        for i, (n_allowed, reach) in enumerate(DRAWN_OF)
    ]
    latents = grid([range(0, n, step) for n, step in zip(SIZES, STEPS[gamma], strict=True)])
    return np.asarray(latents[linked_mask(latents, tables[:gamma])])


def _labels(
    concepts: Bool[np.ndarray, "n 6"], task: Literal["linear", "nonlinear"]
) -> Int[np.ndarray, " n"]:
    c1, c2, c3, c4, c5, c6 = concepts.T.astype(np.int64)
    linear = (1 - c5) * (2 * c1 + c2) + c5 * (4 * c3 + 2 * c4 + c6 + 4)
    products = 3 * c1 * c2 * c3 + c4 * c5 * c6 + c1 * c3 * c5 - c2 * c4 * c6
    return np.asarray({"linear": linear, "nonlinear": linear - products}[task])


def _row_of(path: Path) -> Int[np.ndarray, " combinations"]:
    """The row of each combination of numbers; -1 where the file has none."""
    shape, _ = hdf5_shape(path, "labels")
    if len(shape) != 2 or shape[1] != len(SIZES) or shape[0] > np.prod(SIZES):
        needed = f"six numbers for each of at most {np.prod(SIZES):,} images"
        raise UnsafeInputError(f"labels of {path.name!r}", f"shape {shape}", needed)
    values: Float[np.ndarray, "n 6"] = np.concatenate(list(read_hdf5_rows(path, "labels")))
    position = (values.astype(np.float64) - STARTS) / WIDTHS
    known = abs(position - np.rint(position)) < 0.01  # not so for NaN
    known &= (position > -0.5) & (position < np.array(SIZES) - 0.5)
    if not known.all():
        row = int((~known).any(axis=1).argmax())
        got = f"{values[row].tolist()} in row {row}"
        raise UnsafeInputError(f"labels of {path.name!r}", got, "values of 3dshapes")
    row_of = np.full(np.prod(SIZES), -1)
    code = np.ravel_multi_index(tuple(np.rint(position).astype(np.int64).T), SIZES)
    row_of[code] = np.arange(len(values))
    return row_of


def _images(
    path: Path, rows: Int[np.ndarray, " n"], side: int
) -> UInt8[np.ndarray, "n side side 3"]:
    """Images in the order of ``rows``, each pixel the mean of those that it stands for."""
    shape, dtype = hdf5_shape(path, "images")
    if shape[1:] != (SIDE, SIDE, 3) or dtype != np.uint8 or shape[0] <= rows.max():
        got = f"{dtype} of shape {shape}"
        raise UnsafeInputError(f"images of {path.name!r}", got, "an image of 64 x 64 x 3 per label")
    order = np.argsort(rows)
    images = np.empty((len(rows), side, side, 3), np.uint8)
    done, by = 0, SIDE // side
    for piece in read_hdf5_rows(path, "images", rows[order]):
        small = piece.reshape(-1, side, by, side, by, 3).mean(axis=(2, 4)) if by > 1 else piece
        images[order[done : done + len(piece)]] = np.rint(small)
        done += len(piece)
    return images
