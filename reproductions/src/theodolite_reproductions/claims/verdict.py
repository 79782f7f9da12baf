"""From an effect and its interval to a verdict."""

import math
from dataclasses import dataclass
from typing import Literal

from theodolite.errors import EvidenceError
from theodolite_reproductions.claims.entry import (
    DECIDED_BY_TESTS,
    ON_A_LINE,
    PaperEntry,
    Reason,
    Type,
)

Word = Literal["confirmed", "contradicted", "underpowered", "not testable here"]
Flag = Literal["smaller", "reversed", "absent"]
MOST_RESAMPLES, FEWEST_RESAMPLES = 0.95, 0.05
"""Shares of resamples that meet the rule of a rank, from which on it is confirmed, and up to which
it is contradicted."""


@dataclass(frozen=True)
class PaperVerdict:
    """What is said of an entry, or of one cell of its sweep."""

    word: Word
    flag: Flag | None = None
    reason: Reason | None = None

    def __str__(self) -> str:
        more = self.flag or self.reason
        return f"{self.word} ({more})" if more else self.word


def verdict_of(entry: PaperEntry, low: float, high: float) -> PaperVerdict:
    """The verdict on an entry from the interval of its signed effect.

    Args:
        entry: What is tested, how, and against which smallest effect or margin.
        low: Lower bound of the signed effect (positive: as the paper says), of the signed
            difference for an equivalence, of ours minus the printed figure, of what lies outside
            a range less the best inside it, or the share of resamples that meet the rule of a rank.
        high: Upper bound; for a rank the same share again.
    """
    if entry.test.type in ON_A_LINE:
        if entry.effect is None:
            raise EvidenceError(entry.id, "no smallest effect", "one to decide against")
        return effect_verdict(low, high, entry.effect)
    if entry.test.type == "equivalence" and entry.test.margin is not None:
        return equivalence_verdict(low, high, entry.test.margin)
    if entry.test.type == "interval" and entry.effect is not None:
        return effect_verdict(low, high, entry.effect)
    if entry.test.type == "rank":
        return rank_verdict(low)
    if entry.test.type == "figure" and entry.reason is None:
        return figure_verdict(low, high)
    if entry.test.type in DECIDED_BY_TESTS:
        raise EvidenceError(entry.id, "an interval", "tests that pass or fail")
    raise EvidenceError(entry.id, f"an interval for {entry.test.type!r}", "no verdict")


def effect_verdict(low: float, high: float, effect: float) -> PaperVerdict:
    """For a difference, correlation, trend or share against a line.

    A bound that is exactly 0 does not confirm; an upper bound that is exactly the smallest effect
    does not contradict.

    >>> str(effect_verdict(0.02, 0.08, 0.1)), str(effect_verdict(-0.02, 0.08, 0.1))
    ('confirmed (smaller)', 'contradicted (absent)')
    """
    _check(low, high)
    if low > 0:
        return PaperVerdict("confirmed", "smaller" if high < effect else None)
    if high < effect:
        return PaperVerdict("contradicted", "reversed" if high < 0 else "absent")
    return PaperVerdict("underpowered")


def equivalence_verdict(low: float, high: float, margin: float) -> PaperVerdict:
    """For two things that are said to be alike within a margin.

    >>> str(equivalence_verdict(-0.01, 0.02, 0.02)), str(equivalence_verdict(0.03, 0.04, 0.02))
    ('underpowered', 'contradicted')
    """
    _check(low, high)
    if -margin < low and high < margin:
        return PaperVerdict("confirmed")
    if low > margin or high < -margin:
        return PaperVerdict("contradicted")
    return PaperVerdict("underpowered")


def rank_verdict(share: float) -> PaperVerdict:
    """For a rule about a rank, from the share of resamples that meet it."""
    if not 0 <= share <= 1:
        raise EvidenceError("share of resamples", f"{share}", "0 to 1")
    if share >= MOST_RESAMPLES:
        return PaperVerdict("confirmed")
    return PaperVerdict("contradicted" if share <= FEWEST_RESAMPLES else "underpowered")


def figure_verdict(low: float, high: float) -> PaperVerdict:
    """For a printed figure, with the paper's data and network: ours minus printed includes 0.

    >>> str(figure_verdict(-0.01, 0.0)), str(figure_verdict(0.01, 0.02))
    ('confirmed', 'contradicted')
    """
    _check(low, high)
    return PaperVerdict("confirmed" if low <= 0 <= high else "contradicted")


def not_testable(reason: Reason) -> PaperVerdict:
    """For what cannot be tested here."""
    return PaperVerdict("not testable here", reason=reason)


def counts_as_test(kind: Type) -> bool:
    """Return whether such a test can be confirmed by chance, one time in forty."""
    return kind in ON_A_LINE


def _check(low: float, high: float) -> None:
    if math.isnan(low) or math.isnan(high) or low > high:
        raise EvidenceError("interval", f"{low} to {high}", "two bounds in order")
