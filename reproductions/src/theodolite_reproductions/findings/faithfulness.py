"""Questions about measures of faithfulness, methods and layers, answered from a run's scores."""

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np

from theodolite._stats.resampling import mean_interval
from theodolite._storage.records import Record
from theodolite._verdicts.scores_file import (
    ComparedRecord,
    ScoreRecord,
    numbers,
    score_named,
    written,
)
from theodolite_reproductions.findings.cost import surrogate_operations
from theodolite_reproductions.findings.decision import (
    DecisionRecord,
    FindingDecision,
    decide_mean,
    decision_record,
)
from theodolite_reproductions.findings.elbow import elbow
from theodolite_reproductions.findings.sanity import ORDER, Outcome, SettingOutcome, Step, judged
from theodolite_reproductions.findings.specs import CurveSpec, LayersSpec, SanitySpec

COSTS = ("linear", "rebuilt", "learned")


class ValueRecord(Record):
    """A mean over seeds with its interval; no interval where seeds change nothing."""

    value: float | None
    low: float | None
    high: float | None
    n: int


class StepRecord(Record):
    """Whether a measure notices what was done to a perfect explanation."""

    setting: str
    against: str
    expected: Literal["worse", "the same"]
    found: SettingOutcome
    low: float | None
    high: float | None
    decision: DecisionRecord | None = None


class SanityRow(Record):
    """One measure in all settings."""

    metric: str
    surrogate: str
    better: Literal["higher", "lower"]
    values: dict[str, ValueRecord]
    outcome: Outcome
    order: list[StepRecord]
    planted: list[StepRecord]
    operations: int | None
    """From concepts to outputs, a sample."""


class SanityRecord(Record):
    """Measure over measure."""

    kind: Literal["sanity"] = "sanity"
    title: str
    rows: list[SanityRow]
    paper: dict[str, list[float]]
    effect: float | None = None
    """The smallest difference that counts, as a share of a measure's largest value."""


class LayerRow(Record):
    """What the slope says about a layer, and what it misses."""

    model: str
    layer: str
    method: str
    by_slope: ValueRecord
    rebuilt: ValueRecord
    missed: ValueRecord
    usable: bool
    """Whether what the slope misses is surely less than half of what is measured by it."""
    decision: DecisionRecord | None = None
    """That it is less than half; as a share of what is measured."""


class LayersRecord(Record):
    """Layers in the middle of a network."""

    kind: Literal["layers"] = "layers"
    title: str
    metric: str
    rows: list[LayerRow]
    last: dict[str, ValueRecord]
    """The last layer's own score, by method."""


class CurveLine(Record):
    """Scores of a method over numbers of concepts."""

    method: str
    concepts: list[int]
    scores: list[ValueRecord]
    knee: float | None
    """Beyond this number a concept more gains little."""
    decision: DecisionRecord | None = None
    """That the score gains from the smallest number of concepts to the largest."""


class CurveRecord(Record):
    """Faithfulness against the number of concepts that somebody has to read."""

    kind: Literal["curve"] = "curve"
    title: str
    metric: str
    lines: list[CurveLine]


def sanity_record(study: SanitySpec, models: Sequence[ComparedRecord]) -> SanityRecord:
    """Judge every measure that was scored in all settings."""
    settings = {str(m.about["setting"]): m for m in models if m.about.get("kind") == "setting"}
    if not set(ORDER) <= set(settings):
        return SanityRecord(title=study.title, rows=[], paper=study.paper, effect=study.effect)
    rows = []
    for score in settings[ORDER[0]].scores:
        setting_scores = {
            name: score_named(model, score.metric, **score.options)
            for name, model in settings.items()
        }
        values = {
            name: _seeds(setting_score)
            for name, setting_score in setting_scores.items()
            if setting_score is not None
        }
        if set(ORDER) <= set(values):
            rows.append(_row(score, values, study))
    return SanityRecord(title=study.title, rows=rows, paper=study.paper, effect=study.effect)


def _row(score: ScoreRecord, values: dict[str, np.ndarray], study: SanitySpec) -> SanityRow:
    n = max(len(each) for each in values.values())
    # a setting without chance has one value for all seeds
    filled = {name: tuple(np.resize(each, n).tolist()) for name, each in values.items()}
    measure = judged(score.metric, score.options, score.better, filled, study.effect)
    surrogate = str(score.options.get("surrogate", ""))
    return SanityRow(
        metric=score.metric,
        surrogate=surrogate,
        better=score.better,
        values={name: _mean(np.asarray(each)) for name, each in filled.items()},
        outcome=measure.outcome,
        order=[_step(step) for step in measure.order],
        planted=[_step(step) for step in measure.planted],
        operations=_operations(surrogate, study),
    )


def _operations(surrogate: str, study: SanitySpec) -> int | None:
    if surrogate not in COSTS or not study.classes or not study.dimensions:
        return None
    return surrogate_operations(
        surrogate,  # type: ignore[arg-type]
        classes=study.classes,
        concepts=1,
        dimensions=study.dimensions,
    )


