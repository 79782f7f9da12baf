"""The parts of the fidelity pages that are made from the ledger."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import get_args

from theodolite._storage.paths import all_or_nothing
from theodolite._storage.text import read_text
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims import words
from theodolite_reproductions.claims.entry import Kind
from theodolite_reproductions.claims.ledger import PAGES, ledger
from theodolite_reproductions.claims.results import stored_results
from theodolite_reproductions.claims.status import STATES, EntryStatus, counts, many_tests, statuses
from theodolite_reproductions.claims.verdict import Word

BEGIN, END = "<!-- from the ledger -->", "<!-- end of the ledger -->"
GROUPS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("Findings", ("finding", "ablation")),
    ("Numbers and figures", ("number", "figure")),
    ("Definitions and algorithms", ("definition", "algorithm")),
    ("Options that the paper leaves open", ("option",)),
)
HEADS = ("entry, place", "what it says", "theirs", "ours", "verdict", "decided by", "not at hand")

MOST_CELLS = 24
"""Of an entry with more, the page counts verdicts by choice; `papers findings show` has each."""
WORDS: tuple[Word, ...] = get_args(Word)[:3]


def rendered(page: str) -> str:
    """The part of a page: a table a group of entries, then all cells of those that have several."""
    known = _of_page(page)
    own = counts(known)[known[0].entry.paper]
    states = ", ".join(f"{own[state]} {state}" for state in STATES)
    parts = ["## Entry by entry", "", f"{len(known)} entries: {states}.", *_runs(known)]
    for title, kinds in GROUPS:
        group = [status for status in known if status.entry.kind in kinds]
        if group:
            parts += ["", f"### {title}", "", *_table(HEADS, map(_row, group))]
    parts += [*_cells(known), *_moves(known)]
    return "\n".join(parts)


def rendered_index() -> str:
    """Counts by paper, and what many tests mean."""
    known = statuses()
    table = counts(known)
    rows = [
        [paper.paper, f"[{paper.page}]({paper.page}.md)",
         *(str(table[paper.paper][state]) for state in STATES)]
        for paper in ledger().papers
    ]  # fmt: skip
    total = [sum(table[paper][state] for paper in table) for state in STATES]
    rows.append(["", "all", *map(str, total)])
    many = many_tests(known)
    return "\n".join(
        [
            *_table(("paper", "page", *STATES), rows),
            "",
            f"Tests with an interval: {many.tests}. Confirmed: {many.confirmed}; by chance "
            f"{words.number(many.by_chance)} would be, if nothing were there. Confirmed after "
            f"Holm's correction within their paper: {', '.join(sorted(many.surviving)) or 'none'}.",
            "",
            f"Of the decided, {sum(status.by_its_own_tables for status in known)} rest on figures "
            "that the paper prints itself and on nothing measured here; they are not among these "
            "tests.",
        ]
    )


def write_pages(folder: Path) -> list[Path]:
    """Put the rendered parts into the pages of a folder, between their marks."""
    written = []
    for page in ("index", *PAGES):
        path = folder / f"{page}.md"
        text = with_part(read_text(path, "page"), page)
        with all_or_nothing(path) as stream:
            stream.write(text.encode())
        written.append(path)
    return written


def with_part(text: str, page: str) -> str:
    """A page with its part as it has to be."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise UnsafeInputError(f"page {page!r}", "no marks of the ledger", f"{BEGIN} and {END}")
    part = rendered_index() if page == "index" else rendered(page)
    return f"{before}{BEGIN}\n\n{part}\n\n{END}{after}"


def _of_page(page: str) -> list[EntryStatus]:
    papers = {paper.page: paper.paper for paper in ledger().papers}
    if page not in papers:
        raise UnsafeInputError("page", f"{page!r}", f"one of {', '.join(papers)}")
    return [status for status in statuses() if status.entry.paper == papers[page]]


def _row(status: EntryStatus) -> list[str]:
    entry = status.entry
    return [
        f"{entry.id}, {entry.where}", entry.states, words.printed_figures(entry.printed or {}),
        words.ours(status), status.headline, words.decided_by(status), words.not_at_hand(status),
    ]  # fmt: skip


def _runs(known: Sequence[EntryStatus]) -> list[str]:
    """The runs whose answers are shown, and what took the place of the paper's material."""
    names = {answer.entry for status in known for answer in status.answers}
    lines = [
        f"- `{result.protocol}`, run {result.run[:12]}: {result.differs}."
        for result in stored_results()
        if any(answer.entry in names for answer in result.answers)
    ]
    return ["", "Ours is from:", "", *lines] if lines else []


def _cells(known: Sequence[EntryStatus]) -> list[str]:
    several = [status for status in known if len(status.verdicts) > 1]
    rows = [
        [status.entry.id, words.settings(answer), words.interval(answer), str(answer.n or ""),
         words.optional(answer.min_detectable_effect), str(verdict)]
        for status in several
        if len(status.verdicts) <= MOST_CELLS
        for answer, verdict in status.verdicts
    ]  # fmt: skip
    heads = ("entry", "cell", "effect", "units", "found in four of five runs", "verdict")
    table = ["", "### Cell by cell", "", *_table(heads, rows)] if rows else []
    return table + _by_choice([s for s in several if len(s.verdicts) > MOST_CELLS])


def _by_choice(known: Sequence[EntryStatus]) -> list[str]:
    """Of entries with many cells: how many of those with each choice say what."""
    rows = []
    for status in known:
        by_choice: dict[str, Counter[str]] = {}
        for answer, verdict in status.verdicts:
            for name, value in answer.settings.items():
                by_choice.setdefault(words.choice(name, value), Counter())[verdict.word] += 1
        rows += [
            [status.entry.id, choice, *(str(own[word]) for word in WORDS)]
            for choice, own in by_choice.items()
        ]
    if not rows:
        return []
    text = "Each cell with its interval: `theodolite papers findings show ENTRY`."
    table = _table(("entry", "cells with", *WORDS), rows)
    return ["", "### Cells by choice", "", text, "", *table]


def _moves(known: Sequence[EntryStatus]) -> list[str]:
    lines = [f"- {status.entry.id}, {words.move(moved)}."
             for status in known for moved in status.moves]  # fmt: skip
    return ["", "### What options move", "", *lines] if lines else []


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    return lines + [
        f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in rows
    ]
