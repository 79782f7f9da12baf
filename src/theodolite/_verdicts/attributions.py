"""The answer to "faithful" of attributions to tables: shares of the best possible fit."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from theodolite._stats.intervals import quantile
from theodolite._verdicts.draws import if_not_beaten
from theodolite._verdicts.rules import NORMAL, WORST_FIRST, apply_caveat, distance_of
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.tables.attribution_fit import IN_GENERAL
from theodolite.metrics.tables.ranking_fit import ONE_LIST
from theodolite.results import Answer, Null, Reason, Score, Verdict

FIT, RANKING = "attribution_fit", "ranking_fit"
MIN_SHARE, PASS_MARK = 0.1, 0.8
"""Shares at or below which nothing row-specific is there, and from which it is enough."""
MIN_ROOM = 0.05
"""Least distance of the best possible fit from a baseline."""
MIN_ROWS = 20
MAX_GAP = 0.05
"""What base values and attributions may miss of the output, as a share of its spread."""
MIN_FEATURES, MIN_FEATURES_OF_A_LIST = 3, 6
MAX_RANDOM = 0.025
"""Share of random orders that may fit as well as a list."""


@dataclass(frozen=True)
class _Finding:
    answer: Answer
    text: str
    score: Score
    reason: Reason = ""
    n_required: int | None = None


def attribution_verdict(
    fit: Score, scores: Sequence[Score], alpha: float, p: float, *, validated: bool = True
) -> Verdict:
    """Return the answer of the fits, the worse of which decides, and of a list for all rows.

    Args:
        fit: The score that is quoted.
        scores: All scores of the evidence.
        alpha: Level of the intervals.
        p: P-value of the claim, corrected for the other questions.
        validated: Whether an answer needs a validation record.
    """
    fits = [score for score in scores if score.metric == FIT] or [fit]
    rankings = [score for score in scores if score.metric == RANKING]
    finding = _judge(fits, rankings, alpha)
    answer, text = finding.answer, finding.text
    gap = next((score.value for score in scores if score.metric == "additivity_gap"), 0.0)
    if answer == "yes" and gap > MAX_GAP:
        answer = "partly"
        text = (
            f"{text} But base values and attributions miss the output by {_percent(gap)} of its "
            "spread: they may be those of another model."
        )
    answered = Verdict(
        "faithful", find_metric(fit.metric).asked_as, answer, text, finding.score, finding.reason,
        None if math.isnan(p) else p, n_required=finding.n_required,
    )  # fmt: skip
    answered = apply_caveat(answered, fit, validated=validated)
    if fit.options.get("signs") == "ignored" and not _is_one_list(rankings):
        return replace(answered, summary=f"{answered.summary} Sizes only; signs were not given.")
    return answered


def _is_one_list(rankings: Sequence[Score]) -> bool:
    return any(
        ranking.facts.get("one_list", 0.0) == 1.0 or ranking.facts.get("likeness", 0.0) >= ONE_LIST
        for ranking in rankings
    )


def _judge(fits: Sequence[Score], rankings: Sequence[Score], alpha: float) -> _Finding:
    facts = rankings[0].facts if rankings else {}
    if facts.get("features", MIN_FEATURES) < MIN_FEATURES:
        text = "With two features, attributions can hardly be wrong."
        return _Finding("inconclusive", text, fits[0], "no_headroom")
    if fits[0].n < MIN_ROWS:
        text = f"{fits[0].n} rows with a fit: {MIN_ROWS} are needed."
        return _Finding("inconclusive", text, fits[0], "underpowered", MIN_ROWS)
    if facts.get("names_nothing"):
        return _Finding("no", "All features have the same attribution.", fits[0])
    if _is_one_list(rankings):
        judge = _judge_list if facts.get("one_list") else _judge_table_of_one_list
        return judge({str(r.options["signs"]): r for r in rankings}, alpha)
    defined = [fit for fit in fits if not math.isnan(fit.value)] or list(fits)
    return _worst([_judge_rows(fit, alpha) for fit in defined])


def _worst(findings: Sequence[_Finding]) -> _Finding:
    return min(findings, key=lambda finding: WORST_FIRST.index(finding.answer))


def _judge_rows(fit: Score, alpha: float) -> _Finding:
    """Judge attributions of rows by their share of the best possible row-specific fit."""
    share, other = fit.share, _null(fit, "another_sample")
    if share is None or other is None:
        return _Finding("inconclusive", "Nothing could be counted.", fit, "undefined")
    if share.room < MIN_ROOM:
        text = f"Even the best possible fit ({fit.best:.2f}) is near that of {_against(fit)}."
        if fit.options["signs"] == "ignored":
            text += " Sizes alone do not distinguish rows here; pass signed attributions."
        return _Finding("inconclusive", text, fit, "no_headroom")
    half = quantile(share.df, 1 - alpha) * share.error
    low, high = share.value - half, share.value + half
    of_size = ", the number of removed features apart" * (fit.options["size"] != "mixed")
    if low <= MIN_SHARE and high < PASS_MARK:
        text = f"No better for their own row than {_against(fit)}: {fit.value:.2f}{of_size}."
        return _Finding("no", text, fit)
    compared = _compare(fit)
    ends = f"{_percent(share.value)} [{100 * low:.0f}, {100 * min(high, 1.0):.0f}]"
    if low <= MIN_SHARE:
        n = math.ceil(fit.n * (half / max(share.value - MIN_SHARE, PASS_MARK - share.value)) ** 2)
        text = f"{ends} of the best possible row-specific fit{of_size}: too uncertain."
        text += f" About {n:,} rows are needed.{compared}"
        return _Finding("inconclusive", text, fit, "underpowered", n)
    if any(not _is_beaten(fit, null, alpha) for null in fit.nulls if if_not_beaten(fit, null)):
        return _Finding("partly", f"{IN_GENERAL}{compared}", fit)
    if low >= PASS_MARK:
        text = f"{ends} of the best possible row-specific fit{of_size}.{compared}"
        return _Finding("yes", text, fit)
    text = f"Row-specific, but {ends} of the best possible{of_size}; 80 % is the pass mark."
    return _Finding("partly", f"{text}{compared}", fit)


def _compare(fit: Score) -> str:
    """Return what the score was compared with, in numbers."""
    nulls = [null for null in fit.nulls if not math.isnan(null.value)]
    against = "; ".join(f"{null.label} {round(null.value, 2) + 0.0:.2f}" for null in nulls)  # no -0
    return f" Correlation {fit.value:.2f}; best possible {fit.best:.2f}; {against}."


def _null(score: Score, name: str) -> Null | None:
    nulls = [n for n in score.nulls if n.name == name and not math.isnan(n.value)]
    return nulls[0] if nulls else None


def _against(fit: Score) -> str:
    """Return the baseline that the share starts from, with its value."""
    null = None if fit.share is None else _null(fit, fit.share.null)
    return "a baseline" if null is None else f"{null.label} ({null.value:.2f})"


def _is_beaten(score: Score, null: Null, alpha: float) -> bool:
    distance = distance_of(score, null)
    if distance is None:
        return True
    return distance.gain > quantile(min(distance.df, NORMAL), 1 - alpha) * distance.error


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _judge_orders(ranking: Score) -> _Finding | None:
    """Judge a list by its random orders; None where it fits better than nearly all of them."""
    signs = ranking.options["signs"]
    better, as_good = (
        ranking.facts.get(f"{name}.{signs}", 1.0) for name in ("orders_better", "orders_as_good")
    )
    if better > MAX_RANDOM:
        text = "The list names features that do not count more than others."
        return _Finding("no", text, ranking)
    if as_good > MAX_RANDOM:
        text = f"{_percent(as_good)} of the random orders of this list fit as well: too few differ."
        return _Finding("inconclusive", text, ranking, "no_headroom")
    return None


def _global_share(ranking: Score, alpha: float) -> tuple[str, float]:
    """Return the share of the way from random orders to the best possible, and its lower end."""
    share = ranking.share
    if share is None or share.room < MIN_ROOM:
        return "an unknown share", math.nan
    return _percent(share.value), share.value - quantile(share.df, 1 - alpha) * share.error


def _judge_table_of_one_list(rankings: Mapping[str, Score], alpha: float) -> _Finding:
    """Judge one list in every row; if its signs do not fit, its sizes are at most partly right."""
    if "given" not in rankings:
        return _judge_repeated_list(rankings["ignored"], alpha)
    signed = rankings["given"]
    finding = _judge_repeated_list(signed, alpha)
    if finding.answer in ("yes", "partly"):
        return finding
    if signed.interval is not None and signed.interval.high < 0:
        text = "The signs are reversed: features that the list says lower the output raise it."
        return _Finding("no", text, signed)
    sizes = _judge_repeated_list(rankings["ignored"], alpha)
    if sizes.answer not in ("yes", "partly"):
        return sizes
    return _Finding("partly", f"{sizes.text} Its signs do not fit.", sizes.score)


def _judge_repeated_list(ranking: Score, alpha: float) -> _Finding:
    if finding := _judge_orders(ranking):
        return finding
    text, low = _global_share(ranking, alpha)
    if low >= PASS_MARK:
        text = "One ranking is enough: the same features count for every row."
        return _Finding("yes", text, ranking)
    text = (
        f"One global ranking for all rows. It reaches {text} of what row-by-row attributions "
        "could say about the explained function."
    )
    return _Finding("partly", text, ranking)


def _judge_list(rankings: Mapping[str, Score], alpha: float) -> _Finding:
    (ranking,) = rankings.values()
    if ranking.facts["features"] < MIN_FEATURES_OF_A_LIST:
        text = f"With {ranking.facts['features']:.0f} features a random list is right too often."
        return _Finding("inconclusive", text, ranking, "no_headroom")
    if finding := _judge_orders(ranking):
        return finding
    text, low = _global_share(ranking, alpha)
    text = f"A global ranking that reaches {text} of the best single list."
    return _Finding("yes" if low >= PASS_MARK else "partly", text, ranking)
