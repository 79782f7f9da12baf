"""Scores against scores over explanations."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from theodolite._planted.saliency import planted_saliency
from theodolite._runs.folder.spec import MetricSpec
from theodolite._runs.folder.spec_answers import build_requests
from theodolite.evidence.axes import Measures, Samples
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.metrics.faithful.maps import RemovalFaithfulness
from theodolite.metrics.located.relevance_maps import RelevanceMass
from theodolite_reproductions.findings.score_correlations import _pair, score_correlations
from theodolite_reproductions.findings.vote_correlations import vote_correlations


def test_spearman_over_all_explanations() -> None:
    models = [
        [planted_saliency(40, alignment=share, seed=1)] for share in np.linspace(1.0, 0.0, 12)
    ]
    names = ("removal_faithfulness", "relevance_mass", "max_sensitivity")
    named = [(name, build_requests([MetricSpec(name=name)])[0]) for name in names]
    result = score_correlations("t", named, models)
    assert (result.explanations, result.methods, len(result.pairs)) == (480, 12, 3)
    a = np.concatenate([RemovalFaithfulness.each(m[0]).part for m in models])
    b = np.concatenate([RelevanceMass.each(m[0]).part for m in models])
    first = result.pairs[0]
    assert first.r == pytest.approx(stats.spearmanr(a, b).statistic)
    assert first.low < first.r < first.high
    assert first.corrected_p < 0.05  # both follow the dial
    assert (first.decision.answer, first.decision.repeats) == ("confirmed", 12)
    assert all(p.decision.effect == 0.1 for p in result.pairs)
    assert all(p.corrected_p >= p.p for p in result.pairs)


def test_methods_that_differ_by_chance_do_not_make_scores_go_together() -> None:
    """Two unrelated scores with an effect of each method: images alone would call most sure."""
    random = np.random.default_rng(0)
    sure = 0
    for _ in range(20):
        a, b = (random.normal(size=(12, 1)) + 0.5 * random.normal(size=(12, 15)) for _ in range(2))
        rows = np.tile(np.arange(15), 12), np.repeat(np.arange(12), 15)
        sure += _pair(("a", "b"), (a.ravel(), b.ravel()), rows).at(0.1).p < 0.05
    assert sure <= 4


def test_of_few_images_nothing_is_sure() -> None:
    models = [[planted_saliency(5, alignment=share, seed=1)] for share in np.linspace(0, 1, 12)]
    names = ("removal_faithfulness", "relevance_mass")
    named = [(name, build_requests([MetricSpec(name=name)])[0]) for name in names]
    pair = score_correlations("t", named, models).pairs[0]
    assert pair.r is not None and pair.p is None and pair.low is None
    assert (pair.decision.answer, pair.decision.repeats) == ("too few repeats", 5)
    assert pair.decision.min_detectable_effect is None


def votes(explanations: int, clusters: int | None = None) -> RatingEvidence:
    """One number that follows the votes, and one that has nothing to do with them."""
    random = np.random.default_rng([explanations, clusters or 0])
    mean = random.integers(1, 6, explanations).astype(float)
    numbers = np.stack([mean + random.normal(size=explanations), random.normal(size=explanations)])
    groups = None if clusters is None else np.arange(explanations) % clusters
    return RatingEvidence(
        ratings=np.repeat(mean[:, None], 3, axis=1), scale=np.arange(1.0, 6.0),
        measured=numbers.T, measures=Measures(("near", "far")),
        samples=Samples(np.arange(explanations), clusters=groups),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("explanations", "clusters", "repeats", "far"),
    [
        (500, None, 500, "not there"),
        (40, None, 40, "too few repeats"),
        (500, 250, 250, "not there"),
        (60, 8, 8, "too few repeats"),
    ],
)
def test_numbers_that_follow_votes_or_surely_do_not(
    explanations: int, clusters: int | None, repeats: int, far: str
) -> None:
    record = vote_correlations(
        "t", "mean", [("ours", [votes(explanations, clusters)])], effect=0.25
    )
    near, other = (r for r in record.rows if r.method == "pearson")
    assert near.decision.answer == "confirmed" and near.corrected_p < 0.05
    assert other.decision.answer == far and other.decision.repeats == repeats
    assert other.low < other.r < other.high


def test_three_images_tell_nothing_of_others() -> None:
    record = vote_correlations("t", "mean", [("ours", [votes(90, 3)])])
    assert {row.decision.answer for row in record.rows} == {"too few repeats"}
    assert all(row.p is None and row.low is None and row.r is not None for row in record.rows)


def test_lower_is_better_is_turned() -> None:
    models = [[replace(planted_saliency(40, alignment=0.5, seed=2), norms=np.ones(40))]]
    both = [
        ("moved", build_requests([MetricSpec(name="max_sensitivity")])[0]),
        ("moved, not divided",
         build_requests([MetricSpec(name="max_sensitivity", options={"form": "absolute"})])[0]),
        ("sparse", build_requests([MetricSpec(name="sparseness")])[0]),
    ]  # fmt: skip
    result = score_correlations("t", both, models)
    assert result.pairs[0].r == pytest.approx(1.0)
    changes = np.asarray(models[0][0].changes)[:, 0].max(axis=1)
    sparse = np.array([_gini(m) for m in models[0][0].maps])
    assert result.pairs[1].r == pytest.approx(-stats.spearmanr(changes, sparse).statistic)


def _gini(values: np.ndarray) -> float:
    a = np.sort(np.abs(values).ravel())
    n = len(a)
    return float(((2 * np.arange(1, n + 1) - n - 1) * a).sum() / (n * a.sum()))
