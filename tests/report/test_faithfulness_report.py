"""The page on faithfulness: what is drawn and said is what was measured."""

import base64
import hashlib
import json
import math
import re
import shutil
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from support.runs.faithful_run import (
    COMPARED,
    METRICS,
    PLAIN,
    N,
    between,
    compared_scores,
    plain,
    planted,
    rows_of,
    svgs,
    write_run,
)
from support.servers.browser import looks_right
from theodolite._planted.surrogates import planted_surrogates
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.files import load
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.pipeline_output import Produced
from theodolite.evidence.surrogate_settings import make_perfect
from theodolite.metrics.catalogue import catalogue
from theodolite.report.chapters.faithfulness_samples import class_panels, scatter_panels
from theodolite.report.figures.points import Pairs, scatter
from theodolite.report.figures.scales import Scale
from theodolite.report.figures.score_strip import strip_axis
from theodolite.report.figures.strips import score_strip
from theodolite.report.html import write_report
from theodolite.report.words import method_text, options_text
from theodolite.results import Interval, Null, Score

EVIL = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "</svg><b>{{ 7*7 }}", "ok")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("faithful")
    write_run(folder)
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text()


def test_methods_are_sorted_with_nulls_and_paper_beside(folder: Path, page: str) -> None:
    rows = rows_of(between(page, '<table class="methods">', "</table>"))
    distances = compared_scores(folder, "surrogate_distance")
    names = {"m3-5-97": "MCD: subspaces (mcd)", "m3-5-60": "CDISCO: singular vectors (svd)",
             "m6-5-30": "random directions (random)"}  # fmt: skip
    means = {name: np.mean(distances[name]["per_seed"]) for name in names}
    expected = sorted(names, key=lambda name: means[name])
    for name, (_, cells) in zip(expected, rows, strict=True):
        assert cells[0].startswith(names[name])
    assert expected == list(names), "the planted order"
    for name, (_, cells) in zip(expected, rows, strict=True):
        values = distances[name]["per_seed"]
        half = stats.sem(values) * stats.t.ppf(0.975, len(values) - 1)
        null = max(0.0, min(n["value"] for n in distances[name]["nulls"]))
        distance = cells[3]  # after the label, the error, and the paper's error
        assert distance.startswith(f"{100 * means[name]:.1f} ± {100 * half:.1f} ")
        assert distance.endswith(f"null {100 * null:.1f}")
    marked = [cells[0] for tag, cells in rows if 'class="own"' in tag]
    assert marked == ["CDISCO: singular vectors (svd) this one decides the verdict"]
    assert rows[1][1][2::2] == ["3.40", "93.2", "0.2", "0.00", ""], "the paper's values"
    assert not any(cell for _, cells in rows[::2] for cell in cells[2::2])


def test_methods_with_more_directions_than_concepts_say_so(page: str) -> None:
    assert page.count("directions per class") == page.count("23 directions per class") == 1


def test_a_method_that_loses_against_a_null_is_marked(folder: Path, page: str) -> None:
    errors = compared_scores(folder, "surrogate_error")
    rows = rows_of(between(page, '<table class="methods">', "</table>"))
    lost = {}
    for name, (_, cells) in zip(("m3-5-97", "m3-5-60", "m6-5-30"), rows, strict=True):
        lost[name] = errors[name]["value"] >= min(n["value"] for n in errors[name]["nulls"])
        assert ("✗ null" in cells[1]) is lost[name]
    assert set(lost.values()) == {True, False}, "the run has both"


