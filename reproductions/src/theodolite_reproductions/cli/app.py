"""The group of commands `theodolite papers`."""

import inspect
from collections.abc import Callable

import typer

from theodolite_reproductions.cli.accept import accept_score, accept_train, accept_tune
from theodolite_reproductions.cli.claims import (
    findings_list,
    findings_pages,
    findings_power,
    findings_run,
    findings_show,
    findings_status,
    findings_tables,
)
from theodolite_reproductions.cli.protocols import papers_inputs, papers_list, papers_show
from theodolite_reproductions.cli.sweep import papers_run


def _group(text: str, **commands: Callable[..., None]) -> typer.Typer:
    """Make a group; the help of a command is its docstring, without the final period of a line."""
    app = typer.Typer(help=text, no_args_is_help=True)
    for name, command in commands.items():
        summary, mark, more = (inspect.getdoc(command) or "").partition("\n\n")
        app.command(name, help=f"{summary.rstrip('.')}{mark}{more}")(command)
    return app


papers_app = _group(
    "List and reproduce the runs of five papers",
    list=papers_list, show=papers_show, inputs=papers_inputs, run=papers_run,
)  # fmt: skip
findings_app = _group(
    "Compare claims of five papers with our runs",
    list=findings_list, show=findings_show, status=findings_status, power=findings_power,
    run=findings_run, tables=findings_tables, pages=findings_pages,
)  # fmt: skip
accept_app = _group(
    "Train and apply a model of human ratings",
    train=accept_train, score=accept_score, tune=accept_tune,
)  # fmt: skip
papers_app.add_typer(findings_app, name="findings")
papers_app.add_typer(accept_app, name="accept")
