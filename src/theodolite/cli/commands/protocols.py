"""The command that lists protocols and prints one."""

from typing import Annotated

import typer

from theodolite._runs.folder.protocols import find_protocol_file
from theodolite._runs.folder.protocols import protocols as all_protocols
from theodolite.cli.options import Json, argument
from theodolite.cli.tables import print_json, print_table


def protocols(
    name: Annotated[str | None, argument("Protocol to print")] = None, as_json: Json = False
) -> None:
    """List the protocols that `run` and `sweep` take by name, or print one with its choices."""
    if name is not None:
        typer.echo(find_protocol_file(name).read_text(encoding="utf-8"), nl=False)
    elif as_json:
        print_json(
            [
                {"name": p.name, "title": p.title, "data": p.data, "sweep": p.sweep}
                for p in all_protocols()
            ]
        )
    else:
        print_table(
            ("name", "what it asks", "reads in --data"),
            [(p.name, p.title, ", ".join(p.data) or "nothing") for p in all_protocols()],
        )
