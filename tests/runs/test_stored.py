"""Runs over evidence in pieces: as in memory, on every engine, whole or partial, in little memory."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_maps import PlantedMaps

from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._planted.leakage import planted_leakage
from theodolite._planted.surrogates import planted_surrogates
from theodolite._runs import cost_estimate
from theodolite._runs import run as run_module
from theodolite._runs.auditing.front import audit
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import LocalProcesses
from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.preparation import prepare_folder
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import rehearse, run
from theodolite._runs.run_content import score_run
from theodolite._runs.run_inputs import RunPaths
from theodolite._scoring import passes
from theodolite._scoring.evaluate import Resampling
from theodolite._storage.stores import Store
from theodolite._storage.tables import read_parquet
from theodolite.dissection.sharded import dissect_shards
from theodolite.errors import VerificationError
from theodolite.evidence import shards
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.pipeline_output import Produced
from theodolite.evidence.shards import compute_evidence_digest, draw_samples
from theodolite.evidence.store import stored
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.evidence.workers import SerialWorkers
from theodolite.metrics.exists.concept_existence import ConceptExistence
from theodolite.report.html import write_report

PROGRAM = Path(sys.executable).with_name("theodolite")
FEW = {"resamples": 60}


def store(evidence: Any, folder: Path, rows: int | None = None) -> None:
    with EvidenceWriter(folder, rows) as writer:
        writer.add(evidence)


def spec(name: str = "evidence", **more: Any) -> RunSpec:
    given = {"name": "run", "evidence": [name], "resampling": FEW} | more
    return RunSpec.model_validate(given)


def done(given: RunSpec, data: Path, out: Path, engine: Engine | None = None) -> Path:
    prepare_folder(out, overwrite=False)
    run(given, RunPaths(data, out, out), engine=engine)
    write_report(out)
    write_checksums(out)
    return out


@pytest.mark.parametrize(
    ("evidence", "metrics"),
    [
        (planted_concepts(1600, alignment=0.6), ["concept_existence", "concept_global_importance"]),
        (planted_locations(1300, alignment=0.6), ["concept_location", "pointing_game"]),
        (planted_surrogates(1600, faithfulness=0.5), ["surrogate_distance", "surrogate_error"]),
    ],
    ids=["concepts", "locations", "surrogates"],
)
def test_pieces_give_the_scores_of_the_whole(
    tmp_path: Path, evidence: Any, metrics: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In memory, here, and (for concepts, which suffices) in two processes: equal bytes."""
    monkeypatch.setattr(shards, "SHARD_SAMPLES", 512)
    store(evidence, tmp_path / "evidence", 512)
    given = spec(metrics=[{"name": name} for name in metrics])
    out = done(given, tmp_path, tmp_path / "one", Engine("local", 1))
    file = (out / "scores.json").read_bytes()
    if isinstance(evidence, ConceptEvidence):
        two = done(given, tmp_path, tmp_path / "two", Engine("local", 2))
        assert (two / "scores.json").read_bytes() == file
    whole = audit(evidence, Resampling(resamples=60))
    written = json.loads(file)["scores"]
    compared = 0
    for score in written:
        (same,) = [
            s
            for s in whole.scores
            if s.metric == score["metric"]
            and {k: list(v) if isinstance(v, tuple) else v for k, v in s.options.items()}
            == score["options"]
        ]
        assert score["value"] == same.value
        assert [n["value"] for n in score["nulls"]] == [n.value for n in same.nulls]
        assert score["n"] == same.n
        compared += 1
    assert compared == len(written) >= 2


def test_samples_and_conflicts_are_those_of_memory(tmp_path: Path) -> None:
    evidence = planted_locations(150)
    store(evidence, tmp_path / "evidence", 64)
    run(spec(), RunPaths(tmp_path, tmp_path / "pieces", tmp_path / "pieces"))
    score_run(spec(), Produced([[evidence]])).write(tmp_path / "memory")
    for name in ("per_sample.parquet", "conflicts.json"):
        read = read_parquet if name.endswith("parquet") else Path.read_bytes
        assert read(tmp_path / "pieces" / name) == read(tmp_path / "memory" / name), name


