"""Re-rendered dSprites(gamma): images of one shape whose concepts depend by choice."""

from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from theodolite._storage.paths import sha256_of
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Classes, Concepts
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData
from theodolite_reproductions.datasets.dsprites_images import SIDE, SIZES, dsprites_images
from theodolite_reproductions.datasets.latent_grid import (
    Link,
    checked_gamma,
    grid,
    linked_mask,
    scaled_note,
    scaled_numbers,
    some_rows,
)
from theodolite_reproductions.datasets.npz_rows import read_npz_rows

Form = Literal["mended", "reference"]

CONCEPTS = ("square or ellipse", "small", "turned by less than half", "on the left", "at the top")
BELOW = (2, 3, 20, 16, 16)
"""A concept is there if its number (shape, scale, rotation, column, row) is below this."""
BELOW_AS_PUBLISHED = (2, 3, 20, 15, 15)
"""What the published generator asks for labels and links, though not for concepts."""
STEPS = ((1, 2, 4, 2, 2), (1, 1, 4, 2, 2), (1, 1, 2, 2, 2), (1, 1, 2, 1, 2), (1, 1, 2, 1, 1))
"""For each gamma every how many values of each number are used, to keep the sets alike in size."""
DRAWN_OF = ((3, 4), (20, 30), (16, 20), (16, 20))
"""For each link how many values are drawn, of how many."""
HEART = 2
PUBLISHED_SPLIT = 42

RENDERED = (
    "Re-rendered dSprites, not the official file: of 100 genuine images our drawing had 90 "
    "exactly right."
)
ROTATION = (
    "A square or an ellipse looks almost the same when turned by half: there, that concept can be "
    "told only by knowing the few angles that occur."
)


def dsprites(  # noqa: PLR0913  each open choice is an option
    gamma: int = 0,
    *,
    seed: int = 87,
    task: Literal["linear", "nonlinear"] = "linear",
    concepts: Literal["all", "incomplete"] = "all",
    form: Form = "mended",
    at_most: int | None = None,
    official: Path | None = None,
    inputs: Literal["images", "numbers"] = "images",
) -> BottleneckData:
    """Make dSprites(gamma), one of the image data sets of the leakage paper.

    Args:
        gamma: How many links of the chain shape, scale, rotation, column, row hold: each value of
            one goes with few, random values of the next. 0: all are independent.
        seed: Of those random values and of ``at_most``. The split (70 / 10 / 20 %) is the published
            one whatever the seed.
        task: The label, a number below 8: (1 - c1)(2 c4 + c5 + 4) + c1 (2 c2 + c3), or with
            further products of concepts, which no linear head can give.
        concepts: ``incomplete`` leaves out the last two, which the label needs.
        form: ``reference`` keeps two faults of the published generator. It keeps all hearts or
            drops all, where the link to their scale should hold; and for labels it splits columns
            and rows at 15, for concepts at half of the values that occur.
        at_most: Only so many samples, drawn at random.
        official: The official ``dsprites_ndarray_...npz``: its images are taken, not drawn anew.
        inputs: ``numbers`` gives the five numbers, each from 0 to 1, in place of images: enough
            for heads, which see concepts only.
    """
    random = np.random.default_rng(seed)
    latents = _latents(checked_gamma(gamma, len(DRAWN_OF)), form, random)
    below = {"mended": BELOW, "reference": BELOW_AS_PUBLISHED}[form]
    truth = latents < BELOW if form == "mended" else _lower_half(latents)
    labels = _labels(latents < below, task)
    rows = some_rows(len(latents), at_most, random)
    latents, truth, labels = latents[rows], truth[rows], labels[rows]
    train, validation, test = _split(len(rows))
    suffix = "".join(
        f", {word}" for word in (task, form) if word not in ("linear", "mended")
    )  # names say what is unusual
    drawn_anew = official is None and inputs == "images"
    data = BottleneckData(
        name=f"dSprites({gamma}){' re-rendered' if drawn_anew else ''}{suffix}",
        inputs=_inputs(latents, inputs, official),
        truth=truth,
        labels=labels,
        train=train,
        validation=validation,
        test=test,
        concepts=Concepts(CONCEPTS),
        classes=Classes.numbered(8),
        notes=(
            *((RENDERED,) if drawn_anew else ()),
            *((ROTATION,) if inputs == "images" else (scaled_note("dSprites"),)),
            *(() if form == "mended" else (_faults(latents, labels != _labels(truth, task)),)),
        ),
        digests={official.name: sha256_of(official)} if official else {},
    )
    return data.without(CONCEPTS[3:]) if concepts == "incomplete" else data


