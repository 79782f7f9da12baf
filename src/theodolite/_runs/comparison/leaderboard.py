"""A folder of runs in tables: those about the same samples together, a place for each question."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from theodolite._runs.comparison.comparison_rows import (
    ComparisonRow,
    ResampledMemory,
    build_rows,
    correct_claims,
)
from theodolite._runs.comparison.leaderboard_runs import (
    ExcludedFolder,
    digest_evidence,
    digest_samples,
    load_runs_in,
)
from theodolite._runs.comparison.loaded_runs import Key, LoadedRun, get_score_key
from theodolite._runs.comparison.submissions import (
    Level,
    SubmissionRecord,
    check_submission,
    find_split,
)
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.metrics.catalogue import catalogue
from theodolite.questions import QUESTIONS, Question
from theodolite.results import Score

RESAMPLES = 200
"""Resamples for pairs of runs, at most: there are many pairs."""
MIN_UNITS = 30
"""Number of samples, or of other units, from which on a score has a place."""
ALPHA = 0.05


@dataclass(frozen=True, eq=False)
class LeaderboardCell:
    """A run's answer to one question. Its place is a range where a difference may be 0."""

    score: Score | None
    best_rank: int | None = None
    worst_rank: int | None = None
    ranked: int = 0
    """Number of runs that it was compared with, itself included."""
    note: str = ""
    """Why it has no place."""

    @property
    def place(self) -> str:
        """Such as 1, or 2–3; empty where it cannot be ranked."""
        if self.best_rank is None or self.worst_rank is None:
            return ""
        same = self.best_rank == self.worst_rank
        return f"{self.best_rank}" if same else f"{self.best_rank}–{self.worst_rank}"


@dataclass(frozen=True, eq=False)
class LeaderboardRow:
    """A run in a table."""

    run: LoadedRun
    cells: Mapping[Question, LeaderboardCell] = field(default_factory=dict)
    record: SubmissionRecord | None = None
    """What its authors state; None for a run that is not submitted."""
    level: Level | None = None
    same_as: str = ""
    """The run before it that holds the very same evidence."""


@dataclass(frozen=True, eq=False)
class LeaderboardTable:
    """Runs that scored the same samples. There is no total score."""

    why: str
    """What they share."""
    rows: tuple[LeaderboardRow, ...]
    pairs: Mapping[Question, int]
    """How many pairs were compared for the places of each question."""


def build_leaderboard(
    folder: Path, progress: Progress = silent
) -> tuple[list[LeaderboardTable], list[ExcludedFolder]]:
    """Tables of the runs in a folder, the largest first, and what is in none of them.

    A folder with the file of its test rows holds submissions: each is checked, and left out if it
    is refused.
    """
    runs, excluded = load_runs_in(folder)
    split = find_split(folder)
    groups: dict[str, list[LeaderboardRow]] = {}
    first: dict[str, str] = {}
    for run in runs:
        row = LeaderboardRow(run)
        try:
            if split is not None:
                checked = check_submission(run.folder, split, progress=progress)
                if checked.refusals:
                    excluded.append(ExcludedFolder(run.name, checked.refusals[0]))
                    continue
                row = replace(row, record=checked.record, level=checked.level)
        except EvidenceError as error:
            excluded.append(ExcludedFolder(run.name, str(error)))
            continue
        digest = digest_evidence(run)
        earlier = first.setdefault(digest, run.name) if digest else run.name
        row = replace(row, same_as=earlier if earlier != run.name else "")
        shared = digest_samples(run) if split is None else folder.name
        groups.setdefault(shared, []).append(row)
        run.free_evidence()
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].run.name))
    return [_build_table(group, progress) for group in ordered], excluded


def _build_table(group: Sequence[LeaderboardRow], progress: Progress) -> LeaderboardTable:
    runs = [row.run for row in group]
    columns, pairs = {}, {}
    for question in QUESTIONS:
        columns[question], pairs[question] = _rank_runs(runs, question, progress)
    rows = (
        replace(row, cells={question: columns[question][i] for question in QUESTIONS})
        for i, row in enumerate(group)
    )
    return LeaderboardTable(_describe_shared_data(runs), tuple(rows), pairs)


