"""Lines are where they belong, and bite."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from theodolite._planted.conditions import Condition
from theodolite._planted.generators import Planted
from theodolite._planted.validation.cells import choose_repetitions, list_cells
from theodolite._planted.validation.characteristics import (
    Characteristics,
    DrawOutcomes,
    ExpectedBehavior,
    compute_characteristics,
)
from theodolite._planted.validation.metric_validation import (
    MetricValidation,
    list_subjects,
    validate_metric,
)
from theodolite._planted.validation.number_formats import check_number_formats
from theodolite._planted.validation.overall_checks import check_all_cells, compute_power
from theodolite._planted.validation.simulation import simulate_conditions
from theodolite._planted.validation.single_checks import run_single_checks
from theodolite._planted.validation.subjects import MetricSubject, Outcome
from theodolite._scoring.evaluate import Resampling
from theodolite.metrics.catalogue import catalogue

YES, PARTLY, NO, CANNOT_TELL = range(4)


def draws(answer: int, value: float, half: float, truth: float, n: int = 60) -> DrawOutcomes:
    values = value + 0.01 * np.resize([-1.0, 1.0], n)
    return DrawOutcomes(
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
def test_lines_of_a_fault_bite(result: DrawOutcomes, fails: tuple[str, ...]) -> None:
    cell = compute_characteristics(
        result,
        {},
        ExpectedBehavior(is_defect_metric=True, tolerance=0.05, worthless=result.truth[0] == 0),
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
    result: DrawOutcomes, worthless: bool, fails: tuple[str, ...]
) -> None:
    cell = compute_characteristics(result, {}, ExpectedBehavior(False, None, worthless))
    assert tuple(failure.partition(":")[0] for failure in cell.failures) == fails


def test_what_is_undefined_is_counted() -> None:
    result = draws(CANNOT_TELL, np.nan, 0.1, 0.5, n=20)
    cell = compute_characteristics(result, {}, ExpectedBehavior(False, None, worthless=True))
    assert cell.undefined == 20 and cell.intervals == 0 and np.isnan(cell.mean)
    assert cell.failures == ()


def cell_at(
    dial: float, mean: float, claims: int, failures: tuple[str, ...] = (), **changes: Any
) -> Characteristics:
    usual = MetricSubject("acceptance").generator.usual
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
    lines = check_all_cells(MetricSubject("acceptance"), cells)
    assert {line.name: line.holds for line in lines} == holds


def test_power_is_read_between_settings() -> None:
    claims = (0, 12, 18, 20, 20)
    cells = [cell_at(dial, dial, n) for dial, n in zip(DIALS, claims, strict=True)]
    (found_power,) = compute_power(MetricSubject("acceptance"), cells)
    assert found_power.samples == 300
    assert found_power.dial == pytest.approx(0.25 + 0.25 * (16 - 12) / 6, abs=1e-3)
    weak = [cell_at(dial, dial, 3) for dial in DIALS]
    assert compute_power(MetricSubject("acceptance"), weak)[0].dial is None


def test_every_condition_is_a_cell_once() -> None:
    for name, metric in catalogue().items():
        subject = MetricSubject(name)
        for size in ("ci", "release"):
            cells = list_cells(subject, size)  # type: ignore[arg-type]
            assert len(set(cells)) == len(cells) >= 3
            for cell in cells:
                n = choose_repetitions(subject, cell, size, decides=metric.decides)  # type: ignore[arg-type]
                assert n >= 20
    assert {s.name for s in list_subjects("release")} == set(catalogue())
    assert all(s.metric.decides for s in list_subjects("ci"))


def test_draws_depend_on_condition_and_seed_alone() -> None:
    few = Condition(clusters=40, concepts=1)
    subject = MetricSubject("concept_task_leakage")
    alone = simulate_conditions(subject, [few], [20])[0]
    among = simulate_conditions(subject, [replace(few, dial=0.2), few], [20, 20])[1]
    other = simulate_conditions(subject, [few], [20], seed=1)[0]
    assert alone.mean == among.mean != other.mean


def test_checks_hold_for_a_mean_over_samples() -> None:
    lines, recorded = run_single_checks(MetricSubject("relevance_mass"))
    assert {line.name for line in lines} == {
        "reseed noise", "the same for another order of rows", "the same for other names",
        "the same for float32", "the same for another unit", "the same for shards",
    }  # fmt: skip
    assert not [line for line in lines if not line.holds]
    assert recorded["exponent"] < 1.5 and recorded["seconds at 1600"] > 0


def test_the_predictive_estimate_answers_alike_however_values_are_stored() -> None:
    lines = check_number_formats(MetricSubject("predictive_task_leakage"), 4, clusters=60)
    assert len(lines) == 6
    assert not [line for line in lines if not line.holds]
    assert check_number_formats(MetricSubject("acceptance"), 20) == []


class Fickle(MetricSubject):
    """Free in numbers up to 2, leaking in whole numbers: what 0.1.0 did the other way round."""

    def outcome(self, planted: Planted, resampling: Resampling) -> Outcome:
        del resampling
        large = np.asarray(planted.evidence[0].values).max() > 2  # type: ignore[attr-defined]
        return Outcome(0.0, 0.0, 0.0, 0.0, NO if large else YES, 0.0, 0.0)


def test_answers_that_turn_into_their_opposite_are_counted() -> None:
    lines = {
        line.name: line
        for line in check_number_formats(Fickle("predictive_task_leakage"), 8, clusters=20)
    }
    bad = lines.pop("the same answer for uint16")
    assert not bad.holds and bad.summary == "8 of 8 answers changed, 8 into the opposite"
    assert all(line.holds for line in lines.values()) and len(lines) == 5


def test_few_cells_can_be_asked_for() -> None:
    subject = MetricSubject("acceptance")
    done = validate_metric(subject, cells=[replace(subject.generator.usual, clusters=30)], draws=20)
    assert isinstance(done, MetricValidation) and len(done.cells) == 1 and done.lines == []
