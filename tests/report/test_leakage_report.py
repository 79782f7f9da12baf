"""The pages for leakage and for several models: what is drawn is what was measured."""

import itertools
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from support.runs.leaky_run import (
    METRICS,
    MODELS,
    PLAIN,
    REPORT,
    N,
    between,
    bundles,
    marked,
    svgs,
    upwards,
    write_run,
)
from support.servers.browser import looks_right
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.axes import Concepts
from theodolite.evidence.files import save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.pipeline_output import Produced
from theodolite.metrics.catalogue import catalogue
from theodolite.report.chapters.clean import loses_to_null
from theodolite.report.chapters.leakage import leakage_chapter
from theodolite.report.figures.bars import Bar, bar_rows
from theodolite.report.figures.grid import triangle
from theodolite.report.figures.scales import round_scale, wrap_name
from theodolite.report.figures.strips import score_strip
from theodolite.report.figures.svg import drawing, mark, text
from theodolite.report.html import write_report
from theodolite.report.tables import mean_over_seeds
from theodolite.report.words import options_text
from theodolite.results import Detail, Interval, Null, Score

EVIL = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "</svg><b>{{ 7*7 }}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    write_run(folder, [0, 1, 2], MODELS, report=REPORT)
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text()


def scores_of(folder: Path, metric: str) -> dict[str, dict]:
    models = json.loads((folder / "compared.json").read_text())["models"]
    return {m["name"]: next(s for s in m["scores"] if s["metric"] == metric) for m in models}


def test_one_seed_falls_back_to_the_scores_own_interval() -> None:
    assert mean_over_seeds(leaking(0.4), 0.95) == pytest.approx((0.4, 0.35, 0.45))
    alone = Score("task_accuracy", 1, "leak_free", 0.4, "higher", (0.0, 1.0), 1.0, 9, 0, "samples")
    value, low, high = mean_over_seeds(alone, 0.95)
    assert value == 0.4 and math.isnan(low) and math.isnan(high)


def test_the_table_of_models_tells_what_differs(folder: Path, page: str) -> None:
    table = between(page, "All scores of all 5 models", "</table>")
    result = scores_of(folder, "concept_task_leakage")["tight"]
    row = between(table, ">tight</th>", "</tr>")
    assert "encoding soft, remark none, weight 0.05" in row
    seeds = np.array(result["per_seed"])
    half = stats.t.ppf(0.975, 2) * stats.sem(seeds)
    assert f">{100 * seeds.mean():.1f}</span>" in row
    assert f">± {100 * half:.1f}<" in row and f">null {100 * result['null']['value']:.1f}<" in row


def test_bars_of_values_are_counts_in_outlines(page: str) -> None:
    part = between(page, "What a concept's values look like", "What correcting")
    panels, logarithmic = svgs(part, "panel"), "number of samples, logarithmic" in part
    assert len(panels) == 2 * 3 and all('class="panel outlines"' in svg for svg in panels)
    truth = np.random.default_rng(1).normal(size=(N, 3)) > 0
    most = truth.sum(axis=1) > 1
    for svg in panels:
        bars = re.findall(
            r'<rect class="(f\d)" x="([\d.]+)" y="([\d.]+)" width="[\d.]+" height="([\d.]+)">'
            r"<title>(\w+), (there|not there), .*?: (\d+)</title>", svg)  # fmt: skip
        column = next(j for j, name in enumerate(PLAIN) if name in svg.split(">", 1)[0])
        for label, side in itertools.product(("few", "most"), ("there", "not there")):
            own = sum(int(b[6]) for b in bars if b[4] == label and b[5] == side)
            there = truth[:, column] == (side == "there")
            assert own == int((there & (most == (label == "most"))).sum()), (label, side)
        middle = float(re.search(r'class="axis strong" x1="[\d.]+" y1="([\d.]+)"', svg).group(1))
        for _, bars_at in itertools.groupby(bars, key=lambda b: (b[1], b[5])):
            counts = [int(b[6]) for b in bars_at]
            assert counts == sorted(counts, reverse=True), "later ones lie in front"
        for _, _, y, height, _, side, _ in bars:
            edge = float(y) + float(height) if side == "there" else float(y)
            assert edge == pytest.approx(middle, abs=0.11)
        heights = {int(b[6]): float(b[3]) for b in bars}
        marks = re.findall(r'y="([\d.]+)" text-anchor="end">([\d,]+)</text>', svg)
        heights |= {int(m.replace(",", "")): abs(float(y) - 4 - middle) for y, m in marks}
        counts = np.array(list(heights))
        as_drawn = np.log1p(counts) if logarithmic else counts
        assert_allclose(
            as_drawn / as_drawn.max(),
            np.array([*heights.values()]) / max(heights.values()),
            atol=0.01,
        )


