"""How many samples each question needs, read from the certificates of the scores that decide it."""

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
    """One for each score that decides a question: from where on it sees what."""
    for question in QUESTIONS:
        for entry in catalogue().values():
            certificate = get_validation(entry.name, entry.version)
            if entry.question != question or not entry.decides or certificate is None:
                continue
            seen = dict(certificate.powers)
            shares = ("–" if seen.get(n) is None else f"{seen[n]:.0%}" for n in SIZES)
            least = certificate.least_samples
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
