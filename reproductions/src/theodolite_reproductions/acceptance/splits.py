"""Which explanations a score learns from, which it is chosen by, and which it is tested on."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Bool, Int

from theodolite.errors import EvidenceError

Apart: TypeAlias = Literal["image", "technique", "both", "none"]
SHARES = (0.7, 0.15)
"""Training and validation; the rest is the test."""


@dataclass(frozen=True, eq=False)
class Split:
    """Three parts without an explanation in common; some explanations may be in none."""

    train: Bool[np.ndarray, " samples"]
    validation: Bool[np.ndarray, " samples"]
    test: Bool[np.ndarray, " samples"]


def split(
    images: Int[np.ndarray, " samples"],
    techniques: Int[np.ndarray, " samples"] | None = None,
    *,
    apart: Apart = "image",
    seed: int = 0,
) -> Split:
    """70, 15 and 15 per cent: of images, of techniques, of both, or of explanations.

    With ``both``, 70 per cent of the images and 70 per cent of the techniques are for training.
    An explanation is learned from if both are, and validated or tested on if neither is; the mixed
    ones, about 42 per cent, are left out.
    """
    random = np.random.default_rng([seed, 7])
    if apart == "none":
        return _by_group(np.arange(len(images)), random)
    if apart == "image":
        return _by_group(images, random)
    if techniques is None:
        raise EvidenceError("techniques", "none", f"the technique of each, to keep {apart} apart")
    if apart == "technique":
        return _by_group(techniques, random)
    if apart != "both":
        raise EvidenceError("apart", repr(apart), "'image', 'technique', 'both' or 'none'")
    known = [_chosen(keys, SHARES[0], random) for keys in (images, techniques)]
    outside = np.flatnonzero(~known[0] & ~known[1])
    random.shuffle(outside)
    validation, test = (np.zeros(len(images), bool) for _ in range(2))
    validation[outside[: len(outside) // 2]] = True
    test[outside[len(outside) // 2 :]] = True
    return Split(known[0] & known[1], validation, test)


def folds(
    groups: Int[np.ndarray, " samples"], n: int = 5, *, seed: int = 0
) -> Int[np.ndarray, " samples"]:
    """The fold of each explanation, whole groups in one fold, folds of about equal size.

    Everything can then be predicted by a score that has seen nothing of its group.
    """
    names, rows = np.unique(groups, return_inverse=True)
    if not 2 <= n <= len(names):
        raise EvidenceError("folds", f"{n} of {len(names)} groups", "two or more, at most groups")
    random = np.random.default_rng([seed, 11])
    order = random.permutation(len(names))
    sizes = np.bincount(rows)
    order = order[np.argsort(-sizes[order], kind="stable")]
    fold, filled = np.empty(len(names), np.int64), np.zeros(n, np.int64)
    for group in order:  # the largest first, each to the fold that has least
        fold[group] = int(filled.argmin())
        filled[fold[group]] += sizes[group]
    return fold[rows]


def _by_group(keys: Int[np.ndarray, " samples"], random: np.random.Generator) -> Split:
    """Groups in the order in which they first come up when all explanations are shuffled."""
    shuffled = keys[random.permutation(len(keys))]
    names, first = np.unique(shuffled, return_index=True)
    names = names[np.argsort(first)]
    n = len(names)
    if n < 3:
        raise EvidenceError("groups", f"{n}", "three or more, for three parts")
    train_end = min(max(round(SHARES[0] * n), 1), n - 2)
    validation_end = min(max(round(sum(SHARES) * n), train_end + 1), n - 1)
    return Split(*(np.isin(keys, part) for part in np.split(names, [train_end, validation_end])))


def _chosen(
    keys: Int[np.ndarray, " samples"], share: float, random: np.random.Generator
) -> Bool[np.ndarray, " samples"]:
    names = np.unique(keys)
    if len(names) < 2:
        raise EvidenceError("groups", f"{len(names)}", "two or more")
    n = min(max(round(share * len(names)), 1), len(names) - 1)
    return np.isin(keys, random.permutation(names)[:n])