def test_hard_values_are_two_bars(page: str) -> None:
    panels = svgs(between(page, "What a concept's values look like", "What correcting"), "panel")
    hard = next(svg for svg in panels if "hard" in svg.split(">", 1)[0])
    assert len(set(re.findall(r'<rect class="f\d" x="([\d.]+)"', hard))) == 2
    assert re.findall(r'text-anchor="middle">(.*?)</text>', hard) == ["0", "1"]


def test_curves_follow_the_accuracies(folder: Path, page: str) -> None:
    panels = svgs(between(page, "What correcting concepts does", "Concept by concept"), "chart")
    assert len(panels) == 2, "one for each order of correction"
    for policy, svg in enumerate(panels):
        slope, offset = upwards(svg)
        for style, (leak, encoding) in enumerate(((0.6, "soft"), (0.05, "hard"), (0.6, "logit"))):
            right = [bundles(leak, encoding, seed)[1].right_after[:, policy] for seed in range(3)]
            each = np.stack([one.mean(axis=0) for one in right])
            drawn = [slope * y + offset for _, y in marked(svg, style)]
            assert_allclose(drawn, each.mean(axis=0), atol=0.11 * abs(slope))
            band = re.search(rf'class="around c{style}" points="(.*?)"', svg).group(1).split()
            half = stats.t.ppf(0.975, 2) * stats.sem(each, axis=0)
            over = [slope * float(p.split(",")[1]) + offset for p in band[:4]]
            ends = np.clip(each.mean(axis=0) + half, None, 1.0)
            assert_allclose(over, ends, atol=0.11 * abs(slope))


def test_bars_are_as_long_as_their_values() -> None:
    values = {"a": 0.4, "b": 0.1, "c": math.nan}
    rows = [(name, [Bar("f0", v, low=v - 0.05, high=v + 0.05)]) for name, v in values.items()]
    svg = str(bar_rows(rows, round_scale([0.45], (0.0, 1.0)), "x"))
    widths = [float(w) for w in re.findall(r'<rect class="f0"[^>]*width="([\d.]+)"', svg)]
    assert widths[0] / widths[1] == pytest.approx(4, abs=0.02)
    upto = [
        float(x) for x in re.findall(r'class="whisker" x1="[\d.]+" y1="[\d.]+" x2="([\d.]+)"', svg)
    ]
    begins = float(re.search(r'<rect class="f0" x="([\d.]+)"', svg).group(1))
    assert (upto[0] - begins) / widths[0] == pytest.approx(0.45 / 0.4, abs=0.01)
    assert svg.count("undefined") == 1


def test_the_page_has_bars_for_all_models(folder: Path, page: str) -> None:
    part = between(page, "Concept by concept", "Pair by pair")
    figures = svgs(part, "panel")
    assert len(figures) == 4
    detail = scores_of(folder, "task_leakage_given_concept")["loose"]["detail"]
    shown = dict(zip(detail["names"], detail["values"], strict=True))
    for name, value in shown.items():
        assert f"{name}, loose: {value:.3f}" in figures[1]
    main = scores_of(folder, "task_leakage_given_concept")["leaky"]["detail"]
    order = [main["names"][j] for j in np.argsort(main["values"])[::-1]]
    places = [figures[0].index(f"<title>{name}, leaky") for name in order]
    assert places == sorted(places), "the worst concept first"


