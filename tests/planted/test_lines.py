"""Lines are where they belong, and bite."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from theodolite._planted.certification.cells import cells_of, repetitions
from theodolite._planted.certification.certify import Certified, certify, subjects_of
from theodolite._planted.certification.characteristics import (
    Characteristics,
    Draws,
    Expected,
    characteristics,
)
from theodolite._planted.certification.checks import check
from theodolite._planted.certification.flips import flips
from theodolite._planted.certification.grid import put_through
from theodolite._planted.certification.lines import lines_over_cells, power
from theodolite._planted.certification.subjects import CatalogueSubject, Outcome
from theodolite._planted.conditions import Condition
from theodolite._planted.generators import Planted
from theodolite._scoring.evaluate import Resampling
from theodolite.metrics.catalogue import catalogue

YES, PARTLY, NO, CANNOT_TELL = range(4)


def draws(answer: int, value: float, half: float, truth: float, n: int = 60) -> Draws:
    values = value + 0.01 * np.resize([-1.0, 1.0], n)
    return Draws(
        values, values - half, values + half, np.full(n, truth), np.full(n, float(answer)),
        np.ones(n), np.ones(n),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("result", "fails"),
    [
        (draws(YES, 0.0, 0.05, 0.0), ()),
        (draws(NO, 0.0, 0.05, 0.0), ("false alarms",)),
        (draws(PARTLY, 0.0, 0.05, 0.0), ("false alarms",)),
        (draws(PARTLY, 0.05, 0.05, 0.05), ()),
        (draws(NO, 0.05, 0.05, 0.05), ("false alarms",)),
        (draws(YES, 0.05, 0.05, 0.05), ("falsely called free",)),
        (draws(YES, 0.2, 0.05, 0.2), ("falsely called free",)),
        (draws(NO, 0.2, 0.001, 0.2), ("covered",)),
        (draws(NO, 0.4, 0.5, 0.2), ("too high",)),
        (draws(NO, 0.1, 0.5, 0.2), ()),
    ],
)
def test_lines_of_a_fault_bite(result: Draws, fails: tuple[str, ...]) -> None:
    cell = characteristics(
        result, {}, Expected(is_defect_metric=True, tolerance=0.05, worthless=result.truth[0] == 0)
    )
    assert tuple(failure.partition(":")[0] for failure in cell.failures) == fails


@pytest.mark.parametrize(
    ("result", "worthless", "fails"),
    [
        (draws(NO, 0.3, 0.05, 0.3), True, ()),
        (draws(CANNOT_TELL, 0.3, 0.05, 0.3), True, ()),
        (draws(PARTLY, 0.3, 0.05, 0.3), True, ("false alarms",)),
        (draws(YES, 0.3, 0.05, 0.3), True, ("false alarms",)),
        (draws(YES, 0.9, 0.05, 0.9), False, ()),
        (draws(YES, 0.8, 0.05, 0.9), False, ("covered", "too low")),
        (draws(YES, 0.9, 0.001, 0.9), False, ("covered",)),
    ],
)
def test_lines_of_scores_that_beat_nulls_bite(
    result: Draws, worthless: bool, fails: tuple[str, ...]
) -> None:
    cell = characteristics(result, {}, Expected(False, None, worthless))
    assert tuple(failure.partition(":")[0] for failure in cell.failures) == fails


def test_what_is_undefined_is_counted() -> None:
    result = draws(CANNOT_TELL, np.nan, 0.1, 0.5, n=20)
    cell = characteristics(result, {}, Expected(False, None, worthless=True))
    assert cell.undefined == 20 and cell.intervals == 0 and np.isnan(cell.mean)
    assert cell.failures == ()


def cell_at(
    dial: float, mean: float, claims: int, failures: tuple[str, ...] = (), **changes: Any
) -> Characteristics:
    usual = CatalogueSubject("acceptance").generator.usual
    condition = replace(usual, dial=dial, **changes)
    answers = {"yes": 0, "partly": claims, "no": 20 - claims, "inconclusive": 0}
    return Characteristics(
        condition.describe(), mean, 20, 0, answers, claims, 19, 20, mean, 0.01, 0.0, 0.1, 1.0, 0.1,
        failures,
    )  # fmt: skip


DIALS = (0.0, 0.25, 0.5, 0.75, 1.0)


@pytest.mark.parametrize(
    ("means", "holds"),
    [
        ((0.5, 0.6, 0.7, 0.8, 1.0), {"order": True, "ends": True}),
        ((0.5, 0.7, 0.6, 0.8, 1.0), {"order": False, "ends": True}),
        ((0.5, 0.6, 0.7, 0.8, 0.99), {"order": True, "ends": False}),
    ],
)
def test_order_and_ends(means: tuple[float, ...], holds: dict[str, bool]) -> None:
    cells = [cell_at(dial, mean, 0) for dial, mean in zip(DIALS, means, strict=True)]
    lines = lines_over_cells(CatalogueSubject("acceptance"), cells)
    assert {line.name: line.holds for line in lines} == holds


def test_power_is_read_between_settings() -> None:
    claims = (0, 12, 18, 20, 20)
    cells = [cell_at(dial, dial, n) for dial, n in zip(DIALS, claims, strict=True)]
    (found_power,) = power(CatalogueSubject("acceptance"), cells)
    assert found_power.samples == 300
    assert found_power.dial == pytest.approx(0.25 + 0.25 * (16 - 12) / 6, abs=1e-3)
    weak = [cell_at(dial, dial, 3) for dial in DIALS]
    assert power(CatalogueSubject("acceptance"), weak)[0].dial is None


def test_every_condition_is_a_cell_once() -> None:
    for name, metric in catalogue().items():
        subject = CatalogueSubject(name)
        for size in ("ci", "release"):
            cells = cells_of(subject, size)  # type: ignore[arg-type]
            assert len(set(cells)) == len(cells) >= 4
            for cell in cells:
                n = repetitions(subject, cell, size, decides=metric.decides)  # type: ignore[arg-type]
                assert n >= 20
    assert {s.name for s in subjects_of("release")} == set(catalogue())
    assert all(s.metric.decides for s in subjects_of("ci"))


def test_draws_depend_on_condition_and_seed_alone() -> None:
    few = Condition(clusters=40, concepts=1)
    subject = CatalogueSubject("concept_task_leakage")
    alone = put_through(subject, [few], [20])[0]
    among = put_through(subject, [replace(few, dial=0.2), few], [20, 20])[1]
    other = put_through(subject, [few], [20], seed=1)[0]
    assert alone.mean == among.mean != other.mean


def test_checks_hold_for_a_mean_over_samples() -> None:
    lines, recorded = check(CatalogueSubject("relevance_mass"))
    assert {line.name for line in lines} == {
        "reseed noise", "the same for another order of rows", "the same for other names",
        "the same for float32", "the same for another unit", "the same for shards",
    }  # fmt: skip
    assert not [line for line in lines if not line.holds]
    assert recorded["exponent"] < 1.5 and recorded["seconds at 1600"] > 0


def test_the_predictive_estimate_answers_alike_however_values_are_stored() -> None:
    lines = flips(CatalogueSubject("predictive_task_leakage"), 4, clusters=60)
    assert len(lines) == 6
    assert not [line for line in lines if not line.holds]
    assert flips(CatalogueSubject("acceptance"), 20) == []


class Fickle(CatalogueSubject):
    """Free in numbers up to 2, leaking in whole numbers: what 0.1.0 did the other way round."""

    def outcome(self, planted: Planted, resampling: Resampling) -> Outcome:
        del resampling
        large = np.asarray(planted.evidence[0].values).max() > 2  # type: ignore[attr-defined]
        return Outcome(0.0, 0.0, 0.0, 0.0, NO if large else YES, 0.0, 0.0)


def test_answers_that_turn_into_their_opposite_are_counted() -> None:
    lines = {line.name: line for line in flips(Fickle("predictive_task_leakage"), 8, clusters=20)}
    bad = lines.pop("the same answer for uint16")
    assert not bad.holds and bad.summary == "8 of 8 answers changed, 8 into the opposite"
    assert all(line.holds for line in lines.values()) and len(lines) == 5


def test_few_cells_can_be_asked_for() -> None:
    subject = CatalogueSubject("acceptance")
    done = certify(subject, cells=[replace(subject.generator.usual, clusters=30)], draws=20)
    assert isinstance(done, Certified) and len(done.cells) == 1 and done.lines == []
