"""Command that describes the kinds of evidence and their arrays."""

from typing import Annotated

import typer

from theodolite.cli.options import argument
from theodolite.cli.tables import print_table
from theodolite.evidence.describe import describe_arrays, summarize_kind
from theodolite.evidence.plugins import list_left_out
from theodolite.evidence.registry import GROUP, find_kind, kinds


def evidence(
    kind: Annotated[str | None, argument("Kind, such as concept or location")] = None,
) -> None:
    """List the kinds of evidence, or the arrays of one."""
    if kind is None:
        print_table(
            ("kind", "holds"), [(name, summarize_kind(known)) for name, known in kinds().items()]
        )
        for entry in list_left_out(GROUP):
            typer.echo(f"note: {entry}")
        return
    chosen = find_kind(kind)
    typer.echo(f"{chosen.__name__}: {summarize_kind(chosen)}\n")
    rows = [
        (array.name, array.shape, "yes" if array.needed else "", array.holds)
        for array in describe_arrays(chosen)
    ]
    print_table(("array", "shape", "needed", "holds"), rows)
