"""Register the commands of `theodolite study` in the order of their help. The entry point of the
plug-in."""

import typer

from theodolite_study.cli.desk import study_staff
from theodolite_study.cli.operate import study_backup, study_rehearse_restore, study_upgrade
from theodolite_study.cli.people import study_invalidate, study_payments, study_withdraw
from theodolite_study.cli.results import (
    study_export,
    study_plan,
    study_results,
    study_verify,
)
from theodolite_study.cli.server import study_pack
from theodolite_study.cli.study_commands import (
    study_demo,
    study_init,
    study_invite,
    study_serve,
    study_set,
    study_status,
)

__all__ = ["app"]

app = typer.Typer(
    help="Run a user study and collect ratings",
    no_args_is_help=True,
)
app.command("demo")(study_demo)
app.command("plan")(study_plan)
app.command("init")(study_init)
app.command("serve")(study_serve)
app.command("status")(study_status)
app.command("set")(study_set)
app.command("staff")(study_staff)
app.command("invite")(study_invite)
app.command("payments")(study_payments)
app.command("withdraw")(study_withdraw)
app.command("invalidate")(study_invalidate)
app.command("results")(study_results)
app.command("export")(study_export)
app.command("verify")(study_verify)
app.command("pack")(study_pack)
app.command("backup")(study_backup)
app.command("rehearse-restore")(study_rehearse_restore)
app.command("upgrade")(study_upgrade)
