"""Groups of commands: claims of papers, and a learned score of ratings."""

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

findings_app = typer.Typer(help="Compare claims of five papers with our runs", no_args_is_help=True)
findings_app.command("list")(findings_list)
findings_app.command("show")(findings_show)
findings_app.command("status")(findings_status)
findings_app.command("power")(findings_power)
findings_app.command("run")(findings_run)
findings_app.command("tables")(findings_tables)
findings_app.command("pages")(findings_pages)
accept_app = typer.Typer(help="Train and apply a model of human ratings", no_args_is_help=True)
accept_app.command("train")(accept_train)
accept_app.command("score")(accept_score)
accept_app.command("tune")(accept_tune)
