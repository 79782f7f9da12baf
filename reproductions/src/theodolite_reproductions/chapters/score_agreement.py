"""How scores of saliency maps agree over methods and images."""

from collections.abc import Sequence
from typing import Any

from theodolite_reproductions.chapters.decisions import correlation_size, power_text
from theodolite_reproductions.findings.leakage import StudyRecord
from theodolite_reproductions.findings.score_correlations import (
    ScoreCorrelationsRecord,
    ScorePairRecord,
)

SURE = 0.05


def score_agreement(studies: Sequence[StudyRecord]) -> list[dict[str, Any]]:
    """Return a matrix of correlations for each study of scores."""
    return [_matrix(study) for study in studies if isinstance(study, ScoreCorrelationsRecord)]


def _matrix(record: ScoreCorrelationsRecord) -> dict[str, Any]:
    """Each score against each, below the diagonal."""
    pairs = {(pair.first, pair.second): pair for pair in record.pairs}
    rows = []
    for i, second in enumerate(record.names[1:], start=1):
        cells = [_pair(pairs.get((first, second))) for first in record.names[:i]]
        rows.append({"name": second, "cells": cells})
    return {
        "title": record.title,
        "columns": record.names[:-1],
        "rows": rows,
        "explanations": record.explanations,
        "methods": record.methods,
        "says": _agreement_sentence(record.pairs),
        "seen": _seen_text(record.pairs),
    }


def _pair(pair: ScorePairRecord | None) -> dict[str, Any]:
    if pair is None or pair.r is None:
        return {"value": "–", "between": "", "sure": False, "power": ""}
    known = pair.low is not None and pair.high is not None
    power = power_text(pair.decision, correlation_size, "images or methods")
    return {
        "power": "" if pair.decision is None else f"{pair.decision.answer}: {power}",
        "value": f"{pair.r:.2f}".replace("-", "−"),
        "between": f"{pair.low:.2f} to {pair.high:.2f}".replace("-", "−") if known else "",
        "sure": pair.corrected_p is not None and pair.corrected_p < SURE,
    }


def _agreement_sentence(pairs: Sequence[ScorePairRecord]) -> str:
    """Of how many pairs something is sure, in a sentence."""
    sure = [p for p in pairs if _pair(p)["sure"]]
    along = [p for p in sure if (p.r or 0) > 0]
    against = len(sure) - len(along)
    text = (
        f"Of {len(pairs)} pairs of scores {len(along)} surely go together, {against} surely go "
        f"against each other"
    )
    decisions = [p.decision for p in pairs if p.decision is not None]
    answers = [decision.answer for decision in decisions]
    if not answers:
        return f"{text}, and of {len(pairs) - len(sure)} neither is sure."
    absent, few = answers.count("not there"), answers.count("too few repeats")
    effect = correlation_size(decisions[0].effect)
    text += f", {absent} surely do neither (within ±{effect})"
    text += f", and for {few} there are too few images or methods to see {effect}"
    left = len(pairs) - len(sure) - absent - few
    return f"{text}; {left} cannot be told." if left else f"{text}."


def _seen_text(pairs: Sequence[ScorePairRecord]) -> str:
    """From which correlation on the pairs would have been sure; of the best and the worst."""
    known = [
        p.decision.min_detectable_effect
        for p in pairs
        if p.decision and p.decision.min_detectable_effect
    ]
    if not known:
        return ""
    fewest = min(p.decision.repeats for p in pairs if p.decision)
    ends = " to ".join(dict.fromkeys(correlation_size(end) for end in (min(known), max(known))))
    return f"With {fewest} images or methods, whichever are fewer, {ends} or more would be seen."
