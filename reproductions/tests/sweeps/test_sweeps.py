"""Sweeps: contrasts cell by cell, and which choice moves them."""

# mypy: disable-error-code="arg-type,operator"

import json
import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from numpy.testing import assert_allclose
from scipy.stats import t

import theodolite
from support.runs.command_line import theodolite as theodolite_command
from theodolite._runs.run_inputs import RunPaths
from theodolite.errors import EvidenceError
from theodolite.evidence.files import save
from theodolite.evidence.pipeline_output import silent
from theodolite.metrics import concept_existence, concept_global_importance
from theodolite.metrics.catalogue import find_metric
from theodolite_reproductions.protocols import PROTOCOLS
from theodolite_reproductions.sweeps.cells import cells_of
from theodolite_reproductions.sweeps.moves import estimate_of
from theodolite_reproductions.sweeps.result import SweepRecord, run_sweep
from theodolite_reproductions.sweeps.spec import SweepSpec, read_sweep, spec_with


def evidence(n: int = 60) -> theodolite.ConceptEvidence:
    """Concepts of which the largest are there, and weights that name others."""
    random = np.random.default_rng(3)
    truth = random.random((n, 4)) < 0.5
    values = truth + 0.4 * random.normal(size=(n, 4))
    weights = random.normal(size=(4, 3))
    return theodolite.ConceptEvidence(
        values=values, truth=truth, labels=np.arange(n) % 3, weights=weights,
        class_truth=1 / (1 + np.exp(-3 * weights * [[1], [-1], [1], [-1]])),
        predicted=(values @ weights).argmax(axis=1),
    )  # fmt: skip


SWEEP: dict[str, Any] = {
    "name": "orders",
    "protocol": "protocol.yaml",
    "vary": {"options.order": ["signed", "absolute"], "options.population": ["all", "correct"]},
    "contrasts": [
        {
            "name": "value minus contribution",
            "metric": {"name": "concept_existence", "options": {"rank_by": "value", "top": 1}},
            "minus": {"rank_by": "contribution"},
            "entries": ["P000-F0-01"],
        },
        {
            "name": "below",
            "metric": {"name": "concept_existence", "options": {"rank_by": "weight", "top": 3}},
            "line": 0.6,
            "below": True,
        },
    ],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save(evidence(), tmp_path / "data" / "bundle")
    protocol = {"name": "p", "evidence": ["bundle"], "resampling": {"resamples": 50}}
    (tmp_path / "protocol.yaml").write_text(yaml.safe_dump(protocol))
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(SWEEP))
    return tmp_path


def measured(folder: Path) -> SweepRecord:
    sweep, protocol = read_sweep(folder / "sweep.yaml")
    (folder / "out").mkdir(exist_ok=True)
    at = RunPaths(folder / "data", folder / "out", folder / "cache")
    return run_sweep(sweep, protocol, at, silent)


def existence(order: str, population: str, **options: Any) -> float:
    e = evidence()
    each = concept_existence(
        e.values, e.truth, weights=e.weights, predicted=e.predicted, labels=e.labels,
        order=order, population=population, **options,
    )  # fmt: skip
    return float(np.nanmean(each))


def test_contrasts_are_differences_of_scores(folder: Path) -> None:
    record = measured(folder)
    assert len(record.cells) == 4
    for cell in record.cells:
        order, population = (cell.choices[f"options.{n}"] for n in ("order", "population"))
        by = {
            rank: existence(str(order), str(population), rank_by=rank, top=(1,))
            for rank in ("value", "contribution")
        }
        first, second = cell.contrasts
        assert_allclose(first.value, by["value"] - by["contribution"], atol=1e-12)
        assert_allclose([first.score, first.taken_off], list(by.values()), atol=1e-12)
        weight = existence(str(order), str(population), rank_by="weight", top=(3,))
        assert_allclose(second.value, 0.6 - weight, atol=1e-12)  # turned: the claim is "below"
        assert second.low < second.value < second.high


def test_moves_average_the_other_choices_and_are_corrected(folder: Path) -> None:
    record = measured(folder)
    value = {
        tuple(cell.choices.values()): [own.value for own in cell.contrasts] for cell in record.cells
    }
    moves = {(move.setting, move.contrast): move for move in record.moves}
    assert len(moves) == 4
    for number, contrast in enumerate(SWEEP["contrasts"]):
        by_order = [
            np.mean([value[order, population][number] for population in ("all", "correct")])
            for order in ("signed", "absolute")
        ]
        move = moves["options.order", contrast["name"]]
        assert_allclose(move.value, by_order[1] - by_order[0], atol=1e-12)
        assert move.p is None or move.p >= 0.0
    sure = [move for move in record.moves if move.low is not None and move.low * move.high > 0]
    assert all(move.p is not None for move in sure)


