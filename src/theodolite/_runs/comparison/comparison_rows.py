"""Scores of two runs on the same samples, one line each: differences and their tests."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from theodolite._runs.comparison.aligned_samples import (
    AlignedSamples,
    NotComparableError,
    align_samples,
    align_shards,
)
from theodolite._runs.comparison.intervals import NOTHING_VARIED, SAME, DifferenceTest
from theodolite._runs.comparison.loaded_runs import Key, LoadedRun, get_score_key
from theodolite._runs.comparison.paired_differences import (
    ComparisonSide,
    Difference,
    ResampledRows,
    compute_difference,
    resample_rows,
)
from theodolite._runs.comparison.table_differences import compute_table_difference
from theodolite._scoring.request import MetricRequest, Resampling
from theodolite._stats.multiple import correct_holm
from theodolite._verdicts.lookup import paper_name
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite.evidence.base import Evidence
from theodolite.evidence.pipeline_output import Progress
from theodolite.evidence.shards import Shards, compute_evidence_digest
from theodolite.metrics.catalogue import catalogue
from theodolite.results import Interval, Score, number_text

ResampledMemory = dict[tuple[str, ...], ResampledRows]
"""Resampled rows of evidence that was met before: one run is compared with many."""
Outcome = Literal[
    "better", "worse", "undecided", "cannot be told", "the same", "not comparable", "exploration"
]
"""Undecided: there is a test, and it does not show a difference. Cannot be told: there is none."""


@dataclass(frozen=True)
class ClaimOutcome:
    """What can be said of a difference, as a claim about these models or about the recipe."""

    outcome: Outcome = "not comparable"
    p: float = float("nan")
    """The p-value, corrected for the other headlines (Holm)."""
    alpha: float = float("nan")
    """How often chance alone may pass, at the step that it was looked at."""


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonRow:
    """One score of two runs, and what can be said of their difference."""

    first: Score | None
    second: Score | None
    difference: Difference | None
    why: str = ""
    """Why there is no difference; or, with one, what a reader must know of it."""
    these: ClaimOutcome = ClaimOutcome()
    """Of these trained models, on new samples."""
    recipe: ClaimOutcome = ClaimOutcome()
    """Of models trained again."""

    @property
    def outcome(self) -> Outcome:
        """Outcome for these models."""
        return self.these.outcome

    @property
    def score(self) -> Score:
        """Score of either run, for its name and unit."""
        score = self.first if self.first is not None else self.second
        assert score is not None  # noqa: S101  a line has at least one
        return score

    @property
    def value(self) -> float:
        """After minus before; undefined where they are not comparable."""
        return float("nan") if self.difference is None else self.difference.value

    @property
    def interval(self) -> Interval | None:
        """The interval of the difference, to be quoted."""
        return None if self.difference is None else self.difference.interval

    @property
    def better(self) -> Literal["before", "after", "inconclusive"]:
        """The run that is better (its interval excludes 0, Holm), as a claim about these models."""
        names: dict[Outcome, Literal["before", "after"]] = {"better": "after", "worse": "before"}
        return names.get(self.outcome, "inconclusive")

    def to_record(self) -> dict[str, Any]:
        """A row of a table."""
        low, high = (np.nan, np.nan) if self.interval is None else (
            self.interval.low, self.interval.high)  # fmt: skip
        score = self.score
        return {
            "metric": score.metric,
            "paper_name": paper_name(score.metric),
            "question": score.question,
            "before": np.nan if self.first is None else float(self.first.value),
            "after": np.nan if self.second is None else float(self.second.value),
            "difference": float(self.value),
            "low": float(low),
            "high": float(high),
            "p": float(self.these.p),
            "better": self.better,
            "outcome": self.outcome,
            "why": self.why,
        } | {f"option.{name}": value for name, value in score.options.items()}

    def __repr__(self) -> str:
        ends = "" if self.interval is None else (
            f" [{number_text(self.interval.low)}, {number_text(self.interval.high)}]")  # fmt: skip
        text = f"{self.score.metric} {number_text(self.value)}{ends}, better: {self.better}"
        return f"ComparisonRow({printable(f'{text}, {self.outcome}', 140)})"


def settle_headlines(lines: Sequence[ComparisonRow], level: float) -> list[ComparisonRow]:
    """What the headlines come to: two claims each, each claim corrected over the headlines alone
    (Holm). Neither blocks the other."""
    deltas = [line.difference for line in lines]
    these = [None if delta is None else delta.these for delta in deltas]
    recipes = [None if delta is None else delta.recipe for delta in deltas]
    return [
        replace(line, these=models, recipe=recipe)
        for line, models, recipe in zip(
            lines,
            correct_claims(lines, these, level),
            correct_claims(lines, recipes, level),
            strict=True,
        )
    ]


def correct_claims(
    lines: Sequence[ComparisonRow], tests: Sequence[DifferenceTest | None], level: float
) -> list[ClaimOutcome]:
    """Correct the p-values of one test per line by Holm's method."""
    steps = correct_holm([float("nan") if test is None else test.p for test in tests], 1 - level)
    return [
        ClaimOutcome(_decide_outcome(line, float(p), 1 - level), float(p), float(alpha))
        for line, p, alpha in zip(lines, steps.p, steps.level, strict=True)
    ]


