"""Strips: right is better, zones are verdicts, and nothing covers an interval."""

import dataclasses
import io
import itertools
import math
import re
import shutil
from typing import Any

import numpy as np
import pytest
from PIL import Image

from support.strip_zones import interval_zone
from theodolite._stats.draws import ENOUGH
from theodolite._stats.intervals import two_sided_p
from theodolite._verdicts.rules import verdict
from theodolite.cli.tables import print_scores
from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue
from theodolite.report.figures.score_strip import CUTS, strip_axis, strip_marks
from theodolite.report.figures.strips import (
    difference_strip,
    item_strips,
    score_strip,
    shared_strips,
    small_strip,
    two_run_strip,
)
from theodolite.report.page import TEMPLATES
from theodolite.report.palette import palette
from theodolite.report.sentences import sentence
from theodolite.results import DefectTest, Detail, Interval, Null, Score

METRICS = sorted(catalogue())
ERROR = 0.004


def planted(name: str, share: float, null: float = 0.4, error: float = ERROR) -> Score:
    """A score at a share of the way from the worst to the best; its nulls at another.

    Where the range has no end, the way goes over one unit from the end that there is.
    """
    metric = catalogue()[name]
    worst, best = way_of(metric)

    def at(part: float) -> float:
        return worst + part * (best - worst)

    value, width = at(share), error * abs(best - worst)
    interval = Interval(value - 2 * width, value + 2 * width, 0.95, "samples", "", 99, "fixed",
                        width, 1e6)  # fmt: skip
    difference = value - at(null)
    away = dataclasses.replace(
        interval, low=difference - 2 * width, high=difference + 2 * width, error=width
    )
    nulls = tuple(
        Null(n.name, at(null), away, draws=(at(null),) * ENOUGH if n.draws_in else ())
        for n in metric.nulls
    )
    fault = _fault(metric, difference, width) if metric.is_defect_metric else None
    return Score(
        name, metric.version, metric.question, value, metric.better, metric.bounds, best, 500, 0,
        "samples", dict(metric.headline), (interval,), nulls, n_samples=500, defect=fault,
    )  # fmt: skip


def way_of(metric: Metric) -> tuple[float, float]:
    low, high = metric.bounds
    if metric.is_percentage or metric.is_defect_metric:
        low = max(low, 0.0)
    low = low if math.isfinite(low) else (high - 1.0 if math.isfinite(high) else -0.5)
    high = high if math.isfinite(high) else low + 1.0
    return (low, high) if metric.better == "higher" else (high, low)


def _fault(metric: Metric, fault: float, error: float) -> DefectTest:
    accepted = metric.tolerance or 0.0

    def p(distance: float) -> float:
        return two_sided_p(distance, error, 1e6) if distance > 0 else 1.0

    return DefectTest(fault - 2 * error, fault + 2 * error, p(accepted - fault), p(fault),
                     p(fault - accepted), error, 1e6)  # fmt: skip


def tip(svg: object, number: int = 0) -> float:
    """How far to the right a triangle points."""
    return float(re.findall(r'class="score" d="M([\d.]+) ', str(svg))[number])


# zones and verdicts


@pytest.mark.parametrize("name", METRICS)
def test_the_zone_of_a_whole_interval_is_the_verdict(name: str) -> None:
    zones, null = set(), 0.97 if catalogue()[name].is_defect_metric else 0.4
    for share in np.linspace(0.02, 0.98, 97):
        score = planted(name, float(share), null)
        answered = verdict(score, validated=False)
        zone = interval_zone(strip_marks(score))
        if zone is not None:
            zones.add(zone)
            assert answered.answer == zone, (share, answered.summary)
    assert "no" in zones and len(zones) > 1, "both sides of a border were planted"


def test_zones_lie_in_order_and_leave_no_gap() -> None:
    for name in METRICS:
        zones = strip_marks(planted(name, 0.6)).zones
        assert [z.answer for z in zones] in (
            ["no", "partly", "yes"], ["no", "partly"], ["no", "yes"],
        )  # fmt: skip
        assert zones[0].start == 0 and zones[-1].end == 1
        assert all(a.end == b.start for a, b in itertools.pairwise(zones))


def test_a_null_that_is_better_than_enough_leaves_no_zone_between() -> None:
    score = planted("concept_existence", 0.95, null=0.9)
    assert [zone.answer for zone in strip_marks(score).zones] == ["no", "yes"]