def _describe_shared_data(group: Sequence[LoadedRun]) -> str:
    data = group[0].record.spec.dataset
    try:
        n = max(len(bundle) for bundle in group[0].evidence[0].values())
    except EvidenceError:
        return "the same inputs" if len(group) > 1 else "inputs of its own"
    group[0].free_evidence()
    name = group[0].subject.data if data is None else data.name
    named = f" of {name}" if name else ""
    return f"{'the same ' * (len(group) > 1)}{n:,} samples{named}"


def count_units(score: Score) -> int:
    """Number of samples that a score was computed from, or of what it counts."""
    return score.n if score.n_samples is None or score.n_unit == "samples" else score.n_samples


def _explain_unranked(run: LoadedRun, score: Score | None, question: Question) -> str:
    """Return why a score cannot be ranked whatever the others are; empty if it can."""
    if score is None:
        return "not evaluated"
    metric = catalogue().get(score.metric)
    if question == "faithful" and not run.subject.decides:
        return f"of {run.subject.wording.name}"
    if np.isnan(score.value):
        return "undefined"
    if metric is None or metric.version != score.version:
        return f"computed with version {score.version}"
    n = count_units(score)
    return f"fewer than {MIN_UNITS} {score.n_unit}" if n < MIN_UNITS else ""


def _rank_runs(
    runs: Sequence[LoadedRun], question: Question, progress: Progress
) -> tuple[list[LeaderboardCell], int]:
    """The places of all runs in one column, and the number of pairs that were compared.

    Runs are ranked with those that answer by the same score, faithfulness to the same outputs. All
    pairs of the column are corrected together (Holm).
    """
    scores = [run.headline(question) for run in runs]
    notes = [
        _explain_unranked(run, score, question) for run, score in zip(runs, scores, strict=True)
    ]
    alike: dict[tuple[Key, str], list[int]] = {}
    for i, (run, score) in enumerate(zip(runs, scores, strict=True)):
        if score is not None and not notes[i]:
            outputs = run.subject.outputs if question == "faithful" else ""
            alike.setdefault((get_score_key(score), outputs), []).append(i)
    lines: list[ComparisonRow] = []
    pairs = [(key, a, b) for (key, _), own in alike.items() for a, b in combinations(own, 2)]
    memory: ResampledMemory = {}
    for number, (key, a, b) in enumerate(pairs):
        progress(f"pairs of runs, {question}", number, len(pairs))
        chosen = runs[a].record.spec.resampling
        resampling = chosen.draws(min(RESAMPLES, chosen.resamples))
        lines.append(build_rows((runs[a], runs[b]), [key], resampling, silent, memory)[0][key])
        runs[b].free_evidence()
        if number + 1 == len(pairs) or pairs[number + 1][1] != a:
            runs[a].free_evidence()
    deltas = [line.difference for line in lines]
    tests = [None if delta is None else delta.these for delta in deltas]
    better = set()
    for (_, a, b), claim in zip(pairs, correct_claims(lines, tests, 1 - ALPHA), strict=True):
        if claim.outcome in ("better", "worse"):
            better.add((b, a) if claim.outcome == "better" else (a, b))
    cells = [LeaderboardCell(score, note=note) for score, note in zip(scores, notes, strict=True)]
    for own in alike.values():
        if len(own) == 1:
            cells[own[0]] = replace(cells[own[0]], note="no other run has this score")
            continue
        for i, (best, worst) in compute_rank_ranges(own, better).items():
            cells[i] = LeaderboardCell(scores[i], best, worst, len(own))
    return cells, len(pairs)


def compute_rank_ranges(
    runs: Sequence[int], better: AbstractSet[tuple[int, int]]
) -> dict[int, tuple[int, int]]:
    """Return the first and the last rank that each run may have.

    Args:
        runs: Numbers of the runs.
        better: Pairs of runs of which the first is significantly better.

    >>> compute_rank_ranges([0, 1, 2], {(0, 2)})
    {0: (1, 2), 1: (1, 3), 2: (2, 3)}
    """
    return {
        b: (
            1 + sum((a, b) in better for a in runs),
            len(runs) - sum((b, a) in better for a in runs),
        )
        for b in runs
    }
