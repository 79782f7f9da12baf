"""Decide the answer to a question from its score, with a one-sentence reason."""

import math
from dataclasses import dataclass, replace

from scipy.special import stdtrit

from theodolite._stats.draws import OF_USE as OF_USE_OVER_DRAWS
from theodolite._stats.intervals import FEWEST_CLUSTERS, SEEN, detectable, quantile, two_sided_p
from theodolite._verdicts.draws import (
    beaten,
    if_not_beaten,
    is_enough,
    items_text,
    model_of,
    must_beat,
    null_of_draws,
    rank_text,
    too_few_text,
)
from theodolite._verdicts.words import (
    difference_text,
    interval_text,
    missed_text,
    of_best,
    percent,
    seen_text,
)
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.validation import get_validation
from theodolite.questions import QUESTIONS
from theodolite.results import Answer, Caveat, Null, Reason, Score, Verdict

ALPHA = 0.05
NORMAL = 1e6
"""Degrees of freedom of an interval that does not name any."""
EMPTY = 0.02
"""Of the range of a score, what must lie between null and best for a question to be asked."""
OF_USE = 0.25
"""Of the way from the null to the line, what would be of use; a convention."""
WORST_FIRST: tuple[Answer, ...] = ("no", "inconclusive", "partly", "yes")


def question_text(score: Score) -> str:
    """The question that a score answers, in words that fit its evidence."""
    return find_metric(score.metric).asked_as or QUESTIONS[score.question]


def verdict(
    score: Score, alpha: float = ALPHA, p: float | None = None, *, validated: bool = True
) -> Verdict:
    """Return the verdict on one score; level and p-value are corrected for other questions.

    Without ``validated`` the metric needs no validation record: one is being made.
    """
    p = claim_p(score) if p is None else p
    answered = (
        _against_clean(score, alpha) if score_looks_for_fault(score) else _better(score, alpha)
    )
    known = None if math.isnan(p) else p
    return apply_caveat(replace(answered, p=known), score, validated=validated)


def apply_caveat(answered: Verdict, score: Score, *, validated: bool) -> Verdict:
    """Return the verdict; inconclusive where the score has a caveat about such an answer."""
    caveat = score.caveat or (validation_caveat(score) if validated else None)
    if caveat is None or answered.answer not in caveat.answers:
        return answered
    summary = f"{answered.summary.rstrip('.')}; but {caveat.summary}."
    return replace(answered, answer="inconclusive", summary=summary, reason=caveat.reason)


def validation_caveat(score: Score) -> Caveat | None:
    """Return why an answer is outside what this version of the metric was validated on."""
    if score.version != find_metric(score.metric).version:  # read from an older file
        return None
    validation = get_validation(score.metric, score.version)
    if validation is None:
        return Caveat("outside_validated_range", f"{score.metric} has no validation record")
    n, _ = _number_of_draws(score)
    if n is None:
        return None
    outside = validation.outside(
        score.n_samples or n,
        score.n_clusters,
        score.n_labels,
        score.n_concepts,
        score.n_rarest_label,
    )
    return Caveat("outside_validated_range", outside) if outside else None


def score_looks_for_fault(score: Score) -> bool:
    """Return whether it must not exceed a clean null."""
    return find_metric(score.metric).is_defect_metric


def claim_p(score: Score) -> float:
    """P-value of the claim that a score would make; NaN where it cannot make any."""
    if math.isnan(score.value) or score.null is None:
        return math.nan
    if score_looks_for_fault(score):
        test = score.defect
        return math.nan if test is None else min(test.p_below_tolerance, test.p_above_tolerance)
    distances = _for_any_claim(score, _distances(score))
    chance = null_of_draws(score)
    if not distances or (chance is not None and not is_enough(chance)):
        return math.nan
    if all(d.gain > 0 for d in distances):  # it must beat all of them: the largest p counts
        return max(d.p for d in distances)
    return min(distances, key=lambda d: d.gain / max(d.error, 1e-300)).p


@dataclass(frozen=True)
class Distance:
    """How much better than a null a score is, whichever way it goes."""

    null: Null
    gain: float
    error: float
    df: float
    p: float

    def most(self, alpha: float) -> float:
        """The upper end of the gain."""
        return self.gain + quantile(self.df, 1 - alpha) * self.error