def test_dissection_on_processes_gives_equal_bytes(tmp_path: Path) -> None:
    maps = PlantedMaps(n_images=900, n_units=6, n_concepts=8, shard_rows=128)
    pool = LocalProcesses(2)
    result = []
    for workers in (
        SerialWorkers(),
        WorkerPool(pool, CheckpointStore(Store.at(tmp_path / "pieces"))),
    ):
        dissected = dissect_shards(maps, workers)
        result.append([compute_evidence_digest(shard) for shard in dissected.evidence()])
    pool.close()
    assert result[0] == result[1] and len(result[0]) == 8


def test_classes_as_clusters(tmp_path: Path) -> None:
    evidence = planted_concepts(3000, n_classes=12, alignment=0.6)
    store(evidence, tmp_path / "evidence", 512)
    given = spec(metrics=[{"name": "concept_existence"}], resampling=FEW | {"clusters": "classes"})
    out = done(given, tmp_path, tmp_path / "out")
    (first, *_) = json.loads((out / "scores.json").read_text())["scores"]
    assert [interval["over"] for interval in first["intervals"]] == ["clusters"]


def test_scores_that_need_all_samples_use_some_and_say_so(tmp_path: Path) -> None:
    evidence = planted_leakage(1500)
    store(evidence, tmp_path / "evidence", 256)
    metrics = [{"name": "concept_task_leakage"}]
    small = done(
        spec(metrics=metrics, resampling=FEW | {"most_pooled": 400}), tmp_path, tmp_path / "small"
    )
    large = done(spec(metrics=metrics), tmp_path, tmp_path / "large")
    result = [json.loads((out / "scores.json").read_text())["scores"][0] for out in (small, large)]
    widths = [one["detail"]["high"][0] - one["detail"]["low"][0] for one in result]
    assert widths[0] > 1.3 * widths[1], "fewer samples, wider intervals"
    notes = [json.loads((out / "produced.json").read_text())["notes"] for out in (small, large)]
    assert any("estimated from 400 of 1,500 samples" in note for note in notes[0])
    assert not any("estimated from" in note for note in notes[1])
    inside = audit(evidence, Resampling(resamples=60, most_pooled=400))
    again = next(s for s in inside.scores if s.metric == "concept_task_leakage")
    assert again.value == result[0]["value"], "the same samples wherever they lie"


def test_a_run_is_frozen_sealed_and_can_be_computed_again(tmp_path: Path) -> None:
    store(planted_concepts(600, alignment=0.7), tmp_path / "evidence", 64)
    given = spec(metrics=[{"name": "concept_existence"}])
    out = tmp_path / "out"
    prepare_folder(out, overwrite=False)
    run(given, RunPaths(tmp_path, out, out), command="first")
    frozen = (out / "run.json").read_bytes()
    prepare_folder(out, overwrite=False)  # it was never sealed: it goes on
    assert not (out / "scores.json").exists()
    run(given, RunPaths(tmp_path, out, out), command="second")
    assert (out / "run.json").read_bytes() == frozen
    record = json.loads(frozen)
    assert (
        record["code"].startswith(version("theodolite"))
        and record["inputs"]
        and record["cores"] >= 1
    )
    write_report(out)
    write_checksums(out)
    for share in (0.01, 0.5, 1.0):
        assert recompute(out, share=share) > 10
    # a piece that was changed, and sealed by whoever changed it; some pieces hold the same numbers
    piece, *others = sorted((out / "pieces").iterdir())
    other = next(path for path in others if path.read_bytes() != piece.read_bytes())
    piece.write_bytes(other.read_bytes())
    write_checksums(out)
    with pytest.raises(VerificationError, match=r"holds the piece"):
        recompute(out)


