"""A run from images to a sealed folder, through the real pipeline."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from theodolite._runs.folder.checksums import verify_checksums, write_checksums
from theodolite._runs.folder.preparation import prepare_folder
from theodolite._runs.folder.spec import read_spec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._storage.tables import read_parquet
from theodolite.errors import EvidenceError, VerificationError
from theodolite.evidence.files import load

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def inputs(shapes_run: Path) -> Path:
    return shapes_run


@pytest.fixture(scope="module")
def finished(shapes_run: Path) -> Path:
    return shapes_run / "one"


def do(inputs: Path, out: str) -> Path:
    at = RunPaths(inputs / "data", inputs / out, inputs / "cache")
    prepare_folder(at.out, overwrite=True)
    steps = []
    run(read_spec(inputs / "spec.yaml"), at, lambda *step: steps.append(step))
    assert {what for what, _, _ in steps} == {"data", "features", "settings", "models", "scores"}
    assert all(0 <= done <= total for _, done, total in steps)
    return at.out


def test_the_folder_holds_everything(finished: Path) -> None:
    names = {p.relative_to(finished).as_posix() for p in finished.rglob("*") if p.is_file()}
    for name in ("run.json", "scores.json", "produced.json", "per_sample.parquet", "model.safetensors",
                 "tables/settings.parquet", "images/00.jpg", "manifest.json",
                 "evidence/seed-0/concept/header.json", "evidence/seed-1/location/maps.npy"):  # fmt: skip
        assert name in names
    record = json.loads((finished / "run.json").read_text())
    assert record["spec"]["seeds"] == [0, 1] and record["packages"]["theodolite"]
    made = json.loads((finished / "produced.json").read_text())
    assert {"samples.csv", "weights.safetensors"} <= set(made["inputs"])


def test_a_second_run_with_features_kept_gives_the_same_bytes(inputs: Path, finished: Path) -> None:
    again = do(inputs, "two")
    for name in ("scores.json", "per_sample.parquet", "evidence/seed-0/location/maps.npy"):
        assert (again / name).read_bytes() == (finished / name).read_bytes()


def test_a_broken_cache_is_made_again(inputs: Path, finished: Path) -> None:
    (shard, *_) = sorted((inputs / "cache" / "features").rglob("*.npy"))
    shard.write_bytes(shard.read_bytes()[:100])
    again = do(inputs, "three")
    assert (again / "scores.json").read_bytes() == (finished / "scores.json").read_bytes()


def test_maps_and_values_belong_together(finished: Path) -> None:
    located = load(finished / "evidence" / "seed-0" / "location")
    channels = np.prod(located.maps.shape[2:])
    assert channels > 1
    sums = located.maps.mean(axis=(2, 3))
    ratio = located.explained.values / sums
    np.testing.assert_allclose(ratio, np.median(ratio), rtol=1e-2)  # the number of channels


def test_per_sample_values_average_to_the_scores(finished: Path) -> None:
    columns = read_parquet(finished / "per_sample.parquet")
    record = json.loads((finished / "scores.json").read_text())["scores"]
    wanted = "rank_by=contribution, top=2"
    values = [
        v
        for v, m, o in zip(columns["value"], columns["metric"], columns["options"], strict=True)
        if m == "concept_existence" and o == wanted
    ]
    assert len(values) > 10
    score = next(
        s for s in record if s["metric"] == "concept_existence" and s["options"]["top"] == 2
    )
    over_seeds = next(i for i in score["intervals"] if i["over"] == "seeds")
    assert abs(np.mean(values) - score["value"]) <= (over_seeds["high"] - over_seeds["low"]) + 1e-9


def test_verifies_and_computes_again(finished: Path) -> None:
    assert recompute(finished) == verify_checksums(finished)


def test_scores_that_evidence_does_not_give_are_seen(finished: Path, tmp_path: Path) -> None:
    forged = tmp_path / "forged"
    shutil.copytree(finished, forged)
    text = (forged / "scores.json").read_text()
    (forged / "scores.json").write_text(
        text.replace('"n": 5', '"n": 6', 1) if '"n": 5' in text else text + " "
    )
    write_checksums(forged)  # the forger seals it again
    verify_checksums(forged)
    with pytest.raises(VerificationError, match="other scores when computed again"):
        recompute(forged)


def test_a_misspelt_metric_fails_before_the_work(inputs: Path, tmp_path: Path) -> None:
    spec = read_spec(inputs / "spec.yaml")
    metrics = [spec.metrics[0].model_copy(update={"name": "cemm"})]
    at = RunPaths(inputs / "data", tmp_path / "out", tmp_path / "cache")
    with pytest.raises(EvidenceError, match="metric"):
        run(spec.model_copy(update={"metrics": metrics}), at)
    assert not (tmp_path / "cache").exists()


def test_stored_evidence_can_be_scored_without_a_pipeline(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text("name: again\nevidence: [evidence/seed-0/location]\n")
    spec = read_spec(tmp_path / "s.yaml")
    result = run(spec, RunPaths(finished, tmp_path / "out", tmp_path))
    assert {s.metric for s in result.scores} >= {
        "concept_existence", "concept_global_importance", "concept_location", "pointing_game",
        "task_leakage_given_concept",
    }  # fmt: skip
