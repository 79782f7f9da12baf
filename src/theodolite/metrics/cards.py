"""Format metric cards for the command line, the docs and the report."""

from typing import Any

from theodolite.metrics.base import Metric
from theodolite.metrics.options import describe_needed
from theodolite.metrics.validation import get_validation

STREAMS = "adds up piece by piece: constant memory, whatever the number of samples"
NEEDS_ALL = (
    "needs all samples at once: of more than 50,000 (resampling.most_pooled) as many are drawn at "
    "random, and the interval is that of so many"
)


def format_card(entry: Metric) -> dict[str, Any]:
    """Format what a reader must know about a score, in the order they would ask."""
    needs = [f"{entry.needs.kind} evidence: {', '.join(entry.uses)}"]
    for option, choices in entry.uses_if.items():
        needs += [f"{', '.join(a)} for {option}={choice}" for choice, a in choices.items()]
    low, high = entry.bounds
    return {
        "name": entry.name,
        "papers call it": ", ".join(entry.paper_names),
        "title": entry.title,
        "question": entry.question,
        "question text": entry.card.question,
        "direction": f"{entry.better} is better",
        "range": f"{low:g} to {high:g}",
        "how to read it": entry.card.interpretation,
        "limitations": entry.card.limitations,
        "nulls": "; ".join(f"{b.label}: {b.description}" for b in entry.nulls),
        "needs": "; ".join(needs),
        "options": "\n".join(
            _format_option(entry, name) for name in entry.options() if len(entry.choices(name)) != 1
        ),
        "cost": entry.card.cost,
        "size": STREAMS if entry.streams else NEEDS_ALL,
        "reference": entry.cite,
        "version": entry.version,
        "validation": format_validation(entry),
    }


def format_validation(entry: Metric) -> str:
    """Format the validation record of a metric in one line."""
    record = get_validation(entry.name, entry.version)
    if record is None:
        return "none yet"
    release = f"{record.size}, theodolite {record.theodolite}"
    return f"{record.text}; valid for {record.range_text} ({release})"


def _format_option(entry: Metric, name: str) -> str:
    """Format an option with its default, its choices or limits, and its description."""
    default = entry.default(name)
    values = ", ".join(map(str, default)) if isinstance(default, tuple) else str(default)
    others = [str(choice) for choice in entry.choices(name) if choice != default]
    if name in entry.sweeps or not others:
        others = [] if entry.choices(name) else [describe_needed(entry.hints()[name])]
    allowed = f"; {', '.join(others)}" if others else ""
    return f"{name}: {values} (default{allowed}). {entry.sentence(name)}".strip()
