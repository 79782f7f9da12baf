"""From TabularToy to findings: bottlenecks trained, corrected, scored and compared."""

import html
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

pytest.importorskip("lightning")

from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.tables import read_parquet
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.pipeline_output import Produced, WorkContext
from theodolite.metrics.catalogue import catalogue
from theodolite.report.html import write_report
from theodolite_reproductions.bottlenecks.pipeline import BottleneckPipeline
from theodolite_reproductions.datasets.bottleneck_family import bottleneck_family
from theodolite_reproductions.datasets.tabular_toy import normalized_information
from theodolite_reproductions.protocols import PROTOCOLS

READ = ("cub_features", "ham10k_concepts")
LONG = ("oracle_impurity", "niche_impurity")
FORMS = {
    "complete": {"n": 700},
    "related": {"n": 700, "delta": 0.75},
    "incomplete": {"n": 700, "concepts": "incomplete"},
    "parity": {"n": 700, "task": "parity"},
}


def short(name: str, **changes: Any) -> RunSpec:
    """A protocol with two seeds, two epochs and few resamples, in this process.

    Scores that train a network of their own for every pair are asked of the first model alone.
    """
    content = yaml.safe_load((PROTOCOLS / name).read_text())
    content["pipeline"]["common"] |= {"epochs": 2, "head_epochs": 2}
    content["pipeline"]["workers"] = 1
    content["seeds"] = [0, 1]
    content["resampling"]["resamples"] = 20
    asked = [one for one in content["compared_metrics"] if one["name"] not in LONG]
    content["compared_metrics"] = asked
    for key, value in changes.items():
        content[key] |= value
    return RunSpec.model_validate(content)


def made(cache: Path, seeds: tuple[int, ...] = (0, 1), **changes: Any) -> Produced:
    models = [
        {"encoding": ["soft", "logit"], "concept_weight": 1},
        {"encoding": "hard", "training": "independent"},
        {"kind": "cem", "intervention_rate": 0.5},
    ]
    settings = {"models": models, "common": {"epochs": 3, "head_epochs": 3}, "workers": 1} | changes
    family = bottleneck_family("tabular_toy", {"complete": {"n": 600}})
    return BottleneckPipeline(**settings).make(family, WorkContext(seeds, cache))


def test_every_model_is_asked_about_the_same_samples(tmp_path: Path) -> None:
    result = made(tmp_path, policies=["random", "uncertainty", "cooperative"])
    assert [one.name for one in result.compared] == [
        "complete-logit-1", "complete-hard", "complete-cem-1-0.5",
    ]  # fmt: skip
    said, corrected = result.evidence[0]
    assert isinstance(said, ConceptEvidence)
    assert isinstance(corrected, InterventionEvidence)
    assert said.values.min() >= 0 and said.values.max() <= 1
    assert corrected.right_after.shape == (60, 3, 4)
    assert (corrected.right_after[:, :, 0] == (said.predicted == said.labels)[:, None]).all()
    assert (corrected.right_after[:, 0, -1] == corrected.right_after[:, 2, -1]).all()
    logit, hard, cem = (one.evidence[1] for one in result.compared)
    assert logit[0].values.min() < 0
    assert np.isin(hard[0].values, (0, 1)).all()
    assert (hard[1].right_after[:, 0, -1] == hard[1].right_reference).all()  # S_int is 0
    assert isinstance(cem[0], EmbeddingEvidence)
    mixed = cem[0].explained.values[..., None]
    expected = mixed * cem[0].positive + (1 - mixed) * cem[0].negative
    np.testing.assert_allclose(cem[0].vectors, expected, atol=1e-5)


ONE_EPOCH = {"epochs": 1, "head_epochs": 1}


def check_same_values(one: Produced, other: Produced) -> None:
    for a, b in zip(one.evidence, other.evidence, strict=True):
        assert (a[0].values == b[0].values).all()


