"""Commands that list protocols and print one."""

from typing import Annotated

import typer

from theodolite._runs.folder.protocols import find_protocol_file, protocols
from theodolite.cli.options import Json
from theodolite.cli.tables import print_json, print_table
from theodolite.errors import EvidenceError
from theodolite_reproductions.sources import find_sources


def papers_list(as_json: Json = False) -> None:
    """List the protocols that `papers run` takes by name."""
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


def papers_inputs(
    name: Annotated[str | None, typer.Argument(help="Protocol. Default: all")] = None,
) -> None:
    """Show where to get the inputs of protocols.

    An input without a source ends the command with exit code 2.
    """
    path = None if name is None else find_protocol_file(name)
    chosen = [protocol for protocol in protocols() if path in (None, protocol.file)]
    rows = [
        (protocol.name, read, "; ".join(sources))
        for protocol in chosen
        for read, sources in find_sources(protocol).items()
    ]
    print_table(("protocol", "reads in DATA", "source"), rows)
    if missing := [f"{protocol}: {read}" for protocol, read, sources in rows if not sources]:
        raise EvidenceError("inputs", ", ".join(missing), "a source for each")