def _distances(score: Score) -> list[Distance]:
    """To the nulls that a claim must beat, as far as they could be drawn."""
    distances = [distance_of(score, null) for null in score.nulls if must_beat(score, null)]
    return [d for d in distances if d is not None]


def _for_any_claim(score: Score, distances: list[Distance]) -> list[Distance]:
    """To the nulls without which nothing is claimed; others distinguish yes from partly."""
    return [d for d in distances if not if_not_beaten(score, d.null)] or distances


def distance_of(score: Score, null: Null) -> Distance | None:
    """None for a null that could not be drawn, which is not in the way."""
    if math.isnan(null.value):
        return None
    sign = 1.0 if score.better == "higher" else -1.0
    gain, away = sign * (score.value - null.value), null.difference
    if away is None:
        p = 0.0 if gain > 1e-9 else 1.0
        return Distance(null, gain, 0.0, NORMAL, p if null.p is None else null.p)
    df = away.df or NORMAL
    error = away.error
    if error is None:
        error = (away.high - away.low) / 2 / quantile(df, away.level)
        gain = sign * (away.high + away.low) / 2
    p = two_sided_p(gain, error, df) if null.p is None else null.p
    return Distance(null, gain, error, df, p)


def _answer(
    score: Score, answer: Answer, because: str, reason: Reason = "", **numbers: float | int | None
) -> Verdict:
    asks = question_text(score)
    return Verdict(score.question, asks, answer, because, score, reason, **numbers)  # type: ignore[arg-type]


def _undefined(score: Score) -> Verdict | None:
    """Return where nothing was counted, or too few were drawn to know how they vary."""
    null = score.null
    if math.isnan(score.value) or null is None or math.isnan(null.value):
        counted = f"{score.n_undefined} {score.n_unit} undefined"
        because = f"Nothing could be counted ({counted})."
        return _answer(score, "inconclusive", because, "undefined")
    few, of = _number_of_draws(score)
    if few is not None and few < FEWEST_CLUSTERS:
        because = f"{_value_text(score)}, from {few} {of}: too few to know how they vary."
        return _answer(score, "inconclusive", because, "underpowered")
    if score.n < 2:
        because = f"{_value_text(score)}, from a single one of the {score.n_unit}."
        return _answer(score, "inconclusive", because, "underpowered")
    return None


def _number_of_draws(score: Score) -> tuple[int | None, str]:
    """Return the number of independent samples or clusters, and what they are."""
    if score.n_clusters is not None:
        return score.n_clusters, "clusters"
    if score.n_samples is not None:
        return score.n_samples, "samples"
    return (score.n if score.n_unit == "samples" else None), score.n_unit


def _value_text(score: Score) -> str:
    return f"{percent(score.value, score)}{interval_text(score)}"


def _null_text(score: Score, null: Null) -> str:
    return f"{null.label} ({percent(null.value, score)})"


def _better(score: Score, alpha: float) -> Verdict:
    """Of a score that must beat its nulls."""
    undefined = _undefined(score)
    if undefined is not None:
        return undefined
    distances, chance = _distances(score), null_of_draws(score)
    if chance is not None and not is_enough(chance):
        distances = [d for d in distances if d.null.name != chance.name]
    if not distances:
        return _too_few_draws(score, chance)
    needed = _for_any_claim(score, distances)
    if empty := _empty(score, min(needed, key=lambda d: d.gain)):
        return empty
    text = f"{_value_text(score)}{of_best(score)}"
    lost = [d for d in distances if not (d.gain > 0 and d.p <= alpha)]
    ranked = chance is not None and is_enough(chance)
    if lost and not any(d in needed for d in lost):
        return _in_general(score, needed, min(lost, key=lambda d: d.gain), text)
    if lost:
        answered = _not_better(score, min(lost, key=lambda d: d.gain), text, alpha)
        more = f"{_besides_text(score)}{items_text(score)}" if ranked else ""
        return replace(answered, summary=f"{answered.summary.rstrip('.')}{more}.")
    hardest = min(distances, key=lambda d: d.gain)
    because = f"{text}, better than {_null_text(score, hardest.null)}"
    if chance is not None:
        if not ranked:
            return _too_few_draws(score, chance)
        because = f"{text}, {rank_text(score, chance)}{_besides_text(score)}{items_text(score)}"
        if beaten(score, chance) < len(chance.draws):
            return _not_above_draws(score, chance, because, alpha)
    return _enough(score, because, chance)


