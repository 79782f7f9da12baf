"""The command that lists metrics and shows their cards."""

from typing import Annotated

import typer

from theodolite.cli.options import Json, argument
from theodolite.cli.tables import print_json, print_table
from theodolite.evidence.plugins import list_left_out
from theodolite.metrics.cards import format_card
from theodolite.metrics.catalogue import GROUP, catalogue, find_metric


def metrics_show(
    name: Annotated[str | None, argument("Metric whose card to show")] = None, as_json: Json = False
) -> None:
    """List the metrics, or show the card of one."""
    chosen = [find_metric(name)] if name else list(catalogue().values())
    if as_json:
        print_json([format_card(metric) for metric in chosen], default=str)
        return
    if name:
        rows = [
            ("" if number else key, line)
            for key, value in format_card(chosen[0]).items()
            for number, line in enumerate(str(value).splitlines() or [""])
        ]
        print_table(("", ""), rows)
        return
    listed = [
        (e.question, e.name, e.better, f"{e.bounds[0]:g} to {e.bounds[1]:g}", e.card.question)
        for e in chosen
    ]
    print_table(("question", "score", "better", "range", "question in words"), listed)
    for entry in list_left_out(GROUP):
        typer.echo(f"note: {entry}")
