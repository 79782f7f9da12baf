"""What is dealt out is dealt out by whole clusters, where samples have any."""

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from theodolite._stats import sampling
from theodolite._stats.sampling import (
    POOLED,
    draw_cluster_pool,
    draw_other_rows,
    draw_pool,
    merge_pools,
)
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.catalogue import catalogue

SIZES = np.array([1, 2, 3, 4, 5, 3])
CLUSTERS = np.repeat(np.arange(6), SIZES)
N = len(CLUSTERS)
NUMBER = np.arange(N) - np.repeat(np.cumsum(SIZES) - SIZES, SIZES)
"""Of each row in its cluster."""


def null(name: str, which: str) -> Any:
    return next(b for b in catalogue()[name].nulls if b.name == which)


def rows_as_values(clusters: np.ndarray | None = CLUSTERS, truth: Any = None) -> ConceptEvidence:
    values = np.tile(np.arange(N, dtype=float)[:, None], (1, 2))
    return ConceptEvidence(
        values=values,
        truth=np.ones((N, 2), bool) if truth is None else truth,
        samples=Samples(index=np.arange(N), clusters=clusters),
    )


def dealt_by_clusters(sources: np.ndarray, clusters: np.ndarray = CLUSTERS) -> np.ndarray:
    """Each cluster gets rows of one cluster, one after the other; which one it is."""
    givers = []
    for own in np.unique(clusters):
        rows = sources[clusters == own]
        (giver,) = np.unique(clusters[rows])
        members = np.flatnonzero(clusters == giver)
        start = int(np.flatnonzero(members == rows[0])[0])
        expected = members[(start + np.arange(len(rows))) % len(members)]
        assert_array_equal(rows, expected)
        givers.append(giver)
    return np.array(givers)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_but_the_concept(seed: int) -> None:
    clean = null("task_leakage_given_concept", "leak_free_reference")
    values = clean.made(rows_as_values(), seed).values.astype(int)
    for column in values.T:
        assert_array_equal(np.sort(dealt_by_clusters(column)), np.arange(6))
    truth = np.random.default_rng(seed).random((N, 2)) < 0.5
    values = clean.made(rows_as_values(truth=truth), seed).values.astype(int)
    for column, there in zip(values.T, truth.T, strict=True):
        assert_array_equal(there[column], there)
        for stratum in (there, ~there):  # a cluster is one in each stratum
            rows = np.flatnonzero(stratum)
            place = np.searchsorted(rows, column[rows])
            dealt_by_clusters(place, CLUSTERS[rows])


@pytest.mark.parametrize("seed", range(3))
def test_without_clusters_rows_are_permuted_as_ever(seed: int) -> None:
    clean = null("task_leakage_given_concept", "leak_free_reference")
    random = np.random.default_rng(seed)
    values = clean.made(rows_as_values(None), seed).values.astype(int)
    for column in values.T:
        random.permutation(np.arange(0))  # the stratum without the concept
        assert_array_equal(column, random.permutation(N))


def test_shuffled_truth_vectors_and_alignment() -> None:
    truth = np.random.default_rng(0).random((N, 40)) < 0.5  # a row is known by its pattern
    explained = ConceptEvidence(
        values=np.zeros((N, 40)), truth=truth, samples=rows_as_values().samples
    )

    def sources(made: np.ndarray) -> np.ndarray:
        return np.array([np.flatnonzero((truth == row).all(axis=1))[0] for row in made])

    shuffled = null("concept_prediction", "permuted_samples").made(explained, 1)
    assert_array_equal(np.sort(dealt_by_clusters(sources(shuffled.truth))), np.arange(6))
    vectors = np.tile(np.arange(N, dtype=float)[:, None, None], (1, 40, 1))
    whole = EmbeddingEvidence(
        explained=explained, vectors=vectors, positive=vectors, negative=vectors
    )
    other = null("embedding_self_information", "permuted_samples").made(whole, 1)
    dealt_by_clusters(other.vectors[:, 0, 0].astype(int))
    aligned = null("embedding_alignment", "permuted_concepts").made(whole, 1).explained.truth
    assert not np.array_equal(aligned, truth)


