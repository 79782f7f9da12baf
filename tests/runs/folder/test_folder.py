"""The folder of a run: what is removed, what never is, and that it is one run's at a time."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from support.runs.command_line import theodolite
from theodolite._planted.concepts import planted_concepts
from theodolite._runs.engine.checkpoints import CheckpointName, CheckpointStore
from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.folder import preparation as run_folder
from theodolite._runs.folder.checksums import check_no_links, write_checksums
from theodolite._runs.folder.preparation import (
    OUTPUTS,
    create_empty_folder,
    lock_folder,
    prepare_folder,
)
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.recomputation import recompute
from theodolite._runs.run import run
from theodolite._runs.run_inputs import RunPaths
from theodolite._scoring import passes
from theodolite._storage.records import write_record
from theodolite._storage.stores import Store
from theodolite._storage.tables import read_parquet
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.files import save
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.report.html import write_report


def spec(*evidence: str, metric: str = "concept_existence") -> RunSpec:
    given = {"name": "run", "evidence": evidence or ("evidence",), "resampling": {"resamples": 20}}
    return RunSpec.model_validate(given | {"metrics": [{"name": metric}]})


def store(folder: Path, n: int = 200) -> None:
    with EvidenceWriter(folder, 64) as writer:
        writer.add(planted_concepts(n, alignment=0.7))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evidence in pieces, and a finished run over it."""
    root = tmp_path_factory.mktemp("template")
    store(root / "evidence")
    out = root / "out"
    run(spec(), RunPaths(root, out, out), overwrite=False)
    write_report(out)
    write_checksums(out)
    return root


@pytest.fixture
def finished(template: Path, tmp_path: Path) -> Path:
    """A finished run that a test may change."""
    shutil.copytree(template, tmp_path, dirs_exist_ok=True)
    return tmp_path / "out"


def content(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_only_run_folders_are_ever_emptied(finished: Path, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="Pass --overwrite"):
        prepare_folder(finished, overwrite=False)
    with pytest.raises(EvidenceError, match="a file"):
        prepare_folder(finished / "run.json", overwrite=True)
    (finished / "manifest.json").unlink()  # as if it never finished
    prepare_folder(finished, overwrite=False)
    assert {path.name for path in finished.iterdir()} == {"run.json", "pieces"}
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "thesis.tex").write_text("years of work")
    with pytest.raises(EvidenceError, match="Choose another folder"):
        prepare_folder(tmp_path / "home", overwrite=True)
    assert (tmp_path / "home" / "thesis.tex").exists()


@pytest.mark.parametrize("text", ["{}", '{"format": "mlflow"}', "not JSON", "1" * 5000])
@pytest.mark.parametrize("overwrite", [False, True])
def test_another_program_s_run_is_not_ours(tmp_path: Path, text: str, overwrite: bool) -> None:
    (tmp_path / "run.json").write_text(text)
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "years.csv").write_text("of work")
    before = content(tmp_path)
    with pytest.raises(EvidenceError, match="Choose another folder"):
        prepare_folder(tmp_path, overwrite=overwrite)
    assert content(tmp_path) == before


@pytest.mark.parametrize("name", ["thesis.tex", ".git", "notes/a.md", ".mine.12.partial"])
@pytest.mark.parametrize("cut_off", [False, True])
def test_what_no_run_writes_is_never_removed(finished: Path, name: str, cut_off: bool) -> None:
    (finished / name).parent.mkdir(exist_ok=True)
    (finished / name).write_text("years of work")
    if cut_off:
        (finished / "manifest.json").unlink()
    before = content(finished)
    for overwrite in (False, True):
        with pytest.raises(EvidenceError, match="Choose another folder"):
            prepare_folder(finished, overwrite=overwrite)
    assert content(finished) == before


def test_all_that_runs_write_can_be_removed(finished: Path, tmp_path: Path) -> None:
    assert {path.name for path in finished.iterdir()} <= OUTPUTS
    for name in OUTPUTS - {path.name for path in finished.iterdir()}:
        (finished / name).write_text("x")
    for name in (".scores.json.123.partial", ".scores.json.again", ".run.json.7.partial"):
        (finished / name).write_text("cut off")
    with pytest.raises(EvidenceError, match="Pass --overwrite"):
        prepare_folder(finished, overwrite=False)
    prepare_folder(finished, overwrite=True)
    assert list(finished.iterdir()) == []
    (finished / ".run.json.7.partial").write_text("")  # killed before anything was there
    prepare_folder(finished, overwrite=False)
    assert list(finished.iterdir()) == []


