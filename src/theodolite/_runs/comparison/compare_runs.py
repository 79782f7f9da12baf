"""Compare two runs, score by score."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from theodolite._runs.comparison.comparison_rows import (
    ComparisonRow,
    build_rows,
    mark_exploratory,
    settle_headlines,
)
from theodolite._runs.comparison.loaded_runs import Key as ScoreKey
from theodolite._runs.comparison.loaded_runs import LoadedRun, explain_unlike_outputs, get_score_key
from theodolite._scoring.request import Resampling
from theodolite._storage.optional import require
from theodolite._verdicts.lookup import Key, find_score
from theodolite._verdicts.rules import question_text
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.questions import QUESTIONS, Question
from theodolite.results import Score, viewer

LONGEST = 280
"""Characters of the short form."""


@dataclass(frozen=True, eq=False)
class VerdictPair:
    """A question, what both runs answered, and the score behind it: a headline."""

    question: Question
    question_text: str
    before: str
    after: str
    line: ComparisonRow


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """Comparison of a run with a reference run.

    ``comparison["CTL"]`` is what can be said of one score, by its name or a paper's.
    """

    first: LoadedRun
    second: LoadedRun
    questions: tuple[VerdictPair, ...]
    lines: tuple[ComparisonRow, ...]
    """All scores that both have: headlines as they were settled, the others for exploration."""
    only_first: tuple[Score, ...]
    only_second: tuple[Score, ...]
    n: int
    dropped: tuple[int, int]
    """Samples of the first and of the second run that the other lacks."""

    def __getitem__(self, key: Key) -> ComparisonRow:
        scores = [line.score for line in self.lines]
        heads = [q.line.first for q in self.questions if q.line.first is not None]
        score = find_score(scores, (), key, heads)
        return next(line for line in self.lines if line.score is score)

    def __iter__(self) -> Iterator[ComparisonRow]:
        return iter(self.lines)

    def __len__(self) -> int:
        return len(self.lines)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        heads = ", ".join(f"{q.question}: {q.line.outcome}" for q in self.questions)
        text = f"{self.second.name} against {self.first.name}, {self.n:,} samples, "
        return f"Comparison({printable(f'{text}{len(self)} scores; {heads}', LONGEST)})"

    def to_records(self) -> list[dict[str, Any]]:
        """A row for each score that both have."""
        return [line.to_record() for line in self.lines]

    def to_frame(self) -> Any:
        """Return the rows of `to_records` as a pandas frame."""
        return require("pandas", "to_frame", "notebook").DataFrame(self.to_records())

    def _repr_html_(self) -> str:
        return str(viewer("notebook_tables").comparison_html(self))


def compare_runs(
    runs: Sequence[LoadedRun], resamples: int | None = None, progress: Progress = silent
) -> list[Comparison]:
    """Compare each further run with the first.

    One headline a question is tested: the score that decides it and that both runs have. P-values
    are corrected over the headlines of all pairs (Holm), so over six at most where two runs are
    compared. All other scores are for exploration.
    """
    if len(runs) < 2:
        raise EvidenceError("runs", f"{len(runs)}", "two or more")
    resampling = runs[0].record.spec.resampling.draws(resamples)
    pairs = [_compare_pair((runs[0], other), resampling, progress) for other in runs[1:]]
    heads = iter(
        settle_headlines([q.line for pair in pairs for q in pair.questions], resampling.level)
    )
    return [
        _with_headlines(pair, [replace(q, line=next(heads)) for q in pair.questions])
        for pair in pairs
    ]


def compute_headlines(
    first: LoadedRun, second: LoadedRun, resamples: int | None = None, progress: Progress = silent
) -> list[VerdictPair]:
    """Return the headline differences of two runs, uncorrected, for planning."""
    runs = first, second
    heads = [run.headline(question) for run in runs for question in QUESTIONS]
    keys = dict.fromkeys(get_score_key(head) for head in heads if head is not None)
    shared = [key for key in keys if all(key in run.by_key for run in runs)]
    alike, refused = _select_comparable_scores(runs, shared)
    resampling = first.record.spec.resampling.draws(resamples)
    by_key, _ = build_rows(runs, alike, resampling, progress)
    by_key |= refused
    return list(_pair_verdicts(runs, by_key))


def _with_headlines(pair: Comparison, questions: Sequence[VerdictPair]) -> Comparison:
    """The pair with its headlines as settled, which the lines take over."""
    by_difference = {id(q.line.difference): q.line for q in questions if q.line.difference}
    lines = []
    for line in pair.lines:
        head = by_difference.get(id(line.difference))
        same = None if head is None else replace(line, these=head.these, recipe=head.recipe)
        lines.append(same or mark_exploratory(line))
    return replace(pair, questions=tuple(questions), lines=tuple(lines))


def _compare_pair(
    runs: tuple[LoadedRun, LoadedRun], resampling: Resampling, progress: Progress
) -> Comparison:
    first, second = runs
    shared = [key for key in first.by_key if key in second.by_key]
    alike, refused = _select_comparable_scores(runs, shared)
    by_key, samples = build_rows(runs, alike, resampling, progress)
    by_key |= refused
    second.free_evidence()
    lines = tuple(by_key[key] for key in shared)
    return Comparison(
        first,
        second,
        tuple(_pair_verdicts(runs, by_key)),
        lines,
        tuple(s for key, s in first.by_key.items() if key not in second.by_key),
        tuple(s for key, s in second.by_key.items() if key not in first.by_key),
        samples.n,
        samples.dropped,
    )


def _select_comparable_scores(
    runs: tuple[LoadedRun, LoadedRun], keys: Sequence[ScoreKey]
) -> tuple[list[ScoreKey], dict[ScoreKey, ComparisonRow]]:
    """Return the scores to compare, and lines on those that were scored on different outputs."""
    first, second = (run.by_key for run in runs)
    why = explain_unlike_outputs(*runs)
    refused = {
        key: ComparisonRow(first[key], second[key], None, why)
        for key in keys
        if why and first[key].question == "faithful"
    }
    return [key for key in keys if key not in refused], refused


def _pair_verdicts(
    runs: tuple[LoadedRun, LoadedRun], by_key: dict[ScoreKey, ComparisonRow]
) -> Iterator[VerdictPair]:
    for question in QUESTIONS:
        heads = [run.headline(question) for run in runs]
        score = heads[0] or heads[1]
        if score is None:
            continue
        verdicts = [run.verdicts.get(question) for run in runs]
        before, after = (
            "not_evaluated" if verdict is None else verdict.answer for verdict in verdicts
        )
        yield VerdictPair(
            question,
            question_text(score),
            before,
            after,
            _find_headline_row(heads[0], heads[1], by_key),
        )


def _find_headline_row(
    first: Score | None, second: Score | None, by_key: dict[ScoreKey, ComparisonRow]
) -> ComparisonRow:
    """The line of the score that the first run's verdict was read from, where both have it."""
    if first is None or second is None:
        return ComparisonRow(first, second, None, "asked in one of the runs only")
    line = by_key.get(get_score_key(first)) or by_key.get(get_score_key(second))
    if line is None:
        return ComparisonRow(first, second, None, "answered by another score, version or options")
    if get_score_key(first) != get_score_key(second):
        note = "the verdicts were read from different scores; this one both have"
        return replace(line, why="; ".join(part for part in (line.why, note) if part))
    return line
