"""What true concepts tell of each other and of the label, before any model is trained."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import entr

from theodolite_reproductions.datasets.bottleneck_data import BottleneckData


def shared_information(
    truth: Bool[np.ndarray, "samples concepts"],
) -> Float[np.ndarray, "concepts concepts"]:
    r"""Normalized information :math:`I(c_i; c_j) / \sqrt{H(c_i) H(c_j)}` from counts.

    NaN for a concept that is always or never there: it has no entropy.

    >>> c = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 1], [1, 1, 1]], bool)
    >>> shared_information(c).round(3).tolist()
    [[1.0, 1.0, nan], [1.0, 1.0, nan], [nan, nan, nan]]
    """
    there = truth.astype(np.float64)
    both, once, n = there.T @ there / len(there), there.mean(axis=0), len(there)
    only, rest = once[:, None] - both, 1 - once[:, None] - once[None, :] + both
    cells = np.stack([both, only, only.T, rest])
    joint = entr(np.where(np.abs(cells) < 0.5 / n, 0.0, cells)).sum(axis=0)
    alone = entr(once) + entr(1 - once)
    information = np.maximum(alone[:, None] + alone[None, :] - joint, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(information / np.sqrt(np.outer(alone, alone)))


def true_information_table(forms: Mapping[str, BottleneckData]) -> dict[str, list[Any]]:
    """For each form of the data each pair of concepts once, over the rows outside the test."""
    table: dict[str, list[Any]] = {"data": [], "first": [], "second": [], "information": []}
    for name, data in forms.items():
        square = shared_information(data.truth[np.concatenate([data.train, data.validation])])
        for i, j in zip(*np.triu_indices(len(square), 1), strict=True):
            row = (name, data.concepts.names[i], data.concepts.names[j], float(square[i, j]))
            for column, value in zip(table, row, strict=True):
                table[column].append(value)
    return table
