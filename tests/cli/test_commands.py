"""Commands as a user calls them: their output and exit code."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from support.runs.command_line import Result, as_process, theodolite
from support.runs.small_run import write_inputs
from theodolite._planted.concepts import planted_concepts, planted_locations
from theodolite._verdicts.scores_file import ScoresFile
from theodolite.evidence.files import save


@pytest.fixture(scope="module")
def evidence(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evidence")
    save(planted_locations(40, 6), folder / "located")
    made = planted_concepts(40, 6)
    np.savez(folder / "said.npz", values=made.values, truth=made.truth)
    return folder


def assert_one_line(result: Result, code: int) -> str:
    assert result.returncode == code, result.stderr
    assert "Traceback" not in result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("theodolite: "), result.stderr
    return lines[0]


@pytest.mark.parametrize(
    "command", [[], ["metrics"], ["run"], ["audit"], ["report"], ["verify"], ["data"]]
)
def test_every_command_explains_itself(command: list[str]) -> None:
    result = as_process(*command, "--help")
    assert result.returncode == 0 and "Usage" in result.stdout


@pytest.mark.parametrize(
    "code",
    [
        "import theodolite",
        "import theodolite.cli; import sys; sys.argv = ['theodolite', '--help']\n"
        "try: theodolite.cli.main()\nexcept SystemExit: pass",
        "import theodolite; theodolite.audit; theodolite.ConceptEvidence",
        "from theodolite.metrics.catalogue import catalogue; catalogue()",
    ],
)
def test_the_light_things_load_nothing_heavy(code: str) -> None:
    check = (
        code
        + "\nimport sys\nbad = {'torch', 'matplotlib', 'ray', 'numba'} & set(sys.modules)\nassert not bad, bad"
    )
    result = subprocess.run(
        [sys.executable, "-c", check], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


def test_metrics_lists_and_shows_cards() -> None:
    listed = theodolite("metrics", "list").stdout
    assert "concept_existence" in listed and "pointing_game" in listed
    shown = theodolite("metrics", "concept_location").stdout
    assert "center baseline" in shown and "limitations" in shown
    cards = json.loads(theodolite("metrics", "list", "--json").stdout)
    assert all(card["nulls"] and card["range"] for card in cards)
    assert_one_line(theodolite("metrics", "cemm"), 2)


def test_audit_of_arrays_and_of_stored_evidence(evidence: Path, tmp_path: Path) -> None:
    result = theodolite("audit", evidence / "said.npz", "--resamples", 50)
    assert result.returncode == 0, result.stderr
    assert (
        "concept_existence" in result.stdout
        and "located: not evaluated; needs maps of where each concept is active" in result.stdout
    )
    found = json.loads(
        theodolite("audit", evidence / "located", "--json", "--resamples", 50).stdout
    )
    ScoresFile.model_validate(found)
    assert {v["question"] for v in found["verdicts"]} == {"exists", "located", "leak_free"}
    result = theodolite("audit", evidence / "located", "--out", tmp_path / "run", "--resamples", 50)
    assert result.returncode == 0 and (tmp_path / "run" / "report.html").is_file()
    assert theodolite("verify", tmp_path / "run", "--recompute", "all").returncode == 0


def test_verify_report_and_overwrite(evidence: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    theodolite("audit", evidence / "said.npz", "--out", run, "--resamples", 20)
    assert theodolite("report", run).returncode == 0
    assert "ok: " in theodolite("verify", run).stdout
    message = assert_one_line(theodolite("audit", evidence / "said.npz", "--out", run), 2)
    assert "--overwrite" in message
    (run / "scores.json").write_bytes((run / "scores.json").read_bytes().replace(b"0", b"1", 1))
    assert "scores.json changed" in assert_one_line(theodolite("verify", run), 5)
    assert_one_line(theodolite("report", run), 5)
    assert theodolite("audit", evidence / "said.npz", "--out", run, "--overwrite").returncode == 0
    (run / "report.html").unlink()
    assert theodolite("report", run).returncode == 0, "a lost report can be made again"
    assert theodolite("verify", run).returncode == 0


def test_figures_for_a_paper(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    save(planted_concepts(40, 6), tmp_path / "e")
    theodolite("audit", tmp_path / "e", "--out", tmp_path / "run", "--resamples", 20)
    result = theodolite("report", tmp_path / "run", "--figures", tmp_path / "figures")
    assert result.returncode == 0, result.stderr
    written = list((tmp_path / "figures").glob("*.pdf"))
    assert len(written) == 16 and all(p.read_bytes().startswith(b"%PDF") for p in written)


def test_nothing_to_score_is_an_error(tmp_path: Path) -> None:
    np.savez(tmp_path / "bare.npz", values=np.eye(3))
    line = assert_one_line(theodolite("audit", tmp_path / "bare.npz", "--quiet"), 2)
    assert "concept_existence: truth;" in line


@pytest.mark.parametrize(
    ("spoil", "code"),
    [
        (lambda root: (root / "images" / "0003.png").write_bytes(b"junk"), 3),
        (
            lambda root: (root / "points.csv").write_text(
                "image,part,row,column\nimages/0000.png,disc,999,1\n"
            ),
            2,
        ),
        (
            lambda root: (root / "boxes.csv").write_text(
                "image,part,top,left,bottom,right\nimages/0000.png,disc,9,9,1,1\n"
            ),
            2,
        ),
        (
            lambda root: (root / "masks.csv").write_text(
                "image,part,file\nimages/0000.png,disc,../x.png\n"
            ),
            3,
        ),
    ],
)
def test_data_check_sees_what_is_wrong(
    tmp_path: Path, spoil: Callable[[Path], object], code: int
) -> None:
    theodolite("data", "example", tmp_path / "mine")
    spoil(tmp_path / "mine")
    assert_one_line(theodolite("data", "check", "folder", tmp_path / "mine"), code)


def test_data_commands(tmp_path: Path) -> None:
    assert "cub" in theodolite("data", "list").stdout
    assert theodolite("data", "example", tmp_path / "mine").returncode == 0
    result = theodolite("data", "check", "folder", tmp_path / "mine")
    assert "60 listed, 60 at hand" in result.stdout
    assert_one_line(theodolite("data", "check", "folder", tmp_path / "none"), 2)
    assert_one_line(theodolite("data", "example", tmp_path / "mine"), 2)


def malformed(folder: Path) -> dict[str, Path]:
    """Arrays that must never end in a traceback or a wrong number."""
    given: dict[str, dict[str, np.ndarray]] = {
        "shapes": {"values": np.zeros((4, 3)), "truth": np.zeros((3, 4))},
        "nan": {"values": np.full((4, 3), np.nan)},
        "flat": {"values": np.zeros(4)},
        "empty": {"values": np.zeros((0, 3))},
        "no concepts": {"values": np.zeros((3, 0))},
        "text": {"values": np.array([["a", "b"]])},
        "labels": {"values": np.zeros((2, 2)), "labels": np.array([0, 10**15])},
        "negative": {"values": np.zeros((2, 2)), "labels": np.array([0, -1])},
        "half": {"values": np.zeros((2, 2)), "truth": np.full((2, 2), 0.5)},
        "unknown": {"values": np.zeros((2, 2)), "extra": np.zeros(1)},
        "complex": {"values": np.zeros((2, 2), complex)},
        "twice": {"values": np.zeros((2, 2)), "concepts": np.array(["a", "a"])},
        "control": {"values": np.zeros((2, 2)), "concepts": np.array(["a\x1b[2J", "b"])},
        "pointer": {"values": np.zeros((2, 2)), "weights": np.zeros((2, 3)), "predicted": np.array([0, 3])},
    }  # fmt: skip
    paths = {}
    for name, arrays in given.items():
        paths[name] = folder / f"{name}.npz"
        np.savez(paths[name], **arrays)
    np.savez(folder / "objects.npz", values=np.array([[{}]], object), allow_pickle=True)
    good = folder / "good.npz"
    np.savez(good, values=np.zeros((2, 2)))
    (folder / "cut.npz").write_bytes(good.read_bytes()[:-40])
    (folder / "garbage.npz").write_bytes(b"\x00" * 100)
    (folder / "nothing.npz").write_bytes(b"")
    (folder / "bad.safetensors").write_bytes(b"\xff" * 64)
    (folder / "bundle").mkdir()
    (folder / "bundle" / "header.json").write_text("{")
    names = ("objects.npz", "cut.npz", "garbage.npz", "nothing.npz", "bad.safetensors", "bundle")
    return paths | {name: folder / name for name in names} | {"missing": folder / "none.npz"}


def test_malformed_input_ends_in_one_helpful_line(tmp_path: Path) -> None:
    for name, path in malformed(tmp_path).items():
        result = theodolite("audit", path, "--quiet")
        assert result.returncode in (2, 3), (name, result.returncode, result.stderr)
        line = assert_one_line(result, result.returncode)
        assert re.search(r"got .+; needed .+\.", line), line


@pytest.mark.parametrize(
    ("spec", "code"),
    [
        ("", 2),
        ("name: x\ncolour: y\n", 2),
        ("name: [", 3),
        ("name: !!python/object:os.system x", 3),
        ("name: x\nevidence: [../../secret]\n", 3),
        ("name: x\nevidence: [none]\n", 3),
        ("name: x\ndataset: {name: nope}\npipeline: {name: posthoc_cbm, backbone: test_resnet}\n", 2),
        ("name: x\ndataset: {name: folder, root: /etc}\npipeline: {name: posthoc_cbm, backbone: a}\n", 3),
        ("name: x\nevidence: [e]\nmetrics: [{name: nope}]\n", 2),
        ("name: x\nevidence: [e]\nmetrics: [{name: pointing_game, options: {target: nowhere}}]\n", 2),
        ("name: x\nevidence: [e]\nmetrics: [{name: concept_existence, options: {top: [99]}}]\n", 2),
        ("name: x\nevidence: [e]\nmetrics: [{name: concept_existence, options: {top: many}}]\n", 2),
        ("name: x\nevidence: [e]\nmetrics: [{name: concept_existence, options: {top: [a]}}]\n", 2),
        ("name: x\nevidence: [e]\nmetrics: [{name: concept_location, options: {alpha: [-1]}}]\n", 2),
        ("name: x\nevidence: [e]\nmetrics: [{name: concept_location, options: {regions: 0}}]\n", 2),
        ("name: x\nevidence: [e]\nmetrics: [{name: concept_global_importance, options: {form: [7]}}]\n", 2),
    ],
)  # fmt: skip
def test_malformed_specs_end_in_one_line(tmp_path: Path, spec: str, code: int) -> None:
    save(planted_locations(6, 6), tmp_path / "data" / "e")
    (tmp_path / "s.yaml").write_text(spec)
    result = theodolite(
        "run",
        tmp_path / "s.yaml",
        "--data",
        tmp_path / "data",
        "--out",
        tmp_path / "out",
        "--quiet",
    )
    assert_one_line(result, code)


def test_a_whole_run_and_its_messages(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    write_inputs(tmp_path)
    result = theodolite(
        "run", "spec.yaml", "--data", "data", "--out", "out", "--cache", "cache", cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    assert "report: out/report.html" in result.stdout
    for line in result.stderr.splitlines():
        names = set(json.loads(line))
        assert names - {"rate", "seconds_left"} == {"step", "done", "of"}, "logs are lines of JSON"
    assert_one_line(
        theodolite("run", "spec.yaml", "--data", "nowhere", "--out", "o2", cwd=tmp_path), 2
    )
    assert_one_line(
        theodolite("run", "none.yaml", "--data", "data", "--out", "o2", cwd=tmp_path), 3
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopping_is_polite(tmp_path: Path, number: int) -> None:
    save(planted_locations(3000, 20), tmp_path / "e")
    program = Path(sys.executable).with_name("theodolite")
    process = subprocess.Popen(
        [program, "audit", str(tmp_path / "e"), "--resamples", "20000"],
        stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    time.sleep(4)
    os.kill(process.pid, number)
    _, said = process.communicate(timeout=20)
    assert process.returncode == 128 + number
    assert said.strip().splitlines()[-1].startswith("theodolite: stopped")