def _in_general(score: Score, beats: list[Distance], lost: Distance, text: str) -> Verdict:
    """Of a score that beats what it must for a claim, but not a null that knows more."""
    nulls = [_null_text(score, d.null) for d in (*beats, lost)]
    because = f"{text}, better than {', '.join(nulls[:-1])}, but not surely than {nulls[-1]}."
    return _answer(score, "partly", f"{because} {if_not_beaten(score, lost.null)}")


def _enough(score: Score, because: str, chance: Null | None) -> Verdict:
    """Of a score that beats what it must, whether it is good enough by itself."""
    line, sign = enough_line(score), 1.0 if score.better == "higher" else -1.0
    if line is None and chance is not None and find_metric(score.metric).decides:
        # it is asked for more than chance, and for no more
        return _answer(score, "yes", f"{because}.")
    if line is None or score.interval is None:
        return _answer(score, "partly", f"{because}.")
    nearest = score.interval.low if sign > 0 else score.interval.high
    if sign * (nearest - line) >= -1e-12:
        return _answer(score, "yes", f"{because}.")
    side = "at least" if sign > 0 else "at most"
    return _answer(score, "partly", f"{because}, but not surely {side} {percent(line, score)}.")


def _too_few_draws(score: Score, chance: Null | None) -> Verdict:
    """Nothing is claimed against fewer draws than can show it."""
    text = "" if chance is None else too_few_text(chance)
    reason: Reason = "underpowered" if chance is not None and chance.draws else "undefined"
    return _answer(score, "inconclusive", f"{_value_text(score)}; {text}.", reason)


def _not_above_draws(score: Score, chance: Null, because: str, alpha: float) -> Verdict:
    """Better than the draws on average, but not than all of them."""
    distance = distance_of(score, chance)
    if distance is not None and distance.most(alpha) < OF_USE_OVER_DRAWS:
        more = difference_text(distance.most(alpha), score)
        text = f"{because}; at most {more} more than these on average"
        of_use = difference_text(OF_USE_OVER_DRAWS, score)
        return _answer(score, "no", f"{text}, where {of_use} would be of use.")
    return _answer(score, "inconclusive", f"{because}; a claim must exceed all.", "underpowered")


def _besides_text(score: Score) -> str:
    """What a score may be called besides, by nulls that no claim needs to beat."""
    parts = []
    for null in score.nulls:
        model, distance = model_of(score, null), distance_of(score, null)
        if model is not None and model.beaten and distance is not None:
            sure = "" if distance.gain > 0 and distance.p <= ALPHA else "not surely "
            against = f"{null.label}: {percent(null.value, score)}"
            parts.append(f", {sure}{model.beaten} ({against})")
    return "".join(parts)


def _empty(score: Score, hardest: Distance) -> Verdict | None:
    """Where even the best explanation could hardly do better than a null, or none differs."""
    if not _is_empty(score, hardest):
        return None
    against = _null_text(score, hardest.null)
    because = f"{_value_text(score)}: {against} scores the same, whatever is explained."
    if abs(score.best - hardest.null.value) <= EMPTY:
        because = f"{_value_text(score)}, but {against} already scores the best possible."
    return _answer(score, "inconclusive", because, "no_headroom")


def _is_empty(score: Score, hardest: Distance) -> bool:
    worst = score.bounds[0] if score.better == "higher" else score.bounds[1]
    room = abs(score.best - hardest.null.value)
    sign = 1.0 if score.better == "higher" else -1.0
    beyond = sign * (score.best - hardest.null.value) <= 0
    least = EMPTY * abs(score.best - worst) if math.isfinite(worst) else 1e-9
    nothing_varies = hardest.null.difference is None or hardest.null.difference.method.endswith(
        "nothing varied"
    )
    return beyond or room <= least or (abs(hardest.gain) <= 1e-12 and nothing_varies)


