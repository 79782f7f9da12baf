"""Charts of the models of a run: what is drawn is what was measured."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from support.runs.leaky_run import MODELS, REPORT, between, marked, svgs, upwards, write_run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    write_run(folder, [0, 1, 2], MODELS, report=REPORT)
    return folder


def scores_of(folder: Path, metric: str) -> dict[str, dict]:
    models = json.loads((folder / "compared.json").read_text())["models"]
    return {m["name"]: next(s for s in m["scores"] if s["metric"] == metric) for m in models}


def test_charts_show_means_intervals_and_nulls(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    charts = svgs(between(page, "Supervision</h3>", "</section>"), "chart")
    assert len(charts) == 2
    for svg, metric in zip(charts, REPORT["charts"][0]["metrics"], strict=True):
        slope, offset = upwards(svg)
        result = scores_of(folder, metric)
        one_pixel = 0.11 * abs(slope)
        reach = re.findall(
            r'class="reach c2" x1="([\d.]+)" y1="([\d.]+)" x2="[\d.]+" y2="([\d.]+)"', svg
        )
        nulls = re.findall(r'class="null thin" x1="([\d.]+)" y1="([\d.]+)"', svg)
        for style, names in enumerate((["hard"], ["firm", "loose"], ["tight", "leaky"])):
            drawn = marked(svg, style)
            assert [x for x, _ in drawn] == sorted(x for x, _ in drawn)
            means = [np.mean(result[name]["per_seed"]) for name in names]
            assert_allclose([slope * y + offset for _, y in drawn], means, atol=one_pixel)
            for (x, _), name in zip(drawn, names, strict=True):
                y = next(float(y) for left, y in nulls if abs(float(left) + 6 - x) < 0.06)
                assert_allclose(slope * y + offset, result[name]["null"]["value"], atol=one_pixel)
        seeds = np.array(result["leaky"]["per_seed"])
        half = stats.t.ppf(0.975, len(seeds) - 1) * stats.sem(seeds)
        ends = [slope * float(y) + offset for y in reach[1][1:]]
        assert_allclose(ends, [seeds.mean() - half, seeds.mean() + half], atol=one_pixel)


def test_chart_without_models_not_drawn(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "Nothing fits" not in page.split('id="provenance"')[0], "only the spec names it"