def test_without_a_null_nothing_is_colored() -> None:
    bare = dataclasses.replace(planted("concept_existence", 0.6), nulls=())
    assert strip_marks(bare).zones == ()
    assert "zone no" not in str(score_strip(bare)) and 'class="zone"' in str(score_strip(bare))


def test_of_draws_the_best_is_to_beat() -> None:
    score = planted("latent_probe", 0.6)
    draws = tuple(np.linspace(0.3, 0.5, 20))
    nulls = tuple(
        dataclasses.replace(null, draws=draws) if null.draws else null for null in score.nulls
    )
    null = strip_marks(dataclasses.replace(score, nulls=nulls)).null
    assert null is not None and null.value == 0.5 and null.name.endswith("best of 20")


@pytest.mark.parametrize("name", ["concept_existence", "surrogate_distance"])
def test_a_verdict_that_the_strip_does_not_show_is_said(name: str) -> None:
    """The score's own interval is wide, the paired difference to the null is narrow."""
    score = planted(name, 0.43, null=0.4)
    wide = dataclasses.replace(score.intervals[0], low=score.value - 0.1, high=score.value + 0.1)
    straddling = dataclasses.replace(score, intervals=(wide,))
    answered = verdict(straddling, validated=False)
    assert answered.answer == "partly" and interval_zone(strip_marks(straddling)) is None
    assert "3.0 points better (2.2 to 3.8)" in sentence(answered)
    assert "points better" not in sentence(verdict(score, validated=False)), "here it is drawn"


# direction


@pytest.mark.parametrize("name", METRICS)
def test_the_better_of_two_lies_farther_right(name: str) -> None:
    worse, better = planted(name, 0.55), planted(name, 0.75)
    assert (better.value > worse.value) == (catalogue()[name].better == "higher")
    axis = strip_axis([worse, better])
    assert tip(small_strip(better, axis=axis)) > tip(small_strip(worse, axis=axis)) + 1
    column = shared_strips([better, worse])
    assert tip(column[0]) > tip(column[1]) + 1
    two = two_run_strip(worse, better, ("worse", "better"))
    assert tip(two, 1) > tip(two, 0) + 1
    difference = better.value - worse.value
    svg = difference_strip(difference, None, None, 2 * abs(difference), better=better.better)
    assert tip(svg) > 75, "right of zero: the second is better"
    svg = difference_strip(-difference, None, None, 2 * abs(difference), better=better.better)
    assert tip(svg) < 75


def test_both_ends_are_labeled_from_worst_to_best() -> None:
    ends = re.findall(
        r'class="label end"[^>]*>([^<]+)<', str(score_strip(planted("surrogate_distance", 0.5)))
    )
    assert ends == ["100 %", "0 %"]


