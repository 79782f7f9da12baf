"""A score on its scale, before anybody draws it: what SVG, matplotlib and Vega-Lite all show."""

import math
from dataclasses import dataclass

from theodolite.report.chapters.clean import accepted_line, looks_for_a_fault
from theodolite.report.figures.scales import Scale, round_scale
from theodolite.results import Score
from theodolite.verdicts.rules import enough_line
from theodolite.verdicts.words import is_share, percent

FAR = 3.0
"""A null that lies so many times farther out than what must be seen is a tip at the end."""


@dataclass(frozen=True)
class NullTick:
    """One null: where it lies, what it is, and whether that is beyond an end of the scale."""

    value: float
    title: str
    beyond: int
    """-1 below the scale, 1 above it, 0 on it."""


@dataclass(frozen=True)
class ScoreStrip:
    """All marks of one score."""

    scale: Scale
    value: float
    interval: tuple[float, float] | None
    nulls: tuple[NullTick, ...]
    """Those that are defined, the hardest first."""
    limit: float | None
    """From where on we would rely on the score; of a clean null, up to where we accept it."""
    limit_title: str
    clean: bool
    """Whether the nulls stand for a model without a fault, which must not be exceeded."""
    best: float | None
    """The best that any explanation could score here; None where that is the end of the scale."""

    @property
    def accepted(self) -> tuple[float, float] | None:
        """What is accepted above a clean null."""
        if not self.clean or self.limit is None or not self.nulls:
            return None
        return self.nulls[0].value, self.limit


def score_strip(score: Score) -> ScoreStrip:
    """The marks of a score."""
    scale = Scale(*ends_of(score), ())
    clean = looks_for_a_fault(score)
    limit = accepted_line(score) if clean else enough_line(score)
    if limit is not None and math.isnan(limit):
        limit = None
    title = "" if limit is None else percent(limit, score)
    interval = score.interval
    return ScoreStrip(
        scale=scale,
        value=score.value,
        interval=None if interval is None else (interval.low, interval.high),
        nulls=tuple(
            NullTick(null.value, f"{null.name}: {percent(null.value, score)}",
                     _beyond(null.value, scale))
            for null in score.nulls
            if not math.isnan(null.value)
        ),
        limit=limit,
        limit_title=f"{'accepted up to' if clean else 'enough:'} {title}",
        clean=clean,
        best=None if score.best in score.bounds or math.isnan(score.best) else score.best,
    )  # fmt: skip


def _beyond(value: float, scale: Scale) -> int:
    slack = 1e-6 * (scale.high - scale.low)
    return (value > scale.high + slack) - (value < scale.low - slack)


def ends_of(score: Score) -> tuple[float, float]:
    """Ends of a scale for the score: its bounds, or round numbers around what is shown."""
    if all(math.isfinite(end) for end in score.bounds):
        return score.bounds
    values = [score.value, score.best, *(null.value for null in score.nulls[:1])]
    if score.interval is not None:
        values += [score.interval.low, score.interval.high]
    values = [v for v in values if math.isfinite(v)]
    if values:  # a null that is far off would squeeze what matters into a corner
        reach = FAR * max(max(values) - min(values), 1e-9)
        near = (min(values) - reach, max(values) + reach)
        values += [null.value for null in score.nulls if near[0] <= null.value <= near[1]]
    scale = round_scale(values, score.bounds)
    return scale.low, scale.high


def end_text(end: float, score: Score) -> str:
    """An end of the scale, in the score's own unit.

    A share below 0 is none, but a scale that goes below 0 says so: else 0 would be read twice.
    """
    if is_share(score):
        return f"{100 * end:.0f} %".replace("-", "−")
    return percent(end, score).removesuffix(".00").replace("-", "−")
