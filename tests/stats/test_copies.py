"""Copies are seen, and independent rows are not taken for them."""

import numpy as np
import pytest

from theodolite._stats.copies import copy_clusters

CODES = {
    "float": lambda x: x,
    "two digits": lambda x: np.round(x, 2),
    "int8": lambda x: np.round(127 * x).astype(np.int8),
}


def rows_of(n: int, columns: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return np.clip(random.normal(0.5, 0.15, (n, columns)), 0, 1)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("columns", [3, 12, 40])
@pytest.mark.parametrize("times", [2, 10])
def test_copies_are_one_cluster_whatever_the_code(code: str, columns: int, times: int) -> None:
    for seed in range(5):
        base = CODES[code](rows_of(300 // times, columns, seed))
        labels = np.random.default_rng(seed).integers(0, 2, len(base))
        order = np.random.default_rng(seed + 1).permutation(len(base) * times)
        rows = np.repeat(np.arange(len(base)), times)[order]
        clusters = copy_clusters(base[rows], labels[rows])
        assert clusters is not None
        joined = [len(set(rows[clusters == c])) for c in np.unique(clusters)]
        assert np.mean(joined) <= 1.05  # two digits may join a pair by accident
        assert all(len(set(clusters[rows == r])) == 1 for r in range(len(base)))


@pytest.mark.parametrize("code", ["float", "int8"])
@pytest.mark.parametrize("columns", [3, 12])
def test_independent_rows_stay_apart(code: str, columns: int) -> None:
    assert all(
        copy_clusters(CODES[code](rows_of(300, columns, seed))) is None for seed in range(10)
    )


def test_few_levels_make_equal_rows_of_different_samples() -> None:
    for seed in range(10):
        hard = rows_of(300, 6, seed) > 0.5
        assert copy_clusters(hard) is None
        saturated = np.clip(np.round(20 * rows_of(300, 3, seed) - 9.5), 0, 1)
        assert copy_clusters(saturated) is None


def test_the_same_values_with_other_labels_are_no_copies() -> None:
    rows = np.repeat(rows_of(100, 4, 0), 2, axis=0)
    assert copy_clusters(rows, np.arange(200) % 2) is None
    assert copy_clusters(rows, np.arange(200) // 2 % 2) is not None
