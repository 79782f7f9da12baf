"""Metric cards: the one source for the command line, the docs and the report."""

from typing import Any

from theodolite.metrics.base import Metric
from theodolite.metrics.certified import certificate_of

STREAMS = "adds up piece by piece: constant memory, whatever the number of samples"
NEEDS_ALL = (
    "needs all samples at once: of more than 50,000 (resampling.most_pooled) as many are drawn at "
    "random, and the interval is that of so many"
)


def card(entry: Metric) -> dict[str, Any]:
    """What a reader must know about a score, in the order they would ask."""
    needs = [f"{entry.needs.kind} evidence: {', '.join(entry.uses)}"]
    for option, choices in entry.uses_if.items():
        needs += [f"{', '.join(a)} for {option}={choice}" for choice, a in choices.items()]
    low, high = entry.bounds
    return {
        "name": entry.name,
        "title": entry.title,
        "question": entry.question,
        "asks": entry.card.asks,
        "direction": f"{entry.better} is better",
        "range": f"{low:g} to {high:g}",
        "how to read it": entry.card.read,
        "when it misleads": entry.card.misleads,
        "nulls": "; ".join(f"{b.name}: {b.says}" for b in entry.baselines),
        "needs": "; ".join(needs),
        "options": "; ".join(_option(entry, name) for name in entry.options()),
        "cost": entry.card.cost,
        "size": STREAMS if entry.streams else NEEDS_ALL,
        "reference": entry.cite,
        "version": entry.version,
        "certificate": certificate_text(entry),
    }


def certificate_text(entry: Metric) -> str:
    """What its certificate says, in one line."""
    certificate = certificate_of(entry.name, entry.version)
    if certificate is None:
        return "none yet"
    return f"{certificate.text} ({certificate.size}, theodolite {certificate.theodolite})"


def _option(entry: Metric, name: str) -> str:
    default = entry.default(name)
    others = [choice for choice in entry.choices(name) if choice != default]
    if others and all(isinstance(choice, str) for choice in others):
        return f"{name}={default} (or {', '.join(others)})"
    value = ", ".join(map(str, default)) if isinstance(default, tuple) else default
    return f"{name}={value}"
