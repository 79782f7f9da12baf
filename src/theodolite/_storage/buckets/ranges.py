"""Coalesce byte ranges that lie close together into one request. Used by ``Store.read_ranges``."""

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_GAP = 1 << 16
MOST_WASTE = 0.25
"""Largest fraction of unneeded bytes in a request."""
Range = tuple[str, int, int]
"""Name, first byte and number of bytes."""


@dataclass
class Span:
    """Bytes of one request, and the numbers of the ranges that it contains."""

    name: str
    start: int
    end: int
    needed: int
    members: list[int] = field(default_factory=list)

    def takes(self, start: int, length: int) -> bool:
        """Return whether a later range is worth reading in this request."""
        needed = self.needed + length
        whole = max(self.end, start + length) - self.start
        return start - self.end < MOST_GAP and whole - needed < MOST_WASTE * needed


def plan_spans(ranges: Sequence[Range]) -> list[Span]:
    """Return the requests for some ranges.

    >>> spans = plan_spans([("a", 0, 90), ("a", 100, 90), ("b", 0, 5)])
    >>> [(span.start, span.end, span.members) for span in spans]
    [(0, 190, [0, 1]), (0, 5, [2])]
    """
    spans: list[Span] = []
    for number in sorted(range(len(ranges)), key=lambda n: ranges[n]):
        name, start, length = ranges[number]
        last = spans[-1] if spans else None
        if last is None or last.name != name or not last.takes(start, length):
            last = Span(name, start, start, 0)
            spans.append(last)
        last.end = max(last.end, start + length)
        last.needed += length
        last.members.append(number)
    return spans