def test_tables_of_the_command_line_say_which_way_is_better(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_scores([planted("concept_existence", 0.6), planted("surrogate_distance", 0.6)])
    head, *rows = capsys.readouterr().out.splitlines()
    assert "better" in head and "strongest baseline" in head
    assert "↑ higher" in rows[0] and "40.0 % (permuted concepts)" in rows[0]
    assert "↓ lower" in rows[-1]


# range


def leak(value: float, null: float = 0.01, half: float = 0.02) -> Score:
    score = planted("predictive_task_leakage", 1 - value, 1 - null)
    interval = Interval(value - half, value + half, 0.95, "samples", "", 9)
    return dataclasses.replace(score, intervals=(interval,))


@pytest.mark.parametrize(
    ("value", "half", "worst"),
    [(0.122, 0.024, 0.2), (0.03, 0.01, 0.1), (0.0, 0.001, 0.1), (0.2, 0.05, 0.3), (0.5, 0.1, 1.0)],
)
def test_the_axis_is_cut_where_all_marks_lie_near_the_best(
    value: float, half: float, worst: float
) -> None:
    axis = strip_axis([leak(value, half=half)])
    assert (axis.worst, axis.best) == pytest.approx((worst, 0.0))
    assert axis.worst in CUTS or axis.worst == 1.0


def test_less_than_no_fault_does_not_stretch_the_axis() -> None:
    """Estimates of none lie around 0, and bounds say −1."""
    score = planted("task_leakage_given_concept", 1.0, 1.0)
    interval = Interval(-0.04, 0.03, 0.95, "samples", "", 9)
    axis = strip_axis([dataclasses.replace(score, intervals=(interval,), best=-1.0)])
    assert (axis.worst, axis.best) == pytest.approx((0.1, -0.05))


def test_the_axis_ends_at_the_best_that_data_allow() -> None:
    score = dataclasses.replace(planted("concept_existence", 0.25, 0.27), best=0.399)
    axis = strip_axis([score])
    assert (axis.worst, axis.best) == (0.0, 0.399)
    assert ">40 %<" in str(score_strip(score))
    beyond = dataclasses.replace(planted("concept_existence", 0.45, 0.27), best=0.399)
    assert strip_axis([beyond]).best > 0.45, "what is better than that is still on the axis"


def test_axes_without_ends_hold_what_is_there() -> None:
    for value, null in ((7.0, 5.0), (0.0, 0.0), (math.nan, 3.0), (1.0, math.nan)):
        score = dataclasses.replace(
            planted("surrogate_error", 0.5), value=value, intervals=(),
            nulls=(Null("some null", null, None),),
        )  # fmt: skip
        axis = strip_axis([score])
        assert math.isfinite(axis.worst) and axis.worst > axis.best == 0.0
        assert not re.search(r'="[^"]*\b(inf|nan)\b', str(score_strip(score)))


# items


def test_items_share_an_axis_that_holds_all_of_them() -> None:
    values = np.array([0.05, 0.22, np.nan])
    detail = Detail("concepts", ("a", "b", "c"), values, values - 0.02, values + 0.07)
    items = item_strips(dataclasses.replace(leak(0.1), detail=detail))
    assert items.ends == ("30 %", "0 %")
    assert tip(items.strips[0]) > tip(items.strips[1])
    assert "zone yes" in items.strips[0] and 'class="score"' not in items.strips[2]
    named = dataclasses.replace(planted("concept_prediction", 0.6), detail=detail)
    assert "zone yes" not in item_strips(named).strips[0], "a null of all is none of each"


def test_names_are_escaped() -> None:
    score = planted("concept_existence", 0.6)
    odd = dataclasses.replace(score, nulls=(Null("<b>", 0.4, None),))
    assert "<b>" not in str(score_strip(odd)) and "&lt;b&gt;" in str(score_strip(odd))


# marks and colors


def _luminance(color: str) -> float:
    parts = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def _contrast(first: str, second: str) -> float:
    dark, light = sorted((_luminance(first), _luminance(second)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_marks_and_words_stand_out(dark: bool) -> None:
    colors = palette(dark=dark)
    for ground in ("zone", "zone-no", "zone-partly", "zone-yes"):
        for mark in ("score", "null", "ink"):
            assert _contrast(colors[mark], colors[ground]) >= 3, (mark, ground)
    for ground in ("paper", "panel"):
        for words in ("ink", "soft", "null", "yes", "partly", "no"):
            assert _contrast(colors[words], colors[ground]) >= 4.5, (words, ground)


@pytest.fixture(scope="module")
def browser() -> Any:
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium here")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as p:
        opened = p.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.parametrize("n", [50, 1_000_000])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_interval_is_seen_at_its_center(browser: Any, n: int, scheme: str) -> None:
    """Whatever the number of samples, and with the null right under it."""
    error = 0.5 / math.sqrt(n)
    scores = [
        planted("concept_existence", 0.6, 0.6, error),
        planted("surrogate_distance", 0.6, 0.6, error),
    ]
    strips = [f(score) for score in scores for f in (score_strip, small_strip)]
    strips.append(two_run_strip(scores[0], scores[0], ("a", "b")))
    strips.append(difference_strip(0.0, -error, error, 1.0))
    css = "".join((TEMPLATES / name).read_text() for name in ("report.css", "strips.css"))
    page = browser.new_page(color_scheme=scheme, viewport={"width": 800, "height": 700})
    page.set_default_timeout(120_000)  # the machine may be busy
    page.set_content(f"<style>{css}</style>{''.join(map(str, strips))}")
    shot = np.asarray(Image.open(io.BytesIO(page.screenshot())).convert("RGB"))
    boxes = [one.bounding_box() for one in page.locator("svg.strip .interval").all()]
    page.close()
    assert len(boxes) == 7
    color = palette(dark=scheme == "dark")["score"]
    expected = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    for place in boxes:
        assert place["width"] >= 3.99
        x, y = place["x"] + place["width"] / 2, place["y"] + place["height"] / 2
        assert np.abs(shot[int(y), int(x)].astype(int) - expected).max() <= 2
