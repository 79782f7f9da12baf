"""Run a model on images without some of their patches."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from scipy.ndimage import gaussian_filter, sobel

from theodolite._stats.sampling import hash_to_uniforms
from theodolite._stats.subset_fits import LEAST_SPREAD
from theodolite.evidence.pipeline_output import Progress

GRID, SUBSETS, CEILING_IMAGES, CEILING_SUBSETS = 8, 64, 12, 512
QUICK_SUBSETS, QUICK_CEILING_IMAGES = 32, 6
FOLDS, RIDGES = 4, (1.0, 10.0)
BLUR = 1 / 8
"""Standard deviation of the blur, as a share of the side."""
_SUBSET_SEED, _CEILING_SEED = 0x73756273, 0x6365696C
Images = Shaped[np.ndarray, "images channels rows columns"]
Removed = Bool[np.ndarray, "images subsets patch_rows patch_columns"]
Respond = Callable[[Images, Int[np.ndarray, " images"]], Float[np.ndarray, " images"]]
"""(images, their numbers) -> log-odds of the explained class"""


@dataclass(frozen=True, eq=False)
class PatchAnswers:
    """Subsets of patches and what the model answers without them."""

    removed: Removed
    drop: Float[np.ndarray, "images fills subsets"]
    best_fit: Float[np.ndarray, "images fills"]


@dataclass(frozen=True)
class PatchPlan:
    """How many subsets are asked for, and of how many images the best possible is measured."""

    subsets: int = SUBSETS
    ceiling_images: int = CEILING_IMAGES
    seed: int = 0

    def count_passes(self, n: int, fills: int) -> int:
        """Return the number of images that the model is asked about, whole ones included."""
        ceiling = min(n, self.ceiling_images) * CEILING_SUBSETS
        return n + fills * (n * self.subsets + ceiling)


def draw_subsets(
    numbers: Int[np.ndarray, " images"], subsets: int, grid: tuple[int, int], seed: int
) -> Removed:
    """Draw subsets of half of the patches for each image.

    >>> draw_subsets(np.arange(3), 5, (4, 4), seed=0).sum(axis=(2, 3)).tolist()[0]
    [8, 8, 8, 8, 8]
    """
    patches = grid[0] * grid[1]
    order = hash_to_uniforms(numbers, (subsets, patches), seed).argsort(axis=2).argsort(axis=2)
    return np.asarray(order < patches // 2).reshape(len(numbers), subsets, *grid)


def ask_without_patches(
    images: Images,
    respond: Respond,
    clean: Float[np.ndarray, " images"],
    fills: tuple[str, ...],
    plan: PatchPlan,
    progress: Progress,
) -> PatchAnswers:
    """Ask the model about each image without half of its patches, many times.

    Args:
        images: Images as the model takes them, channels first.
        respond: Log-odds of the explained class.
        clean: The same for whole images.
        fills: What patches are filled with.
        plan: Numbers of subsets and images.
        progress: Progress function.
    """
    n, grid = len(images), (min(GRID, images.shape[2]), min(GRID, images.shape[3]))
    numbers = np.arange(n)
    removed = draw_subsets(numbers, plan.subsets, grid, plan.seed ^ _SUBSET_SEED)
    measured = np.sort(np.random.default_rng((plan.seed, 1)).permutation(n)[: plan.ceiling_images])
    many = draw_subsets(measured, CEILING_SUBSETS, grid, plan.seed ^ _CEILING_SEED)
    drop = np.empty((n, len(fills), plan.subsets))
    best_fit = np.full((n, len(fills)), np.nan)
    done, total = n, plan.count_passes(n, len(fills))
    for column, fill in enumerate(fills):
        filler = make_filler(images, fill)
        for row in numbers:
            progress("forward passes", done, total)
            drop[row, column] = clean[row] - _ask(images, filler, int(row), removed[row], respond)
            done += plan.subsets
        for row, own in zip(measured, many, strict=True):
            progress("forward passes", done, total)
            falls = clean[row] - _ask(images, filler, int(row), own, respond)
            best_fit[row, column] = measure_best_fit(own.reshape(CEILING_SUBSETS, -1), falls)
            done += CEILING_SUBSETS
    progress("forward passes", total, total)
    return PatchAnswers(removed, drop, best_fit)


def _ask(
    images: Images,
    filler: Callable[[int], np.ndarray],
    row: int,
    removed: Bool[np.ndarray, "subsets patch_rows patch_columns"],
    respond: Respond,
) -> Float[np.ndarray, " subsets"]:
    """Ask about one image, some subsets at a time, so that copies take little memory."""
    image, filled = images[row], filler(row)
    down, across = (
        np.repeat(np.arange(n), np.diff(np.rint(np.linspace(0, side, n + 1)).astype(int)))
        for n, side in zip(removed.shape[1:], image.shape[1:], strict=True)
    )
    answers = []
    for start in range(0, len(removed), SUBSETS):
        part = removed[start : start + SUBSETS]
        pixels = part[:, down][:, :, across][:, None]
        batch = np.where(pixels, filled, image)
        answers.append(respond(batch, np.full(len(part), row)))
    return np.concatenate(answers)


def make_filler(images: Images, fill: str) -> Callable[[int], np.ndarray]:
    """Return the function from an image's number to what its removed patches are filled with."""
    if fill == "mean":
        mean = images.mean(axis=(0, 2, 3), dtype=np.float64)[:, None, None].astype(images.dtype)
        return lambda row: mean
    if fill == "blur":
        sides = (0.0, BLUR * images.shape[2], BLUR * images.shape[3])
        return lambda row: gaussian_filter(images[row], sides, mode="nearest")
    return lambda row: images[(row + 1) % len(images)]


def measure_best_fit(
    removed: Bool[np.ndarray, "subsets patches"], falls: Float[np.ndarray, " subsets"]
) -> float:
    """Return the correlation with falls that a sum over patches can reach on subsets left out.

    Ridge regression, cross-fitted; the better of two penalties. NaN where no fall differs.
    """
    if falls.std() <= LEAST_SPREAD:
        return float("nan")
    folds = np.arange(len(falls)) % FOLDS
    fits = []
    for penalty in RIDGES:
        predicted = np.empty(len(falls))
        for fold in range(FOLDS):
            train = folds != fold
            x, y = removed[train].astype(float), falls[train]
            center, middle = x.mean(axis=0), y.mean()
            gram = (x - center).T @ (x - center) + penalty * np.eye(x.shape[1])
            slopes = np.linalg.solve(gram, (x - center).T @ (y - middle))
            predicted[~train] = middle + (removed[~train] - center) @ slopes
        varies = predicted.std() > LEAST_SPREAD
        fits.append(float(np.corrcoef(predicted, falls)[0, 1]) if varies else 0.0)
    return max(fits)


def find_edges(images: Images) -> Float[np.ndarray, "images rows columns"]:
    """Return the strength of edges in the gray image, by Sobel filters."""
    gray = images.mean(axis=1, dtype=np.float64)
    return np.asarray(np.hypot(sobel(gray, axis=1), sobel(gray, axis=2)))


def find_saturation(images: Images) -> Float[np.ndarray, "images rows columns"]:
    """Return the largest channel minus the smallest, for each pixel."""
    return np.asarray(images.max(axis=1) - images.min(axis=1), np.float64)
