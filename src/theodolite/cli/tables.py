"""Print plain tables that fit a terminal and a pipe."""

import json
import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from theodolite._verdicts.words import better_text, interval_text, percent
from theodolite.errors import printable
from theodolite.results import Score, Verdict


def console() -> Console:
    """Standard output; never narrower than a table needs when it is a pipe."""
    return Console(file=sys.stdout, highlight=False, width=None if sys.stdout.isatty() else 160)


def print_json(content: Any, **settings: Any) -> None:
    """Write JSON to standard output."""
    typer.echo(json.dumps(content, indent=1, **settings))


def print_table(
    heads: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()
) -> None:
    """Rows under heads. Everything is text: names cannot bring their own markup."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell, 4000)) for cell in row))
    console().print(table)


def print_scores(scores: Sequence[Score], *, of_probe: bool = False) -> None:
    """Scores with intervals and nulls; those of *faithful* may be of a stand-in."""
    rows = []
    for score in scores:
        varied = {k: v for k, v in score.options.items() if not isinstance(v, list | tuple)}
        telling = {k: v for k, v in varied.items() if k in _TELLING and v != "units"}
        short = ", ".join(f"{k}={v}" for k, v in telling.items())
        null = score.null
        beside = "" if null is None else f"{percent(null.value, score)} ({null.label})"
        rows.append(
            (_question(score, of_probe=of_probe), score.metric, short,
             percent(score.value, score), interval_text(score).strip(),
             better_text(score.better), beside, f"{score.n}",
             f"{score.n_undefined}")
        )  # fmt: skip
    heads = ("question", "score", "options", "value", "interval", "better",
             "strongest baseline", "n", "undefined")  # fmt: skip
    print_table(heads, rows, right=(3, 7, 8))


def _question(score: Score, *, of_probe: bool) -> str:
    return "probe_only" if of_probe and score.question == "faithful" else score.question


_TELLING = (
    "top", "alpha", "rank_by", "population", "form", "over", "target", "which", "by", "denominator",
    "meeting", "removal", "across", "noise", "sign", "own", "against", "level", "rounded",
)  # fmt: skip


def print_verdicts(verdicts: Sequence[Verdict]) -> None:
    """One line per question that was asked."""
    asked_verdicts = [v for v in verdicts if v.answer != "not_evaluated"]
    if not asked_verdicts:
        console().print("No question could be answered.")
        return
    print_table(
        ("question", "answer", "summary"),
        [
            (v.question_text, v.answer, f"{v.summary} {v.sensitivity}".rstrip())
            for v in asked_verdicts
        ],
    )
