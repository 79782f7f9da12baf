"""Runs that are killed anywhere, by anything, and begun again: the same bytes, nothing done twice.

``THEODOLITE_KILLS`` says at how many random points the long form kills.
"""

import importlib.util
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from theodolite._planted.concepts import planted_concepts
from theodolite._storage.text import read_json
from theodolite.evidence.store_writer import EvidenceWriter

KILLS = int(os.environ.get("THEODOLITE_KILLS", "2"))
PROGRAM = Path(sys.executable).with_name("theodolite")
SPEC = """
name: long
evidence: [evidence]
metrics:
  - name: concept_existence
    options: {rank_by: [contribution, value]}
  - name: concept_global_importance
resampling: {resamples: 100}
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Evidence in 40 pieces, and a spec that takes seconds."""
    root = tmp_path_factory.mktemp("interrupted")
    evidence = planted_concepts(640, n_concepts=24, n_classes=12, alignment=0.6)
    with EvidenceWriter(root / "evidence", rows=16) as writer:
        writer.add(evidence)
    (root / "spec.yaml").write_text(SPEC)
    return root


def begin(data: Path, out: Path, workers: int = 1, *more: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [PROGRAM, "run", data / "spec.yaml", "--data", data, "--out", out, "--quiet",
         "--workers", f"{workers}", *more],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def pieces(out: Path) -> dict[str, int]:
    """The finished pieces, and when they were written."""
    folder = out / "pieces"
    result = [] if not folder.is_dir() else list(folder.glob("*.safetensors"))
    return {path.name: path.stat().st_mtime_ns for path in result}


def result(out: Path) -> tuple[bytes, dict[str, str]]:
    """What must be the same, however often it was interrupted."""
    files = read_json(out / "manifest.json")["files"]
    same = {name: digest for name, digest in files.items() if name.startswith("pieces/")}
    return (out / "scores.json").read_bytes(), same


@pytest.fixture(scope="module")
def undisturbed(data: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    started = time.monotonic()
    process = begin(data, out)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return out, time.monotonic() - started


@pytest.mark.parametrize("number", range(KILLS))
def test_killed_and_begun_again(
    data: Path, undisturbed: tuple[Path, float], tmp_path: Path, number: int
) -> None:
    whole, seconds = undisturbed
    chance = random.Random(f"kill {number}")  # noqa: S311
    out, workers = tmp_path / "run", 1 + number % 2
    killed_at = []
    for _ in range(2 if workers == 1 or KILLS > 2 else 1):
        process = begin(data, out, workers)
        there, wait = len(pieces(out)), chance.uniform(0.0, 0.7) * seconds
        while process.poll() is None and wait > 0:  # from the first new piece on
            time.sleep(0.02)
            wait -= 0.02 * (len(pieces(out)) > there)
        children = _children(process.pid) if process.poll() is None else []
        assert workers == 1 or children or process.poll() is not None
        process.kill()
        process.communicate()
        _wait_until_gone(children)
        killed_at.append(len(pieces(out)))
    before = pieces(out)
    process = begin(data, out, workers)
    _, errors = process.communicate(timeout=120)
    finished = process.returncode == 2 and "something in it" in errors  # the last kill came late
    assert process.returncode == 0 or finished, errors
    assert result(out) == result(whole), f"killed after {killed_at} pieces"
    after = pieces(out)
    assert before.items() <= after.items(), "a piece that was done was done again"
    assert max(killed_at) > 0


def test_a_polite_stop_is_quick_and_can_be_gone_on_with(
    data: Path, undisturbed: tuple[Path, float], tmp_path: Path
) -> None:
    whole, _ = undisturbed
    out = tmp_path / "run"
    for number, code in ((signal.SIGTERM, 143), (signal.SIGINT, 130)):
        process = begin(data, out, 2)
        while len(pieces(out)) < 5 + 20 * (code == 130):
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(number)
        started = time.monotonic()
        _, errors = process.communicate(timeout=20)
        assert time.monotonic() - started < 10
        assert process.returncode == code, errors
        assert errors.count("\n") == 1 and "to resume" in errors
        time.sleep(0.2)
        assert not _workers_of(out), "a process was left behind"
    before = pieces(out)
    process = begin(data, out)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert result(out) == result(whole)
    assert before.items() <= pieces(out).items()


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="ray is not installed")
def test_a_polite_stop_on_ray(data: Path, undisturbed: tuple[Path, float], tmp_path: Path) -> None:
    """Ray takes over the polite signal when it starts: it is taken back."""
    whole, _ = undisturbed
    out = tmp_path / "run"
    process = begin(data, out, 2, "--engine", "ray")
    starts = 1
    while len(pieces(out)) < 5:
        if process.poll() is not None:  # Ray waits half a minute for its servers, and no longer
            errors = process.communicate()[1]
            assert "did not start in time" in errors and starts < 6, errors
            process, starts = begin(data, out, 2, "--engine", "ray"), starts + 1
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    started = time.monotonic()
    _, errors = process.communicate(timeout=30)
    assert time.monotonic() - started < 10
    assert process.returncode == 128 + signal.SIGTERM, errors
    assert errors.splitlines()[-1].startswith("theodolite: stopped") and "Traceback" not in errors
    before = pieces(out)
    process = begin(data, out)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert result(out) == result(whole), "begun on Ray, ended here"
    assert before.items() <= pieces(out).items()


def _children(parent: int) -> list[int]:
    try:
        listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    except OSError:  # it ended just now
        return []
    return [int(child) for child in listed.split()]


def _wait_until_gone(children: list[int]) -> None:
    """Workers end when their driver is killed."""
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "workers outlive the run"
        time.sleep(0.05)


def _workers_of(out: Path) -> list[str]:
    result = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
        except OSError:
            continue
        if str(out).encode() in command:
            result.append(command.decode())
    return result
