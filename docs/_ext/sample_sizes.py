"""Required samples per question, from the validation records of its deciding scores."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from metric_pages import MADE, write
from sphinx.application import Sphinx

from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.validation import get_validation
from theodolite.questions import QUESTIONS

SIZES = (60, 100, 300)


def rows() -> Iterator[tuple[str, ...]]:
    """Yield a row per deciding score: its power at several sample sizes."""
    for question in QUESTIONS:
        for entry in catalogue().values():
            record = get_validation(entry.name, entry.version)
            if entry.question != question or not entry.decides or record is None:
                continue
            seen = dict(record.powers)
            shares = ("–" if seen.get(n) is None else f"{seen[n]:.0%}" for n in SIZES)
            least = record.least_samples
            yield question, f"`{entry.name}`", "–" if least is None else f"{least:,}", *shares


def page() -> str:
    """The table, for the page of frequent questions."""
    head = ("question", "score", "validated from", *(f"N = {size:,}" for size in SIZES))
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows())]) + "\n"


def make(app: Sphinx) -> None:
    """Beside the pages of scores."""
    write(Path(app.srcdir) / MADE / "sample_sizes.txt", page())


def setup(app: Sphinx) -> dict[str, Any]:
    """Before anything is read."""
    app.connect("builder-inited", make, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
