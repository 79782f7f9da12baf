"""The command that lets a run pass, or does not."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite.cli.options import Json, OverwriteFile

if TYPE_CHECKING:
    from theodolite.thresholds.judge import GateCheck, Thresholds

JUNIT = "<?xml version='1.0' encoding='utf-8'?>\n<testsuite name=\"theodolite\""
"""How our files begin."""


def gate(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    thresholds: Annotated[
        Path, typer.Argument(help="A YAML file that says what is good enough.", show_default=False)
    ],
    as_json: Json = False,
    junit: Annotated[
        Path | None, typer.Option(help="Also write JUnit XML, as test servers show it.")
    ] = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Check that a run is good enough; exit code 6 if it is not."""
    from theodolite.io.untrusted_text import check_ours
    from theodolite.runs.finished import read_finished
    from theodolite.thresholds.judge import NOT_MET, fails, judged, read_thresholds

    if junit is not None and not overwrite:
        check_ours(junit, JUNIT)
    asked = read_thresholds(thresholds)
    finished = read_finished(run)
    found = judged(asked, finished.scores, finished.verdicts, failed_pieces=finished.failed_pieces)
    _print(found, asked, as_json=as_json)
    if junit is not None:
        _write_junit(junit, found, asked)
    if any(fails(one, asked) for one in found):
        raise typer.Exit(NOT_MET)


def _print(found: "Sequence[GateCheck]", asked: "Thresholds", *, as_json: bool) -> None:
    from theodolite.errors import printable
    from theodolite.thresholds.judge import fails

    if as_json:
        rows = [{**vars(one), "passes": not fails(one, asked)} for one in found]
        content = {"passes": all(row["passes"] for row in rows), "thresholds": rows}
        typer.echo(json.dumps(content, indent=1, ensure_ascii=False))
        return
    for one in found:
        let = " (let pass)" if one.outcome == "cannot tell" and not fails(one, asked) else ""
        typer.echo(printable(f"{one.outcome}{let}: {one.sentence}", 1000))


def _write_junit(path: Path, found: "Sequence[GateCheck]", asked: "Thresholds") -> None:
    from xml.etree import ElementTree

    from theodolite.errors import printable
    from theodolite.io.paths import all_or_nothing
    from theodolite.thresholds.judge import fails

    failed = [one for one in found if fails(one, asked)]
    suite = ElementTree.Element(
        "testsuite", name="theodolite", tests=str(len(found)), failures=str(len(failed))
    )
    for one in found:
        name = printable(f"{one.of}: {one.asked}")
        case = ElementTree.SubElement(suite, "testcase", classname="theodolite", name=name)
        if one in failed:
            sentence = printable(one.sentence, 1000)
            ElementTree.SubElement(case, "failure", message=sentence).text = sentence
        elif one.outcome == "cannot tell":
            ElementTree.SubElement(case, "skipped", message=printable(one.sentence, 1000))
    with all_or_nothing(path) as stream:
        stream.write(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))
