"""Commands that list protocols and print one."""

from typing import Annotated

import typer

from theodolite._runs.folder.protocols import find_protocol_file, protocols
from theodolite.cli.options import Json
from theodolite.cli.tables import print_json, print_table


def papers_list(as_json: Json = False) -> None:
    """List the protocols that `run` and `papers sweep` take by name."""
    if as_json:
        print_json(
            [
                {"name": p.name, "title": p.title, "data": p.data, "sweep": p.sweep}
                for p in protocols()
            ]
        )
        return
    print_table(
        ("name", "what it asks", "reads in --data"),
        [(p.name, p.title, ", ".join(p.data) or "nothing") for p in protocols()],
    )


def papers_show(
    name: Annotated[str, typer.Argument(help="Protocol to print", show_default=False)],
) -> None:
    """Print a protocol with its choices."""
    typer.echo(find_protocol_file(name).read_text(encoding="utf-8"), nl=False)
