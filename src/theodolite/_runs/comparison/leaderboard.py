"""A folder of runs in tables: those about the same samples together, ties shown as ties."""

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from theodolite._runs.comparison.comparison_rows import build_rows, correct_claims
from theodolite._runs.comparison.leaderboard_runs import (
    ExcludedFolder,
    digest_evidence,
    digest_samples,
    load_runs_in,
)
from theodolite._runs.comparison.loaded_runs import Key, LoadedRun, get_score_key
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.questions import QUESTIONS, Question
from theodolite.results import Score

SHORT = 200
"""Resamples for pairs of runs, at most: there are many pairs."""


@dataclass(frozen=True, eq=False)
class LeaderboardRow:
    """A run in a table: its place is a range where the difference to other runs may be 0."""

    run: LoadedRun
    best_rank: int | None
    worst_rank: int | None
    note: str = ""
    """Why it has no place."""
    same_as: str = ""
    """The run before it that holds the very same evidence."""

    @property
    def noes(self) -> int:
        """How many questions it answers with no."""
        return sum(verdict.answer == "no" for verdict in self.run.verdicts.values())

    @property
    def place(self) -> str:
        """Such as 1, or 2–3; a dash where it cannot be ranked."""
        if self.best_rank is None or self.worst_rank is None:
            return "–"
        if self.best_rank == self.worst_rank:
            return f"{self.best_rank}"
        return f"{self.best_rank}–{self.worst_rank}"


@dataclass(frozen=True, eq=False)
class LeaderboardTable:
    """Runs that scored the same samples."""

    why: str
    """What they share."""
    by: Question | None
    """The question they are ranked by; None if no two runs share one."""
    columns: dict[Question, Key]
    """Of each question the score that most runs answer it with."""
    standings: tuple[LeaderboardRow, ...]
    pairs: int
    """How many pairs were compared for the ranks."""
    over: tuple[str, ...] = ()
    """What was drawn anew to tell runs apart: samples, concepts, seeds."""
    chosen: bool = False
    """Whether somebody asked for this question. Else the runs with fewest noes come first."""


def build_leaderboard(
    folder: Path, by: Question | None = None, progress: Progress = silent
) -> tuple[list[LeaderboardTable], list[ExcludedFolder]]:
    """Tables of the runs in a folder, the largest first, and what is in none of them."""
    runs, left = load_runs_in(folder)
    groups: dict[str, list[LoadedRun]] = {}
    digests: dict[str, str] = {}
    for run in runs:
        groups.setdefault(digest_samples(run), []).append(run)
        digests[run.name] = digest_evidence(run)
        run.free_evidence()
    ordered = sorted(groups.values(), key=lambda group: (-len(group), group[0].name))
    return [
        _mark_repeated_runs(_build_table(group, by, progress), digests) for group in ordered
    ], left


def _mark_repeated_runs(board: LeaderboardTable, digests: dict[str, str]) -> LeaderboardTable:
    """A run made twice is no second opinion: each is told which one it repeats."""
    first: dict[str, str] = {}
    standings = []
    for standing in board.standings:
        digest = digests[standing.run.name]
        earlier = first.setdefault(digest, standing.run.name) if digest else standing.run.name
        standings.append(replace(standing, same_as=earlier if earlier != standing.run.name else ""))
    return replace(board, standings=tuple(standings))


def _build_table(
    group: Sequence[LoadedRun], by: Question | None, progress: Progress
) -> LeaderboardTable:
    columns = {
        q: key for q in QUESTIONS for key in [_find_most_common_key(group, q)] if key is not None
    }
    chosen = by if by is not None else _choose_question(group, columns)
    if chosen not in columns:
        note = "the question was not evaluated" if by else "no question that others have"
        return LeaderboardTable(_describe_shared_data(group), None, columns, tuple(
            LeaderboardRow(run, None, None, note) for run in group
        ), 0)  # fmt: skip
    key = columns[chosen]
    scored = [
        run
        for run in group
        if _get_headline_key(run, chosen) == key and not _is_undefined(run, key)
    ]
    able = _select_like_outputs(scored) if chosen == "faithful" else scored
    others = [run for run in scored if run not in able]
    if len(able) < 2:
        able = []
    places, pairs, over = _rank_runs(able, key, progress, count_noes=by is None)
    rest = [run for run in group if run not in able]
    standings = [LeaderboardRow(run, *places[id(run)]) for run in able]
    sign = -1.0 if able and able[0].by_key[key].better == "higher" else 1.0
    standings.sort(
        key=lambda row: (row.best_rank, row.worst_rank, sign * row.run.by_key[key].value)
    )
    unranked = [
        LeaderboardRow(
            run,
            None,
            None,
            _get_reference(run) if run in others else _explain_unranked(run, chosen, key),
        )
        for run in rest
    ]
    every = (*standings, *unranked)
    return LeaderboardTable(
        _describe_shared_data(group), chosen, columns, every, pairs, over, chosen=by is not None
    )