def _inputs(
    latents: Int[np.ndarray, "n 5"], inputs: Literal["images", "numbers"], official: Path | None
) -> UInt8[np.ndarray, "n 64 64"] | Float[np.ndarray, "n 5"]:
    if inputs == "numbers":
        return scaled_numbers(latents, SIZES)
    return dsprites_images(latents) if official is None else _official(official, latents)


def _latents(gamma: int, form: Form, random: np.random.Generator) -> Int[np.ndarray, "n 5"]:
    """The combinations that are left. All links are drawn, so a larger gamma only adds some."""
    below = BELOW if form == "mended" else BELOW_AS_PUBLISHED
    tables = [
        Link(SIZES[i], below[i], SIZES[i + 1], reach, n_allowed).allowed(random)
        for i, (n_allowed, reach) in enumerate(DRAWN_OF)
    ]
    if form == "reference":  # it asks whether the heart's own number is among the scales
        tables[0][HEART] = tables[0][HEART, HEART]
    latents = grid([range(0, n, step) for n, step in zip(SIZES, STEPS[gamma], strict=True)])
    return np.asarray(latents[linked_mask(latents, tables[:gamma])])


def _lower_half(latents: Int[np.ndarray, "n 5"]) -> Bool[np.ndarray, "n 5"]:
    """Concepts as published: a number counts among those that occur, below half of how many."""
    columns = [latents[:, 0] < HEART]
    for i in range(1, latents.shape[1]):
        values, rank = np.unique(latents[:, i], return_inverse=True)
        columns.append(rank < (len(values) / 2 if i < 3 else len(values) // 2))
    return np.stack(columns, axis=1)


def _labels(
    concepts: Bool[np.ndarray, "n 5"], task: Literal["linear", "nonlinear"]
) -> Int[np.ndarray, " n"]:
    c1, c2, c3, c4, c5 = concepts.T.astype(np.int64)
    linear = (1 - c1) * (2 * c4 + c5 + 4) + c1 * (2 * c2 + c3)
    products = (1 - c1) * c3 * c4 + c1 * (c2 * c5 + c3 * c5 + c2 * c4)
    return np.asarray({"linear": linear, "nonlinear": linear - products}[task])


def _faults(latents: Int[np.ndarray, "n 5"], contradicting: Bool[np.ndarray, " n"]) -> str:
    hearts = "hearts of every scale" if (latents[:, 0] == HEART).any() else "no hearts"
    return (
        f"As the published generator makes it: {hearts}, and {100 * contradicting.mean():.2f} % "
        "of the labels contradict the concepts."
    )


def _split(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As published: a fifth for the test, then every eighth of the rest for validation."""
    from sklearn.model_selection import train_test_split  # noqa: PLC0415  a second that few need

    rest, test = train_test_split(np.arange(n), train_size=0.8, random_state=PUBLISHED_SPLIT)
    validating = np.arange(len(rest)) % 8 == 0
    return rest[~validating], rest[validating], test


def _official(path: Path, latents: Int[np.ndarray, "n 5"]) -> UInt8[np.ndarray, "n 64 64"]:
    """The images of the official file; its third array could run code and is left alone."""
    what = f"dSprites {path.name!r}"
    listed = read_npz_rows(path, "latents_classes")
    if listed.ndim != 2 or listed.shape[1] != 6 or listed.dtype.kind not in "iu":
        raise UnsafeInputError(
            what, f"latents of shape {listed.shape}", "six whole numbers an image"
        )
    if not ((listed >= 0) & (listed < (1, *SIZES))).all():
        raise UnsafeInputError(what, "numbers that dSprites does not have", f"below {(1, *SIZES)}")
    row_of = np.full(np.prod(SIZES), -1)
    row_of[np.ravel_multi_index(tuple(listed[:, 1:].T.astype(np.int64)), SIZES)] = np.arange(
        len(listed)
    )
    rows = row_of[np.ravel_multi_index(tuple(latents.T), SIZES)]
    if (rows < 0).any():
        raise UnsafeInputError(what, f"{int((rows < 0).sum()):,} images missing", "all 737,280")
    order = np.argsort(rows)
    images = read_npz_rows(path, "imgs", rows[order])
    if images.shape[1:] != (SIDE, SIDE) or images.dtype != np.uint8 or images.max() > 1:
        got = f"{images.dtype} of shape {images.shape}"
        raise UnsafeInputError(what, got, f"images of {SIDE} x {SIDE}, 0 and 1")
    ordered_images = np.empty_like(images)
    ordered_images[order] = images
    return ordered_images
