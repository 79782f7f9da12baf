"""Order the explanations of one participant so that equal images are some items apart.

Used by `planning.planned`.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

MAX_ATTEMPTS = 8


def can_keep_gap(counts: Mapping[str, int], gap: int) -> bool:
    """Return whether explanations with these image counts can be ordered with the gap.

    The most frequent images decide: between their rounds others have to fill the gap.

    >>> can_keep_gap({"cat": 2, "dog": 1}, 1), can_keep_gap({"cat": 2, "dog": 1}, 2)
    (True, False)
    """
    most = max(counts.values(), default=0)
    last = sum(count == most for count in counts.values())
    return most <= 1 or (most - 1) * (gap + 1) + last <= sum(counts.values())


def compute_largest_gap(counts: Mapping[str, int]) -> int:
    """Return the largest gap that can be kept; the number of items if no image repeats.

    >>> compute_largest_gap({"cat": 2, "dog": 1}), compute_largest_gap({"cat": 2})
    (1, 0)
    """
    most = max(counts.values(), default=0)
    total = sum(counts.values())
    if most <= 1:
        return total
    last = sum(count == most for count in counts.values())
    return (total - last) // (most - 1) - 1


def order_with_gap(images: Sequence[str], gap: int, random: np.random.Generator) -> list[int]:
    """Return a random order of the positions of ``images`` that keeps the gap, which must exist."""
    if gap == 0:
        return [int(i) for i in random.permutation(len(images))]
    names = list(dict.fromkeys(images))
    counts = Counter(images)
    many = np.array([counts[name] for name in names])
    for _ in range(MAX_ATTEMPTS):
        sequence = _order_at_random(many, gap, random)
        if sequence is not None:
            break
    else:
        sequence = _order_most_frequent_first(many, gap, random)
    waiting = {name: [i for i, p in enumerate(images) if p == name] for name in names}
    for places in waiting.values():
        random.shuffle(places)
    return [waiting[names[i]].pop() for i in sequence]


def _order_at_random(many: np.ndarray, gap: int, random: np.random.Generator) -> list[int] | None:
    """Draw an order at random, frequent images first more often; None if it gets stuck."""
    left, free = many.copy(), np.zeros(len(many), dtype=np.int64)
    total = int(many.sum())
    sequence: list[int] = []
    for now in range(total):
        may = (left > 0) & (free <= now)
        if not may.any():
            return None
        latest = np.where(left > 0, total - 1 - (left - 1) * (gap + 1), total)
        first = np.sort(latest[left > 0])
        if (first - now < np.arange(1, len(first) + 1)).any():  # some must come now
            chosen = int(np.flatnonzero(may)[latest[may].argmin()])
        else:
            chosen = int(random.choice(len(many), p=np.where(may, left, 0) / left[may].sum()))
        if latest[chosen] < now:
            return None
        sequence.append(chosen)
        left[chosen] -= 1
        free[chosen] = now + gap + 1
    return sequence


def _order_most_frequent_first(
    many: np.ndarray, gap: int, random: np.random.Generator
) -> list[int]:
    """Place the most frequent allowed image each time, which finds an order if one exists."""
    left, free = many.copy(), np.zeros(len(many), dtype=np.int64)
    sequence: list[int] = []
    for now in range(int(many.sum())):
        may = np.flatnonzero((left > 0) & (free <= now))
        chosen = int(random.choice(may[left[may] == left[may].max()]))
        sequence.append(chosen)
        left[chosen] -= 1
        free[chosen] = now + gap + 1
    return sequence
