"""Nulls do not depend on how evidence is cut, nor on the order in which samples are stored."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache, reduce
from typing import Any

import jaxtyping
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from theodolite._planted.attributions import planted_attributions
from theodolite._planted.concepts import planted_locations
from theodolite._planted.edits import planted_edits
from theodolite._planted.leakage import planted_interventions
from theodolite._planted.ratings import planted_ratings
from theodolite._planted.saliency import planted_saliency
from theodolite._planted.surrogates import planted_surrogates
from theodolite._planted.tokens import planted_tokens
from theodolite._planted.units import planted_units
from theodolite._runs.auditing.front import audit
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._stats import sampling
from theodolite.evidence import shards
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
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
from theodolite.evidence.shards import list_plain_fields, sort_samples
from theodolite.evidence.store_writer import renumber_samples
from theodolite.metrics.base import Metric, NullModel, added
from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.shared.map_nulls import SHUFFLED_IMAGES
from theodolite.results import Score
from theodolite.testing.strategies import FOR

N = 230
FEW = Resampling(resamples=20, most_null_draws=3)
Cut = Callable[[int], None]

STREAMING = [
    entry
    for entry in catalogue().values()
    if entry.streams and any(baseline.on == "evidence" for baseline in entry.nulls)
]


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Cut:
    """Sets how many samples a piece has."""
    return lambda size: monkeypatch.setattr(shards, "SHARD_SAMPLES", size)


def by_class(n: int = N, classes: int = 8, seed: int = 0) -> ConceptEvidence:
    """Concepts that tell the class, stored class by class."""
    random = np.random.default_rng(seed)
    labels = np.sort(np.arange(n) % classes)
    truth = (random.random((classes, 12)) < 0.4)[labels]
    values = truth + random.normal(0, 0.4, truth.shape)
    known = random.random(truth.shape) < 0.9
    return ConceptEvidence(
        values=values,
        truth=truth,
        known=known,
        labels=labels,
        predicted=labels,
        weights=random.normal(size=(12, classes)),
    )


def surrogates() -> SurrogateEvidence:
    """With all arrays that nulls deal out, and outputs that differ from sample to sample."""
    planted = planted_surrogates(N)
    order = np.argsort(np.asarray(planted.labels), kind="stable")
    random = np.random.default_rng(0)
    noise = random.normal(size=(3, *np.asarray(planted.rebuilt).shape))
    names = ("rebuilt", "learned", "linearized")
    changed: dict[str, Any] = {
        name: np.asarray(getattr(planted, name)) + part
        for name, part in zip(names, noise, strict=True)
    }
    return replace(planted, **changed)[order]


@cache
def evidence_for(kind: type[Evidence]) -> Any:
    """Samples stored class by class whose numbers have gaps."""
    made = {
        ConceptEvidence: by_class,
        LocationEvidence: lambda: planted_locations(N),
        UnitEvidence: lambda: planted_units(N),
        InterventionEvidence: lambda: planted_interventions(N),
        SurrogateEvidence: surrogates,
        RatingEvidence: lambda: planted_ratings(N, agreement=0.5),
        SaliencyEvidence: lambda: planted_saliency(N, alignment=0.6),
        EditEvidence: lambda: planted_edits(N, carried=0.5),
        TokenEvidence: lambda: planted_tokens(N),
        AttributionEvidence: lambda: planted_attributions(N),
    }[kind]()
    return renumber_samples(made, np.arange(len(made)) * 7 + 3)


def without_embeddings(evidence: SurrogateEvidence) -> SurrogateEvidence:
    """By its outputs and projections alone."""
    outputs = np.asarray(evidence.embeddings) @ np.asarray(evidence.head).T
    projections = np.asarray(evidence.embeddings) @ np.asarray(evidence.vectors).T
    nothing: dict[str, Any] = dict.fromkeys(("embeddings", "head", "vectors", "constant"))
    return replace(evidence, outputs=outputs, projections=projections, **nothing)


def nulls_of(score: Score) -> dict[str, float]:
    return {null.name: null.value for null in score.nulls}


def same_nulls(left: list[Score], right: list[Score]) -> None:
    for one, other in zip(left, right, strict=True):
        assert nulls_of(one).keys() == nulls_of(other).keys()
        for name, value in nulls_of(one).items():
            assert_allclose(nulls_of(other)[name], value, rtol=1e-12, atol=1e-12, err_msg=name)


FIRST_OF_KIND = list({entry.needs: entry for entry in reversed(STREAMING)}.values())
"""Pools larger than the evidence go another way, which only its kind decides."""


@pytest.mark.parametrize(
    ("entry", "pool"),
    [
        *(pytest.param(entry, 64, id=f"64-{entry.name}") for entry in STREAMING),
        *(pytest.param(entry, 2048, id=f"2048-{entry.name}") for entry in FIRST_OF_KIND),
    ],
)
def test_pieces_and_order_do_not_change_a_null(
    entry: Metric, pool: int, cut: Cut, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sampling, "POOL", pool)
    whole = evidence_for(entry.needs)
    cut(10**6)
    expected = evaluate(MetricRequest(entry, {}), [whole], FEW)
    order = np.random.default_rng(1).permutation(len(whole))
    for size in (100, 16):
        cut(size)
        same_nulls(expected, evaluate(MetricRequest(entry, {}), [whole], FEW))
        same_nulls(expected, evaluate(MetricRequest(entry, {}), [whole[order]], FEW))
        # checked whole and in three pieces: more pieces go the same way, and checking is slow
        monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def made_in_pieces(baseline: NullModel, pieces: list[Any], seed: int) -> Any:
    """As the engine makes it: what must be known of all is learned first, then piece by piece."""
    known = sums_of_pieces(baseline, pieces)
    made = [baseline.made(piece, seed, known) for piece in pieces]
    return sort_samples(type(made[0]).joined(made))


def sums_of_pieces(baseline: NullModel, pieces: list[Any]) -> dict[str, np.ndarray] | None:
    if baseline.sums is None:
        return None
    learned = [{f"kind: null:{n}": a for n, a in baseline.sums(p).items()} for p in pieces]
    return {name.rpartition(":")[2]: a for name, a in reduce(added, learned).items()}


def same_expectation(entry: Metric, baseline: NullModel, pieces: list[Any], whole: Any) -> None:
    known = sums_of_pieces(baseline, pieces)
    states = [entry.null_state(baseline, piece, sums=known) for piece in pieces]
    expected = entry.null_state(baseline, whole).value()
    assert_allclose(sum(states).value(), expected, rtol=1e-12, atol=1e-12)


def clustered(whole: Any, clusters: np.ndarray) -> Any:
    """The same with clusters, in the evidence and in the explanation that it is of."""
    samples = Samples(whole.samples.index, clusters=clusters)
    changed = {name: replace(inner, samples=samples) for name, inner in whole._inner()}
    return replace(whole, samples=samples, **changed)


def same_evidence(left: Any, right: Any) -> None:
    sides = [dict(list_plain_fields(side)) for side in (left, right)]
    assert sides[0].keys() == sides[1].keys()
    for name, values in sides[0].items():
        both = (np.asarray(values, float), np.asarray(sides[1][name], float))
        assert_allclose(*both, rtol=1e-12, atol=1e-12, err_msg=name)
    for name, bundle in left._inner():
        same_evidence(bundle, getattr(right, name))


@pytest.mark.parametrize("entry", STREAMING, ids=lambda entry: entry.name)
@given(data=st.data())
@settings(max_examples=15)
def test_a_null_of_pieces_is_that_of_the_whole(entry: Metric, data: st.DataObject) -> None:
    whole = data.draw(FOR[entry.needs])
    if isinstance(whole, SurrogateEvidence) and data.draw(st.booleans()):
        whole = without_embeddings(whole)
    seed = data.draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    whole = renumber_samples(whole, np.sort(random.choice(10**6, len(whole), replace=False)))
    if data.draw(st.booleans()):
        whole = clustered(whole, random.integers(0, 4, len(whole)))
    size = data.draw(st.integers(1, max(len(whole) - 1, 1)))
    order = random.permutation(len(whole))
    pieces = [whole[order[at : at + size]] for at in range(0, len(whole), size)]
    for baseline in entry.nulls:
        if baseline.expected is not None:
            same_expectation(entry, baseline, pieces, whole)
        elif baseline.on == "evidence":
            same_evidence(made_in_pieces(baseline, pieces, seed), baseline.made(whole, seed))


def test_samples_stored_class_by_class_get_the_same_verdict(cut: Cut) -> None:
    whole = replace(by_class(800), known=None, weights=None)
    found = []
    for size in (2048, 100):
        cut(size)
        result = audit(whole, resampling=Resampling(60))
        score = next(s for s in result.scores if s.metric == "concept_existence")
        (verdict,) = (v for v in result.verdicts if v.question == "exists")
        found.append((nulls_of(score), verdict.answer))
    for nulls, answer in found:
        assert answer == "yes"
        assert nulls["another_sample"] < 0.5
        assert nulls == pytest.approx(found[0][0], abs=1e-12)


def telling() -> SaliencyEvidence:
    """Each image's map has a pixel of its own."""
    maps = np.eye(40).reshape(40, 5, 8)
    return SaliencyEvidence(maps=maps, objects=maps > 0)