def test_a_link_is_removed_and_not_what_it_leads_to(finished: Path, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    (finished / "tables").symlink_to(tmp_path / "mine")
    prepare_folder(finished, overwrite=True)
    assert (tmp_path / "mine" / "thesis.tex").exists() and not (finished / "tables").exists()


def test_an_example_wants_a_new_folder(tmp_path: Path) -> None:
    create_empty_folder(tmp_path / "new")
    write_record(tmp_path / "new" / "run.json", build_run_record(spec(), ""))  # an unfinished run
    (tmp_path / "new" / "scores.json").write_text("{}")
    before = content(tmp_path)
    with pytest.raises(EvidenceError, match="Choose another folder"):
        create_empty_folder(tmp_path / "new")
    assert content(tmp_path) == before


@pytest.mark.parametrize(
    "given",
    [
        spec(metric="cemm"),
        spec("nowhere"),
        spec(metric="concept_location"),
        spec("../evidence"),
        spec("broken"),
        spec("evidence", "plain"),
        spec("evidence", "evidence"),
        spec("s3//misspelt"),
        RunSpec.model_validate(
            {"name": "a", "dataset": {"name": "folder", "root": "none"},
             "pipeline": {"name": "stored_dissection"}}
        ),
    ],
)  # fmt: skip
def test_the_old_run_stays_if_the_new_one_cannot_begin(
    finished: Path, tmp_path: Path, given: RunSpec
) -> None:
    save(planted_concepts(20), tmp_path / "plain")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "header.json").write_text("{")
    before = content(finished)
    with pytest.raises(EvidenceError):
        run(given, RunPaths(tmp_path, finished, tmp_path / "cache"), overwrite=True)
    assert content(finished) == before


def test_what_is_read_must_lie_outside(finished: Path, tmp_path: Path) -> None:
    save(planted_concepts(20), finished / "evidence" / "seed-0" / "concept")
    made: Any = {"dataset": {"name": "folder"}, "pipeline": {"name": "dissection", "backbone": "x"}}
    made = RunSpec.model_validate({"name": "a"} | made)
    inside, cache = finished / "evidence", finished / "cache"
    pieces = Engine(workers=1, checkpoint_dir=str(finished / "pieces"))
    before = content(finished)
    for given, at, engine in (
        (spec("out/evidence/seed-0/concept"), RunPaths(tmp_path, finished, tmp_path), None),
        (spec("seed-0/concept"), RunPaths(inside, finished, tmp_path), None),
        (spec("out"), RunPaths(tmp_path, finished, tmp_path), None),
        (made, RunPaths(inside, finished, tmp_path), None),
        (made, RunPaths(tmp_path, finished, cache), None),
        (spec(), RunPaths(tmp_path, finished, tmp_path), pieces),
    ):
        with pytest.raises(EvidenceError, match="a place in the run folder"):
            run(given, at, engine=engine, overwrite=True)
    assert content(finished) == before


TRY = """
import sys
from pathlib import Path
from theodolite._runs.folder.preparation import lock_folder
try:
    with lock_folder(Path(sys.argv[1])):
        print("had it")
except ValueError as error:
    print(error)
"""


def test_a_folder_is_one_run_s_at_a_time(tmp_path: Path) -> None:
    pytest.importorskip("fcntl")

    def other() -> str:
        command = [sys.executable, "-c", TRY, tmp_path / "out"]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()

    with lock_folder(tmp_path / "out"):
        (tmp_path / "out" / "scores.json").write_text("{}")
        assert "another run that writes there now" in other()
        with pytest.raises(EvidenceError, match="another run"), lock_folder(tmp_path / "out"):
            pass
    assert other() == "had it"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["scores.json"]


def test_a_claim_leaves_nothing_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with lock_folder(tmp_path / "out"):
        assert (tmp_path / "out").is_dir()
    assert not (tmp_path / "out").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(EvidenceError, match="a file"), lock_folder(tmp_path / "file"):
        pass
    monkeypatch.setattr(run_folder, "fcntl", None)
    with lock_folder(tmp_path / "out"), lock_folder(tmp_path / "out"):
        pass


def test_only_pieces_are_pieces(tmp_path: Path) -> None:
    ledger = CheckpointStore(Store.at(tmp_path))
    keys = {letter * 64 for letter in "abc"}
    for key in keys:
        ledger.write(CheckpointName(key, "{}", "0", "{}"), {"x": np.arange(3)}, "")
    others = ("model.safetensors", "notes.txt", "A" * 64 + ".safetensors", "b" * 64,
              "deep/" + "d" * 64 + ".safetensors")  # fmt: skip
    (tmp_path / "deep").mkdir()
    for name in others:
        (tmp_path / name).write_text("years of work")
    assert ledger.done() == keys
    ledger.keep_only({"a" * 64})
    assert ledger.done() == {"a" * 64}
    assert all((tmp_path / name).exists() for name in others)