def test_a_rehearsal_leaves_its_pieces_to_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store(planted_concepts(600, alignment=0.7), tmp_path / "evidence", 64)
    asked = spec(
        metrics=[{"name": "concept_existence"}, {"name": "concept_task_leakage"}],
        resampling={"resamples": 60, "most_pooled": 400},
    )
    whole = done(asked, tmp_path, tmp_path / "whole")
    out = tmp_path / "out"
    estimate = rehearse(asked, RunPaths(tmp_path, out, out), overwrite=False)
    assert estimate is not None and estimate.wall() > 0
    pieces = next(step for step in estimate.passes if step.what == "pieces")
    assert pieces.left == pieces.pieces == 10 and pieces.traffic.bytes > 0
    assert any(step.what == "drawing" for step in estimate.passes)
    assert any("estimated from 400 of 600" in note for note in estimate.notes)
    assert len(list((out / "pieces").iterdir())) >= 2 and not (out / "scores.json").exists()
    monkeypatch.setattr(cost_estimate, "MIN_SHARDS", 1)
    monkeypatch.setattr(run_module, "MINUTE", 0.0)
    lines: list[str] = []
    run(
        asked, RunPaths(tmp_path, out, out), overwrite=False,
        announce=lambda found: lines.append(found.line()),
    )  # fmt: skip
    assert len(lines) == 1 and lines[0].startswith("about ") and "a process" in lines[0]
    assert (out / "scores.json").read_bytes() == (whole / "scores.json").read_bytes()


def test_other_evidence_is_not_the_run_s(tmp_path: Path) -> None:
    store(planted_concepts(300), tmp_path / "evidence", 64)
    out = done(spec(metrics=[{"name": "concept_existence"}]), tmp_path, tmp_path / "out")
    (tmp_path / "evidence").rename(tmp_path / "kept")
    store(planted_concepts(300, seed=1), tmp_path / "evidence", 64)
    with pytest.raises(VerificationError, match="that of the run"):
        recompute(out)