def taken_by(evidence: SaliencyEvidence) -> np.ndarray:
    return np.asarray(evidence.maps).reshape(len(evidence), 40)


@pytest.mark.parametrize("size", [4, 7, 40])
def test_no_sample_gets_itself_and_each_other_equally_often(size: int) -> None:
    whole = telling()
    pieces = [whole[at : at + size] for at in range(0, 40, size)]
    taken = np.zeros((40, 40))
    for seed in range(150):
        taken += taken_by(made_in_pieces(SHUFFLED_IMAGES, pieces, seed))
    assert not taken.diagonal().any()
    others = taken[~np.eye(40, dtype=bool)]
    assert others.sum() == 150 * 40
    assert abs(((others - 150 / 39) ** 2).sum() / (150 / 39) / (40 * 38) - 1) < 0.15


def test_nor_does_one_that_is_not_in_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampling, "POOL", 5)
    taken = sum(taken_by(SHUFFLED_IMAGES.made(telling(), seed)) for seed in range(100))
    assert not np.diagonal(taken).any()
    assert (taken.sum(axis=0) > 0).sum() == 5


def test_one_sample_alone_has_no_other() -> None:
    assert (SHUFFLED_IMAGES.made(telling()[:1], 0).maps == 1).all()


def test_draws_differ_between_seeds() -> None:
    for entry in STREAMING:
        for baseline in entry.nulls:
            if baseline.on == "evidence" and baseline.random:
                whole = evidence_for(entry.needs)
                with pytest.raises(AssertionError):
                    same_evidence(baseline.made(whole, 1), baseline.made(whole, 2))


def test_pieces_do_not_repeat_random_numbers() -> None:
    """Where they did, the null of many pieces would vary as that of a single one."""
    random = np.random.default_rng(0)
    once = SaliencyEvidence(
        maps=np.eye(12)[random.integers(0, 12, 16)].reshape(16, 3, 4),
        objects=random.random((16, 3, 4)).argsort(axis=2) < 1,
    )
    whole = SaliencyEvidence.joined([once] * 64)
    whole = replace(whole, samples=Samples.numbered(len(whole)))
    entry = catalogue()["relevance_mass"]

    def values(pieces: list[Any]) -> np.ndarray:
        each = [made_in_pieces(SHUFFLED_IMAGES, pieces, seed) for seed in range(60)]
        return np.array([entry.state.of(e).value() for e in each])

    n = len(whole)
    one, many = values([whole]), values([whole[at : at + 16] for at in range(0, n, 16)])
    assert_allclose(many, one, atol=1e-12)
    # a pixel of another image lies on one of the object's, a quarter, or does not
    spread = np.sqrt(one.mean() * (1 - one.mean()) / n)
    assert 0.5 * spread < one.std() < 1.5 * spread
