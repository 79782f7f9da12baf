"""The gate between two versions of a model, by the command line, of concepts in a bottleneck."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import typer
from typer.testing import CliRunner, Result

import theodolite
from theodolite.cli.commands.gate import gate as command
from theodolite.errors import EvidenceError, VerificationError

N, CONCEPTS = 40, 4


def version(shares: list[float]) -> theodolite.ConceptEvidence:
    """A bottleneck whose concepts have these shares."""
    random = np.random.default_rng(0)
    truth = random.integers(0, 2, (N, CONCEPTS)).astype(bool)
    return theodolite.ConceptEvidence(
        values=np.where(truth, 1.0, -1.0),
        truth=truth,
        weights=np.tile(np.array(shares)[:, None], (1, 2)),
        predicted=np.zeros(N, int),
        labels=random.integers(0, 2, N),
        samples=theodolite.Samples(ids=np.array([f"image {i}" for i in range(N)])),
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    shares = {
        "old": [4, 3, 2, 1], "same": [4.1, 3, 2, 1], "new": [1, 2, 3, 4],
        "seed-1": [4, 3.2, 2, 1], "seed-2": [4, 3, 2.3, 1], "seed-3": [3.8, 3, 2, 1],
    }  # fmt: skip
    versions = {name: version(own) for name, own in shares.items()}
    versions["others"] = versions["old"][:30]
    for name, evidence in versions.items():
        result = theodolite.audit(evidence, metrics=["concept_existence"], resamples=50)
        result.save(folder / name)
    (folder / "drift.yaml").write_text("drift: {}\n")
    (folder / "by_hand.yaml").write_text("drift: {at_most: 0.1}\n")
    (folder / "floor.yaml").write_text("drift: {floor: [seed-1, seed-2, seed-3], least: yes}\n")
    (folder / "exists.yaml").write_text("questions: {exists: partly}\n")
    return folder


def gate(runs: Path, run: str, thresholds: str, *options: str) -> Result:
    app = typer.Typer()
    app.command()(command)
    places = [part if part.startswith("--") else str(runs / part) for part in options]
    return CliRunner().invoke(app, [str(runs / run), str(runs / f"{thresholds}.yaml"), *places])


FLOOR = ("--floor", "seed-1", "--floor", "seed-2", "--floor", "seed-3")


@pytest.mark.parametrize(
    ("run", "thresholds", "options", "code", "line"),
    [
        ("new", "drift", FLOOR, 6, "not met: drift: 'no' (40.0 % of the attribution moved"),
        ("same", "drift", FLOOR, 0, "met: drift: 'yes' (0.6 %"),
        ("new", "drift", FLOOR[:4], 6, "inconclusive: drift: 'inconclusive' (40.0 %"),
        ("new", "by_hand", (), 6, "not met: drift: 'no' (40.0 %"),
        ("same", "by_hand", (), 0, "met: drift: 'yes' (0.6 %"),
        ("new", "floor", (), 6, "not met: drift: 'no'"),
        ("same", "floor", (), 0, "met: drift: 'yes'"),
        ("others", "by_hand", (), 6, "inconclusive: drift: other samples: only 30 are in all"),
    ],
)  # fmt: skip
def test_exit_codes(
    runs: Path, run: str, thresholds: str, options: tuple[str, ...], code: int, line: str
) -> None:
    done = gate(runs, run, thresholds, "--against", "old", *options)
    assert done.output.startswith(line), done.output
    assert done.exit_code == code


def test_what_moved_is_named() -> None:
    drift = theodolite.attribution_drift(version([4, 3, 2, 1]), version([1, 2, 3, 4]), at_most=0.1)
    assert "most: concept 0 40.0 % → 10.0 %, concept 3 10.0 % → 40.0 %" in drift.summary


def test_without_an_earlier_version_it_cannot_be_told(runs: Path) -> None:
    done = gate(runs, "new", "by_hand")
    assert done.exit_code == 6
    assert "inconclusive: drift: no version to compare with" in done.output
    done = gate(runs, "new", "exists", "--against", "old")
    assert isinstance(done.exception, EvidenceError)
    assert "thresholds with `drift`" in str(done.exception)


def test_a_folder_twice_is_no_retraining(runs: Path) -> None:
    done = gate(runs, "new", "drift", "--against", "old", "--floor", "old", *FLOOR[:4])
    assert isinstance(done.exception, EvidenceError)
    assert "a run folder twice" in str(done.exception)


def test_json_has_every_share_and_junit_the_failure(runs: Path, tmp_path: Path) -> None:
    junit = tmp_path / "gate.xml"
    options = ("--against", "old", *FLOOR, "--json", "--junit", str(junit))
    done = gate(runs, "new", "drift", *options)
    content = json.loads(done.output)
    assert content["passes"] is False
    assert content["drift"]["answer"] == "no"
    assert content["drift"]["floor"]["trainings"] == 4
    assert len(content["drift"]["features"]["shares"]) == CONCEPTS
    assert content["drift"]["features"]["shares"][0]["before"] == pytest.approx(0.4)
    assert "<failure" in junit.read_text()


def test_in_python(runs: Path) -> None:
    criteria = {"drift": {"at_most": 0.1}}
    assert theodolite.gate(runs / "same", criteria, against=runs / "old")
    stopped = theodolite.gate(runs / "new", criteria, against=version([4, 3, 2, 1]))
    assert [check.outcome for check in stopped.failures] == ["not met"]
    result = theodolite.audit(version([1, 2, 3, 4]), metrics=["concept_existence"], resamples=50)
    assert not theodolite.gate(result, criteria, against=theodolite.load(runs / "old"))


def test_in_a_test(runs: Path, theodolite_gate: Any) -> None:
    limits = runs / "by_hand.yaml"
    theodolite_gate(run=runs / "same", thresholds=limits, against=runs / "old")
    with pytest.raises(pytest.fail.Exception, match=r"drift: 'no' \(40.0 %"):
        theodolite_gate(run=runs / "new", thresholds=limits, against=runs / "old")


def test_a_changed_byte_of_any_run_is_refused(runs: Path, tmp_path: Path) -> None:
    for name in ("old", "seed-1"):
        changed = tmp_path / name
        for path in (runs / name).rglob("*"):
            if path.is_file():
                copy = changed / path.relative_to(runs / name)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.write_bytes(path.read_bytes())
        values = next((changed / "evidence").rglob("weights.npy"))
        values.write_bytes(values.read_bytes()[:-1] + b"\1")
    for against, floor in (
        (tmp_path / "old", runs / "seed-1"),
        (runs / "old", tmp_path / "seed-1"),
    ):
        with pytest.raises(VerificationError):
            theodolite.gate(runs / "new", {"drift": {}}, against=against, floor=[floor])
