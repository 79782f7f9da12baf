"""What a paper found about models, and whether it holds for the models of a run."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from theodolite.metrics.catalogue import catalogue
from theodolite.report.figures.strips import difference_strip
from theodolite_reproductions.chapters.decisions import CSS, correlation_size, points, power_text
from theodolite_reproductions.findings.compared import DifferenceRecord
from theodolite_reproductions.findings.leakage import (
    CorrelationRecord,
    CorrelationRowRecord,
    CriterionRecord,
    PairRecord,
    StudyRecord,
)
from theodolite_reproductions.findings.pairs import LookalikesRecord

OPEN = {
    "not there": "surely no difference",
    "too few repeats": "too few repeats",
    "inconclusive": "not to be told",
}
NAMED = {"published": "By the published scores", "mended": "By the mended scores"}


def findings(studies: Sequence[StudyRecord]) -> dict[str, Any] | None:
    """Return what the report says of studies over models; None if there were none."""
    criteria = [study for study in studies if isinstance(study, CriterionRecord)]
    correlations = [study for study in studies if isinstance(study, CorrelationRecord)]
    pairs = any(isinstance(study, LookalikesRecord) for study in studies)
    if not criteria and not correlations and not pairs:
        return None
    titles = dict.fromkeys(criterion.title for criterion in criteria)
    return {
        "criteria": [_claim([c for c in criteria if c.title == title]) for title in titles],
        "correlations": [_correlation(correlation) for correlation in correlations],
        "powered": any(criterion.decision is not None for criterion in criteria),
        "bottom_line": _bottom_line(criteria),
    }


def _bottom_line(criteria: Sequence[CriterionRecord]) -> str:
    """Return how many claims hold, by each set of scores."""
    sentences = []
    for scores, words in NAMED.items():
        answers = Counter(c.answer for c in criteria if c.scores == scores)
        if answers:
            counts = ", ".join(f"{n} {answer}" for answer, n in answers.items())
            noun = "claim" if answers.total() == 1 else "claims"
            sentences.append(f"{words}, of {answers.total()} {noun}: {counts}.")
    return " ".join(sentences)


def _claim(records: Sequence[CriterionRecord]) -> dict[str, Any]:
    """One claim, answered by each set of scores."""
    return {
        "title": records[0].title,
        "paper": records[0].paper,
        "answers": [_answer(record) for record in records],
    }


def _answer(record: CriterionRecord) -> dict[str, Any]:
    reach = reach_of(record.pooled)
    band = 0.0 if record.decision is None else record.decision.effect
    return {
        "by": NAMED[record.scores],
        "word": record.answer,
        "css": CSS[record.answer],
        "counts": counts_text(record.pairs),
        "power": _power_of_pairs(record),
        "pooled": [
            {
                "name": title_of(d.metric),
                "said": difference_text(d),
                "svg": difference_strip(d.value, d.low, d.high, reach, better=None, band=band),
                "words": _pooled_words(d),
            }
            for d in record.pooled
        ],
        "scores": [title_of(d.metric) for d in record.pooled],
        "pairs": [
            (pair.more, pair.less, pair.outcome, [difference_text(d) for d in pair.differences])
            for pair in record.pairs
        ],
    }


def counts_text(pairs: Sequence[PairRecord]) -> str:
    """In how many pairs the claim holds, fails, or cannot be told."""
    outcomes = [pair.outcome for pair in pairs]
    of = f"{len(outcomes)} pair" + ("" if len(outcomes) == 1 else "s")
    text = f"more in {outcomes.count('more')} of {of}, less in {outcomes.count('less')}"
    for rare in ("contradictory", "undefined"):
        if rare in outcomes:
            text += f", {rare} in {outcomes.count(rare)}"
    for open_outcome, words in OPEN.items():
        if open_outcome in outcomes:
            text += f"; {words} in {outcomes.count(open_outcome)}"
    return text


def _pooled_words(pooled: DifferenceRecord) -> list[str]:
    """The answer by the mean models alone, and from which difference on they would show one."""
    decision = pooled.decision
    if decision is None:
        return []
    if not decision.min_detectable_effect:
        return [decision.answer]
    return [
        decision.answer,
        f"seen from {points(pooled.metric)(decision.min_detectable_effect)} on",
    ]


def _power_of_pairs(record: CriterionRecord) -> str:
    """What most pairs would show in each score."""
    decision = record.decision
    if decision is None or not record.pooled:
        return ""
    size = points(record.pooled[0].metric)
    parts = [f"{decision.repeats} seed{'' if decision.repeats == 1 else 's'} each",
             f"asked for: {size(decision.effect)}"]  # fmt: skip
    seen = [_seen_in_most(record.pairs, d.metric) for d in record.pooled]
    if all(v is not None for v in seen):
        ends = " and ".join(size(v) for v in seen if v is not None)
        parts.append(f"most pairs would show {ends} in the two scores")
    if decision.n_required is not None and decision.n_required > decision.repeats:
        parts.append(f"about {decision.n_required:,} seeds would do")
    return "; ".join(parts)


def _seen_in_most(pairs: Sequence[PairRecord], metric: str) -> float | None:
    """From which difference in a score on more than half of the pairs would be sure."""
    decisions = [d.decision for pair in pairs for d in pair.differences if d.metric == metric]
    known = [
        math.inf if d.min_detectable_effect is None else d.min_detectable_effect
        for d in decisions
        if d is not None
    ]
    middle = sorted(known)[len(known) // 2] if known else math.inf
    return middle if math.isfinite(middle) else None


def reach_of(pooled: Sequence[DifferenceRecord]) -> float:
    """Return how far the farthest interval goes, so that all are drawn alike."""
    ends = [abs(v) for d in pooled for v in (d.value, d.low, d.high) if v is not None]
    ends += [2 * d.decision.effect for d in pooled if d.decision is not None]
    return min(max([*ends, 0.01]), 1.0)


def title_of(name: str) -> str:
    """A score's title; its name where the catalogue does not have it."""
    metric = catalogue().get(name)
    return name if metric is None else metric.title


