"""Pairs of models that look alike: which are found, what is drawn of them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.axes import Classes, Concepts, Policies
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced
from theodolite.report.html import write_report

N, SEEDS = 120, (0, 1, 2)
METRICS = ("intervention_score", "concept_task_leakage", "interconcept_leakage", "concept_prediction",
           "task_accuracy")  # fmt: skip
STUDY = {"kind": "pair", "title": "Alike?", "metrics": list(METRICS), "paper": "CTL tells."}


def bundles(seed: int, leak: float, after: float, wrong: float = 0.0) -> list:
    """Values that tell the label beside the concept, and how often the corrected class is right."""
    random = np.random.default_rng([seed, round(1000 * leak)])
    truth = np.random.default_rng(7).random((N, 3)) < 0.5
    labels = (truth.sum(axis=1) > 1).astype(int)
    values = 0.2 + 0.6 * truth + leak * labels[:, None] + 0.05 * random.random((N, 3))
    values[: round(wrong * N)] = 1 - values[: round(wrong * N)]
    right = np.ones((N, 1, 4), bool)
    right[:, :, -1] = (np.arange(N) < after * N)[:, None]
    own = ConceptEvidence(values=values, truth=truth, labels=labels, predicted=labels,
                          concepts=Concepts(("a", "b", "c")), classes=Classes(("few", "most")))  # fmt: skip
    corrected = InterventionEvidence(right_after=right, right_reference=np.ones(N, bool),
                                     policies=Policies(("at random",)))  # fmt: skip
    return [own, corrected]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of four models the first two look alike; one has worse concepts, one has other data."""
    folder = tmp_path_factory.mktemp("pairs")
    metrics = [{"name": name} for name in METRICS]
    spec = RunSpec.model_validate({"name": "pairs", "evidence": ["x"], "seeds": list(SEEDS),
                                   "metrics": metrics, "resampling": {"resamples": 20},
                                   "studies": [STUDY]})  # fmt: skip
    others = {"leaking": (0.1, 0.6, 0.0), "worse": (0.1, 0.5, 0.3), "elsewhere": (0.1, 0.5, 0.0)}
    made = Produced(
        [bundles(seed, 0.0, 1.0) for seed in SEEDS],
        compared=[
            ComparedModel(name, {"data": "other" if name == "elsewhere" else "same"},
                          [bundles(seed, *settings) for seed in SEEDS])
            for name, settings in others.items()
        ],
        about={"name": "honest", "data": "same"},
    )  # fmt: skip
    write_record(folder / "run.json", build_run_record(spec, ""))
    score_run(spec, made).write(folder)
    write_report(folder)
    return folder


def test_only_models_that_look_alike_are_paired(folder: Path) -> None:
    (study,) = json.loads((folder / "findings.json").read_text())["findings"]
    assert study["compared"] == 3, "pairs on the same data"
    (pair,) = study["pairs"]
    assert (pair["more"], pair["less"]) == ("leaking", "honest")
    by = {d["metric"]: d for d in pair["differences"]}
    assert by["intervention_score"]["value"] == pytest.approx(0.4)
    assert by["task_accuracy"]["value"] == by["concept_prediction"]["value"] == 0
    models = json.loads((folder / "compared.json").read_text())["models"]
    own = {m["name"]: np.array(s["per_seed"]) for m in models for s in m["scores"]
           if s["metric"] == "concept_task_leakage"}  # fmt: skip
    difference = own["leaking"] - own["honest"]
    half = stats.t.ppf(0.975, 2) * stats.sem(difference)
    ctl = by["concept_task_leakage"]
    assert_allclose([ctl["value"], ctl["low"]], [difference.mean(), difference.mean() - half])
    assert ctl["decision"]["answer"] == "confirmed"


def test_curves_and_scores_of_a_pair_are_drawn(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    part = page.partition("Alike?</h3>")[2].partition("</section>")[0]
    assert "Of 3 pairs of models on the same data, 1 lie within 1 points" in part
    assert "<h4>leaking and honest</h4>" in part and "The paper: CTL tells." in part
    (curves,) = re.findall(r'<svg class="chart".*?</svg>', part, re.DOTALL)
    assert "leaking, 3 corrected: 60.0 %" in curves and "honest, 3 corrected: 100.0 %" in curves
    row = part.partition('<th scope="row">leaking</th>')[2].partition("</tr>")[0]
    assert row.count("<svg") == len(METRICS), "a strip a score"


def test_scores_of_a_pair_are_drawn_concept_by_concept(folder: Path) -> None:
    part = (folder / "report.html").read_text().partition("<h4>leaking and honest</h4>")[2]
    figures = re.findall(r'<svg class="panel".*?</svg>', part, re.DOTALL)
    models = json.loads((folder / "compared.json").read_text())["models"]
    detail = next(s["detail"] for m in models if m["name"] == "leaking" for s in m["scores"]
                  if s["metric"] == "concept_task_leakage")  # fmt: skip
    for name, value in zip(detail["names"], detail["values"], strict=True):
        assert f"{name}, leaking: {value:.3f}" in figures[0]
