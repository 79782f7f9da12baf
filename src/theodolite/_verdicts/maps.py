"""The answers about saliency maps: shares of the way from a baseline to the best possible."""

import math
from collections.abc import Sequence
from dataclasses import replace

from theodolite._stats.intervals import quantile
from theodolite._verdicts.rules import WORST_FIRST, apply_caveat, question_text
from theodolite._verdicts.words import percent
from theodolite.results import Answer, Reason, Score, Verdict

TOP, FIT = "relevance_top", "map_fit"
MAPS = (TOP, FIT)
LIKENESS, BLIND = "randomization_similarity", 0.9
"""Score of maps of random weights, and the likeness from which maps do not depend on weights."""
MIN_SHARE, PASS_MARK = 0.1, 0.8
"""Shares at or below which a map is no better than its baseline, and from which it is enough."""
MIN_ROOM = 0.2
"""Of the best possible, what must lie above the strongest baseline."""
MIN_IMAGES = 20
SAME_EVERYWHERE = {
    "another_image": "the object is at the same place in these images",
    "center": "the object is in the middle of these images",
    "uniform_map": "the object covers these images",
    "saturation": "the object is what has color in these images",
    "edges": "edges alone predict the output here: add images with distractors",
}
"""Why maps cannot be judged where a baseline is near the best possible."""


def map_verdict(
    score: Score, scores: Sequence[Score], alpha: float, p: float, *, validated: bool = True
) -> Verdict:
    """Return the answer of the score; of several fills the lowest.

    Args:
        score: The score that is quoted.
        scores: All scores of the evidence.
        alpha: Level of the claim.
        p: P-value of the claim, corrected for the other questions.
        validated: Whether an answer needs a validation record.
    """
    beside = [s for s in scores if s.metric == score.metric and not math.isnan(s.value)]
    answers = [_judge(s, alpha) for s in beside or [score]]
    worst = min(answers, key=lambda each: WORST_FIRST.index(each.answer))
    text = worst.summary
    if len(answers) > 1 and worst.score is not None:
        others = [a for a in answers if a is not worst and a.score is not None]
        each = [f"{a.answer} with fill {a.score.options['fill']}" for a in others if a.score]
        text = f"With fill {worst.score.options['fill']}: {text} ({'; '.join(each)}.)"
    answered = replace(worst, summary=text, p=None if math.isnan(p) else p)
    if score.metric == FIT and (likeness := _find_blindness(scores)):
        return replace(answered, answer="no", reason="", summary=likeness)
    return apply_caveat(answered, score, validated=validated)


def _find_blindness(scores: Sequence[Score]) -> str:
    """Return why maps do not depend on the weights; empty where they do or it was not tried."""
    for score in scores:
        interval = score.interval
        if score.metric != LIKENESS or math.isnan(score.value):
            continue
        low = score.value
        if interval is not None and interval.error is not None and interval.df is not None:
            low -= quantile(interval.df, interval.level) * interval.error
        if low >= BLIND:
            return f"Random weights give the same maps: rank correlation {score.value:.2f}."
    return ""


def _judge(score: Score, alpha: float) -> Verdict:
    def answer_with(
        answer: Answer, text: str, reason: Reason = "", n_required: int | None = None
    ) -> Verdict:
        asks = question_text(score)
        return Verdict(score.question, asks, answer, text, score, reason, n_required=n_required)

    share = score.share
    if score.n < MIN_IMAGES:
        text = f"{score.n} images with a defined score: {MIN_IMAGES} are needed."
        return answer_with("inconclusive", text, "underpowered", MIN_IMAGES)
    null = next((n for n in score.nulls if share is not None and n.name == share.null), score.null)
    if null is None or math.isnan(score.best) or math.isnan(null.value):
        return answer_with("inconclusive", "Nothing could be counted.", "undefined")
    against = f"{null.label} ({percent(null.value, score)})"
    best = f"the best possible ({percent(score.best, score)})"
    if score.best - null.value <= MIN_ROOM * abs(score.best) + 1e-12 or share is None:
        text = f"{against[0].upper()}{against[1:]} is near {best}: {SAME_EVERYWHERE[null.name]}."
        return answer_with("inconclusive", text, "no_headroom")
    half = quantile(share.df, 1 - alpha) * share.error
    low, high = share.value - half, share.value + half
    value = percent(score.value, score)
    ends = f"{100 * share.value:.0f} % [{100 * low:.0f}, {100 * min(high, 1.0):.0f}]"
    text = f"{ends} of the way from {against} to {best}: {value}"
    if low > MIN_SHARE:
        enough = low >= PASS_MARK
        more = "" if enough else f"; {100 * PASS_MARK:.0f} % is the pass mark"
        return answer_with("yes" if enough else "partly", f"{text}{more}.")
    if high < PASS_MARK:
        return answer_with("no", f"No better than {against}: {value}.")
    needed = math.ceil(score.n * (2 * half / (PASS_MARK - MIN_SHARE)) ** 2)
    text = f"{text}, too uncertain; about {needed:,} images would do."
    return answer_with("inconclusive", text, "underpowered", needed)
