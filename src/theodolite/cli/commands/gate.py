"""The command that checks a run against thresholds."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree

import typer

from theodolite._runs.comparison.versions import check_drift_threshold
from theodolite._runs.finished_run import read_finished_run
from theodolite._storage.paths import all_or_nothing
from theodolite._storage.untrusted_text import check_written_by_theodolite
from theodolite._verdicts.gates.judge import NOT_MET, read_thresholds
from theodolite._verdicts.gates.outcome import GateResult, check_gate
from theodolite.cli import options as opt
from theodolite.cli.options import argument, option
from theodolite.cli.tables import print_json
from theodolite.errors import printable
from theodolite.report.exports.markdown_text import markdown_text
from theodolite.results import Verdict

JUNIT = "<?xml version='1.0' encoding='utf-8'?>\n<testsuite name=\"theodolite\""
"""How our files begin."""


def gate(
    run: opt.Run,
    thresholds: Annotated[Path, argument("Thresholds (YAML)")],
    against: Annotated[Path | None, option("Run of the earlier version, for `drift`")] = None,
    floor: Annotated[
        list[Path] | None, option("Retrained run of that version; three or more")
    ] = None,
    as_json: opt.Json = False,
    junit: Annotated[Path | None, option("JUnit XML to write")] = None,
    summary: Annotated[Path | None, option("Markdown file to append a table to")] = None,
    overwrite: opt.OverwriteFile = False,
) -> None:
    """Check that a run meets your thresholds; exit code 6 if it does not."""
    if junit is not None and not overwrite:
        check_written_by_theodolite(junit, JUNIT)
    criteria = read_thresholds(thresholds)
    finished = read_finished_run(run)
    drift = check_drift_threshold(finished, criteria, against, floor or ())
    result = check_gate(criteria, finished, drift)
    if as_json:
        rows = [{**vars(check), "passes": check not in result.failures} for check in result.checks]
        content: dict[str, object] = {"passes": result.passed, "thresholds": rows}
        if drift is not None and not isinstance(drift, str):
            content["drift"] = drift.to_json()
        print_json(content, ensure_ascii=False)
    else:
        for line in result.lines():
            typer.echo(printable(line, 1000))
    if junit is not None:
        _write_junit(junit, result)
    if summary is not None:
        _append_summary(summary, run, finished.verdicts, result)
    if not result.passed:
        raise typer.Exit(NOT_MET)


def _append_summary(path: Path, run: Path, verdicts: Sequence[Verdict], result: GateResult) -> None:
    decision = "may pass" if result.passed else "stop"
    lines = [f"## Explanations: {decision}", "", markdown_text(run.name), ""]
    lines += ["| question | answer | because |", "|---|---|---|"]
    rows = [(v.question_text, v.answer, v.summary) for v in verdicts if v.answer != "not_evaluated"]
    lines += [f"| {' | '.join(map(markdown_text, row))} |" for row in rows]
    lines += ["", "| threshold | outcome | |", "|---|---|---|"]
    for check in result.checks:
        outcome = ("✗ " if check in result.failures else "✓ ") + check.outcome
        cells = (check.of, outcome, check.sentence)
        lines.append(f"| {' | '.join(map(markdown_text, cells))} |")
    with path.open("a", encoding="utf-8") as stream:
        stream.write("\n".join([*lines, "", ""]))


def _write_junit(path: Path, result: GateResult) -> None:
    tests, failures = len(result.checks), len(result.failures)
    suite = ElementTree.Element(
        "testsuite", name="theodolite", tests=str(tests), failures=str(failures)
    )
    for check in result.checks:
        name = printable(f"{check.of}: {check.asked}")
        case = ElementTree.SubElement(suite, "testcase", classname="theodolite", name=name)
        if check in result.failures:
            sentence = printable(check.sentence, 1000)
            ElementTree.SubElement(case, "failure", message=sentence).text = sentence
        elif check.outcome == "inconclusive":
            ElementTree.SubElement(case, "skipped", message=printable(check.sentence, 1000))
    with all_or_nothing(path) as stream:
        stream.write(ElementTree.tostring(suite, encoding="utf-8", xml_declaration=True))
