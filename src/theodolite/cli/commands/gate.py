"""The command that lets a run pass, or does not."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite.cli.options import Json, OverwriteFile

if TYPE_CHECKING:
    from theodolite._runs.comparison.drift import AttributionDrift
    from theodolite._verdicts.gates.judge import GateCheck, Thresholds
    from theodolite.results import Verdict

JUNIT = "<?xml version='1.0' encoding='utf-8'?>\n<testsuite name=\"theodolite\""
"""How our files begin."""


def gate(
    run: Annotated[Path, typer.Argument(help="A run folder.", show_default=False)],
    thresholds: Annotated[
        Path, typer.Argument(help="A YAML file that says what is good enough.", show_default=False)
    ],
    against: Annotated[
        Path | None,
        typer.Option(help="Run of the earlier version, for `drift` in the thresholds."),
    ] = None,
    floor: Annotated[
        list[Path] | None,
        typer.Option(help="Run of that version trained again; three or more, one option each."),
    ] = None,
    as_json: Json = False,
    junit: Annotated[
        Path | None, typer.Option(help="Also write JUnit XML, as test servers show it.")
    ] = None,
    summary: Annotated[
        Path | None,
        typer.Option(help="Append a table in Markdown to this file: the summary of a CI job."),
    ] = None,
    overwrite: OverwriteFile = False,
) -> None:
    """Check that a run is good enough; exit code 6 if it is not."""
    from theodolite._runs.auditing.versions import gate_drift
    from theodolite._runs.finished import read_finished
    from theodolite._storage.untrusted_text import check_ours
    from theodolite._verdicts.gates.judge import NOT_MET, fails, judged, read_thresholds

    if junit is not None and not overwrite:
        check_ours(junit, JUNIT)
    criteria = read_thresholds(thresholds)
    finished = read_finished(run)
    drift = gate_drift(finished, criteria, against, floor or ())
    checks = judged(
        criteria, finished.scores, finished.verdicts, failed_tasks=finished.failed_tasks,
        failed=finished.errors, drift=drift,
    )  # fmt: skip
    _print(checks, criteria, drift, as_json=as_json)
    if junit is not None:
        _write_junit(junit, checks, criteria)
    if summary is not None:
        _append_summary(summary, run, finished.verdicts, checks, criteria)
    if any(fails(check, criteria) for check in checks):
        raise typer.Exit(NOT_MET)


def _print(
    checks: "Sequence[GateCheck]",
    criteria: "Thresholds",
    drift: "AttributionDrift | str | None",
    *,
    as_json: bool,
) -> None:
    from theodolite._verdicts.gates.judge import fails
    from theodolite.errors import printable

    if as_json:
        rows = [{**vars(check), "passes": not fails(check, criteria)} for check in checks]
        content: dict[str, object] = {
            "passes": all(row["passes"] for row in rows), "thresholds": rows
        }  # fmt: skip
        if drift is not None and not isinstance(drift, str):
            content["drift"] = drift.to_json()
        typer.echo(json.dumps(content, indent=1, ensure_ascii=False))
        return
    for check in checks:
        let = (
            " (let pass)" if check.outcome == "inconclusive" and not fails(check, criteria) else ""
        )
        typer.echo(printable(f"{check.outcome}{let}: {check.sentence}", 1000))


def _append_summary(
    path: Path,
    run: Path,
    verdicts: "Sequence[Verdict]",
    checks: "Sequence[GateCheck]",
    criteria: "Thresholds",
) -> None:
    from theodolite._verdicts.gates.judge import fails
    from theodolite.report.exports.markdown_text import markdown_text

    stops = any(fails(check, criteria) for check in checks)
    lines = [f"## Explanations: {'stop' if stops else 'may pass'}", "", markdown_text(run.name), ""]
    lines += ["| question | answer | because |", "|---|---|---|"]
    rows = [(v.question_text, v.answer, v.summary) for v in verdicts if v.answer != "not_evaluated"]
    lines += [f"| {' | '.join(map(markdown_text, row))} |" for row in rows]
    lines += ["", "| threshold | outcome | |", "|---|---|---|"]
    for check in checks:
        outcome = ("✗ " if fails(check, criteria) else "✓ ") + check.outcome
        cells = (check.of, outcome, check.sentence)
        lines.append(f"| {' | '.join(map(markdown_text, cells))} |")
    with path.open("a", encoding="utf-8") as stream:
        stream.write("\n".join([*lines, "", ""]))


def _write_junit(path: Path, checks: "Sequence[GateCheck]", criteria: "Thresholds") -> None:
    from xml.etree import ElementTree

    from theodolite._storage.paths import all_or_nothing
    from theodolite._verdicts.gates.judge import fails
    from theodolite.errors import printable

    failed = [check for check in checks if fails(check, criteria)]
    suite = ElementTree.Element(
        "testsuite", name="theodolite", tests=str(len(checks)), failures=str(len(failed))
    )
    for check in checks:
        name = printable(f"{check.of}: {check.asked}")
        case = ElementTree.SubElement(suite, "testcase", classname="theodolite", name=name)
        if check in failed:
            sentence = printable(check.sentence, 1000)
            ElementTree.SubElement(case, "failure", message=sentence).text = sentence
        elif check.outcome == "inconclusive":
            ElementTree.SubElement(case, "skipped", message=printable(check.sentence, 1000))
    with all_or_nothing(path) as stream:
        stream.write(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))
