"""Commands that list metrics and show their cards."""

import difflib
from collections.abc import Sequence
from typing import Annotated

import typer

from theodolite.cli.options import Json, argument, option
from theodolite.cli.tables import print_json, print_table
from theodolite.errors import EvidenceError
from theodolite.evidence.plugins import list_left_out
from theodolite.metrics.base import Metric
from theodolite.metrics.cards import format_card
from theodolite.metrics.catalogue import GROUP, catalogue, find_metric
from theodolite.metrics.paper_methods import find_method, list_of_paper


def metrics_list(
    paper: Annotated[str | None, option("Author and year, such as makinwa2022")] = None,
    as_json: Json = False,
) -> None:
    """List the metrics."""
    metrics = list(catalogue().values()) if paper is None else list_of_paper(paper)
    if not metrics:
        known = sorted({metric.cite for metric in catalogue().values()})
        close = difflib.get_close_matches(paper or "", known, n=3, cutoff=0.3) or known[:3]
        raise EvidenceError("--paper", repr(paper), f"a paper such as {', '.join(close)}")
    if as_json:
        print_json([format_card(metric) for metric in metrics], default=str)
        return
    _print_metrics(metrics)
    for entry in list_left_out(GROUP) if paper is None else ():
        typer.echo(f"note: {entry}")


def metrics_show(
    name: Annotated[str, argument("Metric whose card to show")], as_json: Json = False
) -> None:
    """Show the card of a metric; `theodolite metrics NAME` is short for it.

    A name from a paper, such as PASTA or SURF, may stand for several metrics and commands.
    """
    method = None if name in catalogue() else find_method(name)
    if method is not None:
        metrics = [catalogue()[metric] for metric in method.metrics]
        if as_json:
            print_json([format_card(metric) for metric in metrics], default=str)
            return
        typer.echo(f"{method.names[0]} is here:")
        for command in method.commands:
            typer.echo(f"  theodolite {command}")
        _print_metrics(metrics)
        return
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


def _print_metrics(metrics: Sequence[Metric]) -> None:
    rows = [
        (m.question, m.name, ", ".join(m.paper_names), m.better,
         f"{m.bounds[0]:g} to {m.bounds[1]:g}", m.card.question)
        for m in metrics
    ]  # fmt: skip
    heads = ("question", "score", "in papers", "better", "range", "question in words")
    print_table(heads, rows)
