"""From the intervals of all cells of an entry to one word about its claim."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from importlib.resources import as_file, files
from typing import Any, Literal, get_args

from theodolite._storage.text import read_yaml
from theodolite.errors import EvidenceError
from theodolite_reproductions.claims.entry import DECIDED_BY_TESTS, ON_A_LINE, PaperEntry

CellWord = Literal["for", "against", "null", "unclear"]
Word = Literal[
    "holds here", "holds in part", "does not carry over", "contradicted", "undecided here"
]
Agreement = Literal["agrees", "disagrees", "undecided"]
Axis = Literal["claim", "material", "choice"]
WORDS: tuple[Word, ...] = get_args(Word)
CELL_WORDS: tuple[CellWord, ...] = get_args(CellWord)
MOST_RESAMPLES, FEWEST_RESAMPLES = 0.95, 0.05
"""Shares of resamples that meet the rule of a rank, from which on a cell is for the claim, and up
to which it is against it."""
MOST, SOME, FEW = Fraction(2, 3), Fraction(1, 10), Fraction(1, 20)
WITHOUT_P = Fraction(1, 4)
"""The share of cells for a claim that makes it hold in part, where no cell has a p-value."""
ALPHA = 0.05


@dataclass(frozen=True)
class DecidedCell:
    """One cell of an entry, as the rule reads it."""

    word: CellWord
    settings: Mapping[str, Any]
    p: float | None = None
    own: bool = False
    """Whether data, network, inputs and quantity are the paper's."""


@dataclass(frozen=True)
class ClaimVerdict:
    """What all cells together say of an entry."""

    word: Word
    supporting: float
    """The share of cells for the claim: a mean over cells of a group, then over groups."""
    opposing: float
    """The share that is against it or null, likewise."""
    cells: int

    @property
    def agreement(self) -> Agreement:
        """The word for figures that the paper prints itself."""
        if self.word == "holds here":
            return "agrees"
        return "disagrees" if self.opposing > self.supporting else "undecided"


def cell_word(entry: PaperEntry, low: float, high: float, n: int | None = None) -> CellWord:
    """What one interval says of a claim.

    Args:
        entry: What is tested, how, and against which smallest effect or margin.
        low: Lower bound of the signed effect (positive: as the paper says), of the signed
            difference for an equivalence, of ours minus the printed figure, of what lies outside
            a range less the best inside it, or the share of resamples that meet the rule of a rank.
        high: Upper bound; for a rank the same share again.
        n: Units of the interval; a single printed model is compared with a prediction from as many.
    """
    if math.isnan(low) or math.isnan(high) or low > high:
        raise EvidenceError("interval", f"{low} to {high}", "two bounds in order")
    kind, margin = entry.test.type, entry.test.margin
    if kind in DECIDED_BY_TESTS or kind == "none":
        raise EvidenceError(entry.id, f"an interval for {kind!r}", "tests that pass or fail")
    if kind == "rank":
        return _rank(low)
    if entry.test.rule == "single model inside" and n is not None:
        middle, half = (low + high) / 2, (high - low) / 2 * math.sqrt(n + 1)
        low, high = middle - half, middle + half
    if margin is not None:
        low, high = low - entry.test.around, high - entry.test.around
        inside = -margin < low and high < margin
        return "for" if inside else "against" if low > margin or high < -margin else "unclear"
    if entry.test.rule == "not below 0":
        return "for" if high >= 0 else "against"
    if kind in ("figure", "equivalence"):
        rounded = (entry.test.digit or 0.0) / 2
        return "for" if low <= rounded and high >= -rounded else "against"
    if kind not in (*ON_A_LINE, "interval"):
        raise EvidenceError(entry.id, f"an interval for {kind!r}", "no verdict")
    if low > 0 or high < 0:
        return "for" if low > 0 else "against"
    return "null" if entry.effect is not None and high < entry.effect else "unclear"


def _rank(share: float) -> CellWord:
    if not 0 <= share <= 1:
        raise EvidenceError("share of resamples", f"{share}", "0 to 1")
    if share >= MOST_RESAMPLES:
        return "for"
    return "against" if share <= FEWEST_RESAMPLES else "unclear"


def claim_verdict(cells: Sequence[DecidedCell], *, across: bool = False) -> ClaimVerdict:
    """The word for all cells of an entry.

    Cells that differ in a choice alone are one group: their mean counts once, so that many options
    on one data set do not outvote another data set.

    Args:
        cells: All that have an interval.
        across: Whether the claim is over several data sets and was tested on one.

    >>> cells = [DecidedCell("for", {"data": "a"}, 0.001), DecidedCell("null", {"data": "b"}, 0.4)]
    >>> claim_verdict(cells).word, claim_verdict(cells[:1]).word
    ('holds in part', 'holds here')
    """
    if not cells:
        raise EvidenceError("cells", "none", "one or more with an interval")
    groups: dict[str, list[CellWord]] = {}
    for cell in cells:
        fixed = {name: value for name, value in cell.settings.items() if axis(name) != "choice"}
        groups.setdefault(repr(sorted(fixed.items())), []).append(cell.word)
    supporting = _mean([_share(own, ("for",)) for own in groups.values()])
    opposing = _mean([_share(own, ("against", "null")) for own in groups.values()])
    own = not across and all(cell.own for cell in cells)
    sure = _sure(cells) if any(cell.p is not None for cell in cells) else supporting >= WITHOUT_P
    word: Word = "undecided here"
    if supporting >= MOST and opposing <= FEW:
        word = "holds here"
    elif supporting >= SOME and sure:
        word = "holds in part"
    elif opposing >= MOST:
        word = "contradicted" if own else "does not carry over"
    return ClaimVerdict(word, float(supporting), float(opposing), len(cells))


def _sure(cells: Sequence[DecidedCell]) -> bool:
    """Whether a cell is for the claim after Bonferroni over the entry's cells."""
    own = [cell.p for cell in cells if cell.word == "for" and cell.p is not None]
    return any(p * len(cells) <= ALPHA for p in own)


def _share(words: Sequence[CellWord], wanted: tuple[CellWord, ...]) -> Fraction:
    return Fraction(sum(word in wanted for word in words), len(words))


def _mean(shares: Sequence[Fraction]) -> Fraction:
    return sum(shares, Fraction(0)) / len(shares)


def axis(name: str) -> Axis:
    """What a setting of a cell is: part of the claim, of the material, or a choice."""
    known = axes()
    if name not in known:
        raise EvidenceError(f"setting {name!r}", "not declared", "an axis in claims/axes.yaml")
    return known[name]


@cache
def axes() -> dict[str, Axis]:
    """All settings of cells by name."""
    with as_file(files("theodolite_reproductions.claims") / "axes.yaml") as path:
        by_kind = read_yaml(path, "axes")
    return {name: kind for kind, names in by_kind.items() for name in names}
