"""Where each entry stands: proven by tests, measured here, an option, not testable, or open."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from theodolite._stats.multiple import correct_holm
from theodolite_reproductions.claims.entry import ON_A_LINE, PaperEntry
from theodolite_reproductions.claims.ledger import PaperLedger, ledger
from theodolite_reproductions.claims.power import expected_by_chance
from theodolite_reproductions.claims.results import (
    PRINTED,
    SAME,
    EntryAnswer,
    OptionMove,
    ResultFile,
    StandIns,
    stored_results,
)
from theodolite_reproductions.claims.verdict import (
    WORDS,
    CellWord,
    ClaimVerdict,
    DecidedCell,
    cell_word,
    claim_verdict,
)

State = Literal[
    "proven", "measured here", "printed table", "option", "reading", "not testable here", "open"
]
STATES: tuple[State, ...] = get_args(State)
PROVEN, OPTION, READING = "proven by tests", "option, no claim", "reading, no claim"
STANDINGS = (
    PROVEN, *WORDS, "printed table: agrees", "printed table: disagrees", "printed table: undecided",
    OPTION, READING, "not testable here", "open",
)  # fmt: skip
"""The rows of the table of all entries."""


@dataclass(frozen=True)
class EntryCell:
    """One answer to an entry, with the run that it is from."""

    answer: EntryAnswer
    protocol: str
    stand_in: StandIns
    word: CellWord | None
    """None without an interval, or where the cell cannot show it."""


@dataclass(frozen=True)
class EntryStatus:
    """What is known of an entry."""

    entry: PaperEntry
    cells: tuple[EntryCell, ...] = ()
    moves: tuple[OptionMove, ...] = ()

    @property
    def answers(self) -> tuple[EntryAnswer, ...]:
        """Of all cells."""
        return tuple(cell.answer for cell in self.cells)

    @property
    def decided(self) -> tuple[EntryCell, ...]:
        """Cells with a word."""
        return tuple(cell for cell in self.cells if cell.word is not None)

    @property
    def measured(self) -> tuple[EntryCell, ...]:
        """Cells that were measured here and decide."""
        return tuple(
            cell for cell in self.decided
            if cell.protocol != PRINTED and not self.is_apart(cell)
        )  # fmt: skip

    def is_apart(self, cell: EntryCell) -> bool:
        """Whether a cell is shown and does not decide."""
        settings = {f"{name}={value}" for name, value in cell.answer.settings.items()}
        return bool({cell.protocol, *settings} & set(self.entry.apart))

    @property
    def printed(self) -> tuple[EntryCell, ...]:
        """Cells from figures that the paper prints itself."""
        return tuple(cell for cell in self.decided if cell.protocol == PRINTED)

    @property
    def state(self) -> State:
        """How the entry is counted; printed tables are never added to what is measured here."""
        if self.entry.proofs:
            return "proven"
        if self.moves:
            return "option"
        if self.entry.kind == "reading":
            return "reading"
        if self.measured:
            return "measured here"
        if self.printed:
            return "printed table"
        return "not testable here" if self.entry.reason else "open"

    @cached_property
    def verdict(self) -> ClaimVerdict | None:
        """What all measured cells say together."""
        return self._of(self.measured)

    @cached_property
    def printed_verdict(self) -> ClaimVerdict | None:
        """What the paper's own printed figures say, in a column of its own."""
        return self._of(self.printed)

    @property
    def with_cells_apart(self) -> ClaimVerdict | None:
        """The verdict with the cells that are shown and do not decide."""
        return self._of(tuple(cell for cell in self.decided if cell.protocol != PRINTED))

    @property
    def standing(self) -> str:
        """The row of the table that counts this entry."""
        if self.verdict is not None and self.state == "measured here":
            return self.verdict.word
        if self.printed_verdict is not None and self.state == "printed table":
            return f"printed table: {self.printed_verdict.agreement}"
        named = {"proven": PROVEN, "option": OPTION, "reading": READING}
        return named.get(self.state, self.state)

    def stand_ins(self) -> dict[str, dict[str, str]]:
        """What took the place of the paper's material in cells that decide, by protocol."""
        others = self.measured or [cell for cell in self.cells if cell.protocol != PRINTED]
        return {cell.protocol: self.fields(cell) for cell in reversed(others)}

    def fields(self, cell: EntryCell) -> dict[str, str]:
        """What took the place of the paper's material in a cell, by field."""
        own = cell.stand_in
        fields = own.of(cell.answer)
        if self.entry.scope == "across" and fields["data"] == SAME and own.only:
            fields["data"] = f"part: {own.only} alone"
        return fields

    def _of(self, cells: tuple[EntryCell, ...]) -> ClaimVerdict | None:
        if not cells:
            return None
        tested = self.entry.test.type in ON_A_LINE  # a p-value of another test is not of the claim
        known = [
            DecidedCell(
                cell.word, cell.answer.settings, cell.answer.p if tested else None,
                own=set(self.fields(cell).values()) == {SAME},
            )
            for cell in cells if cell.word is not None
        ]  # fmt: skip
        return claim_verdict(known, across=self.entry.scope == "across")


