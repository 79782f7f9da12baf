"""Laws that every metric obeys: each takes a metric and evidence, and raises if broken."""

import pickle  # noqa: TID251  only what was pickled here is read: as a worker process sends it
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from theodolite.evidence.axes import Concepts
from theodolite.evidence.base import Evidence
from theodolite.evidence.ragged import Ragged
from theodolite.metrics.base import Metric, NullModel, Pooled
from theodolite.testing.evidence_bytes import evidence_bytes
from theodolite.testing.recorded import recording

Law = Callable[[Metric, Any, dict[str, Any], int], None]
"""(metric, evidence, options, seed)"""


def hold(condition: object, message: object = "") -> None:
    """Like ``assert``, which may be switched off."""
    if not condition:
        raise AssertionError(message)


def state(entry: Metric, evidence: Evidence, options: dict[str, Any], weights: Any = None) -> Any:
    """What a metric counts in evidence."""
    counting = {k: v for k, v in options.items() if k in entry.counting_options()}
    return entry.state.of(evidence, weights, **counting)


def null_state(
    entry: Metric, baseline: NullModel, evidence: Evidence, options: dict[str, Any], **more: Any
) -> Any:
    """What it counts under a null."""
    counting = {k: v for k, v in options.items() if k in entry.counting_options()}
    return entry.null_state(baseline, evidence, **more, **counting)


def value(entry: Metric, counts: Any, options: dict[str, Any]) -> np.ndarray:
    """What it reads from a state."""
    finishing = {k: v for k, v in options.items() if k not in entry.counting_options()}
    return np.asarray(counts.value(**finishing))


def scored(entry: Metric, evidence: Evidence, options: dict[str, Any]) -> np.ndarray:
    """Its value of evidence."""
    return value(entry, state(entry, evidence, options), options)


def same(left: Any, right: Any) -> None:
    """Equal but for rounding."""
    assert_allclose(left, right, rtol=1e-9, atol=1e-12)