def test_a_triangle_has_every_pair_in_its_place() -> None:
    names = [f"c{i}" for i in range(4)]
    pairs = list(itertools.combinations(range(4), 2))
    values = np.array([0.1 * (1 + i) for i in range(len(pairs))])
    svg = str(triangle(values, names, 0.6, (0.0, 1.0), "x"))
    cells = re.findall(
        r'class="heat" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)"[^>]*fill-opacity="([\d.]+)">'
        r"<title>(.*?) × (.*?): ([\d.]+)<", svg)  # fmt: skip
    assert len(cells) == len(pairs)
    for x, y, size, shade, row, column, value in cells:
        i, j = round(float(y) / float(size)), round(float(x) / float(size))
        expected = values[pairs.index((j, i))]
        assert (row, column) == (names[i], names[j])
        assert float(value) == pytest.approx(expected, abs=1e-3)
        assert float(shade) == pytest.approx(expected / 0.6, abs=0.005)


def test_vectors_are_seen_from_their_widest_side(page: str) -> None:
    part = between(page, "How a concept's vectors lie", "scores of this question")
    panels = svgs(part, "panel")
    assert len(panels) == 3
    labels = (np.random.default_rng(1).normal(size=(N, 3)) > 0).sum(axis=1) > 1
    vectors = bundles(0.6, "soft", 0, embedded=True)[2].vectors[:, 0]
    centered = vectors - vectors.mean(axis=0)
    variances = np.linalg.svd(centered, compute_uv=False) ** 2
    shares = 100 * variances[:2] / variances.sum()
    assert f"hold {shares[0]:.0f} % and {shares[1]:.0f} % of the variance" in part
    for style, own in ((0, ~labels), (1, labels)):
        drawn = re.findall(rf'class="points c{style}(?: dots)?" d="(.*?)"', panels[0])
        assert sum(path.count("M") for path in drawn) == int(own.sum())
    first = np.concatenate([
        [float(x) for x in re.findall(r"M([\d.]+) ", path)]
        for path in re.findall(r'class="points c1" d="(.*?)"', panels[0])
    ])  # fmt: skip
    axis = np.linalg.svd(centered, full_matrices=False)[2][0]
    along = np.sort(centered[labels] @ axis)
    drawn = np.sort(first)
    fits = max(abs(np.corrcoef(along, drawn)[0, 1]), abs(np.corrcoef(along, drawn[::-1])[0, 1]))
    assert fits > 0.9999, "the places are the projections, up to scale and direction"


def test_models_that_are_not_there_are_named(page: str) -> None:
    assert "so not shown: no such model." in page


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    evil = {"charts": [{"title": EVIL[0], "metrics": ["task_leakage_given_concept"],
                        "across": "remark", "lines": "remark", "note": EVIL[1]}],
            "shown": ["other", EVIL[2]]}  # fmt: skip
    page = write_run(
        tmp_path, [0, 1], [("main", 0.6, "soft"), ("other", 0.05, "soft")], EVIL,
        report=evil,
    ).read_text()  # fmt: skip
    tags = Tags()
    tags.feed(page)
    assert not {tag for tag, _ in tags.found} & {"img", "iframe"}
    assert not [a for _, attributes in tags.found for a in attributes if a.startswith("on")]
    assert "src" not in {a for _, attributes in tags.found for a in attributes}
    kept = {a.get("type") for tag, a in tags.found if tag == "script" and a}
    assert kept <= {"application/json", "application/gzip;base64"}
    assert not [a for _, a in tags.found if not (a.get("href") or "#").startswith("#")]
    assert page.count("&lt;script&gt;") > 10
    assert page.count("default-src 'none'; img-src data:; style-src 'unsafe-inline'") == 1


@pytest.mark.parametrize("name", EVIL)
def test_drawings_escape_what_they_are_told(name: str) -> None:
    drawn = mark(0, 1, 1, name) + text(name, 1, 1) + str(drawing("x", (9, 9), name, []))
    tags = Tags()
    tags.feed(drawn)
    assert [tag for tag, _ in tags.found] == ["path", "title", "text", "svg"]
    assert tags.found[-1][1]["aria-label"] == name


def test_a_run_with_one_model_and_little_evidence(tmp_path: Path) -> None:
    spec = RunSpec.model_validate(
        {
            "name": "bare",
            "evidence": ["x"],
            "metrics": METRICS[2:3],
            "resampling": {"resamples": 20},
        }
    )
    write_record(tmp_path / "run.json", build_run_record(spec, ""))
    score_run(spec, Produced([bundles(0.6, "soft", 0)[:1]])).write(tmp_path)
    page = write_report(tmp_path).read_text()
    assert "What a concept's values look like" in page and "Concept by concept" in page
    for absent in ("models compared", "What the paper found", "What correcting", "Pair by pair",
                   "vectors lie", "annotated</h3>", "annotators say"):  # fmt: skip
        assert absent not in page
    assert len(svgs(between(page, "values look like", "Concept by concept"), "panel")) == 2


