"""CUB-200-2011 for a concept bottleneck: pooled features of a network as inputs, 112 concepts."""

from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float, Int

from theodolite._storage.arrays import read_npy
from theodolite._storage.paths import sha256_of
from theodolite.datasets.concept_data import split_rows
from theodolite.datasets.cub import Presence, cub
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData

KEPT_IF_INCOMPLETE = 22


def cub_features(
    root: Path,
    pooled: Path,
    *,
    concepts: Literal["all", "incomplete"] = "all",
    presence: Presence = "class",
    seed: int = 0,
) -> BottleneckData:
    """Read the folder ``CUB_200_2011`` and one vector of features for each of its images.

    The test is the official one, a half; a fifth of each class outside it is the validation.

    Args:
        root: The folder, as for the data set ``cub``.
        pooled: A ``.npy`` with a row of features per image, in the order of ``images.txt``.
        concepts: ``incomplete`` keeps 22 of the 112.
        presence: Whether a concept is in an image, as for ``cub``. Concept bottlenecks are mostly
            trained on what is said of the ``class``, and so is the leakage paper's.
        seed: Of the validation rows.
    """
    birds = cub(root, presence=presence)
    rest = np.flatnonzero(~birds.is_test)
    validating = split_rows(birds.labels[rest], 0.2, seed)
    data = BottleneckData(
        name="CUB-200-2011 features",
        inputs=_features(pooled, len(birds)),
        truth=birds.presence,
        labels=birds.labels,
        train=rest[~validating],
        validation=rest[validating],
        test=np.flatnonzero(birds.is_test),
        concepts=birds.concepts,
        classes=birds.classes,
        notes=birds.notes,
        digests={**birds.digests(), pooled.name: sha256_of(pooled)},
    )
    if concepts == "all":
        return data
    kept_names = {
        birds.concepts.names[j] for j in spread_over_parts(birds.part_of, KEPT_IF_INCOMPLETE)
    }
    reduced = data.without([name for name in birds.concepts.names if name not in kept_names])
    note = "Which 22 the leakage paper kept is not known: these lie evenly over the parts."
    return replace(reduced, notes=(*reduced.notes, note))


def spread_over_parts(part_of: Int[np.ndarray, " concepts"], n: int) -> Int[np.ndarray, " n"]:
    """Concepts at even distances in their order by part, so that each part keeps its share.

    >>> spread_over_parts(np.array([1, 0, 0, 0, 1, 1]), 2).tolist()
    [2, 4]
    """
    by_part = np.argsort(part_of, kind="stable")
    return np.sort(by_part[(2 * np.arange(n) + 1) * len(part_of) // (2 * n)])


def _features(path: Path, n: int) -> Float[np.ndarray, "n features"]:
    features = read_npy(path)
    if features.ndim != 2 or len(features) != n or features.dtype.kind != "f":
        got = f"{features.dtype} of shape {features.shape}"
        raise UnsafeInputError(f"features {path.name!r}", got, f"a row for each of {n:,} images")
    return features.astype(np.float32)