def _decide_outcome(line: ComparisonRow, p: float, alpha: float) -> Outcome:
    explored_outcome = mark_exploratory(line).outcome
    if line.difference is None or explored_outcome != "exploration":
        return explored_outcome
    if np.isnan(p):
        return "cannot be told"
    if p > alpha:
        return "undecided"
    return "better" if (line.difference.value > 0) == (line.score.better == "higher") else "worse"


def mark_exploratory(line: ComparisonRow) -> ComparisonRow:
    """Mark a line as exploratory: it shows a difference and never says better or worse."""
    delta = line.difference
    outcome: Outcome = "exploration"
    if delta is None or np.isnan(delta.value):
        outcome = "not comparable"
    elif delta.interval is not None and delta.interval.method == SAME:
        outcome = "the same"
    return replace(line, these=ClaimOutcome(outcome), recipe=ClaimOutcome(outcome))


def build_rows(
    runs: tuple[LoadedRun, LoadedRun],
    keys: Sequence[Key],
    resampling: Resampling,
    progress: Progress,
    memory: ResampledMemory | None = None,
) -> tuple[dict[Key, ComparisonRow], "SharedSamples"]:
    """Scores that both runs have, by what they mean; and the samples that both have."""
    samples = SharedSamples(runs, memory)
    by_key: dict[Key, ComparisonRow] = {}
    groups = list(_group_scores([runs[0].by_key[key] for key in keys]))
    what = f"{runs[0].name} and {runs[1].name}"
    for number, (request, cells) in enumerate(groups):
        progress(what, number, len(groups))
        by_key |= _build_request_rows(runs, request, cells, (samples, resampling))
    progress(what, len(groups), len(groups))
    return by_key, samples


class SharedSamples:
    """The evidence of two runs, cut to the same samples kind by kind, when it is asked for."""

    def __init__(
        self, runs: tuple[LoadedRun, LoadedRun], memory: ResampledMemory | None = None
    ) -> None:
        self.runs = runs
        self._memory = memory
        self.n = 0
        self.dropped = (0, 0)
        self._known: dict[type[Evidence], AlignedSamples] = {}

    def of(self, kind: type[Evidence]) -> AlignedSamples:
        """Both runs' bundles of a kind."""
        if kind not in self._known:
            large = any(run.is_large for run in self.runs)
            samples = self._in_pieces(kind) if large else self._in_memory(kind)
            self._known[kind] = samples
            if samples.n >= self.n:
                self.n, self.dropped = samples.n, (samples.dropped[0], samples.dropped[1])
        return self._known[kind]

    def resample(
        self, request: MetricRequest, bundles: Sequence[Evidence | Shards], resampling: Resampling
    ) -> ResampledRows:
        """Values of a request, from memory where the same evidence was resampled before."""
        in_memory = [bundle for bundle in bundles if isinstance(bundle, Evidence)]
        if self._memory is None or len(in_memory) < len(bundles):
            return resample_rows(request, bundles, resampling)
        digests = map(compute_evidence_digest, in_memory)
        key = (request.metric.name, repr(request.options), repr(resampling), *digests)
        if key not in self._memory:
            self._memory[key] = resample_rows(request, bundles, resampling)
        return self._memory[key]

    def _in_memory(self, kind: type[Evidence]) -> AlignedSamples:
        bundles = [[kinds[kind] for kinds in run.evidence if kind in kinds] for run in self.runs]
        if not all(bundles):
            raise NotComparableError(f"no {kind.kind} evidence in one of the runs")
        return align_samples(bundles, same_data=has_same_data(*self.runs))

    def _in_pieces(self, kind: type[Evidence]) -> AlignedSamples:
        if not all(run.made_record.stored for run in self.runs):
            raise NotComparableError(
                "sharded evidence, too large for memory, in one of the runs only"
            )
        if not all(kind in run.shards for run in self.runs):
            raise NotComparableError(f"no {kind.kind} evidence in one of the runs")
        first, second = (run.shards[kind] for run in self.runs)
        return align_shards(first, second, same_data=has_same_data(*self.runs))


def has_same_data(first: LoadedRun, second: LoadedRun) -> bool:
    """Return whether both runs name the same data set and read the same bytes of it."""
    dataset, other = first.record.spec.dataset, second.record.spec.dataset
    both = set(first.made_record.inputs) & set(second.made_record.inputs)
    same = all(first.made_record.inputs[name] == second.made_record.inputs[name] for name in both)
    return dataset is not None and dataset == other and bool(both) and same