def test_one_seed_has_bands_over_samples(tmp_path: Path) -> None:
    said, corrected = bundles(0.6, "soft", 0)
    save(said, tmp_path / "evidence" / "seed-0" / "concept")
    save(corrected, tmp_path / "evidence" / "seed-0" / "intervention")
    spec = RunSpec.model_validate({"name": "one", "evidence": ["x"]})
    result = leakage_chapter(RunFolder(tmp_path), spec, [leaking(0.4)], [])
    assert result is not None
    (panel,) = result["interventions"]["panels"]
    assert result["interventions"]["band"] == "95 % interval over samples"
    slope, offset = upwards(panel.svg)
    band = re.search(r'class="around c1" points="(.*?)"', panel.svg).group(1).split()
    right = np.asarray(corrected.right_after)[:, 1].sum(axis=0)
    ends = [stats.binomtest(int(one), N).proportion_ci(method="wilson") for one in right]
    drawn = [slope * float(p.split(",")[1]) + offset for p in band]
    assert_allclose(drawn[:4], [e.high for e in ends], atol=0.11 * abs(slope))
    assert_allclose(drawn[:3:-1], [e.low for e in ends], atol=0.11 * abs(slope))


def leaking(value: float, low: float | None = None, null: float = 0.1) -> Score:
    """A score that looks for leakage; ``low`` is the least that it exceeds its clean null by."""
    away = None if low is None else Interval(low, 2 * value - low, 0.95, "samples", "", 9)
    interval = Interval(value - 0.05, value + 0.05, 0.95, "concepts", "", 9)
    return Score(
        "task_leakage_given_concept", 1, "leak_free", value, "lower", (0.0, 1.0), 0.0, 3, 0, "concepts",
        options={"over": "concepts", "k": 3, "tie_seed": 0}, intervals=(interval,),
        nulls=(Null("leak_free_reference", null, away),),
    )  # fmt: skip