def test_without_a_spec_each_method_has_its_first_number(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    record = json.loads((copy / "run.json").read_text())
    record["spec"]["report"]["benchmark"] = None
    (copy / "run.json").write_text(json.dumps(record))
    page = write_report(copy).read_text()
    rows = rows_of(between(page, '<table class="methods">', "</table>"))
    assert sorted(cells[0].split("(")[1].split(")")[0] for _, cells in rows) == [
        "mcd", "pca", "random", "svd",
    ]  # fmt: skip
    (svd,) = [cells for tag, cells in rows if 'class="own"' in tag]
    value = np.mean(compared_scores(folder, "surrogate_distance")["m3-5-60"]["per_seed"])
    assert "(svd)" in svd[0] and svd[2].startswith(f"{100 * value:.1f} ")
    assert "paper" not in between(page, '<table class="methods">', "</table>")


def by_hand(evidence: SurrogateEvidence) -> tuple[np.ndarray, np.ndarray]:
    """Outputs of network and explanation, sample by sample and concept by concept."""
    n, k = len(evidence.embeddings), len(evidence.classes)
    network, result = np.zeros((n, k)), np.zeros((n, k))
    for i in range(n):
        for c in range(k):
            network[i, c] = evidence.embeddings[i] @ evidence.head[c] + evidence.bias[c]
            result[i, c] = evidence.bias[c] + sum(
                evidence.importances[j, c] * (evidence.embeddings[i] @ evidence.vectors[j])
                for j in range(len(evidence.vectors))
                if not math.isnan(evidence.importances[j, c])
            )
    return network, result


def sideways(svg: str) -> tuple[float, float]:
    """(slope, offset) from a place across the drawing to the value, read off its labels."""
    result = re.findall(r'<text class="label" x="([\d.]+)"[^>]*middle">([−\d.]+)</text>', svg)
    (x0, a), (x1, b) = ((float(x), float(t.replace("−", "-"))) for x, t in (result[0], result[-1]))
    return (b - a) / (x1 - x0), a - (b - a) / (x1 - x0) * x0


def test_bars_are_the_errors_of_the_stored_evidence(folder: Path, page: str) -> None:
    part = between(page, "Class by class</h3>", "The explanation and the outputs you gave")
    (svg,) = svgs(part, "panel")
    network, result = by_hand(load(folder / "evidence" / "seed-0" / "surrogate"))
    errors = np.abs(network - result).mean(axis=0)
    nulls = np.abs(network - network.mean(axis=0)).mean(axis=0)
    order = np.argsort(errors)
    names = re.findall(r'text-anchor="end">(\w{3})</text>', svg)
    assert names == [PLAIN[i] for i in order]
    slope, offset = sideways(svg)
    bars = re.findall(r'<rect class="bar( down)?" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    ends = [slope * (float(x) + float(w)) + offset for _, x, w in bars]
    assert_allclose(ends, errors[order], atol=0.11 * slope)
    ticks = [float(x) for x in re.findall(r'<line class="null" x1="([\d.]+)"', svg)]
    assert_allclose(slope * np.array(ticks) + offset, nulls[order], atol=0.06 * slope)
    assert [bool(down) for down, _, _ in bars] == list((errors > nulls)[order])
    written = re.findall(r'class="label strong"[^>]*>([\d.]+)<', svg)
    assert written == [f"{e:.2f}" for e in errors[order]]
    worse = int((errors > nulls).sum())
    assert (f"In {worse} of 4 classes the explanation is farther off" in part) is (worse > 0)


@pytest.mark.parametrize(
    ("n", "lengths", "note"),
    [(20, [20], ""), (31, [16, 15], ""), (45, [20, 20], "40 of 45 classes are shown. ")],
)
def test_long_lists_show_their_ends(n: int, lengths: list[int], note: str) -> None:
    evidence = planted_surrogates(60, n, faithfulness=0.6)
    result = class_panels(evidence)
    assert result is not None
    drawn = [str(panel.svg) for panel in result["panels"]]
    assert [svg.count("<rect") for svg in drawn] == lengths and result["note"] == note
    values = [float(v) for svg in drawn for v in re.findall(r'strong"[^>]*>([\d.]+)<', svg)]
    assert values == sorted(values)
    errors = np.sort(np.abs(np.subtract(*by_hand(evidence))).mean(axis=0))
    assert_allclose([values[0], values[-1]], errors[[0, -1]], atol=0.006)


def test_a_class_without_concepts_is_named_so() -> None:
    evidence = planted(0.9, names=("Black-footed Albatross of the north", *PLAIN[1:]))
    table = np.asarray(evidence.importances).copy()
    table[:, 2] = np.nan
    result = class_panels(replace(evidence, importances=table))
    assert result is not None
    drawn = str(result["panels"][0].svg)
    assert "cat (no concepts)" in drawn and drawn.count("(no concepts)") == 2, "label and title"
    labels = re.findall(r'text-anchor="end">([^<]*[a-z][^<]*)</text>', drawn)
    assert len(labels) == 4 and max(map(len, labels)) <= 20, "what fits beside a bar"


def points(svg: str, css: str) -> np.ndarray:
    d = "".join(re.findall(rf'<path class="points {css}[^"]*" d="([^"]*)"', svg))
    return np.array([[float(a), float(b)] for a, b in re.findall(r"M([\d.]+) ([\d.]+)", d)])


def upwards(svg: str) -> tuple[float, float]:
    result = re.findall(r'y="([\d.]+)" text-anchor="end">([−\d.]+)</text>', svg)
    (y0, a), (y1, b) = (
        (float(y) - 4, float(t.replace("−", "-"))) for y, t in (result[0], result[-1])
    )
    return (b - a) / (y1 - y0), a - (b - a) / (y1 - y0) * y0


def test_the_scatter_shows_all_outputs_where_they_are_few(folder: Path, page: str) -> None:
    part = between(page, "The explanation and the outputs you gave</h3>", "The concepts themselves")
    panels = svgs(part, "panel")
    titles = [plain(t) for t in re.findall(r'class="above">(.*?)</figcaption>', part)]
    assert titles == ["CDISCO: singular vectors (svd)", "MCD: subspaces (mcd), the best",
                      "random directions (random), the worst"]  # fmt: skip
    assert f"All {4 * N} outputs." in part
    places = [folder / "evidence", folder / "compared" / "m3-5-97", folder / "compared" / "m6-5-30"]
    for svg, place in zip(panels, places, strict=True):
        evidence = load(place / "seed-0" / "surrogate")
        network, result = by_hand(evidence)
        own = np.asarray(evidence.labels)[:, None] == np.arange(4)
        (slope, offset), (up, base) = sideways(svg), upwards(svg)
        for css, chosen in (("c0", own), ("other", ~own)):
            drawn = points(svg, css)
            assert len(drawn) == chosen.sum()
            values = np.c_[slope * drawn[:, 0] + offset, up * drawn[:, 1] + base]
            real = np.c_[network[chosen], result[chosen]]
            for column in (0, 1):  # drawn in another order, so compared when sorted
                assert_allclose(
                    np.sort(values[:, column]), np.sort(real[:, column]), atol=0.12 * abs(slope)
                )
            assert np.corrcoef(values.T)[0, 1] == pytest.approx(np.corrcoef(real.T)[0, 1], abs=5e-3)


def test_many_outputs_are_drawn_at_random_and_counted() -> None:
    evidence = make_perfect(planted_surrogates(900, 12))
    result = scatter_panels([("", "", evidence)])
    again = scatter_panels([("", "", evidence)])
    assert result is not None and again is not None
    svg = str(result["panels"][0].svg)
    assert svg == str(again["panels"][0].svg)
    own, others = points(svg, "c0"), points(svg, "other")
    assert (len(own), len(others)) == (500, 1000)
    assert result["drawn"] == (
        "1,500 of 10,800 outputs, drawn at random: "
        "500 of 900 of the true class and 1,000 of 9,900 of other classes"
    )
    (slope, offset), (up, base) = sideways(svg), upwards(svg)
    both = np.concatenate([own, others])
    # a perfect explanation lies on the diagonal
    assert_allclose(slope * both[:, 0] + offset, up * both[:, 1] + base, atol=0.2 * abs(slope))
    bare = scatter_panels([("", "", replace(evidence, labels=None))])
    assert bare is not None and bare["drawn"] == "1,500 of 10,800 outputs, drawn at random"
    assert len(bare["key"]) == 1 and len(points(str(bare["panels"][0].svg), "other")) == 1500


def test_what_lies_beyond_the_frame_is_counted_and_drawn_at_its_edge() -> None:
    near = planted(1.0)
    far = replace(near, importances=np.asarray(near.importances) * 1000.0)
    result = scatter_panels([("near", "fine", near), ("far", "", far)])
    assert result is not None
    assert result["panels"][0].caption == "fine"
    ticks = re.findall(r'middle">([−\d.]+)</text>', str(result["panels"][1].svg))
    low, high = (float(t.replace("−", "-")) for t in (ticks[0], ticks[-1]))
    network, explanation = by_hand(far)
    assert high < 4 * np.abs(network).max(), "one that is far off does not squeeze the others"
    beyond = int(((explanation < low) | (explanation > high)).sum())
    assert beyond > 300
    assert result["panels"][1].caption == f"{beyond} outside the range, drawn at the edge"
    svg = str(result["panels"][1].svg)
    y = points(svg, "c0")[:, 1]
    assert y.min() == 20.0 and y.max() <= 266.0


def test_the_diagonal_goes_from_corner_to_corner() -> None:
    pairs = Pairs(np.array([0.0]), np.array([5.0]), np.array([True]))
    svg = str(scatter(pairs, Scale(-5.0, 5.0, (-5.0, 0.0, 5.0)), "c"))
    assert '<line class="diagonal" x1="44.0" y1="266.0" x2="290.0" y2="20.0"/>' in svg
    assert points(svg, "c0").tolist() == [[167.0, 20.0]]


def test_cards_are_sorted_by_what_they_add(folder: Path, page: str) -> None:
    part = between(page, "The concepts themselves</h3>", "Against the number")
    cards = part.split('<li class="unit">')[1:]
    assert [plain(card.split("</h3>")[0]) for card in cards] == ["bee", "cat"]
    names = re.findall(r'<p class="name">(.*?)</p>', cards[0])
    assert names == ["auk", "concept 2", "concept 1"]
    assert re.findall(r"<b>(.*?)</b>", cards[0]) == ["+4.75", "−1.50", "+0.50"]
    assert re.findall(r"importance ([−\d.]+)", cards[0]) == ["2.00", "−0.25", "1.25"]
    concepts = cards[0].split('<p class="name">')[1:]
    assert [one.count('src="data:image/jpeg;base64,') for one in concepts] == [1, 2, 0]
    assert "no patch shows it" in concepts[2] and "no patch" not in concepts[0]
    bars = [svgs(one, "added")[0] for one in concepts]
    widths = [float(re.search(r'width="([\d.]+)" height="10\.0"', bar).group(1)) for bar in bars]
    assert_allclose(widths, np.array([4.75, 1.5, 0.5]) * 116 / 6.25, atol=0.06)
    assert ["bar down" in bar for bar in bars] == [False, True, False]
    evidence = load(folder / "evidence" / "seed-0" / "surrogate")
    network, result = by_hand(evidence)
    rows = np.asarray(evidence.labels) == 1
    sums = [f"{one[rows, 1].mean():+.2f}".replace("-", "−") for one in (network, result)]
    said = f"The outputs you gave: {sums[0]} on average; concepts and bias add up to {sums[1]}."
    assert said in plain(cards[0])


def test_the_head_reads_well(page: str) -> None:
    card = plain(between(page, '<article class="verdict partly"', "</article>"))
    assert "Partly Do the concepts and their weights reproduce the output?" in card
    assert "of the probability lands on other classes than the reference's" in card
    assert "The strongest baseline (random importances) gets" in card and "is required" in card
    assert "The reference is the outputs you gave." in card
    silent = plain(between(page, '<p class="not-evaluated">', "</p>"))
    assert silent == "Not evaluated: exists, located, leak_free, accepted (not among metrics )."
    facts = plain(between(page, '<section id="provenance">', "</dl>"))
    assert "Method of the verdicts CDISCO: singular vectors (svd)" in facts


def test_the_big_table_is_folded_and_no_empty_section_is_left(page: str) -> None:
    assert "models compared" not in page and "What the paper found" not in page
    folded = between(page, '<details class="all-models">', "</details>")
    assert "All scores of all 16 explanations" in folded and folded.count("<tr>") == 17
    assert "Surrogate error (SURF MAE), by the slope" in folded
    assert page.count("<details") == page.count("</details>")
    assert page.count('<details class="all-models">') == 1
    assert "Distribution of classes" not in page, "bars show them one by one"


def test_no_drawing_has_numbers_that_are_none(page: str) -> None:
    drawn = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert len(drawn) > 12
    for svg in drawn:
        for value in re.findall(r' (?:x|y|x1|x2|y1|y2|cx|cy|r|d|width|height|points)="(.*?)"', svg):
            assert not re.search(r"inf|nan|none", value, re.IGNORECASE)
        assert not re.search(r"(?<![a-z])(inf|nan)(?![a-z])", plain(svg), re.IGNORECASE)
    assert all('role="img"' in svg or "aria-hidden" in svg for svg in drawn)


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    page = write_run(
        tmp_path, EVIL, word=EVIL[0], checks=2, metrics=METRICS[:2],
        compared_metrics=[*COMPARED[:2], COMPARED[-1]],
    ).read_text()  # fmt: skip
    tags = Tags()
    tags.feed(page)
    assert not {tag for tag, _ in tags.found} & {"iframe", "object"}
    kept = {a.get("type") for tag, a in tags.found if tag == "script" and a}
    assert kept <= {"application/json", "application/gzip;base64"}, "data, which does not run"
    assert {tag for tag, _ in tags.found} >= {"img", "b", "svg"}, "our own"
    sources = [a["src"] for tag, a in tags.found if tag == "img"]
    assert sources and all(str(s).startswith("data:image/jpeg;base64,") for s in sources)
    assert not [a for _, attributes in tags.found for a in attributes if a.startswith("on")]
    assert "{{ 7*7 }}" in unescape(page) and page.count("&lt;script&gt;") > 10
    ours = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert tags.found.count(("script", {})) == len(ours)
    for script in ours:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in page.partition("</head>")[0], "only ours run"
    adds = re.findall(r'<p class="adds">.*?</p>', page)
    assert [one.count("<b>") for one in adds] == [1] * 4, "one for each concept"


def test_a_plain_audit_has_bars_and_scatter(tmp_path: Path) -> None:
    spec = RunSpec.model_validate({"name": "bare", "evidence": ["x"], "metrics": METRICS[:2]})
    write_record(tmp_path / "run.json", build_run_record(spec, ""))
    score_run(spec, Produced([[planted(0.8)]])).write(tmp_path)
    page = write_report(tmp_path).read_text()
    part = between(page, 'id="question-faithful">', "</section>")
    assert len(svgs(part, "panel")) == 2
    assert "Class by class" in part and f"All {4 * N} outputs." in part
    for absent in ("side by side", "The concepts themselves", "knee", "<details", "slope"):
        assert absent not in part
    assert page.index("Surrogate distance (SURF EMD)</th>") < page.index("Class by class"), (
        "scores first"
    )


def test_a_run_without_stored_evidence_still_has_its_page(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    for gone in ("evidence", "compared"):
        shutil.rmtree(copy / gone)
    page = write_report(copy).read_text()
    assert "side by side" in page and "The concepts themselves" in page
    assert "Class by class" not in page and "The explanation and the outputs you gave" not in page
    assert "The outputs you gave:" not in page
    (copy / "compared.json").unlink()
    made = json.loads((copy / "produced.json").read_text())
    (copy / "produced.json").write_text(json.dumps({**made, "concept_cards": []}))
    bare = write_report(copy).read_text()
    assert "side by side" not in bare and "Surrogate error (SURF MAE)" in bare


def unlimited(value: float, *nulls: float, bounds: tuple[float, float] = (0.0, math.inf)) -> Score:
    return Score(
        "surrogate_error", 1, "faithful", value, "lower", bounds, 0.0, 3, 0, "samples",
        intervals=(Interval(value - 0.1, value + 0.1, 0.95, "samples", "", 9),),
        nulls=tuple(Null(f"null {i}", null, None) for i, null in enumerate(nulls)),
    )  # fmt: skip


def test_strips_of_unlimited_scores_are_not_squeezed() -> None:
    axis = strip_axis([unlimited(7.0, 5.0, 9.0)])
    assert (axis.worst, axis.best) == (8.0, 0.0), "only the strongest null is on it"
    assert strip_axis([unlimited(7.0, 5.0, 661.0)]) == axis
    drawn = str(score_strip(unlimited(7.0, 5.0, 661.0), width=216))
    assert 'class="score" d="M33.0 ' in drawn and 'class="null" x1="83.0"' in drawn
    for score in (
        unlimited(0.0, 0.0),
        unlimited(float("nan"), 3.0),
        unlimited(1.0, float("nan"), math.inf),
        unlimited(-2.0, 4.0, bounds=(-math.inf, math.inf)),
    ):
        ends = strip_axis([score])
        assert math.isfinite(ends.worst) and ends.worst > ends.best
        svg = str(score_strip(score))
        assert not re.search(r'="[^"]*\b(inf|nan)\b[^"]*"', svg.split("<title>")[0])


def test_options_and_methods_have_words() -> None:
    def said(metric: str, **options: object) -> str:
        score = Score(metric, 1, "faithful", 0.5, "lower", (0.0, 1.0), 0.0, 3, 0, "samples",
                      options=catalogue()[metric].options() | options)  # fmt: skip
        return options_text(score)

    assert (
        said("surrogate_distance") == said("concept_deletion") == said("surrogate_accuracy") == ""
    )
    assert said("surrogate_distance", surrogate="rebuilt") == "on reconstructed embeddings"
    assert said("surrogate_error", surrogate="linearized") == "by the slope"
    assert said("surrogate_error", surrogate="learned", projection="coordinates") == (
        "with a trained network, by coordinates"
    )
    assert said("concept_deletion", of="label", most_steps=5) == (
        "of the true class, in at most 5 steps"
    )
    assert said("surrogate_accuracy", chance=0.1) == "chance level 0.1"
    assert method_text("sae") == "sparse autoencoder (sae)"
    assert method_text("<b>") == "<b>"


def test_in_a_browser(folder: Path) -> None:
    looks_right(folder / "report.html")
