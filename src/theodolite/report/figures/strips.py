"""Scores on their axes: right is better, always, and nothing covers an interval.

An axis is a band, colored by what a score there would be answered. Above it a triangle marks the
score, in it lies the interval, and a line down from it is the strongest baseline.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from theodolite._verdicts.words import percent
from theodolite.report.chapters.clean import is_defect_metric
from theodolite.report.figures.scales import get_item_interval, truncate_middle
from theodolite.report.figures.score_strip import (
    NullMark,
    StripAxis,
    StripMarks,
    Zone,
    end_text,
    strip_axis,
    strip_marks,
    zones_on,
)
from theodolite.report.figures.svg import box, drawing, line, outline, px, text
from theodolite.results import Better, Score

EDGE = 8.0
"""What is left free at both ends of a strip."""
LEAST = 4.0
"""Pixels that an interval is wide at least; its numbers tell the truth."""
BAND = 10.0
LETTER = 5.9
"""Pixels of a letter beside a strip, about."""
SMALL = (150, 19)


@dataclass(frozen=True)
class _StripLane:
    """Where a band lies in a drawing."""

    left: float
    right: float
    top: float
    height: float = BAND

    def x(self, share: float) -> float:
        return self.left + (self.right - self.left) * share

    @property
    def base(self) -> float:
        return self.top + self.height

    def zones(self, zones: Sequence[Zone]) -> list[str]:
        """The colored band; without zones, plain."""
        if not zones:
            return [box("zone", (self.left, self.top), (self.right - self.left, self.height))]
        return [
            box(f"zone {zone.answer}", (self.x(zone.start), self.top),
                (self.x(zone.end) - self.x(zone.start), self.height))
            for zone in zones
        ]  # fmt: skip

    def interval(self, ends: tuple[float, float] | None, axis: StripAxis) -> list[str]:
        """Never narrower than can be seen, and inside of the band."""
        if ends is None:
            return []
        start, end = sorted(self.x(axis.share(value)) for value in ends)
        missing = max(LEAST - (end - start), 0.0) / 2
        start = min(max(start - missing, self.left), self.right - LEAST)
        end = max(min(end + missing, self.right), start + LEAST)
        return [box("interval", (start, self.top), (end - start, self.height), rounded=1)]

    def triangle(
        self, value: float, axis: StripAxis, size: float = 5.0, *, below: bool = False
    ) -> str:
        """The score, with its tip at the band."""
        if math.isnan(value):
            return ""
        tip, tall = (self.base + 2, 1.6 * size) if below else (self.top - 2, -1.6 * size)
        spot = f"M{px(self.x(axis.share(value)))} {px(tip)}"
        return outline("score", f"{spot}l{px(-size)} {px(tall)}h{px(2 * size)}z")


def score_strip(score: Score, *, width: int = 330) -> Markup:
    """A score with its interval and the strongest baseline, its axis labeled."""
    marks = strip_marks(score)
    lane = _StripLane(EDGE, width - EDGE, 22.0)
    parts = [
        text(end_text(marks.axis.worst, score), lane.left, 9, "start", "label end"),
        text(end_text(marks.axis.best, score), lane.right, 9, "end", "label end"),
        *_marked(marks, lane, 10.0),
    ]
    if marks.null is not None:
        parts.append(_null_label(marks, lane, percent(marks.null.value, score)))
    return drawing("strip", (width, 58), _caption(marks, score), parts, fixed=True)


def small_strip(score: Score, *, axis: StripAxis | None = None) -> Markup:
    """Draw a score in a cell, next to its numbers."""
    return _small(strip_marks(score, axis))


def _small(marks: StripMarks) -> Markup:
    lane = _StripLane(4.0, SMALL[0] - 4.0, 7.0, 7.0)
    return drawing("strip small", SMALL, "", _marked(marks, lane, 4.0, 3.5), fixed=True)


def shared_strips(scores: Sequence[Score]) -> list[Markup]:
    """Strips of scores that one column holds against each other."""
    axis = strip_axis(scores) if scores else None
    return [small_strip(score, axis=axis) for score in scores]


def _marked(marks: StripMarks, lane: _StripLane, down: float, size: float = 5.0) -> list[str]:
    parts = lane.zones(marks.zones)
    if marks.null is not None:
        at = lane.x(marks.axis.share(marks.null.value))
        parts.append(line("null", (at, lane.top), (at, lane.base + down), marks.null.name))
    parts += lane.interval(marks.interval, marks.axis)
    return [*parts, lane.triangle(marks.value, marks.axis, size)]


def _null_label(marks: StripMarks, lane: _StripLane, value: str) -> str:
    """The null's name and value, on the side of its line with more room; long ones on both."""
    assert marks.null is not None  # noqa: S101  asked before
    at = lane.x(marks.axis.share(marks.null.value))
    left, right = at - lane.left, lane.right - at
    room = int((left + right) / LETTER) - len(value) - 1
    content = f"{truncate_middle(marks.null.name, max(room, 8))} {value}"
    if (missing := len(content) * LETTER - max(left, right)) > 0:
        at += missing if left > right else -missing
    return text(content, at, lane.base + 20, "end" if left > right else "start", "label null")


def _caption(marks: StripMarks, score: Score) -> str:
    parts = [percent(marks.value, score)]
    if marks.interval is not None:
        low, high = (percent(end, score) for end in marks.interval)
        parts[0] += f", interval {low} to {high}"
    if marks.null is not None:
        parts.append(f"{marks.null.name} {percent(marks.null.value, score)}")
    ends = " to ".join(end_text(end, score) for end in (marks.axis.worst, marks.axis.best))
    return "; ".join([*parts, f"axis {ends}, right is better"])


