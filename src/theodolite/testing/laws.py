"""Laws that every metric obeys: each takes a metric and evidence, and raises if broken.

A message says in plain words what the metric does; ``check_metric`` adds its name and the evidence.
"""

import pickle  # noqa: TID251  only what was pickled here is read: as a worker process sends it
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.evidence.axes import Concepts
from theodolite.evidence.base import Evidence
from theodolite.evidence.ragged import Ragged
from theodolite.metrics.array_names import array_layout, read_array, replace_array
from theodolite.metrics.base import Metric, NullModel, Pooled, SampleMean
from theodolite.testing.evidence_bytes import encode_evidence
from theodolite.testing.recorded import recording

Law = Callable[[Metric, Any, dict[str, Any], int], None]
"""(metric, evidence, options, seed)"""
MASK = "known"
"""Array of flags, False where a row has no data."""


def hold(condition: object, message: str) -> None:
    """Raise an AssertionError unless a condition holds; ``assert`` may be switched off."""
    if not condition:
        raise AssertionError(message)


def state(entry: Metric, evidence: Evidence, options: dict[str, Any], weights: Any = None) -> Any:
    """Build the state of a metric from evidence."""
    counting = {k: v for k, v in options.items() if k in entry.counting_options()}
    return entry.state.of(evidence, weights, **counting)


def null_state(
    entry: Metric, baseline: NullModel, evidence: Evidence, options: dict[str, Any], **more: Any
) -> Any:
    """Build the state under a null."""
    counting = {k: v for k, v in options.items() if k in entry.counting_options()}
    return entry.null_state(baseline, evidence, **more, **counting)


def value(entry: Metric, counts: Any, options: dict[str, Any]) -> np.ndarray:
    """Compute the value of a state."""
    finishing = {k: v for k, v in options.items() if k not in entry.counting_options()}
    return np.asarray(counts.value(**finishing))


def scored(entry: Metric, evidence: Evidence, options: dict[str, Any]) -> np.ndarray:
    """Compute the value of evidence."""
    return value(entry, state(entry, evidence, options), options)


def hold_equal(left: Any, right: Any, message: str) -> None:
    """Raise unless two results are equal but for rounding.

    Args:
        left: The result.
        right: What it must be.
        message: A sentence with ``{}`` for the first number that differs and ``{}`` for its pair.
    """
    left, right = np.broadcast_arrays(np.asarray(left, float), np.asarray(right, float))
    wrong = ~np.isclose(left, right, rtol=1e-9, atol=1e-12, equal_nan=True)
    if wrong.any():
        raise AssertionError(message.format(f"{left[wrong][0]:.4g}", f"{right[wrong][0]:.4g}"))


