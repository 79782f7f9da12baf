"""How like two texts are in their words: ROUGE and BLEU."""

import math
import re
from collections import Counter
from collections.abc import Sequence

WORD = re.compile(r"[a-z0-9']+")
LONGEST = 4
"""Of the runs of words that BLEU counts."""


def overlaps(text: str, references: Sequence[str]) -> tuple[float, float, float]:
    """ROUGE-1, ROUGE-L and BLEU of a text, each against the reference it is likest to.

    >>> overlaps("The cat sat.", ["the cat sat"]), overlaps("a", ["b"])
    ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
    """
    words = WORD.findall(text.lower())
    others = [WORD.findall(reference.lower()) for reference in references]
    return (
        max(_f1(sum((Counter(words) & Counter(own)).values()), words, own) for own in others),
        max(_f1(longest_common(words, own), words, own) for own in others),
        max(bleu(words, own) for own in others),
    )


def _f1(common: int, words: Sequence[str], own: Sequence[str]) -> float:
    return 2 * common / (len(words) + len(own)) if words or own else 0.0


def longest_common(first: Sequence[str], second: Sequence[str]) -> int:
    """Words in the longest sequence that both have in this order, not in one piece."""
    row = [0] * (len(second) + 1)
    for word in first:
        before = 0
        for at, other in enumerate(second, start=1):
            here = row[at]
            row[at] = before + 1 if word == other else max(row[at], row[at - 1])
            before = here
    return row[-1]


def bleu(words: Sequence[str], own: Sequence[str]) -> float:
    """Of one sentence: runs of up to four words, counts of longer ones raised by one.

    Where a text is shorter than four words, only shorter runs are counted.
    """
    longest = min(LONGEST, len(words), len(own))
    if not longest:
        return 0.0
    logs = []
    for size in range(1, longest + 1):
        counts, theirs = (
            Counter(tuple(side[i : i + size]) for i in range(len(side) - size + 1))
            for side in (words, own)
        )
        more = int(size > 1)
        share = (sum((counts & theirs).values()) + more) / (sum(counts.values()) + more)
        if not share:
            return 0.0
        logs.append(math.log(share))
    shorter = min(0.0, 1 - len(own) / len(words))
    return math.exp(shorter + sum(logs) / longest)
