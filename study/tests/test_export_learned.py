"""From people to a learned score: a study is played, exported, read back, and learnt from."""

from importlib.metadata import EntryPoint
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

from support.study.played_study import Played, begun, few_resamples, taken_part
from theodolite.datasets.votes.study import study_votes
from theodolite.evidence.produced import WorkContext
from theodolite.io.text import read_json
from theodolite.pipelines.acceptance.models import AcceptanceModel
from theodolite.pipelines.acceptance.pipeline import AcceptancePipeline
from theodolite.run_folder import registry
from theodolite.run_folder.spec import read_spec
from theodolite.runs.inputs import Places
from theodolite.runs.run import run
from theodolite_study.assignments import Assignment
from theodolite_study.database import Database
from theodolite_study.export import export, verify_export

SPEC = """
name: mine
title: Votes of my study
dataset: {name: study_votes, root: export}
pipeline:
  name: acceptance
  question: q1
  apart: picture
  folds: 2
  repeats: 1
  models:
    label: {scorer: ridge, features: [label]}
seeds: [0]
resampling: {resamples: 20, level: 0.95, seed: 0}
metrics:
  - name: predicted_rating_correlation
  - name: rater_agreement
  - name: krippendorff_alpha
"""
ENTRY = EntryPoint(
    "study_votes", "theodolite.datasets.votes.study:study_votes", "theodolite.datasets"
)


def by_label(person: int, item: Assignment, question: str) -> int:
    """Everybody likes explanations of dogs; the second person is a little stricter."""
    good = item.instance.shown.predicted == "dog"
    return (5 if good else 2) - (
        person % 2 if question == "q1" and item.instance.key != "real0" else 0
    )


@pytest.fixture(scope="module")
def played(one_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Played:
    made = begun(one_database, tmp_path_factory.mktemp("study") / "s", instances=10, votes=2)
    taken_part(made, ["ann", "bob"], by_label)
    return made


@pytest.fixture(scope="module")
def data(played: Played, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with an export in it."""
    folder = tmp_path_factory.mktemp("data")
    with few_resamples():
        export(played.database, "small", played.folder, out=folder / "export")
    return folder


def test_an_export_is_read_back_as_it_was_said(played: Played, data: Path) -> None:
    assert verify_export(data / "export") == []
    found = study_votes(data / "export")
    assert set(found.questions) == {f"q{i}" for i in range(1, 7)} and len(found) == 10
    for question, evidence in found.questions.items():
        ids = [str(key) for key in evidence.samples.ids]
        for row, key in enumerate(ids):
            for column, who in enumerate(evidence.raters.names):
                said = played.said.get((key, who, question), np.nan)
                np.testing.assert_equal(evidence.ratings[row, column], float(said))
    dogs = [one for one in found.explanations if one.label == "dog"]
    assert all(one.map and one.map.is_file() and one.picture and one.overlay for one in dogs)
    cats = [one for one in found.explanations if one.label == "cat"]
    assert all(one.concepts == {"paw": 0.7, "beak": -0.2} for one in cats) and len(cats) == 5


def test_a_score_is_learnt_from_the_votes(data: Path, tmp_path: Path) -> None:
    models = {"label": AcceptanceModel(scorer="ridge", features=("label",))}
    pipeline = AcceptancePipeline(models=models, question="q1", folds=2)
    learnt = pipeline.learn(study_votes(data / "export"), WorkContext((0,), tmp_path))
    predicted = np.asarray(learnt.evidence.predicted)
    dogs = np.array([int(str(key)[4:]) % 2 == 0 for key in learnt.evidence.samples.ids])
    assert predicted[dogs].min() > predicted[~dogs].max(), "the planted difference is foretold"
    assert not np.isnan(predicted).any()


def test_a_spec_runs_on_the_export(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = registry.registered
    monkeypatch.setattr(
        registry,
        "registered",
        lambda group: known(group) | ({"study_votes": ENTRY} if group == "datasets" else {}),
    )
    (tmp_path / "spec.yaml").write_text(SPEC)
    places = Places(data, tmp_path / "run", tmp_path / "cache")
    (tmp_path / "run").mkdir()
    run(read_spec(tmp_path / "spec.yaml"), places)
    scores = {one["metric"]: one for one in read_json(tmp_path / "run" / "scores.json")["scores"]}
    assert scores["predicted_rating_correlation"]["value"] > 0.8
    own = read_json(data / "export" / "agreement.json")["questions"]["q1"]["scores"]
    for theirs, ours in (("rater_agreement", "qwk_vs_mode_loo"), ("krippendorff_alpha",) * 2):
        assert scores[theirs]["value"] == pytest.approx(own[ours]["value"], abs=1e-9)


def test_agreement_of_the_export_equals_a_script_over_what_people_said(
    played: Played, data: Path
) -> None:
    ann, bob = played.pseudonym("ann"), played.pseudonym("bob")
    keys = [f"real{i}" for i in range(10)]
    sides = [[played.said[key, who, "q1"] for key in keys] for who in (ann, bob)]
    # with two votes the others' mode is the other's vote, from both sides
    both = [sides[0] + sides[1], sides[1] + sides[0]]
    expected = cohen_kappa_score(*both, labels=[1, 2, 3, 4, 5], weights="quadratic")
    own = read_json(data / "export" / "agreement.json")["questions"]["q1"]["scores"]
    assert own["qwk_vs_mode_loo"]["value"] == pytest.approx(expected, abs=1e-9)
    assert 0.7 < expected < 1


def test_the_reader_is_registered() -> None:
    project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert f'study_votes = "{ENTRY.value}"' in project
