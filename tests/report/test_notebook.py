"""What a notebook shows: one piece of HTML that stands alone, and figures of the same marks."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import theodolite
from support.servers.browser import MISPLACED, axe_clean, chromium
from theodolite._planted.concepts import planted_concepts
from theodolite._runs.auditing.result import AuditResult
from theodolite._runs.comparison.compare_runs import Comparison, compare_runs
from theodolite._runs.comparison.loaded_runs import load_runs
from theodolite._scoring.evaluate import Resampling
from theodolite._verdicts.bottom_line import reliance
from theodolite.dissection.dissect import Dissection
from theodolite.errors import EvidenceError
from theodolite.report.figures.score_chart import chart_spec
from theodolite.report.figures.score_plot import plot_scores
from theodolite.report.figures.score_strip import strip_marks
from theodolite.report.palette import palette

FEW = Resampling(resamples=20)
EVIL = "<script>alert(1)</script>"
THEMES = (
    ("light", ""), ("dark", ""), ("dark", 'data-jp-theme-light="true"'),
    ("light", 'data-jp-theme-light="false"'), ("light", 'class="vscode-dark"'),
)  # fmt: skip


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return theodolite.audit(planted_concepts(60, n_concepts=4, n_classes=3, alignment=0.7), FEW)


@pytest.fixture(scope="module")
def comparison(result: AuditResult, tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    folder = tmp_path_factory.mktemp("runs")
    result.save(folder / "before")
    after = planted_concepts(60, n_concepts=4, n_classes=3, alignment=1.0)
    theodolite.audit(after, FEW).save(folder / "after")
    return compare_runs(load_runs([folder / "before", folder / "after"]))[0]


@pytest.fixture(scope="module")
def dissection() -> Dissection:
    random = np.random.default_rng(0)
    maps = random.integers(0, 3, (12, 8, 8))
    activations = np.stack([maps == 1, maps == 2, random.random(maps.shape)], axis=1)
    return theodolite.dissect(activations.astype(np.float32), maps, ["horn", EVIL], quantile=0.3)


@pytest.fixture(scope="module")
def pieces(result: AuditResult, comparison: Comparison, dissection: Dissection) -> dict[str, str]:
    return {
        "audit": result._repr_html_(),
        "verdict": result.verdicts["exists"]._repr_html_(),
        "not_evaluated": result.verdicts["located"]._repr_html_(),
        "score": result["concept_task_leakage"]._repr_html_(),
        "comparison": comparison._repr_html_(),
        "dissection": dissection._repr_html_(),
    }


def test_each_piece_stands_alone(pieces: dict[str, str]) -> None:
    for name, html in pieces.items():
        assert len(html.encode()) < 40_000, name
        assert html.startswith('<div class="theodolite"><style>') and html.count("<style>") == 1
        assert not re.search(r"<script|<link|@import|url\(|\son\w+=|\sid=|https?://", html), name
        css = html.partition("<style>")[2].partition("</style>")[0]
        selectors = re.findall(r"([^{}]+)\{", re.sub(r"@media[^{]*\{", "", css))
        plain = [s for group in selectors for s in group.split(",") if ".theodolite" not in s]
        assert not plain, "every rule is for our own piece"


def test_the_head_of_the_report_is_shown(result: AuditResult, pieces: dict[str, str]) -> None:
    for verdict in result.verdicts:
        if verdict.answer != "not_evaluated":
            assert verdict.question_text in pieces["audit"]
            assert f">{verdict.answer.capitalize()}</p>" in pieces["audit"]
    assert f"<b>{reliance(result.verdicts)[1]}</b>" in pieces["audit"]
    needs = "located (pass maps=, masks=); faithful (pass outputs=); accepted (pass ratings=)."
    assert f"Not evaluated: {needs}" in pieces["audit"]
    assert pieces["audit"].count('role="img"') == 2
    assert f"{len(result.scores)} scores" in pieces["audit"]


def test_names_are_text(pieces: dict[str, str], result: AuditResult) -> None:
    assert EVIL not in pieces["dissection"] and "&lt;script&gt;" in pieces["dissection"]
    evil = planted_concepts(30)
    noted = theodolite.audit(evil, FEW)
    object.__setattr__(noted, "notes", (EVIL,))
    assert "&lt;script&gt;" in noted._repr_html_() and EVIL not in noted._repr_html_()


@pytest.mark.slow
def test_in_a_browser_in_light_and_dark(pieces: dict[str, str], tmp_path: Path) -> None:
    with chromium() as browser:
        for scheme, body in THEMES:
            dark = (scheme == "dark" and not body) or "false" in body or "dark" in body
            ground, ink = ("#111111", "#eeeeee") if dark else ("#ffffff", "#111111")
            content = "".join(f"<h2>{name}</h2>{html}" for name, html in pieces.items())
            page = browser.new_page(color_scheme=scheme, viewport={"width": 900, "height": 700})
            page.set_content(
                f'<!doctype html><html lang="en"><head><title>Cells</title></head><body {body} '
                f'style="background:{ground};color:{ink}"><main><h1>Cells</h1>{content}</main>'
            )
            paper = palette(dark=dark)["paper"]
            shown = page.evaluate(
                "getComputedStyle(document.querySelector('.theodolite')).backgroundColor"
            )
            assert shown == f"rgb({', '.join(str(int(paper[i : i + 2], 16)) for i in (1, 3, 5))})"
            assert not page.evaluate(MISPLACED)
            axe_clean(page)
            page.close()


# tables and short forms


def test_comparisons_by_name_and_as_rows(comparison: Comparison) -> None:
    row = comparison["concept_existence"]
    assert row.first.metric == "concept_existence"
    assert row.value == row.second.value - row.first.value and row.interval.low <= row.value
    assert row.better in ("before", "after", "inconclusive")
    expected = {"better": "after", "worse": "before"}.get(row.outcome, "inconclusive")
    assert row.better == expected and len(repr(row)) <= 160
    rows = comparison.to_records()
    assert len(rows) == len(comparison) == len(comparison.lines)
    assert rows[0]["difference"] == pytest.approx(rows[0]["after"] - rows[0]["before"])
    assert len(repr(comparison)) <= 300 and "after against before" in repr(comparison)
    with pytest.raises(KeyError, match="surrogate_error"):
        comparison["surrogate_error"]
    pytest.importorskip("pandas")
    assert len(comparison.to_frame()) == len(rows)


def test_dissections_as_rows(dissection: Dissection) -> None:
    rows = dissection.to_records()
    assert [row["formula"] for row in rows] == dissection.formulas()
    assert len(rows) == 3 and rows[0]["iou"] > rows[2]["iou"]
    assert len(repr(dissection)) <= 300 and "units have a formula" in repr(dissection)
    pytest.importorskip("pandas")
    assert len(dissection.to_frame()) == 3


# figures


def test_all_figures_have_the_same_marks(result: AuditResult) -> None:
    pytest.importorskip("matplotlib")
    figure = result.plot()
    axes = figure.axes[0]
    labels = [tick.get_text() for tick in axes.get_yticklabels()]
    assert len(labels) == len(result.scores) and figure._repr_png_().startswith(b"\x89PNG")
    dots = [line.get_xdata()[0] for line in axes.lines if line.get_marker() == "v"]
    ordered = sorted(
        result.scores, key=lambda s: list(theodolite.questions.QUESTIONS).index(s.question)
    )
    strips = [strip_marks(score) for score in ordered]
    expected = [strip.axis.share(strip.value) for strip in strips if not np.isnan(strip.value)]
    assert dots == pytest.approx(expected)
    rows = chart_spec(ordered)["data"]["values"]
    assert [row["x"] for row in rows if row["mark"] == "value"] == pytest.approx(expected)
    n_nulls = sum(strip.null is not None for strip in strips)
    assert sum(row["mark"] == "null" for row in rows) == n_nulls
    zones = {zone.answer for strip in strips for zone in strip.zones}
    assert zones == {row["mark"] for row in rows} & {"no", "partly", "yes"}
    assert len({row["score"] for row in rows}) == len(ordered), "each has a strip of its own"


def test_figures_that_there_are_not(result: AuditResult) -> None:
    with pytest.raises(EvidenceError, match="'matplotlib' or 'altair'"):
        plot_scores(result.scores, "banana")
    with pytest.raises(EvidenceError, match="no scores"):
        plot_scores([], "matplotlib")


def test_altair_takes_the_chart(result: AuditResult) -> None:
    pytest.importorskip("altair")
    chart: Any = result.plot("altair")
    assert chart.to_dict()["width"] == 420


def test_vega_lite_compiles(result: AuditResult) -> None:
    vl_convert = pytest.importorskip("vl_convert")
    assert "marks" in vl_convert.vegalite_to_vega(chart_spec(result.scores))