def test_trainings_are_kept(tmp_path: Path) -> None:
    first = made(tmp_path, common=ONE_EPOCH)
    kept = {p: p.stat().st_mtime_ns for p in (tmp_path / "bottlenecks").iterdir()}
    assert len(kept) == 8
    check_same_values(first, made(tmp_path, common=ONE_EPOCH))
    assert {p: p.stat().st_mtime_ns for p in kept} == kept
    assert (first.evidence[0][0].values != first.evidence[1][0].values).any()


@pytest.mark.slow  # each worker process loads torch and lightning
def test_trainings_equal_in_other_processes(tmp_path: Path) -> None:
    here = made(tmp_path / "a", common=ONE_EPOCH)
    check_same_values(here, made(tmp_path / "b", workers=2, common=ONE_EPOCH))


def test_wrong_models_are_refused(tmp_path: Path) -> None:
    for models, wrong in (
        ([{"encodign": "soft"}], "encodign"),
        ([{"data": "moon"}], "moon"),
        ([{"encoding": "soft"}, {"encoding": "soft"}], "twice"),
    ):
        with pytest.raises(EvidenceError, match=wrong):
            made(tmp_path, models=models)
    with pytest.raises(EvidenceError, match="unexpected keyword"):
        bottleneck_family("tabular_toy", {"a": {"color": 1}})
    with pytest.raises(EvidenceError, match="path"):
        bottleneck_family("tabular_toy", {"a": {"root": "/etc"}})