def cell_of(entry: PaperEntry, answer: EntryAnswer, result: ResultFile) -> EntryCell:
    """An answer with its word."""
    word = None
    shown = entry.kind == "option" or (entry.test.type == "figure" and entry.reason is not None)
    if answer.low is not None and answer.high is not None and not answer.reason and not shown:
        word = cell_word(entry, answer.low, answer.high, answer.n)
    return EntryCell(answer, result.protocol, result.stand_in, word)


def statuses(
    papers: PaperLedger | None = None, results: Iterable[ResultFile] | None = None
) -> tuple[EntryStatus, ...]:
    """All entries with what the stored results say; withdrawn ones are left out."""
    stored = tuple(stored_results() if results is None else results)
    cells: dict[str, list[tuple[EntryAnswer, ResultFile]]] = {}
    moves: dict[str, list[OptionMove]] = {}
    for result in stored:
        for answer in result.answers:
            cells.setdefault(answer.entry, []).append((answer, result))
        for move in result.moves:
            moves.setdefault(move.option, []).append(move)
    return tuple(
        EntryStatus(
            entry,
            tuple(cell_of(entry, *own) for own in cells.get(entry.id, ())),
            tuple(moves.get(entry.id, ())),
        )
        for entry in (papers or ledger()).entries
        if entry.withdrawn is None
    )


def counts(known: Iterable[EntryStatus]) -> dict[str, Counter[str]]:
    """Return how many entries of each paper stand where."""
    table: dict[str, Counter[str]] = {}
    for status in known:
        table.setdefault(status.entry.paper, Counter())[status.standing] += 1
    return table


@dataclass(frozen=True)
class ManyTests:
    """What having made many tests means for the claims that one cell supports."""

    tests: int
    supported: int
    by_chance: float
    """So many would be supported if nothing were there."""
    surviving: frozenset[str]
    """Entries that stay supported under Holm's correction within their paper."""


def many_tests(known: Iterable[EntryStatus], alpha: float = 0.05) -> ManyTests:
    """Over the cells nearest to the papers' texts, of all entries tested here against 0."""
    tested = [
        (status.entry, cell.answer.p, cell.word)
        for status in known
        for cell in status.measured
        if cell.answer.nearest and cell.answer.p is not None and status.entry.test.type in ON_A_LINE
    ]
    surviving: set[str] = set()
    for paper in {entry.paper for entry, _, _ in tested}:
        own = [row for row in tested if row[0].paper == paper]
        corrected = correct_holm([p for _, p, _ in own], alpha).p
        surviving |= {
            entry.id
            for (entry, _, word), p in zip(own, np.asarray(corrected), strict=True)
            if word == "for" and p <= alpha
        }
    supported = sum(word == "for" for _, _, word in tested)
    return ManyTests(len(tested), supported, expected_by_chance(len(tested)), frozenset(surviving))