def shards_merge_to_the_whole(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Cut anywhere and merged in any order, pieces give what the whole gives."""
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
    """Each value is undefined or lies where the declaration says."""
    del seed
    _within_bounds(entry, scored(entry, whole, options))


def evidence_is_left_unchanged(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Scoring changes no byte of its input."""
    del seed
    before = evidence_bytes(whole)
    scored(entry, whole, options)
    hold(evidence_bytes(whole) == before, "the evidence was changed")


def state_survives_travelling(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """A state that another process sends back gives the same value."""
    del seed
    counts = state(entry, whole, options)
    again = pickle.loads(pickle.dumps(counts))  # noqa: S301  of our own making
    assert_array_equal(value(entry, again, options), value(entry, counts, options))


def order_of_samples_does_not_matter(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Samples in another order give the same value."""
    order = np.random.default_rng(seed).permutation(len(whole))
    same(scored(entry, whole[order], options), scored(entry, whole, options))


def relabelling_concepts_relabels_the_result(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Concepts in another order give the same values in that order."""
    if not hasattr(whole, "concepts"):
        return
    if entry.name == "embedding_interconcept_information" and options.get("form") == "paper":
        return  # takes each pair once, by the order of the concepts: the paper's fault
    order = np.random.default_rng(seed).permutation(len(whole.concepts))
    own, other = scored(entry, whole, options), scored(entry, relabelled(whole, order), options)
    if entry.detail and options.get("over", entry.default("over")) == "concepts":
        own = own[..., order]
    if options.get("over") == "pairs":
        i, j = np.triu_indices(len(order), 1)
        square = np.zeros((*own.shape[:-1], len(order), len(order)))
        square[..., i, j] = square[..., j, i] = own
        own = square[..., order[i], order[j]]
    same(other, own)


def weights_repeat_samples(entry: Metric, whole: Any, options: dict[str, Any], seed: int) -> None:
    """A weight of two counts a sample twice, a weight of nought not at all."""
    times = np.random.default_rng(seed).integers(0, 3, size=len(whole))
    if issubclass(entry.state, Pooled):  # neighbors and fits stay those of the samples as they are
        even = state(entry, whole, options, np.outer([1.0, 3.0], np.ones(len(whole))))
        for row in value(entry, even, options):
            same(row, scored(entry, whole, options))
        return
    weighted = state(entry, whole, options, np.stack([np.ones(len(whole)), times.astype(float)]))
    rows = value(entry, weighted, options)
    same(rows[0], scored(entry, whole, options))
    same(rows[1], scored(entry, whole[np.repeat(np.arange(len(whole)), times)], options))


def global_randomness_is_untouched(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Scoring draws nothing from numpy's global generator."""
    del seed
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    scored(entry, whole, options)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    hold(before["state"]["pos"] == after["state"]["pos"], "numbers were drawn")
    hold((before["state"]["key"] == after["state"]["key"]).all(), "it was seeded")


def nulls_are_evidence_of_the_same_kind(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """A null gives evidence, or a state, of the same kind; a seed gives one null."""
    hold(entry.nulls, f"{entry.name} has no null")
    for baseline in entry.nulls:
        if baseline.on == "state":
            null, again = (baseline.made(state(entry, whole, options), seed) for _ in range(2))
            hold(type(null) is entry.state, f"{baseline.name} gives another state")
            same(value(entry, again, options), value(entry, null, options))
            continue
        if baseline.expected is not None:
            _is_what_samples_give_on_average(entry, baseline, whole, options | baseline.options)
            continue
        null = baseline.made(whole, seed)
        hold(type(null) is type(whole), f"{baseline.name} gives another kind of evidence")
        hold(len(null) == len(whole), f"{baseline.name} gives another number of samples")
        again = baseline.made(whole, seed)
        hold(evidence_bytes(again) == evidence_bytes(null), "a seed gives one null")
        value_stays_within_bounds(entry, null, options | baseline.options, seed)


def _is_what_samples_give_on_average(
    entry: Metric, baseline: NullModel, whole: Any, options: dict[str, Any]
) -> None:
    hold(not baseline.random, f"{baseline.name} is not drawn")
    before = evidence_bytes(whole)
    null = null_state(entry, baseline, whole, options)
    hold(type(null) is entry.state, f"{baseline.name} gives another state")
    expected = value(entry, null, options)
    hold(expected.shape == scored(entry, whole, options).shape, "another shape than the value")
    _within_bounds(entry, expected)
    sums = None if baseline.sums is None else baseline.sums(whole)
    halves = [
        null_state(entry, baseline, whole[part], options, sums=sums)
        for part in (slice(0, 2), slice(2, None))
    ]
    same(value(entry, sum(halves), options), expected)
    twice = null_state(entry, baseline, whole, options, weights=np.full((1, len(whole)), 2.0))
    same(value(entry, twice, options)[0], expected)
    hold(evidence_bytes(whole) == before, "the evidence was changed")


def _within_bounds(entry: Metric, values: np.ndarray) -> None:
    low, high = entry.bounds
    hold(np.all(np.isnan(values) | ((values >= low) & (values <= high))), values)


def one_sample_alone_is_enough(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Undefined is NaN, never an exception and never a warning, however little there is."""
    del seed
    for cut in (slice(0, 1), slice(0, 0)):
        few = scored(entry, whole[cut], options)
        hold(few.shape == scored(entry, whole, options).shape, "another shape for few samples")


def it_reads_what_it_declares(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """No array but those that the function, the card and what is missing name."""
    del seed
    evidence, reads = recording(whole)
    scored(entry, evidence, options)
    by_choice = [a for choices in entry.uses_if.values() for own in choices.values() for a in own]
    undeclared = reads - {*entry.uses, *entry.may_use, *by_choice}
    hold(not undeclared, f"{entry.name} reads {sorted(undeclared)} and does not say so")


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
    it_reads_what_it_declares,
)


def relabelled(whole: Any, order: np.ndarray) -> Any:
    """The same evidence with its concepts in another order."""
    changed: dict[str, Any] = {}
    for name, layout in whole.layouts():
        values = getattr(whole, name)
        if isinstance(values, Ragged) and "concepts" in layout.axes:
            along = layout.flat.axes.index("concepts")
            changed[name] = replace(values, flat=np.take(values.flat, order, axis=along))
        elif values is not None and "concepts" in layout.axes:
            changed[name] = np.take(values, order, axis=layout.axes.index("concepts"))
        elif values is not None and layout.points_to == "concepts":
            none = np.asarray(values) < 0
            changed[name] = np.where(none, values, np.argsort(order)[values])
    inside = {name: relabelled(getattr(whole, name), order) for name, _ in whole.inner_kinds()}
    if inside:
        return replace(whole, **inside, concepts=Concepts(), **changed)
    names = Concepts(tuple(whole.concepts.names[i] for i in order))
    return replace(whole, concepts=names, **changed)
