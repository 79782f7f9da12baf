"""How answers to claims are told, with what would have been seen."""

from collections.abc import Callable

from theodolite.metrics.catalogue import catalogue
from theodolite_reproductions.findings.decision import DecisionRecord

CSS = {
    "confirmed": "yes",
    "contradicted": "no",
    "not there": "no",
    "too few repeats": "inconclusive",
    "inconclusive": "inconclusive",
}
Size = Callable[[float], str]


def points(metric_name: str) -> Size:
    """Return how a difference in a score is written: in points where the score is a share.

    >>> points("concept_task_leakage")(0.0312), points("surrogate_error")(0.0312)
    ('3.1 points', '0.031')
    """
    metric = catalogue().get(metric_name)
    share = metric is not None and metric.bounds == (0.0, 1.0)

    def text(value: float) -> str:
        if not share:
            return f"{max(value, 0.001):.2g}"
        number = max(100 * value, 0.01)
        return f"{number:.0f} points" if number >= 10 else f"{number:.2g} points"

    return text


def correlation_size(value: float) -> str:
    """Return how the size of a correlation is written; that of too few is close to 1."""
    return "0.99" if 0.99 < value < 1 else f"{value:.2f}"


def power_text(decision: DecisionRecord | None, size: Size, unit: str = "seeds") -> str:
    """Return how many repeats there are, what is asked for, and what they would show.

    >>> record = DecisionRecord(answer="too few repeats", repeats=3, effect=0.02,
    ...                         min_detectable_effect=0.09, n_required=24)
    >>> power_text(record, points("concept_task_leakage"))
    '3 seeds; asked for: 2 points; would be seen: 9 points or more; about 24 seeds would do'
    """
    if decision is None:
        return ""
    noun = unit.removesuffix("s") if decision.repeats == 1 else unit
    parts = [f"{decision.repeats} {noun}", f"asked for: {size(decision.effect)}"]
    if decision.min_detectable_effect is None:
        parts.append("without an error nothing is seen")
    elif decision.min_detectable_effect <= 1e-12:
        parts.append(f"{unit} change nothing")
    else:
        parts.append(f"would be seen: {size(decision.min_detectable_effect)} or more")
    if decision.n_required is not None:
        parts.append(f"about {decision.n_required:,} {unit} would do")
    if decision.smaller:
        parts.append("smaller than required")
    return "; ".join(parts)
