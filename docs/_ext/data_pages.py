"""A page for each data set, made from its card, and their index."""

from pathlib import Path
from typing import Any

from metric_pages import MADE, write
from sphinx.application import Sphinx

from theodolite._runs.folder.protocols import find_protocols_of
from theodolite._runs.folder.registry import find_registered
from theodolite.datasets.card import DataCard, find_card, format_page

GET_WORDS = {"allowed": "`data get`", "instructions": "by hand", "made": "made", "own": "your own"}


def read_cards() -> dict[str, DataCard]:
    """The cards of all loaders, by name."""
    cards = {name: find_card(point) for name, point in sorted(find_registered("datasets").items())}
    return {name: card for name, card in cards.items() if card is not None}


def index(cards: dict[str, DataCard]) -> str:
    """All data sets: how to get each, and how large it is."""
    lines = ["# Data sets", "", "`theodolite data list` prints this list.", ""]
    lines += ["| loader | data set | get | MB | license |", "|---|---|---|---|---|"]
    for name, card in cards.items():
        size = f"{card.bytes / 1e6:.1f}" if card.bytes else ""
        get = GET_WORDS[card.redistribution]
        lines.append(f"| [{name}]({name}.md) | {card.title} | {get} | {size} | {card.license} |")
    return "\n".join([*lines, "", "```{toctree}", ":hidden:", "", *cards, "```", ""])


def make(app: Sphinx) -> None:
    """All pages of data sets."""
    folder = Path(app.srcdir) / MADE / "data"
    cards = read_cards()
    write(folder / "index.md", index(cards))
    for name, card in cards.items():
        write(folder / f"{name}.md", format_page(card, find_protocols_of(name)))


def setup(app: Sphinx) -> dict[str, Any]:
    """Before anything is read."""
    app.connect("builder-inited", make, priority=110)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
