"""Print the table of metrics for the README, from the catalogue."""

import sys

from theodolite.metrics.catalogue import catalogue


def table() -> str:
    """A row per metric, in Markdown."""
    lines = ["| question | score | better | range | asks |", "|---|---|---|---|---|"]
    for entry in sorted(catalogue().values(), key=lambda e: (e.question, e.name)):
        low, high = entry.bounds
        lines.append(
            f"| {entry.question} | `{entry.name}` | {entry.better} | {low:g} to {high:g} "
            f"| {entry.card.asks} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