def _describe_shared_data(group: Sequence[LoadedRun]) -> str:
    data = group[0].record.spec.dataset
    n = 0
    try:
        n = max(len(bundle) for bundle in group[0].evidence[0].values())
    except EvidenceError:
        return "the same inputs" if len(group) > 1 else "inputs of its own"
    group[0].free_evidence()
    named = f" of {data.name}" if data is not None else ""
    return f"{'the same ' * (len(group) > 1)}{n:,} samples{named}"


def _get_headline_key(run: LoadedRun, question: Question) -> Key | None:
    head = run.headline(question)
    return None if head is None else get_score_key(head)


def _find_most_common_key(group: Sequence[LoadedRun], question: Question) -> Key | None:
    keys = Counter(
        key for run in group for key in [_get_headline_key(run, question)] if key is not None
    )
    return keys.most_common(1)[0][0] if keys else None


def _choose_question(group: Sequence[LoadedRun], columns: dict[Question, Key]) -> Question | None:
    """The first question that all answer by the same score; else the one that most do."""
    counts = {
        q: sum(_get_headline_key(run, q) == key for run in group) for q, key in columns.items()
    }
    return max(counts, key=lambda q: counts[q], default=None)


def _select_like_outputs(runs: Sequence[LoadedRun]) -> list[LoadedRun]:
    """Return the largest group of runs that are compared with the same outputs."""
    counts = Counter(run.subject.outputs for run in runs)
    most = max(counts, key=lambda outputs: counts[outputs], default=None)
    return [run for run in runs if run.subject.outputs == most]


def _get_reference(run: LoadedRun) -> str:
    return f"compared with {run.subject.wording.name}, unlike the others"


def _is_undefined(run: LoadedRun, key: Key) -> bool:
    return bool(np.isnan(run.by_key[key].value))


def _explain_unranked(run: LoadedRun, question: Question, key: Key) -> str:
    own = _get_headline_key(run, question)
    if own is None:
        apart = question == "faithful" and run.subject.outputs == "probe_only"
        return f"the question was not evaluated{' for your model' * apart}"
    if own == key:
        return "the score is undefined" if _is_undefined(run, key) else "nothing to rank it against"
    if own[0] != key[0]:
        return f"answered by another score ({own[0].replace('_', ' ')})"
    return "another version of the score" if own[1] != key[1] else "other options of the score"


def _rank_runs(
    runs: Sequence[LoadedRun], key: Key, progress: Progress, *, count_noes: bool
) -> tuple[dict[int, tuple[int, int]], int, tuple[str, ...]]:
    """From each pair of runs which is significantly ahead, all pairs corrected together (Holm).

    Places are of methods, not of the models and concepts at hand: a difference must stand out from
    the population of concepts and from seeds as well, where runs have several.
    """
    pairs = [(a, b) for i, a in enumerate(runs) for b in runs[i + 1 :]]
    lines = []
    for number, (first, second) in enumerate(pairs):
        progress("pairs of runs", number, len(pairs))
        chosen = first.record.spec.resampling
        resampling = chosen.draws(min(SHORT, chosen.resamples))
        lines.append(build_rows((first, second), [key], resampling, silent)[0][key])
        second.free_evidence()
        if second is runs[-1]:
            first.free_evidence()
    level = runs[0].record.spec.resampling.level if runs else 0.95
    deltas = [line.difference for line in lines]
    tests = [None if delta is None else delta.hardest for delta in deltas]
    number_of = {id(run): number for number, run in enumerate(runs)}
    better = set()
    for (first, second), claim in zip(pairs, correct_claims(lines, tests, level), strict=True):
        if claim.outcome in ("better", "worse"):
            pair = (second, first) if claim.outcome == "better" else (first, second)
            better.add((number_of[id(pair[0])], number_of[id(pair[1])]))
    noes = [LeaderboardRow(run, None, None).noes if count_noes else 0 for run in runs]
    places = {
        id(run): rank for run, rank in zip(runs, compute_rank_ranges(noes, better), strict=True)
    }
    over = dict.fromkeys(i.over for delta in deltas if delta is not None for i in delta.intervals)
    return places, len(pairs), tuple(over)


def compute_rank_ranges(
    noes: Sequence[int], better: AbstractSet[tuple[int, int]]
) -> list[tuple[int, int]]:
    """Return the first and the last rank that each run may have.

    The one with fewer noes is ahead; among equals, the one with the significantly better score.

    Args:
        noes: Of each run, questions answered with no.
        better: Pairs of runs of which the first is better: the interval excludes 0 (Holm).

    >>> compute_rank_ranges([0, 0, 1], {(0, 2), (2, 1)})
    [(1, 2), (1, 2), (3, 3)]
    """
    runs = range(len(noes))

    def ahead(a: int, b: int) -> bool:
        return noes[a] < noes[b] or (noes[a] == noes[b] and (a, b) in better)

    return [
        (1 + sum(ahead(a, b) for a in runs), len(noes) - sum(ahead(b, a) for a in runs))
        for b in runs
    ]


def beats_null(score: Score, answer: str) -> bool:
    """Return whether the score says anything at all, by the run's own verdict."""
    return answer in ("yes", "partly") and not np.isnan(score.value)
