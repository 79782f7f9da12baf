"""Planted leakage is what it says, lines are where they belong, and faults are caught."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from support.runs.command_line import theodolite
from theodolite.certification.characteristics import Draws, characteristics
from theodolite.certification.grid import PLAIN, certify, conditions
from theodolite.certification.planted_leakage import LeakageCondition, planted_evidence, true_share
from theodolite.errors import EvidenceError
from theodolite.stats.information import plug_in


@pytest.mark.parametrize("kind", ["binary", "percent", "int8", "saturated"])
@pytest.mark.parametrize("labels", [2, 10])
def test_the_truth_is_what_counting_many_samples_gives(kind: str, labels: int) -> None:
    cell = LeakageCondition(share=0.2, clusters=200_000, concepts=1, labels=labels, values=kind)
    evidence = planted_evidence(cell, seed=1)
    values, truth = np.asarray(evidence.values)[:, 0], np.asarray(evidence.truth)[:, 0]
    told = left_open = 0.0
    for there in (False, True):
        rows = truth == there
        codes = np.unique(np.round(values[rows], 3), return_inverse=True)[1]
        own = np.asarray(evidence.labels)[rows]
        told += rows.mean() * plug_in(codes, own)
        left_open += rows.mean() * plug_in(own, own)
    assert told / left_open == pytest.approx(true_share(cell), abs=0.006)


@pytest.mark.parametrize("share", [0.0, 0.05, 0.2, 0.5])
@pytest.mark.parametrize("labels", [2, 10, 200])
def test_the_dial_is_the_share(share: float, labels: int) -> None:
    cell = LeakageCondition(share=share, labels=labels)
    assert true_share(cell) == pytest.approx(share, abs=1e-4)
    assert true_share(replace(cell, values="uint16")) == pytest.approx(share, abs=1e-3)
    assert true_share(replace(cell, values="constant")) == 0
    assert true_share(replace(cell, values="saturated")) <= share + 1e-9


def test_clusters_share_concepts_and_labels() -> None:
    cell = LeakageCondition(clusters=30, rows=4, within=0.33)
    evidence = planted_evidence(cell, seed=2)
    clusters = np.asarray(evidence.samples.clusters)
    for cluster in range(30):
        rows = clusters == cluster
        assert rows.sum() == 4 and len(np.unique(np.asarray(evidence.labels)[rows])) == 1
        assert (np.ptp(np.asarray(evidence.values)[rows], axis=0) > 0).all()
    assert planted_evidence(replace(cell, declared=False), seed=2).samples.clusters is None
    copies = np.asarray(planted_evidence(replace(cell, within=0.0), seed=2).values)
    assert (copies[::4] == copies[3::4]).all()
    again = planted_evidence(cell, seed=2)
    np.testing.assert_array_equal(again.values, evidence.values)


@pytest.mark.parametrize(
    ("options", "says"),
    [({"share": 1.0}, "below 1"), ({"values": "int9"}, "int8"), ({"labels": 1}, "two labels")],
)
def test_nonsense_is_refused(options: dict[str, object], says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        LeakageCondition(**options)  # type: ignore[arg-type]


def draws(answer: int, value: float, half: float, n: int = 60) -> Draws:
    values = value + 0.01 * np.resize([-1.0, 1.0], n)
    return Draws(values, values - half, values + half, np.full(n, float(answer)))


@pytest.mark.parametrize(
    ("result", "truth", "fails"),
    [
        (draws(0, 0.0, 0.05), 0.0, ()),
        (draws(2, 0.0, 0.05), 0.0, ("false alarms",)),
        (draws(1, 0.0, 0.05), 0.0, ("false alarms",)),
        (draws(1, 0.05, 0.05), 0.05, ()),
        (draws(0, 0.2, 0.05), 0.2, ("falsely called free",)),
        (draws(2, 0.2, 0.001), 0.2, ("covered",)),
        (draws(2, 0.4, 0.5), 0.2, ("too high",)),
        (draws(2, 0.1, 0.5), 0.2, ()),
    ],
)
def test_lines_bite(result: Draws, truth: float, fails: tuple[str, ...]) -> None:
    cell = characteristics(result, truth, {}, tolerance=0.05)
    assert tuple(failure.partition(":")[0] for failure in cell.failures) == fails


def test_the_neighbour_estimate_fails_where_reviews_say_it_does() -> None:
    """Codes counted as categories, and copies that are each other's neighbours."""
    codes = replace(PLAIN, values="uint16", share=0.2)
    copies = replace(PLAIN, clusters=150, rows=2)
    free, alarmed = certify("task_leakage_given_concept", [codes, copies], 20)
    assert free.answers["yes"] == 20, "0.995 for a leak of 0.2"
    assert "falsely called free: 20 of 20, at most 5" in free.failures
    assert alarmed.answers["no"] == 20, "each copy is the other's nearest neighbour"
    assert "false alarms: 20 of 20, at most 4" in alarmed.failures


def test_the_predictive_estimate_is_the_same_however_values_are_stored() -> None:
    kinds = ("float64", "float32", "uint16", "percent")
    cells = [replace(PLAIN, values=kind, share=0.2) for kind in kinds]
    stored = certify("predictive_task_leakage", cells, 20)
    for cell in stored:
        assert cell.mean == pytest.approx(0.19, abs=0.03), cell.condition
        assert cell.answers["yes"] == 0
    copies = replace(PLAIN, clusters=150, rows=2)
    clean = certify("predictive_task_leakage", [copies], 20)[0]
    assert clean.answers["no"] == clean.answers["partly"] == 0 and abs(clean.mean) < 0.02


def test_draws_depend_on_condition_and_seed_alone() -> None:
    few = replace(PLAIN, clusters=40, concepts=1)
    alone = certify("predictive_task_leakage", [few], 20)[0]
    among = certify("predictive_task_leakage", [replace(few, share=0.2), few], 20)[1]
    other = certify("predictive_task_leakage", [few], 20, seed=1)[0]
    assert alone.mean == among.mean != other.mean


def test_every_condition_is_a_cell_once() -> None:
    for size in ("ci", "release"):
        cells = conditions(size)  # type: ignore[arg-type]
        assert len(set(cells)) == len(cells) > 20


def test_other_scores_are_refused() -> None:
    with pytest.raises(EvidenceError, match="looks for leakage"):
        certify("concept_existence", [PLAIN], 20)


def test_the_command_says_what_fails_and_goes_on(tmp_path: Path) -> None:
    def run() -> object:
        return theodolite(
            "certify", "task_leakage_given_concept", "--draws", 20, "--out", tmp_path / "c",
            "--workers", 1, "--quiet",
        )  # fmt: skip

    first = run()
    assert first.returncode == 6, first.stderr
    assert "falsely called free: 20 of 20" in " ".join(first.stdout.split())
    content = json.loads((tmp_path / "c" / "certificate.json").read_text())
    assert content["metric"] == "task_leakage_given_concept" and content["failed"] >= 4
    assert any((tmp_path / "c" / "pieces").iterdir())
    assert run().stdout == first.stdout
