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
    from theodolite.errors import EvidenceError
    from theodolite.evidence.describe import described, summary
    from theodolite.evidence.files import KINDS

    if kind is None:
        print_table(
            ("kind", "holds"),
            [(name, summary(evidence_kind)) for name, evidence_kind in KINDS.items()],
        )
        return
    if kind not in KINDS:
        raise EvidenceError("kind of evidence", repr(kind), f"one of {', '.join(KINDS)}")
    typer.echo(f"{KINDS[kind].__name__}: {summary(KINDS[kind])}\n")
    rows = [
        (array.name, array.shape, "yes" if array.needed else "", array.holds)
        for array in described(KINDS[kind])
    ]
    print_table(("array", "shape", "needed", "holds"), rows)