def test_pieces_that_are_a_link_are_refused(tmp_path: Path) -> None:
    store(tmp_path / "evidence")
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "shared").mkdir()
    (out / "pieces").symlink_to(tmp_path / "shared")
    for overwrite in (None, False, True):
        with pytest.raises(EvidenceError, match="use --checkpoint-dir"):
            run(spec(), RunPaths(tmp_path, out, out), overwrite=overwrite)
    with pytest.raises(EvidenceError, match="use --checkpoint-dir"):
        prepare_folder(out, overwrite=True)


@pytest.mark.parametrize("name", ["file://{}/evidence", "{}/evidence", "http://x/y", "memory://x"])
def test_only_buckets_may_be_addresses_in_a_spec(tmp_path: Path, name: str) -> None:
    store(tmp_path / "elsewhere" / "evidence")
    (tmp_path / "data").mkdir()
    given = spec(name.format(tmp_path / "elsewhere"))
    with pytest.raises(UnsafeInputError, match="a relative path below 'data'"):
        run(given, RunPaths(tmp_path / "data", tmp_path / "out", tmp_path))


def test_if_all_pieces_fail_it_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path / "evidence")

    def faulty(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError("really informative")

    monkeypatch.setattr(passes, "count_states", faulty)  # not a metric's fault, which stays with it
    out = tmp_path / "out"
    with pytest.raises(EvidenceError, match="ZeroDivisionError: really informative") as caught:
        run(spec(), RunPaths(tmp_path, out, out), overwrite=False)
    assert "no piece that could be counted" in str(caught.value)
    assert set(read_parquet(out / "failed.parquet")["message"]) == {"really informative"}


def test_pieces_elsewhere_are_found_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store(tmp_path / "evidence")
    out = tmp_path / "out"
    monkeypatch.chdir(tmp_path)
    engine = Engine(workers=1, checkpoint_dir="shared/pieces")
    run(spec(), RunPaths(tmp_path, out, out), engine=engine, overwrite=False)
    made = json.loads((out / "produced.json").read_text())
    assert made["checkpoints"] == str(tmp_path / "shared" / "pieces")
    write_report(out)
    write_checksums(out)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    recompute(out, share=0.5)
    (tmp_path / "shared").rename(tmp_path / "moved")
    with pytest.raises(UnsafeInputError, match="where the run had them"):
        recompute(out, share=0.5)


def test_a_run_that_another_version_began_is_not_gone_on_with(tmp_path: Path) -> None:
    store(tmp_path / "evidence")
    out = tmp_path / "out"
    begun = build_run_record(spec(), "").model_copy(update={"code": "0.0.9+abc"})
    write_record(out / "run.json", begun)
    with pytest.raises(EvidenceError, match=r"theodolite 0\.0\.9 began and did not finish"):
        run(spec(), RunPaths(tmp_path, out, out), overwrite=False)
    assert json.loads((out / "run.json").read_text())["code"] == "0.0.9+abc"
    prepare_folder(out, overwrite=True)
    assert not list(out.iterdir())


def test_links_in_a_run_folder_are_refused(finished: Path, tmp_path: Path) -> None:
    """Each file and each folder in turn, by every command that reads runs: nothing is followed."""
    outside = tmp_path / "outside"
    outside.mkdir()
    names = [path.relative_to(finished) for path in sorted(finished.rglob("*"))]
    some = [name for name in names if name.parent.name != "pieces"] + names[-1:]
    assert {"run.json", "manifest.json", "pieces", "pieces.parquet"} <= {str(n) for n in some}
    commands = ("verify", "report", "compare", "export", "leaderboard")
    for number, name in enumerate(some):
        path = finished / name
        path.rename(outside / "there")
        path.symlink_to(outside / "there")
        with pytest.raises(UnsafeInputError, match=f"{re.escape(name.as_posix())}, a link"):
            check_no_links(finished)
        command = commands[number % len(commands)]
        more = {"compare": [finished], "export": ["--latex", tmp_path / "x.tex"]}.get(command, [])
        board = ["--out", tmp_path / "board"] if command == "leaderboard" else more
        place = finished.parent if command == "leaderboard" else finished
        ran = theodolite(command, place, *board)
        text = ran.stdout + ran.stderr
        assert "a link" in text and "Traceback" not in text, (command, name, text)
        assert ran.returncode == (3 if command != "leaderboard" else ran.returncode), text
        path.unlink()
        (outside / "there").rename(path)
    assert theodolite("verify", finished).returncode == 0