def _step(step: Step) -> StepRecord:
    return StepRecord(
        setting=step.less,
        against=step.more,
        expected=step.expected,
        found=step.found,
        low=written(step.low),
        high=written(step.high),
        decision=None if step.decision is None else decision_record(step.decision),
    )


def layers_record(study: LayersSpec, models: Sequence[ComparedRecord]) -> LayersRecord:
    """Hold what the slope says against what it misses."""
    rows = []
    for model in models:
        if model.about.get("kind") != "layer":
            continue
        slope = score_named(model, study.metric, surrogate="linearized")
        rebuilt = score_named(model, study.metric, surrogate="rebuilt")
        missed = score_named(model, "linearization_error")
        error = score_named(model, "surrogate_error", surrogate="linearized")
        if slope is None or rebuilt is None or missed is None or error is None:
            continue
        less = _less_than_half(_seeds(missed), _seeds(error), study.effect)
        rows.append(
            LayerRow(
                model=model.name,
                layer=str(model.about["layer"]),
                method=str(model.about["method"]),
                by_slope=_mean(_seeds(slope)),
                rebuilt=_mean(_seeds(rebuilt)),
                missed=_mean(_seeds(missed)),
                usable=less.answer == "confirmed",
                decision=decision_record(less),
            )
        )
    return LayersRecord(
        title=study.title,
        metric=study.metric,
        rows=rows,
        last=dict(_last(study, models, {row.method for row in rows})),
    )


def _less_than_half(missed: np.ndarray, measured: np.ndarray, effect: float) -> FindingDecision:
    """Over seeds, as a share of what is measured. An exact slope may always be read."""
    missed, measured = _paired(missed, measured)
    known = measured[~np.isnan(measured)]
    size = max(float(known.mean()), 2e-6) if len(known) else 1.0
    return decide_mean((np.maximum(0.5 * measured, 1e-6) - missed) / size, effect)


def _paired(first: np.ndarray, second: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Seed by seed; what chance does not change has one value for all seeds."""
    n = max(len(first), len(second))
    return np.resize(first, n), np.resize(second, n)


def _last(
    study: LayersSpec, models: Sequence[ComparedRecord], methods: set[str]
) -> Iterator[tuple[str, ValueRecord]]:
    """The last layer by the same methods, each with its first number of concepts: its rebuilt
    embeddings need no slope."""
    own = [m for m in models if m.about.get("kind") == "method"]
    for method in sorted(methods):
        first = next((m for m in own if m.about["method"] == method), None)
        score = None if first is None else score_named(first, study.metric, surrogate="rebuilt")
        if score is not None:
            yield method, _mean(_seeds(score))


def curve_record(study: CurveSpec, models: Sequence[ComparedRecord]) -> CurveRecord:
    """The scores of each method over numbers of concepts, with the knee of each."""
    lines = []
    own = [m for m in models if m.about.get("kind") == "method"]
    for method in dict.fromkeys(str(m.about["method"]) for m in own):
        pairs = [
            (m, score_named(m, study.metric, surrogate="linear") or score_named(m, study.metric))
            for m in own
            if m.about["method"] == method
        ]
        scored = sorted(
            ((int(m.about["concepts"]), s) for m, s in pairs if s is not None),
            key=lambda pair: pair[0],
        )
        values = [_mean(_seeds(score)) for _, score in scored]
        if len(scored) > 1:
            concepts = [n for n, _ in scored]
            means = numbers([v.value for v in values])
            bend = elbow(concepts, means.tolist(), scored[0][1].better)
            gain = decision_record(_gain(scored[0][1], scored[-1][1], study.effect))
            lines.append(
                CurveLine(method=method, concepts=concepts, scores=values, knee=bend, decision=gain)
            )
    return CurveRecord(title=study.title, metric=study.metric, lines=lines)


def _gain(fewest: ScoreRecord, most: ScoreRecord, effect: float) -> FindingDecision:
    """What the largest number of concepts gains over the smallest."""
    first, last = _paired(_seeds(fewest), _seeds(most))
    low, high = fewest.bounds
    known = np.abs([v for v in (*first, *last) if not np.isnan(v)])
    size = float(known.max(initial=1e-9)) if low is None or high is None else high - low
    return decide_mean(last - first, effect * size, 1 if fewest.better == "higher" else -1)


def _seeds(score: ScoreRecord) -> np.ndarray:
    return numbers(score.per_seed or [score.value])


def _mean(values: np.ndarray) -> ValueRecord:
    known = values[~np.isnan(values)]
    if not len(known):
        return ValueRecord(value=None, low=None, high=None, n=0)
    interval = mean_interval(known, 0.95, "seeds")
    ends = (None, None) if interval is None else (interval.low, interval.high)
    return ValueRecord(value=float(known.mean()), low=ends[0], high=ends[1], n=len(known))
