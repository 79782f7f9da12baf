"""Where each entry stands: proven by tests, decided by a run, not testable here, or open."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from theodolite._stats.multiple import correct_holm
from theodolite_reproductions.claims.entry import PaperEntry
from theodolite_reproductions.claims.ledger import PaperLedger, ledger
from theodolite_reproductions.claims.power import expected_by_chance
from theodolite_reproductions.claims.results import (
    PRINTED,
    EntryAnswer,
    OptionMove,
    ResultFile,
    answers_by_entry,
    stored_results,
)
from theodolite_reproductions.claims.verdict import (
    PaperVerdict,
    counts_as_test,
    not_testable,
    verdict_of,
)

State = Literal["proven", "decided", "not testable here", "open"]
STATES: tuple[State, ...] = ("proven", "decided", "not testable here", "open")


@dataclass(frozen=True)
class EntryStatus:
    """What is known of an entry."""

    entry: PaperEntry
    answers: tuple[EntryAnswer, ...] = ()
    moves: tuple[OptionMove, ...] = ()

    @property
    def verdicts(self) -> tuple[tuple[EntryAnswer, PaperVerdict], ...]:
        """Of each cell that has one."""
        return tuple(
            (answer, verdict)
            for answer in self.answers
            if (verdict := _verdict(self.entry, answer)) is not None
        )

    @property
    def state(self) -> State:
        """Options are decided by what they move; figures without the paper's data never are."""
        if self.entry.proofs:
            return "proven"
        if self.verdicts or self.moves:
            return "decided"
        return "not testable here" if self.entry.reason else "open"

    @property
    def verdict(self) -> PaperVerdict | None:
        """The headline: that of the cell nearest to the paper's text."""
        if self.entry.proofs:
            return PaperVerdict("confirmed")
        for answer, verdict in self.verdicts:
            if answer.nearest:
                return verdict
        if self.state == "not testable here" and self.entry.reason:
            return not_testable(self.entry.reason)
        return None

    @property
    def headline(self) -> str:
        """In words, with how many cells agree."""
        if self.entry.proofs:
            return "confirmed by tests"
        if self.moves:
            looked_at = {move.entry for move in self.moves}
            sure = {move.entry for move in self.moves if move.low > 0 or move.high < 0}
            return f"moves {len(sure)} of {len(looked_at)} findings"
        verdict, n = self.verdict, len(self.verdicts)
        if verdict is None:
            return "open"
        whose = ", by the paper's own tables" if self.by_its_own_tables else ""
        if n < 2:
            return f"{verdict}{whose}"
        alike = sum(other.word == verdict.word for _, other in self.verdicts)
        return f"{verdict} in {alike} of {n}{whose}"

    @property
    def by_its_own_tables(self) -> bool:
        """Whether the verdict rests on figures that the paper prints, and on no run."""
        return self.entry.protocol == PRINTED and bool(self.verdicts)


def _verdict(entry: PaperEntry, answer: EntryAnswer) -> PaperVerdict | None:
    if answer.reason:
        return not_testable(answer.reason)
    if answer.low is None or answer.high is None or entry.kind == "option":
        return None
    return verdict_of(entry, answer.low, answer.high)


def statuses(
    papers: PaperLedger | None = None, results: Iterable[ResultFile] | None = None
) -> tuple[EntryStatus, ...]:
    """All entries with what the stored results say; withdrawn ones are left out."""
    stored = tuple(stored_results() if results is None else results)
    answers = answers_by_entry(stored)
    moves: dict[str, list[OptionMove]] = {}
    for result in stored:
        for move in result.moves:
            moves.setdefault(move.option, []).append(move)
    return tuple(
        EntryStatus(entry, tuple(answers.get(entry.id, ())), tuple(moves.get(entry.id, ())))
        for entry in (papers or ledger()).entries
        if entry.withdrawn is None
    )


def counts(known: Iterable[EntryStatus]) -> dict[str, Counter[str]]:
    """Return how many entries of each paper are in which state."""
    table: dict[str, Counter[str]] = {}
    for status in known:
        table.setdefault(status.entry.paper, Counter())[status.state] += 1
    return table


@dataclass(frozen=True)
class ManyTests:
    """What having made many tests means for the confirmed ones."""

    tests: int
    confirmed: int
    by_chance: float
    """So many would be confirmed if nothing were there."""
    surviving: frozenset[str]
    """Entries that stay confirmed under Holm's correction within their paper."""


def many_tests(known: Iterable[EntryStatus], alpha: float = 0.05) -> ManyTests:
    """Over the headline cells of all entries that were tested here against 0.

    What a paper's own tables say of its claims is no test of ours.
    """
    tested = [
        (status.entry, answer.p, verdict.word)
        for status in known
        for answer, verdict in status.verdicts
        if not status.by_its_own_tables
        if answer.nearest and answer.p is not None and counts_as_test(status.entry.test.type)
    ]
    surviving: set[str] = set()
    for paper in {entry.paper for entry, _, _ in tested}:
        own = [row for row in tested if row[0].paper == paper]
        corrected = correct_holm([p for _, p, _ in own], alpha).p
        surviving |= {
            entry.id
            for (entry, _, word), p in zip(own, np.asarray(corrected), strict=True)
            if word == "confirmed" and p <= alpha
        }
    confirmed = sum(word == "confirmed" for _, _, word in tested)
    return ManyTests(len(tested), confirmed, expected_by_chance(len(tested)), frozenset(surviving))