def _not_better(score: Score, lost: Distance, text: str, alpha: float) -> Verdict:
    """No where an effect of use is ruled out; else nothing can be told yet."""
    against = _null_text(score, lost.null)
    most = lost.most(alpha)
    least_seen = detectable(lost.error, lost.df, 1 - alpha)
    seen = seen_text(least_seen, score)
    if most < 0:
        return _answer(
            score, "no", f"{text}, worse than {against}.", min_detectable_effect=least_seen
        )
    of_use = useful_gain(score, lost.null)
    if of_use is not None and most < of_use:
        because = (
            f"{text}, no better than {against}: at most {difference_text(most, score)} more, where "
            f"{difference_text(of_use, score)} would be of use; {seen}."
        )
        return _answer(score, "no", because, min_detectable_effect=least_seen)
    needed = None if of_use is None else samples_needed(score, lost, of_use, alpha)
    would_do = "" if needed is None else f"; about {needed:,} {_number_of_draws(score)[1]} would do"
    because = (
        f"{text}, not to be told from {against}: {missed_text(score, lost.null, least_seen)}"
        f"{would_do}."
    )
    return _answer(
        score,
        "inconclusive",
        because,
        "underpowered",
        min_detectable_effect=least_seen,
        n_required=needed,
    )


def useful_gain(score: Score, null: Null) -> float | None:
    """How much better than a null would be of use: a quarter of the way to the line; a fixed amount
    over draws of a null, which tell nothing of the best."""
    model = model_of(score, null)
    if model is not None and model.draws_in:
        return OF_USE_OVER_DRAWS
    sign = 1.0 if score.better == "higher" else -1.0
    ends = [end for end in (enough_line(score), score.best) if end is not None]
    ways = [sign * (end - null.value) for end in ends if math.isfinite(end)]
    return next((OF_USE * way for way in ways if way > 0), None)


def samples_needed(score: Score, lost: Distance, gain: float, alpha: float) -> int | None:
    """Return how many samples or clusters would show such a gain in four of five cases."""
    if not lost.error > 0 or not gain > 0:
        return None
    times = (quantile(lost.df, 1 - alpha) + float(stdtrit(lost.df, SEEN))) * lost.error / gain
    n, _ = _number_of_draws(score)
    return math.ceil(n * times**2) if n is not None and times < 1e6 else None


def _against_clean(score: Score, alpha: float) -> Verdict:
    """A fault is absent if it surely is no more than we accept."""
    undefined = _undefined(score)
    if undefined is not None:
        return undefined
    test, text = score.defect, _value_text(score)
    accepted = find_metric(score.metric).tolerance or 0.0
    allowed = f"up to {percent(accepted, score)} is accepted"
    assert score.null is not None  # noqa: S101  else it is undefined
    clean = _null_text(score, score.null)
    if test is None:
        because = f"{text}; how far that is from {clean} could not be told."
        return _answer(score, "inconclusive", because, "undefined")
    least_seen = detectable(test.error, test.df, 1 - alpha)
    if test.p_above_tolerance <= alpha:
        return _answer(score, "no", f"{text}, more than {clean}; {allowed}.")
    if test.p_below_tolerance <= alpha:
        much = "more than" if test.low > 0 else "not distinguishable from"
        because = f"{text}, {much} {clean}; {allowed}."
        return _answer(score, "yes", because, min_detectable_effect=least_seen)
    if test.p_nonzero <= alpha and test.low > -1e-12:
        because = f"{text}, more than {clean}, but perhaps not too much; {allowed}."
        return _answer(score, "partly", because, min_detectable_effect=least_seen)
    because = (
        f"{text}, too uncertain to be told from {score.null.label} "
        f"({percent(score.null.value, score)}); {allowed}, and one below "
        f"{percent(least_seen, score)} would be missed."
    )
    return _answer(score, "inconclusive", because, "underpowered", min_detectable_effect=least_seen)


def enough_line(score: Score) -> float | None:
    """Return the threshold for relying on a score, in its unit; None if its metric has none."""
    metric = find_metric(score.metric)
    if metric.threshold is None:
        return None
    start = score.bounds[0] if score.better == "higher" else score.bounds[1]
    if metric.threshold_from == "null" and score.null is not None:
        start = score.null.value
    return start + metric.threshold * (score.best - start)
