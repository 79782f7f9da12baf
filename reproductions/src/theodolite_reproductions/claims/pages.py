"""The parts of the fidelity pages that are made from the ledger."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from theodolite._storage.paths import all_or_nothing
from theodolite._storage.text import read_text
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims import words
from theodolite_reproductions.claims.entry import Kind
from theodolite_reproductions.claims.ledger import PAGES, ledger
from theodolite_reproductions.claims.results import stored_results
from theodolite_reproductions.claims.status import (
    STANDINGS,
    EntryStatus,
    counts,
    many_tests,
    statuses,
)
from theodolite_reproductions.claims.verdict import CELL_WORDS

BEGIN, END = "<!-- from the ledger -->", "<!-- end of the ledger -->"
GROUPS: tuple[tuple[str, tuple[Kind, ...]], ...] = (
    ("Findings", ("finding", "ablation")),
    ("Readings of figures, no claims of the paper", ("reading",)),
    ("Numbers and figures", ("number", "figure")),
    ("Definitions and algorithms", ("definition", "algorithm")),
    ("Options that the paper leaves open", ("option",)),
)
HEADS = (
    "entry, source", "claim", "paper", "here", "verdict", "decided by", "same or substitute",
)  # fmt: skip

MOST_CELLS = 24
"""Of an entry with more, the page counts verdicts by choice; `papers findings show` has each."""


def rendered(page: str) -> str:
    """Return a page's part: a table per group of entries, then cells of entries with several."""
    known = _of_page(page)
    own = counts(known)[known[0].entry.paper]
    standings = ", ".join(f"{own[name]} {name}" for name in STANDINGS if own[name])
    parts = ["## Entry by entry", "", f"{len(known)} entries: {standings}.", *_runs(known)]
    for title, kinds in GROUPS:
        group = [status for status in known if status.entry.kind in kinds]
        if group:
            parts += ["", f"### {title}", "", *_table(HEADS, map(_row, group))]
    parts += [*_cells(known), *_moves(known)]
    return "\n".join(parts)


def rendered_index() -> str:
    """Return counts by paper, and what is expected by chance."""
    known = statuses()
    table = counts(known)
    papers = ledger().papers
    rows = [
        [name, str(sum(own[name] for own in table.values())),
         *(str(table[paper.paper][name]) for paper in papers)]
        for name in STANDINGS
    ]  # fmt: skip
    heads = ["", "all", *(f"[{paper.name}]({paper.page}.md)" for paper in papers)]
    many = many_tests(known)
    other = [
        f"{status.entry.id} {status.with_cells_apart.word}"
        for status in known
        if status.entry.apart and status.verdict and status.with_cells_apart
        and status.with_cells_apart.word != status.verdict.word
    ]  # fmt: skip
    return "\n".join(
        [
            f"{len(known)} entries: {words.state_counts(known)}.",
            "",
            *_table(heads, rows),
            "",
            "In joined data sets, accuracy differs by data set and not by unit. Therefore cells of "
            "the joined run do not decide claims about accuracy. With them: "
            f"{', '.join(other)}.",
            "",
            f"Of the cells nearest to the papers' texts, {many.tests} test against 0, and "
            f"{many.supported} support their claim. Without any effect, "
            f"{words.number(many.by_chance)} would do so by chance. After Holm "
            "correction within their paper, these do: "
            f"{', '.join(sorted(many.surviving)) or 'none'}.",
        ]
    )


def rendered_paper(name: str) -> str:
    """Return the part of a short page: the result of each claim, with data and model."""
    (paper,) = (own for own in ledger().papers if own.name == name)
    known = _of_page(paper.page)
    own = counts(known)[paper.paper]
    standings = ", ".join(f"{own[standing]} {standing}" for standing in STANDINGS if own[standing])
    rows = [
        [f"[{status.entry.id}](../fidelity/{paper.page}.md)", status.entry.states,
         words.headline(status, where=False), words.tested_on(status)]
        for status in known
        if status.entry.kind in ("finding", "ablation")
    ]  # fmt: skip
    table = _table(("entry", "claim", "what we found", "on"), rows)
    return "\n".join([f"{len(known)} entries: {standings}.", "", *table])


def write_pages(folder: Path) -> list[Path]:
    """Write the rendered parts into pages of documentation, between their marks.

    Args:
        folder: With the folders ``fidelity``, for all entries, and ``papers``, for short pages.
    """
    written = []
    names = [f"papers/{paper.name}" for paper in ledger().papers]
    for page in ("fidelity/index", *(f"fidelity/{page}" for page in PAGES), *names):
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
    place, _, name = page.rpartition("/")
    if place == "papers":
        part = rendered_paper(name)
    else:
        part = rendered_index() if name == "index" else rendered(name)
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
        words.ours(status), words.headline(status), words.decided_by(status),
        words.stand_ins(status) or words.not_at_hand(status),
    ]  # fmt: skip


def _runs(known: Sequence[EntryStatus]) -> list[str]:
    """The runs whose answers are shown, and what took the place of the paper's material."""
    names = {answer.entry for status in known for answer in status.answers}
    lines = [
        f"- `{result.protocol}`, run {result.run[:12]}: {result.stand_in.notes}."
        for result in stored_results()
        if any(answer.entry in names for answer in result.answers)
    ]
    return ["", "The column *here* comes from these runs:", "", *lines] if lines else []


def _cells(known: Sequence[EntryStatus]) -> list[str]:
    several = [status for status in known if len(status.decided) > 1]
    rows = [
        [status.entry.id, words.settings(cell.answer), words.interval(cell.answer),
         str(cell.answer.n or ""), words.optional(cell.answer.min_detectable_effect),
         f"{cell.word}{', apart' if status.is_apart(cell) else ''}"]
        for status in several
        if len(status.decided) <= MOST_CELLS
        for cell in status.decided
    ]  # fmt: skip
    heads = (
        "entry",
        "cell",
        "effect",
        "units",
        "found in 80 % of runs",
        "for the claim or against",
    )
    table = ["", "### Cell by cell", "", *_table(heads, rows)] if rows else []
    return table + _by_choice([s for s in several if len(s.decided) > MOST_CELLS])


def _by_choice(known: Sequence[EntryStatus]) -> list[str]:
    """Of entries with many cells: how many of those with each choice say what."""
    rows = []
    for status in known:
        by_choice: dict[str, Counter[str]] = {}
        for cell in status.decided:
            for name, value in cell.answer.settings.items():
                by_choice.setdefault(words.choice(name, value), Counter())[str(cell.word)] += 1
        rows += [
            [status.entry.id, choice, *(str(own[word]) for word in CELL_WORDS)]
            for choice, own in by_choice.items()
        ]
    if not rows:
        return []
    text = "Each cell with its interval: `theodolite papers findings show ENTRY`."
    table = _table(("entry", "cells with", *CELL_WORDS), rows)
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
