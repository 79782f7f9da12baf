"""Commands that list metrics and show their cards."""

from typing import Annotated

import typer

from theodolite.cli.options import Json, argument
from theodolite.cli.tables import print_json, print_table
from theodolite.evidence.plugins import list_left_out
from theodolite.metrics.cards import format_card
from theodolite.metrics.catalogue import GROUP, catalogue, find_metric


def metrics_list(as_json: Json = False) -> None:
    """List the metrics."""
    metrics = catalogue().values()
    if as_json:
        print_json([format_card(metric) for metric in metrics], default=str)
        return
    rows = [
        (m.question, m.name, m.better, f"{m.bounds[0]:g} to {m.bounds[1]:g}", m.card.question)
        for m in metrics
    ]
    print_table(("question", "score", "better", "range", "question in words"), rows)
    for entry in list_left_out(GROUP):
        typer.echo(f"note: {entry}")


def metrics_show(
    name: Annotated[str, argument("Metric whose card to show")], as_json: Json = False
) -> None:
    """Show the card of a metric; `theodolite metrics NAME` is short for it."""
    card = format_card(find_metric(name))
    if as_json:
        print_json(card, default=str)
        return
    rows = [
        ("" if number else key, line)
        for key, value in card.items()
        for number, line in enumerate(str(value).splitlines() or [""])
    ]
    print_table(("", ""), rows)