@dataclass(frozen=True)
class ItemStrips:
    """Small strips of the items behind a score, all on one axis."""

    ends: tuple[str, str]
    """What stands at the left and at the right."""
    strips: tuple[Markup, ...]
    """In the order of ``score.detail.names``."""


def item_strips(score: Score) -> ItemStrips:
    """Of each concept, class or unit.

    Nulls are those of the whole score, so that zones are drawn only where a fault is looked for:
    what is accepted of one is accepted of each.
    """
    detail = score.detail
    assert detail is not None  # noqa: S101  there are items
    rows = [(float(v), get_item_interval(detail, i)) for i, v in enumerate(detail.values)]
    numbers = [n for value, ends in rows for n in (value, *(ends or ())) if math.isfinite(n)]
    axis = strip_axis([score], numbers)
    zones = zones_on(score, axis) if is_defect_metric(score) else ()
    strips = tuple(plain_strip(value, ends, axis, zones=zones) for value, ends in rows)
    return ItemStrips((end_text(axis.worst, score), end_text(axis.best, score)), strips)


def plain_strip(
    value: float,
    ends: tuple[float, float] | None,
    axis: StripAxis,
    *,
    zones: tuple[Zone, ...] = (),
    null: NullMark | None = None,
) -> Markup:
    """A small strip of a number that is no score: of one item, or a share of many."""
    known = ends if ends is not None and math.isfinite(sum(ends)) else None
    return _small(StripMarks(axis, value, known, null, zones))


def two_run_strip(
    first: Score, second: Score, names: tuple[str, str], *, width: int = 330
) -> Markup:
    """One score of two runs on one axis: the first above, the second below.

    Each has its own lane, with its own zones and null: what must be beaten may differ.
    """
    axis = strip_axis([first, second])
    lanes = _StripLane(EDGE, width - EDGE, 26.0, 8.0), _StripLane(EDGE, width - EDGE, 35.0, 8.0)
    parts, captions = [], []
    for score, name, lane in zip((first, second), names, lanes, strict=True):
        marks, below = strip_marks(score, axis), lane is lanes[1]
        parts += _marked(marks, lane, 0.0)[:-1]
        parts.append(lane.triangle(marks.value, axis, below=below))
        captions.append(f"{name} {_caption(marks, score)}")
        if not math.isnan(marks.value):
            at, share = lane.x(axis.share(marks.value)), axis.share(marks.value)
            side = -1 if share > 0.5 else 1
            y = lane.base + 12 if below else lane.top - 4
            content = f"{truncate_middle(name, 24)} {percent(marks.value, score)}"
            anchor = "end" if side < 0 else "start"
            parts.append(text(content, at + 8 * side, y, anchor, "label strong"))
    parts += [
        text(end_text(axis.worst, first), EDGE, 71, "start", "label end"),
        text(end_text(axis.best, first), width - EDGE, 71, "end", "label end"),
    ]
    return drawing("strip two", (width, 74), "; ".join(captions), parts, fixed=True)


def difference_strip(  # noqa: PLR0913  options are keywords
    value: float | None,
    low: float | None,
    high: float | None,
    reach: float,
    *,
    better: Better | None = "higher",
    band: float = 0.0,
    width: int = 150,
) -> Markup:
    """A difference with its interval around zero, to the right where the second is better.

    The axis goes to ``reach`` on both sides; up to ``band`` is too small to count. Without a
    ``better`` side, as of a correlation, the right is plus.
    """
    sign = -1.0 if better == "lower" else 1.0
    axis = StripAxis(-sign * reach, sign * reach)
    small = min(band / reach, 1.0) / 2
    zones = () if better is None else (Zone("no", 0.0, 0.5 - small), Zone("yes", 0.5 + small, 1.0))
    lane = _StripLane(6.0, width - 6.0, 10.0)
    middle = lane.x(0.5)
    parts = [*lane.zones(()), *(lane.zones(zones) if zones else ())]
    if band and better is None:
        ends = lane.x(0.5 - small), lane.x(0.5 + small)
        parts.append(box("zone partly", (ends[0], lane.top), (ends[1] - ends[0], lane.height)))
    parts.append(line("middle", (middle, 4), (middle, lane.base + 4)))
    if low is not None and high is not None:
        parts += lane.interval((low, high), axis)
    if value is not None:
        parts.append(lane.triangle(value, axis))
    return drawing("strip", (width, 25), "", parts, fixed=True)


def strip_key(interval: str = "95 % interval", *, defects: bool = True) -> list[tuple[Markup, str]]:
    """What the marks of a strip mean: a drawing and its words, four in all."""
    lane = _StripLane(0.0, 16.0, 3.0, 8.0)
    zones = [Zone("no", 0.0, 1.0), Zone("partly", 1.0, 2.0), Zone("yes", 2.0, 3.0)]
    null = "strongest baseline" + "; of a defect, a model without it" * defects
    entries = [
        (14, [outline("score", "M7 12l-5 -9h10z")], "score"),
        (22, [box("interval", (1, 3), (20, 8), rounded=1)], interval),
        (8, [line("null", (4, 0), (4, 14))], null),
        (48, lane.zones(zones), "no · partly · yes"),
    ]
    return [
        (drawing("strip key-mark", (width, 14), "", parts, fixed=True), words)
        for width, parts, words in entries
    ]
