"""Claims of scores whose null was drawn several times by whoever made the evidence."""

from collections import Counter

from theodolite._stats.draws import ENOUGH, SAME
from theodolite._verdicts.words import percent
from theodolite.metrics.base import NullModel
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Null, Score

NOT_A_FINDING = "without it this is no finding about the network"


def model_of(score: Score, null: Null) -> NullModel | None:
    """The null as its metric has it; none of a score from another version."""
    return next((n for n in find_metric(score.metric).nulls if n.name == null.name), None)


def must_beat(score: Score, null: Null) -> bool:
    """Return whether a claim needs to beat it; else that it does is only said."""
    model = model_of(score, null)
    return model is None or not model.beaten


def if_not_beaten(score: Score, null: Null) -> str:
    """What is said of a score that beats the other nulls but not this one; empty where that is no
    claim at all."""
    model = model_of(score, null)
    return "" if model is None else model.if_not_beaten


def null_of_draws(score: Score) -> Null | None:
    """The null whose draws a claim must all exceed, if the metric has one."""
    for null in score.nulls:
        model = model_of(score, null)
        if model is not None and model.draws_in:
            return null
    return None


def is_enough(null: Null) -> bool:
    """Return whether there are draws enough for a claim."""
    return len(null.draws) >= ENOUGH


def beaten(score: Score, null: Null) -> int:
    """Return how many draws the score is better than."""
    sign = 1.0 if score.better == "higher" else -1.0
    return sum(sign * (score.value - draw) > SAME for draw in null.draws)


def rank_text(score: Score, null: Null) -> str:
    """Return where the score is among the draws.

    Such as "above 20 of 20 draws of a random SAE (67.2 % on average)".
    """
    side = "above" if score.better == "higher" else "below"
    of = f"{beaten(score, null)} of {len(null.draws)} draws of {null.label}"
    return f"{side} {of} ({percent(null.value, score)} on average)"


def too_few_text(null: Null) -> str:
    """Return why draws are not enough for a claim."""
    if not null.draws:
        return f"{null.label} was not given, and {NOT_A_FINDING}"
    draws = "draw" if len(null.draws) == 1 else "draws"
    return f"{len(null.draws)} {draws} of {null.label} cannot show more; {ENOUGH} are needed"


def items_text(score: Score) -> str:
    """Return how many concepts, classes or units are better than the draws, each by itself."""
    if score.detail is None or score.detail.draws is None or len(score.detail.names) < 2:
        return ""
    counts = Counter(score.detail.draws.answers)
    parts = [f"{counts[word]} {word}" for word in ("yes", "no", "inconclusive") if counts[word]]
    return f"; {score.detail.over} one by one: {', '.join(parts)}"
