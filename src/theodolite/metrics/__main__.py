"""Print the table of metrics for the README, from the catalogue."""

import sys

from theodolite.metrics.catalogue import catalogue


def table() -> str:
    """A row per metric, in Markdown."""
    lines = ["| question | score | better | range | asks |", "|---|---|---|---|---|"]
    for metric in sorted(catalogue().values(), key=lambda e: (e.question, e.name)):
        low, high = metric.bounds
        lines.append(
            f"| {metric.question} | `{metric.name}` | {metric.better} | {low:g} to {high:g} "
            f"| {metric.card.asks} |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
