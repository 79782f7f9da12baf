"""Finish a run: write its report and checksums, and print where it is."""

from pathlib import Path

import typer

from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec_answers import decide_verdicts
from theodolite._runs.folder_reader import RunFolder
from theodolite.cli.interrupts import PARTIAL
from theodolite.cli.tables import print_verdicts
from theodolite.errors import printable
from theodolite.report.html import write_report


def finish(out: Path, *, verdicts_too: bool = True, quiet: bool = False) -> int:
    """Write the report and checksums, print the path, and return the exit code."""
    path = write_report(out)
    write_checksums(out)
    run = RunFolder(out)
    failed = run.errors
    if verdicts_too:
        print_verdicts(decide_verdicts(run.record.spec, run.scored[0], run.subject, failed=failed))
        for failure in failed:
            typer.echo(printable(f"failed: {failure}", 1000))
    if not quiet:
        typer.echo(f"report: {path}")
    if failed:
        names = ", ".join(dict.fromkeys(failure.metric for failure in failed))
        typer.echo(printable(f"theodolite: incomplete: {names} failed", 1000), err=True)
    if pieces := run.made_record.failed_tasks:
        typer.echo(f"theodolite: incomplete: {pieces} tasks failed; see failed.parquet", err=True)
    return PARTIAL if failed or pieces else 0