TOY_MODELS = [
    {"encoding": "soft", "concept_weight": [1, 0.01, 10, 20, 50]},
    {"encoding": "logit", "concept_weight": [1, 0.01]},
    {"encoding": "hard", "training": "independent"},
    {"data": "incomplete", "encoding": "soft", "concept_weight": 1},
    {"data": "related", "encoding": "soft"},
    {"data": "parity", "encoding": "soft", "head": ["linear", "mlp"]},
    {"kind": "cem", "concept_weight": [0.01, 10], "intervention_rate": [0, 0.75]},
]


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All protocols of TabularToy in one short run: models of each, charts of each."""
    root = tmp_path_factory.mktemp("toy")
    out = root / "out"
    out.mkdir()
    spec = short(
        "leakage_tabulartoy.yaml", dataset={"forms": FORMS}, pipeline={"models": TOY_MODELS}
    )
    parts = [
        RunSpec.model_validate(yaml.safe_load(path.read_text()))
        for path in sorted(PROTOCOLS.glob("leakage_tabulartoy_*.yaml"))
    ]
    charts = [*spec.report.charts, *(chart for part in parts for chart in part.report.charts)]
    metrics = {m.name: m for part in (*parts, spec) for m in part.compared_metrics}
    spec = spec.model_copy(
        update={
            "report": spec.report.model_copy(update={"charts": charts}),
            "compared_metrics": [m for name, m in metrics.items() if name not in LONG],
        }
    )
    run(spec, RunPaths(root, out, root / "cache"))
    write_report(out)
    return out


def toy_models(out: Path) -> list[dict[str, Any]]:
    return json.loads((out / "compared.json").read_text())["models"]


def test_tabulartoy_protocol_in_short(toy: Path) -> None:
    compared = toy_models(toy)
    assert len(compared) == 16
    assert all(len(m["scores"][0]["per_seed"]) == 2 for m in compared)
    studies = json.loads((toy / "findings.json").read_text())["findings"]
    titles = [s["title"] for s in studies]
    assert len(set(titles)) == 5, "three criteria, a correlation, pairs"
    logits = [s for s in studies if "Logits" in s["title"]]
    assert [s["scores"] for s in logits] == ["published", "mended"]
    assert len(logits[0]["pairs"]) == 2
    (table,) = (s for s in studies if s["kind"] == "correlation")
    assert table["rows"][0]["paper"] == [0.75, 0.0034]
    page = (toy / "report.html").read_text()
    assert "complete-soft-0.01" in page
    write_checksums(toy)
    assert recompute(toy) > 0
    scores = toy / "compared" / "complete-hard" / "seed-1" / "concept" / "values.npy"
    before = scores.read_bytes()
    scores.write_bytes(before[:-1] + b"\x7f")
    with pytest.raises(Exception, match="complete-hard"):
        recompute(toy)
    scores.write_bytes(before)


def charted(out: Path, heading: str, metric: str) -> dict[str, float]:
    """What a chart of the report shows: a share, in per cent, by model."""
    part = (out / "report.html").read_text().partition(f"{heading}</h3>")[2].partition("<h3")[0]
    svgs = re.findall(r'<svg class="chart".*?</svg>', part, re.DOTALL)
    title = catalogue()[metric].title
    (svg,) = (svg for svg in svgs if html.escape(title) in svg.split(">", 1)[0])
    return {n: float(v) for n, v in re.findall(r"<title>([\w.-]+): ([\d.]+) %", svg)}


@pytest.mark.parametrize(
    ("heading", "metric", "models"),
    [
        ("Hard concepts (Figures 5 and 16)", "concept_task_leakage", "complete-hard"),
        ("Supervision and expressivity (Figure 6)", "concept_task_leakage",
         "complete-soft-0.01 complete-soft-1 complete-soft-10 complete-logit-0.01 complete-logit-1"),
        ("Related concepts (Figure 20)", "interconcept_leakage", "related-soft-1"),
        ("An incomplete set of concepts (Figures 7 and 21)", "concept_task_leakage",
         "complete-soft-1 incomplete-soft-1"),
        ("Parity, by a linear head that cannot do it and one that can (Figures 8 and 22)",
         "concept_task_leakage", "parity-soft-linear-1 parity-soft-mlp-1"),
    ],
)  # fmt: skip
def test_charts_of_scores_by_supervision(toy: Path, heading: str, metric: str, models: str) -> None:
    check_chart(toy, heading, metric, models.split())


def check_chart(out: Path, heading: str, metric: str, names: list[str]) -> None:
    """A chart has these models, each at its mean over folds."""
    drawn = charted(out, heading, metric)
    assert drawn.keys() >= set(names), drawn
    for model in toy_models(out):
        if model["name"] in names:
            own = next(s for s in model["scores"] if s["metric"] == metric)
            assert drawn[model["name"]] == pytest.approx(100 * np.mean(own["per_seed"]), abs=0.06)


@pytest.mark.parametrize("metric", ["concept_task_leakage", "interconcept_leakage"])
def test_charts_of_heavy_supervision(toy: Path, metric: str) -> None:
    names = [f"complete-soft-{weight}" for weight in (10, 20, 50)]
    check_chart(toy, "Heavily supervised (Figure 19)", metric, names)


@pytest.mark.parametrize("metric", ["task_accuracy", "concept_prediction"])
def test_charts_of_accuracies_by_task(toy: Path, metric: str) -> None:
    incomplete = "An incomplete set of concepts (Figures 7 and 21)"
    check_chart(toy, incomplete, metric, ["complete-soft-1", "incomplete-soft-1"])
    parity = "Parity, by a linear head that cannot do it and one that can (Figures 8 and 22)"
    check_chart(toy, parity, metric, ["parity-soft-linear-1", "parity-soft-mlp-1"])


@pytest.mark.parametrize(
    "metric",
    ["task_accuracy", "concept_prediction", "concept_task_leakage", "interconcept_leakage"],
)
def test_charts_of_embedding_models(toy: Path, metric: str) -> None:
    heading = "Concept embedding models (Figures 10 to 14 and 25)"
    names = [f"complete-cem-{weight}-{rate}" for weight in (0.01, 10) for rate in (0, 0.75)]
    check_chart(toy, heading, metric, names)
    part = (toy / "report.html").read_text().partition(f"{heading}</h3>")[2].partition("<h3")[0]
    assert part.count('class="chart"') == 10, "information, alignment and interventions among them"


def test_dsprites_protocol_in_short(tmp_path: Path) -> None:
    content = yaml.safe_load((PROTOCOLS / "leakage_dsprites.yaml").read_text())
    forms = {n: f | {"at_most": 300} for n, f in content["dataset"]["forms"].items()}
    models = [{"encoding": "soft"}, {"data": "related"}, {"kind": "cem"}]
    models += [{"data": "images", "encoder": "small_cnn"}]
    forms["images"] = {"at_most": 300}
    changes = {"forms": forms}
    spec = short("leakage_dsprites.yaml", dataset=changes, pipeline={"models": models})
    out = tmp_path / "out"
    out.mkdir()
    run(spec, RunPaths(tmp_path, out, tmp_path / "cache"))
    names = [m["name"] for m in json.loads((out / "compared.json").read_text())["models"]]
    assert names == ["complete-soft-1", "related-soft-1", "complete-cem-1-0", "images-soft-1"]
    assert write_report(out).stat().st_size > 20_000


def test_cub_protocol_in_short(shared_data: Path, tmp_path: Path) -> None:
    models = [{"data": "incomplete", "encoding": ["soft", "logit"]}]
    metrics = [{"name": n} for n in ("task_leakage_given_concept", "intervention_score")]
    forms = {"incomplete": {"concepts": "incomplete"}}
    spec = short("leakage_cub.yaml", pipeline={"models": models}, dataset={"forms": forms})
    spec = spec.model_copy(update={"metrics": [], "compared_metrics": []})
    spec = RunSpec.model_validate(spec.model_dump() | {"metrics": metrics, "compared_metrics": []})
    out = tmp_path / "out"
    out.mkdir()
    result = run(spec, RunPaths(shared_data, out, tmp_path / "cache"))
    (leak,) = [s for s in result.scores if s.metric == "task_leakage_given_concept"]
    assert len(leak.detail.values) == 22
    assert 0 <= leak.value <= 1


def test_true_concepts_and_heads_in_short(tmp_path: Path) -> None:
    """Table 3 and Figure 15: no encoder, heads on the truth, what concepts tell of each other."""
    content = yaml.safe_load((PROTOCOLS / "leakage_references.yaml").read_text())
    content["seeds"], content["resampling"]["resamples"] = [0, 1], 20
    forms, models = content["dataset"]["forms"], content["pipeline"]["models"]
    made_here = {name: own for name, own in forms.items() if own.get("of") not in READ}
    content["dataset"] = {"name": "bottleneck_family", "of": "tabular_toy", "forms": made_here}
    models = [models[0], {"data": "dsprites_nonlinear", "head_optimizer": "lbfgs"}]
    content["pipeline"]["models"] = models
    out = tmp_path / "out"
    out.mkdir()
    run(RunSpec.model_validate(content), RunPaths(tmp_path, out, tmp_path / "cache"))
    compared = json.loads((out / "compared.json").read_text())["models"]
    right = {m["name"]: m["scores"][0]["value"] for m in compared}
    assert right["toy-linear-converged"] == right["toy_nonlinear-linear-converged"] == 1.0
    assert abs(right["toy_incomplete-linear-converged"] - 0.791) < 0.04, "of 1,000 test samples"
    assert 0.93 < right["dsprites_nonlinear-linear-converged"] < 0.96
    assert right["toy-linear-20"] < 1
    assert not (tmp_path / "cache" / "bottlenecks").exists(), "no encoder was trained"
    table = read_parquet(out / "tables" / "true_information.parquet")
    pairs = {}
    for name, value in zip(table["data"], table["information"], strict=True):
        pairs.setdefault(name, []).append(value)
    assert (len(pairs["toy"]), len(pairs["dsprites"]), len(pairs["shapes3d"])) == (3, 10, 15)
    for name, delta in (("toy", 0.25), ("toy_related", 0.75)):
        np.testing.assert_allclose(pairs[name], normalized_information(delta)[0], atol=0.012)
    assert max(pairs["dsprites"] + pairs["shapes3d"]) < 0.001 < 0.1 < max(pairs["dsprites_related"])
