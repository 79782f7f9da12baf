"""Commands about the ledger of the five papers."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.cli.options import Cache, Json, Quiet
from theodolite.errors import UnsafeInputError

if TYPE_CHECKING:
    from theodolite_reproductions.claims.results import ResultFile
    from theodolite_reproductions.claims.status import EntryStatus

Results = Annotated[
    Path | None, typer.Option(help="Folder of stored answers. Default: those of the package")
]


def findings_list(
    paper: Annotated[
        str | None, typer.Option(help="List one paper only, such as makinwa2022")
    ] = None,
    kind: Annotated[
        str | None, typer.Option(help="List one kind only, such as finding or definition")
    ] = None,
    verdict: Annotated[
        str | None, typer.Option(help="List one verdict only, such as 'holds here'")
    ] = None,
    results: Results = None,
    as_json: Json = False,
) -> None:
    """List the claims of five papers, with verdicts."""
    from theodolite.cli.tables import print_table
    from theodolite_reproductions.claims.ledger import ledger
    from theodolite_reproductions.claims.status import STANDINGS, STATES
    from theodolite_reproductions.claims.words import headline

    known = _known(results)
    papers: dict[str, str] = {own.name: own.paper for own in ledger().papers}
    _check("paper", paper, set(papers))
    _check("kind", kind, {status.entry.kind for status in known})
    _check("verdict", verdict, {*STANDINGS, *STATES})
    chosen = [
        status
        for status in known
        if paper is None or papers[paper] == status.entry.paper
        if kind in (None, status.entry.kind)
        if verdict in (None, status.state, status.standing)
    ]
    if as_json:
        typer.echo(json.dumps([_as_json(status) for status in chosen], indent=1))
        return
    rows = [(s.entry.id, s.entry.kind, s.entry.states, headline(s)) for s in chosen]
    print_table(("entry", "kind", "claim", "verdict"), rows)


def findings_show(
    name: Annotated[str, typer.Argument(help="Id of an entry, such as P003-F0-05")],
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Show an entry: the paper's figures, ours, the verdict."""
    from theodolite.cli.tables import print_table
    from theodolite_reproductions.claims import words
    from theodolite_reproductions.claims.ledger import ledger

    chosen = ledger().entry(name)
    status = next(status for status in _known(results) if status.entry == chosen)
    if as_json:
        typer.echo(json.dumps(_as_json(status), indent=1))
        return
    entry, test = status.entry, status.entry.test
    against = entry.effect if test.margin is None else test.margin
    rows = [
        ("entry", f"{entry.id}, {entry.kind}, {entry.where}"),
        ("says", entry.states),
        ("expects", entry.expect or ""),
        ("theirs", words.printed_figures(entry.printed or {})),
        ("ours", words.ours(status)),
        ("test", f"{test.type}: {test.quantity or ''}"),
        ("smallest effect or margin", "" if against is None else words.number(against)),
        ("verdict", words.headline(status)),
        ("decided by", words.decided_by(status).replace("`", "")),
        ("same or substitute", words.stand_ins(status).replace("`", "")),
        ("not at hand", words.not_at_hand(status)),
        *(("thresholds", f"{name}: {source}") for name, source in entry.thresholds_from.items()),
        *(("cell", f"{words.settings(cell.answer)}: {words.interval(cell.answer)}, {cell.answer.n} "
           f"{cell.answer.unit}, {cell.word}") for cell in status.decided),
        *(("option", words.move(move)) for move in status.moves),
    ]  # fmt: skip
    print_table(("", ""), [row for row in rows if row[1]])


def findings_status(results: Results = None, as_json: Json = False) -> None:
    """Count entries by paper and verdict."""
    from theodolite.cli.tables import print_table
    from theodolite_reproductions.claims.ledger import ledger
    from theodolite_reproductions.claims.status import STANDINGS, counts, many_tests
    from theodolite_reproductions.claims.words import state_counts

    known = _known(results)
    table, many = counts(known), many_tests(known)
    names: dict[str, str] = {own.paper: own.name for own in ledger().papers}
    if as_json:
        content = {names[paper]: {s: own[s] for s in STANDINGS} for paper, own in table.items()}
        typer.echo(json.dumps(content, indent=1))
        return
    rows = [
        [
            name,
            str(sum(own[name] for own in table.values())),
            *(str(own[name]) for own in table.values()),
        ]
        for name in STANDINGS
        for own in [[standing[name] for standing in table.values()]]
    ]
    print_table(("", "all", *(names[paper] for paper in table)), rows, right=(1, 2, 3, 4, 5, 6))
    typer.echo(f"{state_counts(known)}.")
    typer.echo(
        f"{many.tests} nearest cells test against 0, {many.supported} are for the claim, "
        f"{many.by_chance:.1f} by chance; {len(many.surviving)} after Holm's correction"
    )


