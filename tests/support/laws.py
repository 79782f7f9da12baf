"""Laws that every metric obeys: each takes an entry and evidence, and raises if broken."""

import pickle
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from theodolite.evidence.axes import Concepts
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.base import Metric, NullModel, Pooled

Law = Callable[[Metric, Any, dict[str, Any], int], None]


def state(entry: Metric, evidence: Evidence, options: dict[str, Any], weights: Any = None) -> Any:
    counting = {k: v for k, v in options.items() if k in entry.counting_options()}
    return entry.state.of(evidence, weights, **counting)


def null_state(
    entry: Metric, baseline: NullModel, evidence: Evidence, options: dict[str, Any], **more: Any
) -> Any:
    counting = {k: v for k, v in options.items() if k in entry.counting_options()}
    return entry.null_state(baseline, evidence, **more, **counting)


def value(entry: Metric, made: Any, options: dict[str, Any]) -> np.ndarray:
    finishing = {k: v for k, v in options.items() if k not in entry.counting_options()}
    return np.asarray(made.value(**finishing))


def scored(entry: Metric, evidence: Evidence, options: dict[str, Any]) -> np.ndarray:
    return value(entry, state(entry, evidence, options), options)


def same(left: Any, right: Any) -> None:
    assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def shards_merge_to_the_whole(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    random = np.random.default_rng(seed)
    a, b = sorted(random.integers(0, len(whole) + 1, size=2))
    cuts = (slice(0, a), slice(a, b), slice(b, None))
    x, y, z = (state(entry, whole[cut], options) for cut in cuts)
    expected = scored(entry, whole, options)
    for merged in ((x + y) + z, x + (y + z), z + y + x, sum([x, y, z])):
        same(value(entry, merged, options), expected)


def value_stays_within_bounds(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    del seed
    found = scored(entry, whole, options)
    low, high = entry.bounds
    assert np.all(np.isnan(found) | ((found >= low) & (found <= high))), found


def evidence_is_left_unchanged(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    del seed
    before = _bytes(whole)
    scored(entry, whole, options)
    assert _bytes(whole) == before


def state_survives_travelling(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    del seed
    made = state(entry, whole, options)
    again = pickle.loads(pickle.dumps(made))  # noqa: S301  what a worker process sends back
    assert_array_equal(value(entry, again, options), value(entry, made, options))


def order_of_samples_does_not_matter(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    order = np.random.default_rng(seed).permutation(len(whole))
    same(scored(entry, whole[order], options), scored(entry, whole, options))


def relabelling_concepts_relabels_the_result(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    if not hasattr(whole, "concepts"):
        return
    if entry.name == "embedding_interconcept_information" and options.get("form") == "paper":
        return  # takes each pair once, by the order of the concepts: the paper's fault
    order = np.random.default_rng(seed).permutation(len(whole.concepts))
    found, other = scored(entry, whole, options), scored(entry, relabelled(whole, order), options)
    if entry.detail and options.get("over", entry.default("over")) == "concepts":
        found = found[..., order]
    if options.get("over") == "pairs":
        i, j = np.triu_indices(len(order), 1)
        square = np.zeros((*found.shape[:-1], len(order), len(order)))
        square[..., i, j] = square[..., j, i] = found
        found = square[..., order[i], order[j]]
    same(other, found)


def weights_repeat_samples(entry: Metric, whole: Any, options: dict[str, Any], seed: int) -> None:
    times = np.random.default_rng(seed).integers(0, 3, size=len(whole))
    if issubclass(entry.state, Pooled):  # neighbours and fits stay those of the samples as they are
        even = state(entry, whole, options, np.outer([1.0, 3.0], np.ones(len(whole))))
        for row in value(entry, even, options):
            same(row, scored(entry, whole, options))
        return
    weighted = state(entry, whole, options, np.stack([np.ones(len(whole)), times.astype(float)]))
    found = value(entry, weighted, options)
    same(found[0], scored(entry, whole, options))
    same(found[1], scored(entry, whole[np.repeat(np.arange(len(whole)), times)], options))


def global_randomness_is_untouched(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    del seed
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    scored(entry, whole, options)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    assert before["state"]["pos"] == after["state"]["pos"]
    assert (before["state"]["key"] == after["state"]["key"]).all()


def nulls_are_evidence_of_the_same_kind(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    assert entry.nulls, f"{entry.name} has no null"
    for baseline in entry.nulls:
        if baseline.on == "state":
            made = baseline.make(state(entry, whole, options), seed)
            again = baseline.make(state(entry, whole, options), seed)
            assert type(made) is entry.state
            same(value(entry, again, options), value(entry, made, options))
            continue
        if baseline.expected is not None:
            _is_what_samples_give_on_average(entry, baseline, whole, options | baseline.options)
            continue
        made = baseline.made(whole, seed)
        assert type(made) is type(whole)
        assert len(made) == len(whole)
        assert _bytes(baseline.made(whole, seed)) == _bytes(made), "a seed gives one null"
        value_stays_within_bounds(entry, made, options | baseline.options, seed)


def _is_what_samples_give_on_average(
    entry: Metric, baseline: NullModel, whole: Any, options: dict[str, Any]
) -> None:
    assert not baseline.random
    before = _bytes(whole)
    null = null_state(entry, baseline, whole, options)
    assert type(null) is entry.state
    found, low, high = value(entry, null, options), *entry.bounds
    assert found.shape == scored(entry, whole, options).shape
    assert np.all(np.isnan(found) | ((found >= low) & (found <= high))), found
    sums = None if baseline.sums is None else baseline.sums(whole)
    halves = [
        null_state(entry, baseline, whole[part], options, sums=sums)
        for part in (slice(0, 2), slice(2, None))
    ]
    same(value(entry, sum(halves), options), found)
    twice = null_state(entry, baseline, whole, options, weights=np.full((1, len(whole)), 2.0))
    same(value(entry, twice, options)[0], found)
    assert _bytes(whole) == before


def one_sample_alone_is_enough(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Undefined is NaN, never an exception and never a warning, however little there is."""
    del seed
    for cut in (slice(0, 1), slice(0, 0)):
        found = scored(entry, whole[cut], options)
        assert found.shape == scored(entry, whole, options).shape


LAWS: tuple[Law, ...] = (
    shards_merge_to_the_whole,
    value_stays_within_bounds,
    evidence_is_left_unchanged,
    state_survives_travelling,
    order_of_samples_does_not_matter,
    relabelling_concepts_relabels_the_result,
    weights_repeat_samples,
    global_randomness_is_untouched,
    nulls_are_evidence_of_the_same_kind,
    one_sample_alone_is_enough,
)


def relabelled(whole: Any, order: np.ndarray) -> Any:
    """The same evidence with its concepts in another order."""
    changed: dict[str, Any] = {}
    for name, layout in whole.layouts():
        values = getattr(whole, name)
        if values is not None and "concepts" in layout.axes:
            changed[name] = np.take(values, order, axis=layout.axes.index("concepts"))
    names = Concepts(tuple(whole.concepts.names[i] for i in order))
    if isinstance(whole, LocationEvidence | EmbeddingEvidence):
        said = relabelled(whole.explained, order)
        return replace(whole, explained=said, concepts=Concepts(), **changed)
    assert isinstance(whole, ConceptEvidence | SurrogateEvidence)
    return replace(whole, concepts=names, **changed)


def _bytes(evidence: Evidence) -> bytes:
    parts = []
    for f in fields(evidence):
        member = getattr(evidence, f.name)
        if isinstance(member, Evidence):
            parts.append(_bytes(member))
        elif isinstance(member, np.ndarray):
            parts.append(member.tobytes())
    return b"".join(parts)