def _group_scores(
    scores: Sequence[Score],
) -> Iterator[tuple[MetricRequest | str, dict[Key, tuple[int, ...]]]]:
    """Scores that one request gives, each with its place among the swept options.

    A score that this version would not compute as it was comes with the reason.
    """
    together: dict[tuple[str, int, str], list[Score]] = {}
    for score in scores:
        sweeps = catalogue()[score.metric].sweeps if score.metric in catalogue() else ()
        plain = {k: v for k, v in score.options.items() if k not in sweeps}
        group_key = (score.metric, score.version, repr(sorted(plain.items())))
        together.setdefault(group_key, []).append(score)
    for (name, version, _), own in together.items():
        metric = catalogue().get(name)
        if metric is None or metric.version != version:
            yield f"this version has no {name} {version}", {get_score_key(s): () for s in own}
            continue
        plain = {k: v for k, v in own[0].options.items() if k not in metric.sweeps}
        swept = [tuple(dict.fromkeys(s.options[option] for s in own)) for option in metric.sweeps]
        places = {
            get_score_key(s): tuple(
                choices.index(s.options[option])
                for option, choices in zip(metric.sweeps, swept, strict=True)
            )
            for s in own
        }
        try:
            options = plain | dict(zip(metric.sweeps, swept, strict=True))
            yield MetricRequest(metric, options), places
        except EvidenceError as error:
            yield str(error), places


def _build_request_rows(
    runs: tuple[LoadedRun, LoadedRun],
    request: MetricRequest | str,
    cells: dict[Key, tuple[int, ...]],
    how: tuple[SharedSamples, Resampling],
) -> dict[Key, ComparisonRow]:
    """The lines of one request."""
    scores = {key: (runs[0].by_key[key], runs[1].by_key[key]) for key in cells}
    samples, resampling = how
    try:
        if isinstance(request, str):
            raise NotComparableError(request)
        both = samples.of(request.metric.needs)
        rows = [samples.resample(request, own, resampling) for own in both.bundles]
    except NotComparableError as reason:
        return {key: ComparisonRow(*pair, None, str(reason)) for key, pair in scores.items()}
    except UnsafeInputError:  # the evidence lies elsewhere
        return {
            key: _build_rows_from_tables(runs, pair, resampling) for key, pair in scores.items()
        }
    except EvidenceError as error:
        return {key: ComparisonRow(*pair, None, str(error)) for key, pair in scores.items()}
    by_key = {}
    for key, pair in scores.items():
        first, second = (
            ComparisonSide(
                run_rows, cells[key], score, tuple(run.record.spec.seeds), _has_paired_seeds(run)
            )
            for run_rows, score, run in zip(rows, pair, runs, strict=True)
        )
        delta = compute_difference(first, second, identical=both.identical)
        by_key[key] = ComparisonRow(*pair, delta, _write_remark(pair, delta, both))
    return by_key


def _has_paired_seeds(run: LoadedRun) -> bool:
    return run.record.spec.paired_seeds


def _build_rows_from_tables(
    runs: tuple[LoadedRun, LoadedRun], scores: tuple[Score, Score], resampling: Resampling
) -> ComparisonRow:
    try:
        delta = compute_table_difference(runs, scores, resampling)
    except NotComparableError as reason:
        return ComparisonRow(*scores, None, str(reason))
    seed = " with the first seed" if any(len(score.per_seed) > 1 for score in scores) else ""
    return ComparisonRow(*scores, delta, f"from what each sample gave{seed}, not from the evidence")


def _write_remark(scores: tuple[Score, Score], delta: Difference, both: AlignedSamples) -> str:
    """What a reader must know of a difference."""
    if np.isnan(delta.value):
        return "undefined in one of the runs, or nothing that both have"
    remarks = []
    if any(both.dropped):
        remarks.append(f"on the {both.n} samples that both have")
    if delta.items is not None and delta.items.dropped:
        remarks.append(f"over the {len(delta.items.names)} {delta.items.over} that both have")
    again = zip((delta.first, delta.second), scores, strict=True)
    if not remarks and any(abs(value - score.value) > 1e-6 for value, score in again):
        remarks.append("computed again, a score comes out otherwise than it was stored")
    return "; ".join([*remarks, *_explain_no_variation(delta)])


def _explain_no_variation(delta: Difference) -> Iterator[str]:
    """Return a note if nothing varied: the interval is then a bound, not a spread."""
    if delta.interval is None or delta.interval.method != NOTHING_VARIED:
        return
    items = delta.items
    what = "every sample" if items is None else f"each of the {len(items.names)} {items.over}"
    same = "scores the same in both" if abs(delta.value) <= 1e-12 else "differs by the same"
    yield f"{what} {same}: the interval is what one not met could change"