def findings_power(
    protocol: Annotated[Path, typer.Argument(help="Protocol or sweep: a file or a name")],
    results: Results = None,
    as_json: Json = False,
) -> None:
    """Say what a run of a protocol can find, before it is run."""
    from theodolite._runs.folder.protocols import find_protocol_file
    from theodolite._storage.text import read_yaml
    from theodolite.cli.tables import print_table
    from theodolite_reproductions.claims import words
    from theodolite_reproductions.claims.planning import plan_of

    content = read_yaml(find_protocol_file(protocol), "protocol")
    name = content.get("name") if isinstance(content, dict) else None
    plans = plan_of(_known(results), str(name))
    if as_json:
        rows = [
            {"entry": plan.entry.id, "test": plan.entry.test.type, "unit": plan.entry.test.unit,
             "units": plan.units, "min_detectable_effect": plan.min_detectable_effect,
             "n_required": plan.n_required,
             "enough": plan.enough} for plan in plans
        ]  # fmt: skip
        typer.echo(json.dumps(rows, indent=1))
        return
    known = {None: "not known", True: "yes", False: "no"}
    cells = [
        [plan.entry.id, plan.entry.test.type, plan.entry.test.unit or "",
         words.optional(plan.entry.effect or plan.entry.test.margin), words.optional(plan.units),
         words.optional(plan.min_detectable_effect),
         words.optional(plan.n_required), known[plan.enough]]
        for plan in plans
    ]  # fmt: skip
    heads = ("entry", "test", "unit", "smallest", "units", "found in 4 of 5", "needed", "enough")
    print_table(heads, cells, right=(3, 4, 5, 6))


def findings_run(
    protocol: Annotated[Path, typer.Argument(help="Protocol or sweep: a file or a name")],
    out: Annotated[Path, typer.Option(help="Run folder to write; a finished run is read")],
    data: Annotated[Path, typer.Option(help="Folder that its paths are in")] = Path(),
    keep: Annotated[Path, typer.Option(help="Folder for the stored answers")] = Path("findings"),
    cache: Cache = None,
    quiet: Quiet = False,
) -> None:
    """Run a protocol and keep its results for the paper."""
    from theodolite._runs.folder.checksums import MANIFEST
    from theodolite._runs.folder.protocols import find_protocol_file
    from theodolite_reproductions.claims.extraction import SWEEP, check_answered, result_of
    from theodolite_reproductions.cli.sweep import papers_run

    protocol = find_protocol_file(protocol)
    check_answered(protocol)
    if not (out / MANIFEST).is_file() and not (out / SWEEP).is_file():
        findings_power(protocol)
        papers_run(protocol, out, data, cache, quiet=quiet)
    _keep(result_of(out, protocol), keep)


def _keep(result: "ResultFile", keep: Path) -> None:
    from theodolite_reproductions.claims.results import write_result

    keep.mkdir(parents=True, exist_ok=True)
    path = write_result(keep, result)
    entries = {answer.entry for answer in result.answers} | {m.option for m in result.moves}
    typer.echo(f"{len(result.answers)} answers to {len(entries)} entries: {path}")


def findings_tables(
    keep: Annotated[Path, typer.Option(help="Folder for the stored answers")] = Path("findings"),
) -> None:
    """Decide claims from a paper's own tables, without data."""
    from theodolite_reproductions.claims.printed import printed_result

    _keep(printed_result(), keep)


def findings_pages(
    folder: Annotated[Path, typer.Argument(help="Folder of the documentation")],
) -> None:
    """Write the tables of claims into the documentation."""
    from theodolite_reproductions.claims.pages import write_pages

    for path in write_pages(folder):
        typer.echo(str(path))


def _known(results: Path | None) -> "tuple[EntryStatus, ...]":
    from theodolite_reproductions.claims.results import read_result
    from theodolite_reproductions.claims.status import statuses

    if results is None:
        return statuses()
    return statuses(results=[read_result(path) for path in sorted(results.glob("*.json"))])


def _check(what: str, value: str | None, known: set[str]) -> None:
    if value is not None and value not in known:
        raise UnsafeInputError(what, f"{value!r}", f"one of {', '.join(sorted(known))}")


def _as_json(status: "EntryStatus") -> dict[str, Any]:
    from theodolite_reproductions.claims.words import headline

    return {
        "entry": status.entry.model_dump(mode="json", by_alias=True),
        "state": status.state,
        "verdict": status.standing,
        "headline": headline(status),
        "stand_in": status.stand_ins(),
        "cells": [
            cell.answer.model_dump(mode="json") | {"protocol": cell.protocol, "word": cell.word}
            for cell in status.decided
        ],
        "moves": [move.model_dump(mode="json") for move in status.moves],
    }