def test_shares_of_items_and_items_as_units(folder: Path) -> None:
    importance = {"name": "concept_global_importance", "options": {"form": 1, "over": "concepts"}}
    contrasts = [
        {"name": "share", "metric": importance, "share_below": 0.0, "unit": "items"},
        {"name": "mean", "metric": importance, "unit": "items"},
        {"name": "of samples", "metric": importance},
        {"name": "share of samples", "metric": importance | {"options": {"form": 2}},
         "share_below": 0.5},
    ]  # fmt: skip
    (folder / "sweep.yaml").write_text(json.dumps(SWEEP | {"contrasts": contrasts}))
    share, mean, of_samples, of_values = measured(folder).cells[0].contrasts
    e = evidence()
    arrays = {name: getattr(e, name) for name in ("weights", "labels", "predicted")}
    weights, values, _ = concept_global_importance(e.values, e.class_truth, **arrays)
    assert (weights < 0).any() and (weights > 0).any(), "else the case tells nothing"
    assert share.value == pytest.approx(np.mean(weights < 0))
    assert mean.value == of_samples.value == pytest.approx(weights.mean())
    assert of_values.value == pytest.approx(np.mean(values < 0.5))
    assert (share.draws, mean.draws, of_samples.draws) == (4, 4, 60)
    assert of_samples.low == of_samples.high, "weights do not depend on the samples"
    spread = weights.std(ddof=1) / 2  # of a mean of four
    width = (mean.high - mean.low) / 2 / t.ppf(0.975, 3)
    assert width == pytest.approx(spread, rel=0.25), "over concepts they vary"


def test_a_sweep_that_was_cut_off_goes_on(folder: Path) -> None:
    first = measured(folder).model_dump()
    cells = list((folder / "out" / "cells").iterdir())
    assert len(cells) == 1  # options need no evidence of their own
    before = cells[0].stat().st_mtime_ns
    assert measured(folder).model_dump() == first
    assert cells[0].stat().st_mtime_ns == before
    cells[0].write_bytes(cells[0].read_bytes()[:-8] + b"12345678")
    assert measured(folder).model_dump() == first
    assert cells[0].stat().st_mtime_ns != before
    shutil.rmtree(folder / "data" / "bundle")
    save(evidence(50), folder / "data" / "bundle")  # other data: not what was kept
    assert measured(folder).cells[0].contrasts[0].draws == 50


def test_seeds_widen_an_interval() -> None:
    rows = np.r_[0.3, 0.3 + 0.02 * np.random.default_rng(0).normal(size=400)]
    alone = estimate_of(rows, np.array([0.3]), 50)
    several = estimate_of(rows, np.array([0.1, 0.3, 0.5]), 50)
    assert alone.high - alone.low < 0.1 < several.high - several.low
    assert alone.p < 0.001 < several.p
    undefined = estimate_of(np.array([np.nan, 0.1, 0.2]), np.array([0.1]), 50)
    assert np.isnan([undefined.value, undefined.low, undefined.p]).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"settings": {"options.order": "signed"}}, "both set and varied"),
        (
            {"contrasts": deepcopy(SWEEP["contrasts"][:1]) + SWEEP["contrasts"][:1]},
            "two contrasts have one name",
        ),
        ({"vary": {}}, "vary"),
        ({"protocol": "../protocol.yaml"}, "beside the sweep"),
        ({"spoilt": 1}, "spoilt"),
    ],
)
def test_refuses(folder: Path, change: dict[str, Any], message: str) -> None:
    (folder / "sweep.yaml").write_text(yaml.safe_dump(SWEEP | change))
    with pytest.raises(EvidenceError, match=message):
        read_sweep(folder / "sweep.yaml")


def test_settings_by_dotted_name() -> None:
    protocol = {
        "name": "p", "dataset": {"name": "cub", "root": "a"},
        "pipeline": {"name": "posthoc_cbm", "backbone": "b"},
    }  # fmt: skip
    spec = spec_with(protocol, {"pipeline.projection": "margin", "seeds": [1, 2]})
    assert spec.pipeline is not None
    assert spec.pipeline.arguments["projection"] == "margin"
    assert spec.seeds == [1, 2]
    assert "projection" not in protocol["pipeline"]  # inputs are never changed
    with pytest.raises(EvidenceError, match="no 'nothing' in the protocol"):
        spec_with(protocol, {"nothing.projection": 1})


def test_sweeps_of_the_project_can_be_read() -> None:
    files = sorted(PROTOCOLS.glob("*.sweep.yaml"))
    assert files
    for path in files:
        sweep, protocol = read_sweep(path)
        for cell in cells_of(sweep):
            changed = {n: v for n, v in cell.items() if not n.startswith("options.")}
            assert spec_with(protocol, sweep.settings | changed).pipeline is not None
        assert all(find_metric(c.metric.name).options() for c in sweep.contrasts)


def test_too_many_cells() -> None:
    many = {f"pipeline.{n}": list(range(10)) for n in "abcd"}
    with pytest.raises(EvidenceError, match="10,000 cells"):
        cells_of(SweepSpec.model_validate(SWEEP | {"vary": many}))


def test_the_command(folder: Path) -> None:
    words = ["papers", "run", folder / "sweep.yaml", "--data", folder / "data", "--quiet"]
    ended = theodolite_command(*words, "--out", folder / "run")
    assert ended.returncode == 0, ended.stderr
    assert "signed to absolute" in ended.stdout
    assert "order=absolute, population=correct" in ended.stdout
    record = json.loads((folder / "run" / "sweep.json").read_text())
    assert record["format"] == "theodolite-sweep"
    assert record["metrics"] == {"concept_existence": find_metric("concept_existence").version}
