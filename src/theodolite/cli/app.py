"""The program: its name, its groups of commands, its version."""

from typing import Annotated

import typer

app = typer.Typer(
    name="theodolite",
    help="Can you rely on this explanation of a neural network?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,
)
data_app = typer.Typer(
    help="Data sets: which there are, and whether a folder can be read.", no_args_is_help=True
)
app.add_typer(data_app, name="data")
seal_app = typer.Typer(
    help="Seals of pieces of work, for buckets that others can write to.", no_args_is_help=True
)
app.add_typer(seal_app, name="seal")
protocols_app = typer.Typer(
    help="Protocols that come with the package: list, show; `run NAME` runs one.",
    invoke_without_command=True,
)
app.add_typer(protocols_app, name="protocols")


def _version(value: bool) -> None:
    if value:
        from theodolite import __version__

        typer.echo(f"theodolite {__version__}")
        raise typer.Exit


@app.callback()
def _start(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass
