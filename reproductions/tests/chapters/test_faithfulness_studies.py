"""The page on faithfulness: what is drawn and said is what was measured."""

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from support.runs.faithful_run import (
    CHECKS,
    COMPARED,
    STUDIES,
    between,
    compared_scores,
    plain,
    rows_of,
    svgs,
    write_run,
)
from theodolite_reproductions.chapters.faithfulness import curve_part, knee_text, layers_table
from theodolite_reproductions.chapters.faithfulness_measures import sanity_table, tally
from theodolite_reproductions.findings.faithfulness import (
    CurveLine,
    CurveRecord,
    LayersRecord,
    SanityRecord,
    SanityRow,
    StepRecord,
    ValueRecord,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faithful")
    write_run(folder, studies=STUDIES)
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text()


def test_the_page_says_which_measures_pass(folder: Path, page: str) -> None:
    part = between(page, "Measure over measure</h3>", "Against the number</h3>")
    groups = part.split('<tr class="group">')[1:]
    heads = [plain(group.split("</tr>")[0]) for group in groups]
    assert heads == [
        "Sum of concepts times importances, no parameter · 8 operations a sample",
        "Last layer on reconstructed embeddings (ICE-Eval) · 4,800 operations a sample",
        "Fitted network in between (C-SHAP-Eval) · 1,607,200 operations a sample",
        "No surrogate: concepts taken away or added one by one",
    ]
    result = [
        (number, cells[0].split(" (")[0].split(" lower")[0].split(" higher")[0], cells[1], tag)
        for number, group in enumerate(groups)
        for tag, cells in rows_of("</thead>" + group)
    ]
    for number, _, word, tag in result:
        assert word == ("✓ passes" if number == 0 else "✗ fails")
        assert ('class="passes"' in tag) is (number == 0)
    passing = [name for number, name, _, _ in result if number == 0]
    assert passing[:2] == ["Surrogate distance", "Surrogate error"]
    total, good = len(result), len(passing)
    assert f"{good} of {total} measures tell a faithful explanation from a spoilt one, all" in part
    assert (good, total) == (5, 10)


def test_measures_show_values_paper_and_what_they_miss(folder: Path, page: str) -> None:
    part = between(page, "Measure over measure</h3>", "Against the number</h3>")
    rows = [cells for _, cells in rows_of(part) if len(cells) == 6]
    first = next(cells for cells in rows if cells[0].startswith("Surrogate distance"))
    scores = compared_scores(folder, "surrogate_distance")
    for cell, number, printed in zip(first[2:5], range(3), ("0.0", "86.2", "88.3"), strict=True):
        seeds = np.array(scores[f"setting-{number}"]["per_seed"] or [0.0])
        assert cell.startswith(f"{100 * seeds.mean():.1f} %")
        assert cell.endswith(f"paper {printed} %")
        if number:
            half = stats.sem(seeds) * stats.t.ppf(0.975, CHECKS - 1)
            low = max(seeds.mean() - half, 0.0)
            assert f"{100 * low:.1f} to {100 * min(seeds.mean() + half, 1):.1f}" in cell
    assert first[5] == ""
    rebuilt = [cells for cells in rows if cells[0].startswith("Surrogate distance")][1]
    assert rebuilt[5] == "blind to importances; minds a change of notation"
    assert "paper" not in "".join(rebuilt)
    deletion = next(cells for cells in rows if cells[0].startswith("Concept deletion"))
    assert deletion[5].startswith("blind to importances; finds random concepts better")
    learned = [cells for cells in rows if cells[0].startswith("Surrogate distance")][2]
    assert learned[5] == (
        "blind to importances; does not notice random concepts; "
        "does not notice a class without concepts"
    )


def row(order: Sequence[str], planted: Sequence[str], surrogate: str = "linear") -> SanityRow:
    """A measure with what it found in the two steps of the order, and in the four planted."""

    def step(setting: str, expected: str, found: str) -> StepRecord:
        return StepRecord(
            setting=setting, against="perfect", expected=expected, found=found, low=None, high=None
        )

    expected = {"shuffled importances": "worse", "a class without concepts": "worse",
                "longer and shorter vectors": "the same", "each concept twice": "the same"}  # fmt: skip
    settings = ("perfect", "random_importances", "random_concepts")
    return SanityRow(
        metric="surrogate_agreement", surrogate=surrogate, better="higher",
        values={s: ValueRecord(value=0.4, low=-0.1, high=1.2, n=3) for s in settings},
        outcome="passes" if list(order) == ["worse", "worse"] else "undecided" if not {*order} & {"the same", "better"} else "fails",
        order=[step(s, "worse", f) for s, f in zip(settings[1:], order, strict=True)],
        planted=[step(s, e, f) for (s, e), f in zip(expected.items(), planted, strict=True)],
        operations=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("order", "planted", "said"),
    [
        (["worse", "worse"], ["worse", "worse", "the same", "not told apart"], []),
        (["the same", "worse"], ["the same", "worse", "the same", "the same"],
         ["blind to importances"]),
        (["not told apart", "worse"], ["worse", "better", "the same", "the same"],
         ["these seeds do not tell random importances from perfect",
          "finds a class without concepts better"]),
        (["worse", "worse"], ["worse", "worse", "worse", "the same"],
         ["minds a change of notation"]),
        (["worse", "better"], ["worse", "worse", "the same", "better"],
         ["finds random concepts better", "minds a change of notation"]),
        (["worse", "the same"], ["not told apart", "the same", "the same", "the same"],
         ["does not notice random concepts", "does not notice shuffled importances",
          "does not notice a class without concepts"]),
    ],
)  # fmt: skip
def test_what_a_measure_gets_wrong(order: list, planted: list, said: list) -> None:
    table = sanity_table(SanityRecord(title="t", rows=[row(order, planted)], paper={}))
    assert table is not None
    (result,) = table["groups"][0]["rows"]
    assert result["missed"] == said
    assert (result["outcome"] == "passes") is (order == ["worse", "worse"])
    assert [cell["between"] for cell in result["cells"]] == ["0.0 to 100.0"] * 3, (
        "cut at the bounds"
    )
    assert "operations" not in table["groups"][0]["operations"]


def test_the_tally() -> None:
    good, bad = ["worse"] * 2, ["the same", "worse"]
    fine = ["worse", "worse", "the same", "the same"]
    start = "tell a faithful explanation from a spoilt one"
    assert tally([row(bad, fine)]) == f"None of 1 measure {start.replace('tell', 'tells')}."
    assert tally([row(good, fine), row(bad, fine)]).startswith("1 of 2 measures tells ")
    assert tally([row(good, fine), row(good, fine)]) == f"2 of 2 measures {start}."
    three = [row(good, fine, "rebuilt"), row(good, fine, "rebuilt"), row(bad, fine)]
    assert tally(three) == (
        f"2 of 3 measures {start}, all of them by the last layer on reconstructed embeddings (ICE-Eval)."
    )
    assert tally([row(good, fine, ""), row(good, fine)]) == f"2 of 2 measures {start}."
    assert sanity_table(SanityRecord(title="t", rows=[], paper={})) is None


def test_the_curve_rings_the_knee_and_says_so(folder: Path, page: str) -> None:
    part = between(page, "Against the number</h3>", "In the middle")
    (svg,) = svgs(part, "chart")
    (line,) = json.loads((folder / "findings.json").read_text())["findings"][1]["lines"]
    assert (line["method"], line["concepts"], line["knee"]) == ("svd", [1, 2, 5, 10], 2.0)
    marks = re.findall(r'class="mark c0" transform="translate\(([\d.]+) ([\d.]+)\)"', svg)
    ring = re.findall(r'<circle class="ring" cx="([\d.]+)" cy="([\d.]+)"', svg)
    assert ring == [marks[1]] and len(marks) == 4
    assert "Beyond 2 concepts CDISCO: singular vectors (svd) gains little." in part
    lines = [float(y) for y in re.findall(r'<line class="grid"[^>]* y1="([\d.]+)"', svg)]
    labels = [float(t) / 100 for t in re.findall(r'text-anchor="end">([\d.]+) %</text>', svg)]
    slope = (labels[-1] - labels[0]) / (lines[-1] - lines[0])
    drawn = [labels[0] + slope * (float(y) - lines[0]) for _, y in marks]
    assert_allclose(drawn, [s["value"] for s in line["scores"]], atol=0.06 * abs(slope))


def curve(method: str, values: Sequence[float], knee: float | None = None) -> CurveLine:
    scores = [ValueRecord(value=v, low=None, high=None, n=2) for v in values]
    return CurveLine(
        method=method, concepts=[2**i for i in range(len(values))], scores=scores, knee=knee
    )


def test_sentences_about_curves_without_a_knee() -> None:
    assert knee_text(curve("pca", [0.5, 0.4, 0.3]), "lower") == (
        "principal components (pca) has no knee: it goes on gaining up to 4 concepts."
    )
    assert "gains nothing by more" in knee_text(curve("pca", [0.3, 0.4, 0.5]), "lower")
    assert "has no knee" in knee_text(curve("pca", [0.3, 0.4, 0.5]), "higher")
    assert "too few" in knee_text(curve("pca", [0.5, 0.4]), "lower")


def test_many_lines_are_dealt_out_over_charts_of_one_scale() -> None:
    lines = [curve(f"m{i}", [0.1 * i + 0.2, 0.1 * i, 0.05 * i]) for i in range(8)]
    result = curve_part(CurveRecord(title="t", metric="surrogate_distance", lines=lines))
    assert result is not None
    assert [len(figure["key"]) for figure in result["figures"]] == [6, 2]
    scales = [re.findall(r'text-anchor="end">(.*?)<', str(f["svg"])) for f in result["figures"]]
    assert scales[0] == scales[1] and scales[0][-1] == "100 %"
    assert curve_part(CurveRecord(title="t", metric="surrogate_distance", lines=[])) is None


def test_layers_say_whether_the_slope_may_be_used(folder: Path, page: str) -> None:
    part = between(page, "In the middle</h3>", "</section>")
    rows = [cells for _, cells in rows_of(part.split("</table>")[0])]
    assert [cells[0] for cells in rows] == ["bee", "block 2", "last layer"]
    assert rows[0][5].startswith("✓ the slope may be used 3 seeds; asked for: 5 %")
    assert rows[1][5].startswith("✗ do not use: the slope misses")
    assert [cells[2].split()[0] for cells in rows] == ["2.10", "9.00", "–"]
    assert [cells[3].split()[0] for cells in rows[:2]] == ["2.00", "2.00"]
    assert [cells[4].split()[0] for cells in rows] == ["0.10", "7.00", "–"]
    last = compared_scores(folder, "surrogate_error", "rebuilt")["m3-5-60"]
    assert rows[2][3].split()[0] == f"{np.mean(last['per_seed']):.2f}"
    assert all(cells[1] == "CDISCO: singular vectors (svd)" for cells in rows)
    assert layers_table(LayersRecord(title="t", metric="x", rows=[], last={})) is None


def test_hostile_titles_stay_text(tmp_path: Path) -> None:
    studies = [{**study, "title": "<script>alert(1)</script>"} for study in STUDIES]
    compared = [*COMPARED[:2], COMPARED[-1]]
    page = write_run(tmp_path, studies=studies, checks=2, compared_metrics=compared).read_text()
    assert "<script>alert" not in page and page.count("&lt;script&gt;alert") >= 3
