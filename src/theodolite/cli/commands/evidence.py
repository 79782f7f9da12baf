"""What evidence holds."""

from typing import Annotated

import typer


def evidence(
    kind: Annotated[
        str | None, typer.Argument(help="Such as concept or location.", show_default=False)
    ] = None,
) -> None:
    """List the kinds of evidence, or the arrays of one."""
    from theodolite.cli.tables import print_table
    from theodolite.evidence.describe import described, summary
    from theodolite.evidence.plugins import left_out
    from theodolite.evidence.registry import GROUP, find_kind, kinds

    if kind is None:
        print_table(("kind", "holds"), [(name, summary(known)) for name, known in kinds().items()])
        for entry in left_out(GROUP):
            typer.echo(f"note: {entry}")
        return
    chosen = find_kind(kind)
    typer.echo(f"{chosen.__name__}: {summary(chosen)}\n")
    rows = [
        (array.name, array.shape, "yes" if array.needed else "", array.holds)
        for array in described(chosen)
    ]
    print_table(("array", "shape", "needed", "holds"), rows)