def test_a_partial_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces that fail are left out, listed, and said first."""
    evidence = planted_concepts(640, alignment=0.7)
    store(evidence, tmp_path / "evidence", 64)
    whole = ConceptExistence.of

    def faulty(shard: Any, *given: Any, **options: Any) -> Any:
        if shard.samples.index[0] == 128:
            raise MemoryError
        return whole(shard, *given, **options)

    monkeypatch.setattr(ConceptExistence, "of", faulty)
    given = spec(metrics=[{"name": "concept_existence"}])
    out = tmp_path / "out"
    result = run(given, RunPaths(tmp_path, out, out))
    assert result.failed_tasks == 1
    assert {score.n for score in result.scores} == {640 - 64}
    made = json.loads((out / "produced.json").read_text())
    assert made["failed_tasks"] == 1 and made["notes"][0].startswith("Incomplete: 1 tasks")
    table = read_parquet(out / "failed.parquet")
    assert table["error"] == ["MemoryError"] and table["tries"] == [3]
    assert "Incomplete: 1 tasks failed" in write_report(out).read_text()
    write_checksums(out)
    recompute(out, share=1.0)
    monkeypatch.setattr(ConceptExistence, "of", whole)
    before = {path.name for path in (out / "pieces").iterdir()}
    prepare_folder(out, overwrite=False)  # the same again: what failed is tried
    again = run(given, RunPaths(tmp_path, out, out))
    assert again.failed_tasks == 0 and {score.n for score in again.scores} == {640}
    assert before & {path.name for path in (out / "pieces").iterdir()}, "pieces are used again"
    assert not (out / "failed.parquet").exists()


def test_a_partial_run_ends_with_exit_code_4(tmp_path: Path) -> None:
    """By the command line: a metric that a package outside ours brings, and that kills a process."""
    store(planted_concepts(320), tmp_path / "evidence", 64)
    (tmp_path / "sitecustomize.py").write_text(
        "import os, signal, sys\n"
        "from theodolite.metrics.exists.concept_existence import ConceptExistence\n"
        "whole = ConceptExistence.of\n"
        "def of(shard, *given, **options):\n"
        "    if shard.samples.index[0] == 128 and len(shard) > 1:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return whole(shard, *given, **options)\n"
        "ConceptExistence.of = of\n"
    )
    (tmp_path / "spec.yaml").write_text(
        "name: x\nevidence: [evidence]\nmetrics: [{name: concept_existence}]\n"
        "resampling: {resamples: 20}\n"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [PROGRAM, "run", tmp_path / "spec.yaml", "--data", tmp_path, "--out", tmp_path / "out",
         "--workers", "2", "--quiet"],
        capture_output=True, text=True, check=False, env=os.environ | {"PYTHONPATH": path},
    )  # fmt: skip
    assert ran.returncode == 4, ran.stderr
    assert "incomplete: 1 tasks failed" in ran.stderr and "Traceback" not in ran.stderr
    assert read_parquet(tmp_path / "out" / "failed.parquet")["error"] == ["ProcessDied"]


MEASURE = """
import resource, sys
from pathlib import Path
from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.run import RunPaths, run
from theodolite._runs.folder.spec import read_spec
data, name, out = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
spec = read_spec(data / "spec.yaml").model_copy(update={"evidence": [name]})
run(spec, RunPaths(data, out, out), engine=Engine("local", 1))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_samples(tmp_path: Path) -> None:
    """Ten times the samples, a tenth more memory at most; the evidence is 43 MB then, and a fifth of
    that would be seen."""
    (tmp_path / "spec.yaml").write_text(
        "name: x\nevidence: [small]\nresampling: {resamples: 30}\nmetrics:\n"
        "  - {name: concept_existence, options: {rank_by: value}}\n"
    )
    for name, n in (("small", 5000), ("large", 50_000)):
        with EvidenceWriter(tmp_path / name) as writer:
            for start in range(0, n, 5000):
                random = np.random.default_rng(start)
                values = random.normal(size=(5000, 96))
                writer.add(ConceptEvidence(values=values, truth=random.random((5000, 96)) < 0.3))
    peaks = []
    for name in ("small", "large"):
        ran = subprocess.run(
            [sys.executable, "-c", MEASURE, tmp_path, name, tmp_path / f"run {name}"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        peaks.append(int(ran.stdout))
    assert peaks[1] < 1.1 * peaks[0], peaks


def test_evidence_in_a_bucket(tmp_path: Path, s3: str) -> None:
    """The same bytes from a bucket as from a folder, and pieces kept in the bucket too."""
    evidence = planted_concepts(500, alignment=0.7)
    store(evidence, tmp_path / "evidence", 128)
    with EvidenceWriter(f"{s3}/evidence", 128) as writer:
        writer.add(evidence)
    metrics = [{"name": "concept_existence"}]
    here = done(spec(metrics=metrics), tmp_path, tmp_path / "here")
    there = tmp_path / "there"
    engine = Engine("local", 2, checkpoint_dir=f"{s3}/pieces")
    run(spec(f"{s3}/evidence", metrics=metrics), RunPaths(tmp_path, there, there), engine=engine)
    contents = [json.loads((folder / "scores.json").read_text()) for folder in (here, there)]
    names = [content.pop("subject")["explanation"] for content in contents]
    assert contents[0] == contents[1] and len(set(names)) == 2, "each names where its evidence lies"
    assert not (there / "pieces").exists()
    assert len(Store.at(f"{s3}/pieces").names()) == 8
    write_report(there)
    write_checksums(there)
    with pytest.raises(ValueError, match="Pass --buckets if you trust"):
        recompute(there, share=0.5)
    recompute(there, share=0.5, buckets=True)


def test_one_kind_twice_is_refused(tmp_path: Path) -> None:
    evidence = planted_concepts(100)
    store(evidence, tmp_path / "a", 64)
    store(replace(evidence, truth=~np.asarray(evidence.truth)), tmp_path / "b", 64)
    given = RunSpec.model_validate({"name": "x", "evidence": ["a", "b"], "resampling": FEW})
    with pytest.raises(ValueError, match="one of a kind"):
        run(given, RunPaths(tmp_path, tmp_path / "out", tmp_path / "out"))


def test_all_states_are_of_the_same_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A piece that fails in one pass only is left out of all: value, intervals and nulls."""
    evidence = planted_concepts(640, alignment=0.7)
    store(evidence, tmp_path / "evidence", 64)
    monkeypatch.setattr(passes, "BLOCK_BYTES", 4000)  # several passes
    whole = ConceptExistence.of

    def faulty(shard: Any, weights: Any = None, **options: Any) -> Any:
        if shard.samples.index[0] == 128 and len(shard) > 1 and weights[0].max() > 1:
            raise MemoryError
        return whole(shard, weights, **options)

    monkeypatch.setattr(ConceptExistence, "of", faulty)
    given = spec(metrics=[{"name": "concept_existence"}])
    partly = run(given, RunPaths(tmp_path, tmp_path / "out", tmp_path / "out"))
    monkeypatch.setattr(ConceptExistence, "of", whole)
    rest = np.r_[0:128, 192:640]
    expected = audit(evidence[rest], Resampling(resamples=60))
    for score in partly.scores:
        (same,) = [
            s
            for s in expected.scores
            if s.metric == score.metric and s.options["top"] == score.options["top"]
        ]
        assert score.n == same.n == 576
        assert score.value == pytest.approx(same.value, rel=1e-12)
        assert score.intervals[0].low == pytest.approx(same.intervals[0].low, rel=1e-9)
        assert score.intervals[0].high == pytest.approx(same.intervals[0].high, rel=1e-9)
    table = read_parquet(tmp_path / "out" / "failed.parquet")
    assert set(table["piece"]) == {"piece 2"} and len(table["key"]) > 1


def test_large_states_are_kept_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the ledger does not grow far beyond the evidence; the bytes are the same."""
    store(planted_concepts(704, alignment=0.7), tmp_path / "evidence", 64)
    given = spec(metrics=[{"name": "concept_existence"}])
    for name, kept in (("much", 1 << 30), ("little", 20_000)):
        monkeypatch.setattr(passes, "MAX_STORED_BYTES", kept)
        run(given, RunPaths(tmp_path, tmp_path / name, tmp_path / name))
    sizes = [len(list((tmp_path / name / "pieces").iterdir())) for name in ("much", "little")]
    assert sizes[1] < sizes[0] == 22
    files = [(tmp_path / name / "scores.json").read_bytes() for name in ("much", "little")]
    assert files[0] == files[1]


@pytest.mark.parametrize("kind", [np.int32, np.uint64, ">i8"])
def test_numbers_of_any_type_come_back(tmp_path: Path, kind: Any) -> None:
    samples = Samples(index=np.arange(90).astype(kind), clusters=np.arange(90).astype(kind) // 9)
    evidence = replace(planted_concepts(90), samples=samples)
    evidence = replace(evidence, values=np.asarray(evidence.values).astype(">f8"))
    store(evidence, tmp_path / "evidence", 32)
    whole = draw_samples(stored(tmp_path / "evidence"), 10**6, 0)
    assert compute_evidence_digest(whole) == compute_evidence_digest(evidence)


def test_evidence_written_anew_is_not_taken_for_the_old(tmp_path: Path) -> None:
    first = planted_concepts(90)
    for names in ("old", "new"):
        shutil.rmtree(tmp_path / "evidence", ignore_errors=True)
        named = replace(first, concepts=tuple(f"{names} {i}" for i in range(12)))
        store(named, tmp_path / "evidence", 32)
        result = draw_samples(stored(tmp_path / "evidence"), 10**6, 0)
        assert result.concepts.names[0] == f"{names} 0"
