"""Commands about the protocols that come with the package."""

from typing import Annotated

import typer

from theodolite.cli.options import Json


def protocols_list(context: typer.Context, as_json: Json = False) -> None:
    """List the protocols that `run` and `sweep` take by name, and what data they read."""
    if context.invoked_subcommand is not None:
        return
    import json

    from theodolite._runs.folder.protocols import protocols
    from theodolite.cli.tables import print_table

    if as_json:
        rows = [
            {"name": p.name, "title": p.title, "data": p.data, "sweep": p.sweep}
            for p in protocols()
        ]
        typer.echo(json.dumps(rows, indent=1))
        return
    print_table(
        ("name", "what it asks", "reads in --data"),
        [(p.name, p.title, ", ".join(p.data) or "nothing") for p in protocols()],
    )


def protocols_show(
    name: Annotated[str, typer.Argument(help="A name of the list.", show_default=False)],
) -> None:
    """Print a protocol: what it needs, and every choice that it makes."""
    from theodolite._runs.folder.protocols import protocol_file

    typer.echo(protocol_file(name).read_text(encoding="utf-8"), nl=False)
