"""Zones of the strips in a report, for tests that compare them with verdicts."""

from theodolite.report.figures.strips import StripMarks


def interval_zone(marks: StripMarks) -> str | None:
    """Return the zone that holds the whole interval; None if it crosses a border."""
    start, end = sorted(map(marks.axis.share, marks.interval))
    whole = [z for z in marks.zones if z.start - 1e-9 <= start and end <= z.end + 1e-9]
    return whole[0].answer if len(whole) == 1 else None
