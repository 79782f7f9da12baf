"""The command ``audit`` and run folders: links, addresses, two at once, nothing lost."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.runs.command_line import PROGRAM, Result, theodolite
from theodolite._planted.concepts import planted_concepts
from theodolite._storage.text import read_json
from theodolite.evidence.files import save
from theodolite.evidence.store_writer import EvidenceWriter

QUICK = ("--resamples", 20, "--workers", 1, "--quiet")


def refused(ran: Result, code: int) -> str:
    assert ran.returncode == code, ran.stderr
    (line,) = ran.stderr.strip().splitlines()
    assert re.search(r"got .+; needed .+\.", line), line
    return line


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("data")
    evidence = replace(planted_concepts(200, alignment=0.7), labels=None)  # leakage takes seconds
    save(evidence, root / "plain")
    with EvidenceWriter(root / "stored", 64) as writer:
        writer.add(evidence)
    np.savez(root / "bare.npz", values=np.eye(3))
    with EvidenceWriter(root / "long", 16) as writer:
        writer.add(planted_concepts(1600, n_concepts=24, n_classes=12))
    return root


@pytest.mark.parametrize("name", ["stored", "plain"])
def test_evidence_by_a_link_by_a_dot_and_by_an_address(
    data: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / "link").symlink_to(data / name)
    ran = theodolite("audit", "link", "--out", "run", *QUICK, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert read_json(tmp_path / "run" / "run.json")["spec"]["evidence"] == [name]
    ran = theodolite("audit", ".", "--out", tmp_path / "dot", *QUICK, cwd=data / name)
    assert ran.returncode == 0, ran.stderr
    assert read_json(tmp_path / "dot" / "run.json")["spec"]["title"] == f"Audit of {name}"
    if name == "stored":
        ran = theodolite("audit", f"file://{data / name}", *QUICK)
        assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("place", ["none", "plain"])
def test_an_address_without_evidence_says_so(data: Path, place: str) -> None:
    line = refused(theodolite("audit", f"file://{data / place}", *QUICK), 3)
    assert f"address 'file://{data / place}': got no sharded evidence there" in line


@pytest.mark.parametrize("bad", ["bare.npz", "none.npz", "none", "."])
def test_an_audit_that_cannot_be_leaves_the_old_run(data: Path, tmp_path: Path, bad: str) -> None:
    run = tmp_path / "run"
    assert theodolite("audit", data / "stored", "--out", run, *QUICK).returncode == 0
    assert theodolite("audit", data / bad, "--out", run, "--overwrite", *QUICK).returncode in (2, 3)
    assert theodolite("verify", run).returncode == 0
    ran = theodolite("audit", run, "--out", run, "--overwrite", *QUICK)
    assert "a place in the run folder" in refused(ran, 2)
    assert theodolite("verify", run).returncode == 0
    ran = theodolite("audit", data / bad, "--out", tmp_path / "new", *QUICK)
    assert ran.returncode in (2, 3) and not (tmp_path / "new").exists()


def test_evidence_in_the_run_folder_is_not_destroyed(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert theodolite("audit", data / "plain", "--out", run, *QUICK).returncode == 0
    own = run / "evidence" / "seed-0" / "concept"
    ran = theodolite("audit", own, "--out", run, "--overwrite", *QUICK)
    assert "a place in the run folder" in refused(ran, 2)
    assert theodolite("verify", run).returncode == 0


Begin = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def begun() -> Iterator[Begin]:
    """Commands that run meanwhile; they end with the test."""
    processes = []

    def begin(*arguments: object) -> "subprocess.Popen[str]":
        command = [PROGRAM, *map(str, arguments)]
        processes.append(
            subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        )
        return processes[-1]

    yield begin
    for process in processes:
        if process.poll() is None:
            process.kill()
            process.communicate()


def wait_for(folder: Path, process: "subprocess.Popen[str]") -> None:
    while not list(folder.glob("*.safetensors")):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_two_runs_do_not_write_into_one_folder(data: Path, tmp_path: Path, begun: Begin) -> None:
    pytest.importorskip("fcntl")
    run = tmp_path / "run"
    first = begun("audit", data / "long", "--out", run, "--resamples", 800, "--workers", 1)
    wait_for(run / "pieces", first)
    for given in (data / "long", data / "plain"):
        ran = theodolite("audit", given, "--out", run, "--overwrite", *QUICK)
        assert "another run that writes there now" in refused(ran, 2)
    first.kill()
    first.communicate()
    ran = theodolite("audit", data / "plain", "--out", run, "--overwrite", *QUICK)
    assert ran.returncode == 0, "a lock does not outlive its process"


@pytest.mark.parametrize(
    ("where", "says"),
    [
        ((), "run the same command to start again"),
        (("--checkpoint-dir",), "finished work is kept; run the same command to resume"),
        (("--out",), "finished work is kept; run the same command to resume"),
    ],
)
def test_what_is_said_when_stopped_is_true(
    data: Path, tmp_path: Path, begun: Begin, where: tuple[str, ...], says: str
) -> None:
    more = [*where, tmp_path / "kept"] if where else []
    process = begun("audit", data / "long", "--resamples", 2000, "--workers", 1, *more)
    if where:
        wait_for(tmp_path / "kept" / ("pieces" if where == ("--out",) else ""), process)
    else:
        time.sleep(4)
    os.kill(process.pid, signal.SIGTERM)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + signal.SIGTERM
    assert said.strip().endswith(says), said


def test_a_dry_run_says_what_it_would_take(data: Path, tmp_path: Path) -> None:
    ran = theodolite(
        "audit", data / "stored", "--dry-run", "--workers", "1", "--out", tmp_path / "o"
    )
    assert ran.returncode == 0 and ran.stdout.startswith("about "), ran.stderr
    assert "tasks left" in ran.stdout and not (tmp_path / "o" / "scores.json").exists()
    ran = theodolite("audit", data / "plain", "--dry-run")
    assert ran.returncode == 0 and ran.stdout.startswith("no estimate for evidence in memory: "), (
        ran.stderr
    )


def test_an_example_is_not_written_over_a_run(data: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert theodolite("audit", data / "stored", "--out", run, *QUICK).returncode == 0
    (run / "manifest.json").unlink()
    assert "Choose another folder" in refused(theodolite("data", "example", run), 2)
    assert (run / "scores.json").exists()


def test_several_files_thresholds_and_what_is_missing(data: Path, tmp_path: Path) -> None:
    votes = np.random.default_rng(0).integers(1, 6, (30, 4)).astype(float)
    np.savez(tmp_path / "votes.npz", ratings=votes, scale=np.arange(1.0, 6.0))
    (tmp_path / "least.yaml").write_text("questions: {accepted: yes}\n")
    given = (data / "plain", tmp_path / "votes.npz", "--out", tmp_path / "run")
    ran = theodolite("audit", *given, "--thresholds", tmp_path / "least.yaml", *QUICK)
    assert ran.returncode == 6, ran.stderr
    assert ran.stderr.startswith("inconclusive: accepted: ")  # too few votes to say no
    assert "located: not evaluated; needs maps of where each concept is active" in ran.stdout
    assert (tmp_path / "run" / "report.html").is_file(), "the report is written all the same"
    assert theodolite("verify", tmp_path / "run").returncode == 0
    (tmp_path / "broken.yaml").write_text("question: {}\n")
    broken = ("--thresholds", tmp_path / "broken.yaml", "--out", tmp_path / "new")
    refused(theodolite("audit", data / "none", *broken, *QUICK), 2)
    assert not (tmp_path / "new").exists(), "read before anything else"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ((), "evidence, or --model and --data"),
        (("--layer", "layer4"), "--model as well"),
        (("--model", "resnet18"), "the folder of a data set"),
        (("plain", "--model", "resnet18"), "either evidence or a model"),
        (("plain", "plain"), "concept evidence twice"),
        (("--model", "resnet18", "--data", "plain"), "samples.csv"),
    ],
)
def test_mistakes_of_the_command_line(data: Path, given: tuple[str, ...], says: str) -> None:
    ran = theodolite("audit", *given, *QUICK, cwd=data)
    assert says in refused(ran, 2)