def difference_text(difference: DifferenceRecord) -> str:
    """A difference with its interval."""
    if difference.value is None:
        return "–"
    text = _signed(difference.value, difference.metric)
    if difference.low is not None and difference.high is not None:
        low, high = (_signed(end, difference.metric) for end in (difference.low, difference.high))
        text += f" [{low}, {high}]"
    return text


def _signed(value: float, name: str) -> str:
    """Points of a percentage where the score is a share, else the number; never more than can be.

    Intervals over a few pairs are wide, and know nothing of the scores' bounds.
    """
    metric = catalogue().get(name)
    if metric is not None:
        widest = metric.bounds[1] - metric.bounds[0]
        value = min(max(value, -widest), widest)
    if metric is not None and metric.bounds == (0.0, 1.0):
        text = f"{round(100 * value, 1) + 0.0:+.1f}"
    else:
        text = f"{round(value, 2) + 0.0:+.2f}"
    return text.replace("-", "−")


def _correlation(record: CorrelationRecord) -> dict[str, Any]:
    return {
        "title": record.title,
        "against": title_of(record.against),
        "has_paper": any(row.paper for row in record.rows),
        "has_answers": any(row.decision is not None for row in record.rows),
        "rows": [_row(row) for row in record.rows],
    }


def _row(row: CorrelationRowRecord) -> dict[str, Any]:
    return {
        "name": title_of(row.metric),
        "r": _r_text(row.r),
        "between": "" if row.low is None else f"{_r_text(row.low)} to {_r_text(row.high)}",
        "svg": difference_strip(
            row.r,
            row.low,
            row.high,
            1.0,
            better=None,
            band=0.0 if row.decision is None else row.decision.effect,
        ),
        "p": p_text(row.p),
        "corrected": "" if row.corrected_p is None else p_text(row.corrected_p),
        "word": "" if row.decision is None else row.decision.answer,
        "css": "" if row.decision is None else CSS[row.decision.answer],
        "power": power_text(row.decision, correlation_size, "models"),
        "n": row.n,
        "paper": "" if row.paper is None else f"{_r_text(row.paper[0])}, p {p_text(row.paper[1])}",
    }


def _r_text(value: float | None) -> str:
    return "–" if value is None else f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def p_text(p: float | None) -> str:
    """A p-value to two digits."""
    if p is None or math.isnan(p):
        return "–"
    return "< 0.0001" if p < 1e-4 else f"{p:.2g}"
