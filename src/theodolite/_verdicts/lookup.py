"""Scores of an audit by name, and as rows of a table."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from theodolite._verdicts.answers import MissingScore
from theodolite._verdicts.from_scores import headline_of
from theodolite.errors import EvidenceError, ResultNotFoundError
from theodolite.metrics.catalogue import catalogue, find_metric
from theodolite.questions import QUESTIONS
from theodolite.results import Score

Key = str | tuple[str, Mapping[str, Any]]
"""A score by its name, or by its name and some of its options."""


def resolve(name: str) -> tuple[str, dict[str, Any]]:
    """The metric that a name or a paper's name stands for, and the options that this implies."""
    return find_metric(name).name, {}


def find_score(
    scores: Sequence[Score],
    not_computed: Sequence[MissingScore],
    key: Key,
    quoted: Sequence[Score] = (),
) -> Score:
    """The score of a metric: the one to quote, or that with the options of the key.

    Of the scores of a metric the one to quote is that of a verdict (``quoted``), else that with the
    options that its card quotes.
    """
    name, options = (key, {}) if isinstance(key, str) else key
    if name in QUESTIONS:
        raise ResultNotFoundError(
            f"{name!r} is a question: result.verdicts[{name!r}] is its answer"
        )
    metric, implied = _resolved(name, scores)
    own = [score for score in scores if score.metric == metric]
    if not own:
        raise ResultNotFoundError(_why_missing(metric, not_computed))
    options = {**implied, **options}
    matches = [score for score in own if _has(score, options)]
    if len(matches) > 1:
        matches = _nearest(matches, _headline(own, quoted), options)
    if len(matches) != 1:
        choices = "; ".join(dict.fromkeys(_options_text(score) for score in matches or own))
        problem = "is several scores" if matches else "has no score with these options"
        raise ResultNotFoundError(f"{metric} {problem}; choose one of: {choices}")
    return matches[0]


def _resolved(name: str, scores: Sequence[Score]) -> tuple[str, dict[str, Any]]:
    """The name of a metric; scores of a package that is not there any more keep their own."""
    if any(score.metric == name for score in scores):
        return name, {}
    try:
        return resolve(name)
    except EvidenceError as error:
        raise ResultNotFoundError(str(error)) from error


def _why_missing(metric: str, not_computed: Sequence[MissingScore]) -> str:
    for missing in not_computed:
        if missing.metric == metric:
            return f"{metric} was not scored: it needs {', '.join(missing.needs)}"
    opt_in = metric in catalogue() and catalogue()[metric].opt_in
    return f"{metric} was not requested" + ("; it is scored on request only" if opt_in else "")


def _has(score: Score, options: Mapping[str, Any]) -> bool:
    return all(
        name in score.options and _comparable(score.options[name]) == _comparable(value)
        for name, value in options.items()
    )


def _comparable(value: Any) -> Any:
    """Files know lists where options are tuples."""
    return tuple(value) if isinstance(value, list) else value


def _headline(own: Sequence[Score], quoted: Sequence[Score]) -> Score:
    of_verdict = next((score for score in own if any(score is other for other in quoted)), None)
    usual = headline_of(own) if own[0].metric in catalogue() else None
    return of_verdict or usual or own[0]


def _nearest(matches: Sequence[Score], headline: Score, options: Mapping[str, Any]) -> list[Score]:
    """Without options the score to quote; with some, that which differs from it in these alone."""
    if not options:
        return [headline]
    others = {name: value for name, value in headline.options.items() if name not in options}
    return [score for score in matches if _has(score, others)] or list(matches)


def _options_text(score: Score) -> str:
    return ", ".join(f"{name}={value}" for name, value in score.options.items()) or "no options"


def score_records(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """A row for each score."""
    return [_record(score) for score in scores]


def _record(score: Score) -> dict[str, Any]:
    interval, null = score.interval, score.null
    return {
        "metric": score.metric,
        "paper_name": paper_name(score.metric),
        "question": score.question,
        "value": float(score.value),
        "low": math.nan if interval is None else float(interval.low),
        "high": math.nan if interval is None else float(interval.high),
        "level": math.nan if interval is None else float(interval.level),
        "null": "" if null is None else null.name,
        "null_value": math.nan if null is None else float(null.value),
        "best": float(score.best),
        "n": score.n,
        "n_undefined": score.n_undefined,
        "better": score.better,
    } | {f"option.{name}": value for name, value in score.options.items()}


def detail_records(scores: Sequence[Score]) -> list[dict[str, Any]]:
    """A row for each concept, pair, class or unit of each score that has these."""
    return [row for score in scores for row in _detail_rows(score)]


def _detail_rows(score: Score) -> list[dict[str, Any]]:
    detail = score.detail
    if detail is None:
        return []
    nothing = np.full(len(detail.values), np.nan)
    low = nothing if detail.low is None else detail.low
    high = nothing if detail.high is None else detail.high
    before = {"metric": score.metric, "paper_name": paper_name(score.metric),
              "question": score.question, "over": detail.over}  # fmt: skip
    after = {f"option.{name}": value for name, value in score.options.items()}
    return [
        {**before, "name": name, "value": float(value), "low": float(a), "high": float(b), **after}
        for name, value, a, b in zip(detail.names, detail.values, low, high, strict=True)
    ]


def paper_name(name: str) -> str:
    """What papers call the metric; empty where they do not."""
    metric = catalogue().get(name)
    names: Sequence[str] = getattr(metric, "paper_names", ())
    return names[0] if names else ""
