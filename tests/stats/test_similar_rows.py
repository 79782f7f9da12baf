"""Groups of similar rows that nobody declared."""

import numpy as np
import pytest

from theodolite._stats.similar_rows import SimilarRows, find_similar_rows


def _rows(
    groups: int,
    size: int,
    within: float,
    *,
    shuffled: bool = False,
    columns: int = 3,
    seed: int = 0,
) -> SimilarRows | None:
    random = np.random.default_rng((seed, size, groups))
    group = np.repeat(np.arange(groups), size)
    truth = (random.random((groups, columns)) < 0.5)[group]
    labels = random.integers(0, 2, groups)[group]
    noise = random.normal(size=(groups, columns))[group]
    noise = noise + within * random.normal(size=noise.shape)
    order = random.permutation(len(group)) if shuffled else np.arange(len(group))
    values = truth + 0.3 * noise
    return find_similar_rows(values[order], truth[order].astype(int), labels[order])


@pytest.mark.parametrize("size", [2, 5, 10])
@pytest.mark.parametrize("within", [0.1, 0.3])
def test_similar_rows_found_next_to_each_other(size: int, within: float) -> None:
    result = [_rows(300 // size, size, within, seed=seed) for seed in range(10)]
    assert sum(one is not None for one in result) == 10


@pytest.mark.parametrize("size", [2, 5])
def test_similar_rows_found_in_any_order_if_close(size: int) -> None:
    result = [_rows(1000 // size, size, 0.05, shuffled=True, seed=seed) for seed in range(10)]
    sizes = [one.group_size for one in result if one is not None]
    assert len(sizes) == 10
    assert np.median(sizes) == size


def test_similar_rows_independent_rows_not_flagged() -> None:
    flagged = [
        _rows(n, 1, 0.0, columns=columns, seed=seed) is not None
        for n in (100, 300, 1000) for columns in (2, 3, 12) for seed in range(25)
    ]  # fmt: skip
    assert sum(flagged) <= 2


def test_similar_rows_sorted_by_leaking_label_not_flagged() -> None:
    random = np.random.default_rng(0)
    labels = np.sort(random.integers(0, 5, 500))
    truth = random.random((500, 4)) < 0.5
    values = truth + labels[:, None] + 0.3 * random.normal(size=truth.shape)
    assert find_similar_rows(values, truth.astype(int), labels) is None


def test_similar_rows_too_few_columns_or_rows() -> None:
    random = np.random.default_rng(0)
    values, labels = random.random((200, 1)), random.integers(0, 2, 200)
    assert find_similar_rows(values, np.ones((200, 1), int), labels) is None
    assert find_similar_rows(values[:5], np.ones((5, 1), int), labels[:5]) is None


@pytest.mark.parametrize("n", [60, 300, 2000])
def test_similar_rows_concepts_that_go_together_not_flagged(n: int) -> None:
    """Twelve columns that span two dimensions: rows are as far apart as in two."""
    for seed in range(5):
        random = np.random.default_rng(seed)
        spanned = random.normal(size=(n, 2)) @ random.normal(size=(2, 12))
        values = spanned + 0.05 * random.normal(size=spanned.shape)
        truth, labels = random.random((n, 12)) < 0.5, random.integers(0, 2, n)
        assert find_similar_rows(values, truth.astype(int), labels) is None


def test_similar_rows_values_that_carry_other_concepts_not_flagged() -> None:
    """Rows sorted by a class finer than the label: their truth is alike, what is left is not."""
    flagged = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        kinds = np.sort(random.integers(0, 20, 300))
        truth = (random.random((20, 8)) < 0.5)[kinds]
        others = truth.sum(axis=1, keepdims=True) - truth
        values = truth + 0.1 * (random.normal(size=truth.shape) + 0.8 * others)
        flagged += find_similar_rows(values, truth.astype(int), kinds % 2) is not None
    assert flagged == 0
