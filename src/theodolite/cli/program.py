"""All commands, in the order in which the help lists them; those of other packages come last."""

from collections.abc import Callable
from functools import cache

import typer

from theodolite.cli.app import app, data_app, protocols_app, seal_app
from theodolite.cli.commands.audit import audit
from theodolite.cli.commands.certify import certify
from theodolite.cli.commands.codes import codes
from theodolite.cli.commands.compare import compare, leaderboard
from theodolite.cli.commands.data import (
    data_adopt,
    data_check,
    data_clean,
    data_commit,
    data_example,
    data_list,
    data_store,
)
from theodolite.cli.commands.demo import demo
from theodolite.cli.commands.doctor import doctor
from theodolite.cli.commands.evidence import evidence
from theodolite.cli.commands.explain import explain
from theodolite.cli.commands.export import export
from theodolite.cli.commands.features import features
from theodolite.cli.commands.folders import report, sign, verify
from theodolite.cli.commands.gate import gate
from theodolite.cli.commands.latents import latents
from theodolite.cli.commands.metrics import metrics
from theodolite.cli.commands.plan import plan
from theodolite.cli.commands.protocols import protocols_list, protocols_show
from theodolite.cli.commands.run import dissect, run
from theodolite.cli.commands.seal import seal_new
from theodolite.cli.package_commands import add_package_commands

__all__ = ["app", "program"]

app.command()(demo)
app.command()(metrics)
app.command()(evidence)
app.command()(run)
app.command()(dissect)
app.command()(codes)
app.command()(latents)
app.command()(features)
app.command()(explain)
app.command()(audit)
app.command()(report)
app.command()(verify)
app.command()(export)
app.command()(sign)
app.command()(compare)
app.command()(leaderboard)
app.command()(plan)
app.command()(gate)
app.command()(certify)
app.command()(doctor)
data_app.command("list")(data_list)
data_app.command("check")(data_check)
data_app.command("example")(data_example)
data_app.command("store")(data_store)
data_app.command("commit")(data_commit)
data_app.command("clean")(data_clean)
data_app.command("adopt")(data_adopt)
protocols_app.callback()(protocols_list)
protocols_app.command("show")(protocols_show)
seal_app.command("new")(seal_new)


@cache
def program() -> Callable[[], object]:
    """All of them, ready to be called. Reading their signatures takes as long as many a command."""
    ours = {group.name for group in app.registered_groups}
    ours |= {command.callback.__name__ for command in app.registered_commands if command.callback}
    add_package_commands(app, {name for name in ours if name})
    return typer.main.get_command(app)