def same_evidence_scores_the_same(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Two scores of the same evidence are equal: random numbers come from a seed."""
    del seed
    again = scored(entry, whole, options)
    hold_equal(again, scored(entry, whole, options), "the same evidence scores {} and then {}")


def evidence_is_left_unchanged(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Scoring changes no byte of its input."""
    del seed
    before = encode_evidence(whole)
    scored(entry, whole, options)
    hold(encode_evidence(whole) == before, "scoring changes an array of the evidence")


def value_stays_within_bounds(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Check that each value is undefined or within the declared bounds."""
    del seed
    _hold_bounds(entry, scored(entry, whole, options), "value")


def order_of_samples_does_not_matter(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Samples in another order give the same value."""
    order = np.random.default_rng(seed).permutation(len(whole))
    left, right = scored(entry, whole[order], options), scored(entry, whole, options)
    hold_equal(left, right, "samples in another order score {} instead of {}")


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
        left = value(entry, merged, options)
        hold_equal(left, expected, "shards scored and merged give {} instead of {}")


def state_survives_travelling(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Check that a state sent to another process gives the same value."""
    del seed
    counts = state(entry, whole, options)
    again = pickle.loads(pickle.dumps(counts))  # noqa: S301  of our own making
    left, right = value(entry, again, options), value(entry, counts, options)
    hold_equal(left, right, "a pickled state gives {} instead of {}")


def undefined_samples_are_counted(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Check that a sample without data counts as undefined and changes no other score.

    This holds for the default options; another may say that missing data is a miss.
    """
    del options, seed
    if not issubclass(entry.state, SampleMean) or not len(whole):
        return  # other states may read a sample that is undefined by itself
    missing = without_data(entry, whole)
    if missing is not None:
        worth = scored(entry, missing[:1], {})
        for number in worth[~np.isnan(worth)]:
            text = f"a sample without data scores {number:.4g}, but it must be undefined (NaN)"
            raise AssertionError(text)
    evidence = whole if missing is None else missing
    each = np.stack([scored(entry, evidence[i : i + 1], {}) for i in range(len(evidence))])
    lost = np.isnan(scored(entry, evidence, {})) & ~np.isnan(each).all(axis=0)
    hold(not lost.any(), "one undefined sample makes the score of all samples undefined")
    defined = np.sum(~np.isnan(each), axis=0)
    counted = np.max(state(entry, evidence, {}).counted()[0] - defined)
    hold(counted <= 0, "an undefined sample is counted as defined")


def without_data(entry: Metric, whole: Any) -> Any:
    """Return evidence whose first sample lacks all data that may be missing; None if none may."""
    changed = None
    for path in (*entry.uses, *(path for path in entry.may_use if path.endswith(MASK))):
        layout, values = array_layout(entry.needs, path), read_array(whole, path)
        if layout is None or layout.axes[0] != "samples" or values is None:
            continue
        if not layout.may_be_nan and path.rpartition(".")[2] != MASK:
            continue
        nothing: Any = np.nan if layout.may_be_nan else False
        if isinstance(values, Ragged):
            first = np.repeat(np.arange(len(values)), values.lengths) == 0
            if values.inner_starts is not None:
                first = np.repeat(first, np.diff(values.inner_starts))
            empty: Any = replace(values, flat=_filled(values.flat, first, nothing))
        else:
            empty = _filled(np.asarray(values), np.arange(len(values)) == 0, nothing)
        changed = replace_array(whole if changed is None else changed, path, empty)
    return changed


def _filled(values: np.ndarray, rows: np.ndarray, nothing: Any) -> np.ndarray:
    """Return a copy with nothing in some rows."""
    return np.where(rows.reshape(-1, *[1] * (values.ndim - 1)), nothing, values)


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
    hold_equal(other, own, "concepts in another order score {} instead of {}")


def weights_repeat_samples(entry: Metric, whole: Any, options: dict[str, Any], seed: int) -> None:
    """Check that weight two counts a sample twice, and weight zero not at all."""
    times = np.random.default_rng(seed).integers(0, 3, size=len(whole))
    expected = scored(entry, whole, options)
    if issubclass(entry.state, Pooled):  # neighbors and fits stay those of the samples as they are
        even = state(entry, whole, options, np.outer([1.0, 3.0], np.ones(len(whole))))
        for row in value(entry, even, options):
            hold_equal(row, expected, "samples of equal weight score {} instead of {}")
        return
    weighted = state(entry, whole, options, np.stack([np.ones(len(whole)), times.astype(float)]))
    rows = value(entry, weighted, options)
    hold_equal(rows[0], expected, "samples of weight 1 score {} instead of {}")
    repeated = scored(entry, whole[np.repeat(np.arange(len(whole)), times)], options)
    words = "samples with weight 0, 1 or 2 score {}, but the same samples repeated score {}"
    hold_equal(rows[1], repeated, words)


def global_randomness_is_untouched(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Scoring draws nothing from numpy's global generator."""
    del seed
    before = np.random.get_state(legacy=False)  # noqa: NPY002
    scored(entry, whole, options)
    after = np.random.get_state(legacy=False)  # noqa: NPY002
    same = before["state"]["pos"] == after["state"]["pos"]
    same = same and (before["state"]["key"] == after["state"]["key"]).all()
    hold(same, "scoring changes the global random state of numpy")


def nulls_are_evidence_of_the_same_kind(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Check that a null gives evidence or a state of the same kind, one per seed."""
    hold(entry.nulls, "there is no null baseline")
    for baseline in entry.nulls:
        name = f"the baseline {baseline.name!r}"
        if baseline.on == "state":
            null, again = (baseline.made(state(entry, whole, options), seed) for _ in range(2))
            hold(type(null) is entry.state, f"{name} makes a state of another class")
            left, right = value(entry, again, options), value(entry, null, options)
            hold_equal(left, right, f"{name} scores {{}} and then {{}} for one seed")
            continue
        if baseline.expected is not None:
            _is_what_samples_give_on_average(entry, baseline, whole, options | baseline.options)
            continue
        null = baseline.made(whole, seed)
        hold(type(null) is type(whole), f"{name} makes another kind of evidence")
        hold(len(null) == len(whole), f"{name} makes another number of samples")
        again = baseline.made(whole, seed)
        equal = encode_evidence(again) == encode_evidence(null)
        hold(equal, f"{name} makes different evidence for one seed")
        values = scored(entry, null, options | baseline.options)
        _hold_bounds(entry, values, f"the value of {name},")


def _is_what_samples_give_on_average(
    entry: Metric, baseline: NullModel, whole: Any, options: dict[str, Any]
) -> None:
    name = f"the expected baseline {baseline.name!r}"
    hold(not baseline.random, f"{name} is declared as random")
    before = encode_evidence(whole)
    null = null_state(entry, baseline, whole, options)
    hold(type(null) is entry.state, f"{name} makes a state of another class")
    expected = value(entry, null, options)
    shape = scored(entry, whole, options).shape
    hold(expected.shape == shape, f"{name} has another shape than the score")
    _hold_bounds(entry, expected, f"the value of {name},")
    sums = None if baseline.sums is None else baseline.sums(whole)
    halves = [
        null_state(entry, baseline, whole[part], options, sums=sums)
        for part in (slice(0, 2), slice(2, None))
    ]
    merged = value(entry, sum(halves), options)
    hold_equal(merged, expected, f"{name} gives {{}} in shards instead of {{}}")
    twice = null_state(entry, baseline, whole, options, weights=np.full((1, len(whole)), 2.0))
    doubled = value(entry, twice, options)[0]
    hold_equal(doubled, expected, f"{name} gives {{}} with weight 2 instead of {{}}")
    hold(encode_evidence(whole) == before, f"{name} changes an array of the evidence")


def _hold_bounds(entry: Metric, values: np.ndarray, what: str) -> None:
    low, high = entry.bounds
    for number in values[values < low]:
        raise AssertionError(f"{what} {number:.4g} is below the declared lower bound {low:g}")
    for number in values[values > high]:
        raise AssertionError(f"{what} {number:.4g} is above the declared upper bound {high:g}")


def one_sample_alone_is_enough(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Undefined is NaN, never an exception and never a warning, however little there is."""
    del seed
    for cut, text in ((slice(0, 1), "one sample"), (slice(0, 0), "no sample")):
        few = scored(entry, whole[cut], options)
        same = few.shape == scored(entry, whole, options).shape
        hold(same, f"the score of {text} has another shape")


def it_reads_what_it_declares(
    entry: Metric, whole: Any, options: dict[str, Any], seed: int
) -> None:
    """Check that only declared arrays are read."""
    del seed
    evidence, reads = recording(whole)
    scored(entry, evidence, options)
    by_choice = [a for choices in entry.uses_if.values() for own in choices.values() for a in own]
    undeclared = ", ".join(sorted(reads - {*entry.uses, *entry.may_use, *by_choice}))
    hold(not undeclared, f"it reads `{undeclared}`, which is not in `uses` or `may_use`")


LAWS: tuple[Law, ...] = (
    same_evidence_scores_the_same,
    evidence_is_left_unchanged,
    it_reads_what_it_declares,
    value_stays_within_bounds,
    undefined_samples_are_counted,
    order_of_samples_does_not_matter,
    shards_merge_to_the_whole,
    weights_repeat_samples,
    state_survives_travelling,
    relabelling_concepts_relabels_the_result,
    global_randomness_is_untouched,
    nulls_are_evidence_of_the_same_kind,
    one_sample_alone_is_enough,
)


def relabelled(whole: Any, order: np.ndarray) -> Any:
    """Return the evidence with its concepts in another order."""
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