@pytest.mark.parametrize("seed", range(5))
def test_another_cluster_row_by_row(seed: int) -> None:
    numbers = np.arange(N) * 3 + 1
    pool = draw_pool(numbers, {"number": np.arange(N)}, CLUSTERS)
    for shape in ((), (2,)):
        rows = draw_other_rows(pool, numbers, shape, seed, CLUSTERS)
        sources = pool[f"{POOLED}number"][rows].reshape(N, -1)
        for column in sources.T:
            for own in range(6):
                taken = column[own == CLUSTERS]
                (giver,) = np.unique(CLUSTERS[taken])
                assert giver != own
                # no row twice before all of the other cluster were dealt
                assert len(np.unique(taken)) == min(len(taken), SIZES[giver])


def test_every_other_cluster_comes_equally_often() -> None:
    pool = draw_pool(np.arange(N), {"number": np.arange(N)}, CLUSTERS)
    givers = np.zeros((6, 6))
    for seed in range(600):
        rows = pool[f"{POOLED}number"][draw_other_rows(pool, np.arange(N), (), seed, CLUSTERS)]
        np.add.at(givers, (CLUSTERS, CLUSTERS[rows]), 1 / SIZES[CLUSTERS])
    assert not givers.diagonal().any()
    off = givers[~np.eye(6, dtype=bool)]
    assert abs(off - 120).max() < 4 * np.sqrt(600 * 0.2 * 0.8)


def test_a_cut_pool_still_deals_one_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "POOL", 8)
    pool = draw_pool(np.arange(N), {"number": np.arange(N)}, CLUSTERS)
    rows = pool[f"{POOLED}number"][draw_other_rows(pool, np.arange(N), (), 1, CLUSTERS)]
    for own in range(6):
        assert len(np.unique(CLUSTERS[rows[own == CLUSTERS]])) == 1
    alone = draw_pool(np.arange(3), {}, np.zeros(3, int))
    assert (draw_other_rows(alone, np.arange(3), (), 1, np.zeros(3, int)) == -1).all()
    nothing = draw_pool(np.arange(0), {}, np.zeros(0, int))
    assert (draw_other_rows(nothing, np.arange(3), (), 1, np.zeros(3, int)) == -1).all()


def test_sums_of_a_cluster_in_several_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "POOL", 4)
    ones = np.ones(N)
    order = np.random.default_rng(0).permutation(N)
    whole = draw_cluster_pool(CLUSTERS, {"n": ones})
    parts = [draw_cluster_pool(CLUSTERS[cut], {"n": ones[cut]}) for cut in np.split(order, [5, 11])]
    merged = merge_pools(merge_pools(parts[0], parts[1]), parts[2])
    assert len(whole["~hash"]) == 4
    for name, array in whole.items():
        assert_array_equal(merged[name], array)


def test_votes_are_dealt_out_by_whole_clusters() -> None:
    scale = np.arange(1.0, 7)
    ratings = np.stack([scale[CLUSTERS], scale[CLUSTERS]], axis=1)
    ratings[0, 1] = np.nan
    whole = RatingEvidence(
        ratings=ratings, scale=scale, samples=Samples(index=np.arange(N), clusters=CLUSTERS)
    )
    dealt = null("krippendorff_alpha", "permuted_ratings").made(whole, 2).ratings
    assert_array_equal(np.isnan(dealt), np.isnan(ratings))
    for own in range(6):
        for votes in dealt[own == CLUSTERS].T:
            assert len(np.unique(votes[~np.isnan(votes)])) <= 1
    assert not np.array_equal(dealt[:, 0], dealt[:, 1])  # each rater's by themselves
    assert len(np.unique(dealt[:, 0])) > 1