def test_many_concepts_stay_short(tmp_path: Path) -> None:
    k, random = 112, np.random.default_rng(0)
    names = tuple(f"has_bill_shape::kind {i}" for i in range(k))
    labels = random.integers(0, 12, 60)
    save(
        ConceptEvidence(values=random.random((60, k)), truth=random.random((60, k)) < 0.5,
                        labels=labels, concepts=Concepts(names)),
        tmp_path / "evidence" / "seed-0" / "concept",
    )  # fmt: skip
    per_concept, per_pair = random.random(k), random.random(k * (k - 1) // 2)
    pairs = tuple(f"{a} × {b}" for a, b in itertools.combinations(names, 2))
    scores = [
        Score(metric, 1, "leak_free", 0.5, "lower", (0.0, 1.0), 0.0, len(values), 0, over,
              options={"over": over}, detail=Detail(over, named, values, None, None))
        for metric, over, named, values in (
            ("task_leakage_given_concept", "concepts", names, per_concept),
            ("interconcept_leakage", "concepts", names, per_concept),
            ("interconcept_leakage", "pairs", pairs, per_pair),
        )
    ]  # fmt: skip
    spec = RunSpec.model_validate({"name": "many", "evidence": ["x"]})
    result = leakage_chapter(RunFolder(tmp_path), spec, scores, [])
    assert result is not None
    assert result["bars"]["note"] == "20 of 112 concepts shown"
    bars = str(result["bars"]["figures"][0].svg)
    assert bars.count("<rect") == 20
    worst = names[int(per_concept.argmax())]
    assert bars.count(f"<title>{worst}, ") == 1
    (part,) = result["pairs"]
    drawn = str(part["panels"][0].svg)
    assert len(drawn) < 150_000 and "has_bill" not in drawn
    squares = sum(
        float(w) for w in re.findall(r"h([\d.]+)v", drawn)
    ) / (420 / k)  # fmt: skip
    assert squares == pytest.approx(len(pairs), rel=0.03), "every pair above 0 has its square"
    order = np.argsort(-per_pair)[:10]
    assert [name for name, _ in part["worst"]] == [pairs[j] for j in order]
    assert len(result["activations"]) == 2
    assert all(row["rest"] and len(row["key"]) == 4 for row in result["activations"])
    assert result["activations"][0]["concept"] == worst
    assert sum(len(str(p.svg)) for row in result["activations"] for p in row["panels"]) < 80_000


def test_strips_of_faults_mark_what_is_accepted() -> None:
    drawn = str(score_strip(leaking(0.5), width=216))
    tolerance = catalogue()["task_leakage_given_concept"].tolerance
    assert tolerance == 0.05
    assert 'class="null" x1="188.0"' in drawn, "the clean null at a tenth, from the right"
    assert 'class="zone no" x="8.0" y="22.0" width="170.0"' in drawn
    assert 'class="zone yes" x="178.0" y="22.0" width="30.0"' in drawn, "up to 15 % is accepted"
    assert 'class="score" d="M108.0 ' in drawn


@pytest.mark.parametrize(
    ("score", "loses"),
    [
        (leaking(0.5), False),  # without an interval nothing is sure
        (leaking(0.14), False),
        (leaking(0.5, low=0.06), True),
        (leaking(0.5, low=0.04), False),
        (leaking(0.05), False),
        (leaking(float("nan")), False),
    ],
)
def test_a_fault_loses_where_it_surely_exceeds_what_is_accepted(score: Score, loses: bool) -> None:
    assert loses_to_null(score) is loses


def test_the_page_explains_clean_nulls(page: str) -> None:
    verdict = between(page, 'class="verdict no"', "</article>")
    assert ">No</p>" in verdict and "scores 0" in verdict
    assert "the model loses" in verdict and "more is accepted" in verdict
    assert "Accuracy lost under full intervention" in between(verdict, 'title="', '"')
    rows = between(page, 'id="scores"', "</table>")
    assert '<span class="bad">too much</span>' in rows
    key = between(page, 'aria-label="Key"', "</ul>")
    assert "strongest baseline" in key and "no · partly · yes" in key
    assert key.count("<li>") == 4


def test_options_have_words() -> None:
    def said(metric: str, **options: object) -> str:
        score = Score(metric, 1, "leak_free", 0.5, "lower", (0.0, 1.0), 0.0, 3, 0, "concepts",
                      options=catalogue()[metric].options() | options)  # fmt: skip
        return options_text(score)

    assert said("task_leakage_given_concept") == ""
    assert said("task_leakage_given_concept", k=5) == "5 neighbors"
    assert said("interconcept_leakage", over="pairs") == "per pair"
    assert said("interconcept_leakage", normalizer="truth") == (
        "per concept, normalized by the true concepts"
    )
    assert said("intervention_score", reference="one") == "against no error"
    assert (
        said("intervention_accuracy", corrected=1.0, policy=1) == "all corrected, policy number 1"
    )
    assert said("intervention_accuracy", corrected=0.5) == "half corrected"
    assert said("intervention_accuracy", corrected=0.25) == "25 % corrected"
    assert said("concept_prediction", by="auc") == "area under the ROC curve"
    assert said("niche_impurity", form="as_published") == "as in the published code"
    assert said("oracle_impurity", seed=4) == "seed 4"


@pytest.mark.parametrize("values", [[0.0], [0.004, 0.003], [0.61], [0.5, float("nan")], [1.0]])
def test_scales_are_round_and_hold_their_values(values: list[float]) -> None:
    scale = round_scale(values, (0.0, 1.0))
    known = [v for v in values if not math.isnan(v)]
    assert scale.low == 0.0 and max(known) <= scale.high <= 1.0
    assert 2 <= len(scale.ticks) <= 7
    assert_allclose(np.diff(scale.ticks), np.diff(scale.ticks)[0])


def test_names_break_between_words() -> None:
    assert wrap_name("short", 20) == ["short"]
    assert wrap_name("wings folded over the back", 20) == ["wings folded", "over the back"]
    assert wrap_name("has_bill_shape::curved_up", 20) == ["has_bill_shape::", "curved_up"]
    long = wrap_name("x" * 60, 20)
    assert len(long) == 1 and len(long[0]) == 20 and "…" in long[0]


def test_in_a_browser(folder: Path) -> None:
    looks_right(folder / "report.html")
