"""Scores of very many samples: resampled by random groups of them, as if by samples."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from theodolite._planted.attributions import planted_attributions
from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._planted.edits import planted_edits
from theodolite._planted.leakage import planted_interventions
from theodolite._planted.ratings import planted_ratings
from theodolite._planted.saliency import planted_saliency
from theodolite._planted.surrogates import planted_surrogates
from theodolite._planted.tokens import planted_tokens
from theodolite._planted.units import planted_units
from theodolite._scoring import plan as plans
from theodolite._scoring.counting import list_state_jobs, read_grouped_state, split_into_blocks
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._scoring.intervals import DrawCounts
from theodolite._scoring.passes import PassItem, run_passes
from theodolite._scoring.plan import Plan
from theodolite._scoring.values import Values
from theodolite._stats.groups import GROUPS, METHOD, assign_groups, draw_group_weights
from theodolite._stats.resampling import draw_poisson_weights
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.pipeline_output import silent
from theodolite.evidence.shards import Clusters, InMemoryShards
from theodolite.evidence.workers import SerialWorkers
from theodolite.metrics.base import Metric, added, arrays_of
from theodolite.metrics.catalogue import catalogue
from theodolite.results import Score

PLANTED = {
    ConceptEvidence: planted_concepts, LocationEvidence: planted_locations,
    UnitEvidence: planted_units, InterventionEvidence: planted_interventions,
    SurrogateEvidence: planted_surrogates, RatingEvidence: planted_ratings,
    SaliencyEvidence: planted_saliency,
    EditEvidence: planted_edits,
    AttributionEvidence: planted_attributions,
    TokenEvidence: planted_tokens,
}  # fmt: skip
ADDITIVE = [entry for entry in catalogue().values() if entry.streams]
FEW = Resampling(resamples=20)


@pytest.fixture
def groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups are drawn, however few samples there are."""
    monkeypatch.setattr(plans, "MAX_KEYS", 0)


@pytest.mark.usefixtures("groups")
@pytest.mark.parametrize("entry", ADDITIVE, ids=lambda entry: entry.name)
def test_every_additive_score_is_resampled_as_if_by_samples_of_its_groups(entry: Metric) -> None:
    evidence: Any = PLANTED[entry.needs]()
    plan = Plan(entry, len(evidence), None, FEW)
    job = next(list_state_jobs(MetricRequest(entry), plan, 1))
    blocks = []
    for block in split_into_blocks(job, 1, 600):
        both = [block.compute_state(evidence[::2]), block.compute_state(evidence[1::2])]
        blocks.append(added(*map(arrays_of, both)))
    values = read_grouped_state(job, blocks, max_bytes=4_000)
    each = draw_group_weights(80, 0)[:, assign_groups(np.asarray(evidence.samples.index), 0)]
    expected = Values.from_state(entry.state.of(evidence, each), {})
    assert_allclose(values.rows, expected.rows, atol=1e-9)
    for own, theirs in (
        (values.defined, expected.defined),
        (values.undefined, expected.undefined),
    ):
        assert (own is None) == (theirs is None)
        assert own is None or (own == theirs).all()
    assert len(blocks) == 2


def error(score: Score) -> float:
    assert score.interval is not None
    assert score.interval.error is not None
    return score.interval.error


def hits(n: int, seed: int = 0, of: int = 1) -> ConceptEvidence:
    """Concepts of which every fourth value is on the wrong side; ``of`` samples a cluster."""
    random = np.random.default_rng(seed)
    truth = random.random((n, 3)) < 0.4
    wrong = np.repeat(random.random((n // of, 3)) < 0.25, of, axis=0)
    clusters = np.repeat(np.arange(n // of), of) if of > 1 else None
    return ConceptEvidence(
        values=np.where(truth ^ wrong, 0.9, 0.1), truth=truth,
        samples=Samples(np.arange(n), None, clusters),
    )  # fmt: skip


REQUEST = MetricRequest(catalogue()["concept_existence"], {"top": (1,), "rank_by": "value"})


@pytest.mark.parametrize("of", [1, 4])
def test_intervals_by_groups_are_as_wide_and_say_so(
    monkeypatch: pytest.MonkeyPatch, of: int
) -> None:
    evidence, resampling = hits(8_000, of=of), Resampling(resamples=500)
    (plain,) = evaluate(REQUEST, [evidence], resampling)
    monkeypatch.setattr(plans, "MAX_KEYS", 8_000 // of - 1)
    (score,) = evaluate(REQUEST, [evidence], resampling)
    assert score.interval is not None
    assert score.interval.method.endswith(METHOD)
    assert "groups" not in str(plain.interval)
    assert score.interval.n == 4 * 500
    assert score.interval.df == GROUPS - 1
    assert score.value == pytest.approx(plain.value, abs=1e-12)
    assert error(score) == pytest.approx(error(plain), rel=0.12)
    assert score.null is not None
    assert score.null.difference is not None
    assert score.null.difference.method.endswith(METHOD)
    monkeypatch.setattr(plans, "MAX_KEYS", 8_000 // of)
    assert "groups" not in str(evaluate(REQUEST, [evidence], FEW)[0].interval)


def test_fifty_thousand_keys_are_drawn_one_by_one_and_more_by_groups() -> None:
    metric = REQUEST.metric
    clusters = Clusters(50_000, whole_classes=False, effective=700.0)
    assert not Plan(metric, 50_000, None, FEW).groups
    assert Plan(metric, 50_001, None, FEW).groups == GROUPS
    assert not Plan(metric, 1_000_000, clusters, FEW).groups
    more = Plan(metric, 1_000_000, replace(clusters, n=50_001), FEW)
    assert more.groups == GROUPS
    assert DrawCounts.from_plan(more, 1_000_000).bootstrap == 700.0


def test_states_too_large_for_one_pass_are_read_when_all_groups_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(plans, "MAX_KEYS", 0)
    shards = InMemoryShards(hits(3_000))
    plan = Plan(REQUEST.metric, len(shards), None, FEW)
    items = [PassItem(0, job, shards) for job in list_state_jobs(REQUEST, plan, 1)]
    whole = run_passes(items, SerialWorkers(), silent).values[0]
    monkeypatch.setattr("theodolite._scoring.passes.BLOCK_BYTES", 10_000)
    cut = run_passes(items, SerialWorkers(), silent).values[0]
    assert whole.keys() == cut.keys()
    for slot, values in whole.items():
        assert values.rows.tobytes() == cut[slot].rows.tobytes()


def test_weights_of_a_cluster_are_those_of_each_of_its_samples() -> None:
    evidence = hits(40, of=4)
    plan = Plan(REQUEST.metric, 40, Clusters(10, whole_classes=False, effective=10.0), FEW)
    weights = plan.weights(evidence, slice(0, 21))
    assert isinstance(weights, np.ndarray)
    assert (weights[0] == 1).all()
    assert (weights[1:] == draw_poisson_weights(np.asarray(evidence.samples.clusters), 20, 0)).all()
