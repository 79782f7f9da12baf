"""Studies over explanations: the check of measures, layers in the middle, curves with a knee."""

from typing import Any

import numpy as np
import pytest

from theodolite._verdicts.scores_file import ComparedRecord, ScoreRecord
from theodolite_reproductions.findings.elbow import elbow
from theodolite_reproductions.findings.faithfulness import (
    curve_record,
    layers_record,
    sanity_record,
)
from theodolite_reproductions.findings.sanity import judged
from theodolite_reproductions.findings.specs import CurveSpec, LayersSpec, SanitySpec

SANITY = SanitySpec(kind="sanity", title="check", classes=3, dimensions=8)


def score(metric: str, seeds: list[float], **options: Any) -> ScoreRecord:
    return ScoreRecord(
        metric=metric, version=1, question="faithful", value=float(np.mean(seeds)), better="lower",
        bounds=(0.0, None), best=0.0, n=9, n_undefined=0, n_unit="samples", options=options,
        interval=None, null=None, intervals=[], nulls=[], detail=None,
        per_seed=seeds if len(seeds) > 1 else [],
    )  # fmt: skip


def model(name: str, about: dict[str, Any], *scores: ScoreRecord) -> ComparedRecord:
    return ComparedRecord(name=name, about=about, scores=list(scores))


def settings(**values: list[float]) -> list[ComparedRecord]:
    names = {
        "perfect": "perfect", "importances": "random_importances", "concepts": "random_concepts",
        "shuffled": "shuffled importances",
    }  # fmt: skip
    return [
        model(
            names[key],
            {"kind": "setting", "setting": names[key]},
            score("surrogate_error", seeds, surrogate="linear"),
        )
        for key, seeds in values.items()
    ]


def test_a_measure_in_order_passes_and_says_what_it_costs() -> None:
    models = settings(perfect=[0.0, 0.0], importances=[1.0, 1.1], concepts=[2.0, 2.2])
    (row,) = sanity_record(SANITY, models).rows
    assert row.outcome == "passes" and row.operations == 6
    assert row.values["random_concepts"].value == pytest.approx(2.1)
    assert row.values["perfect"].low is None  # seeds change nothing


def test_a_measure_that_is_blind_fails_and_planted_cases_are_listed() -> None:
    models = settings(
        perfect=[0.0, 0.0], importances=[0.0, 0.0], concepts=[2.0, 2.2], shuffled=[0.5, 0.51]
    )
    (row,) = sanity_record(SANITY, models).rows
    assert row.outcome == "fails"
    assert [step.found for step in row.order] == ["the same", "worse"]
    assert [(s.setting, s.found) for s in row.planted] == [("shuffled importances", "worse")]


def test_settings_that_are_not_there_give_no_rows() -> None:
    assert sanity_record(SANITY, settings(perfect=[0.0, 0.0])).rows == []


def test_two_seeds_that_disagree_leave_it_open() -> None:
    models = settings(perfect=[0.0, 0.0], importances=[1.0, 2.0], concepts=[1.2, 2.1])
    (row,) = sanity_record(SANITY, models).rows
    assert row.outcome == "undecided"
    assert {step.found for step in row.order} == {"too few repeats"}
    power = row.order[0].decision
    assert power is not None and power.repeats == 2
    assert power.effect == pytest.approx(0.05 * 2.1), "a share of the largest value"
    assert power.min_detectable_effect == pytest.approx((12.706205 + 1.376382) * 0.5, abs=1e-5)


def test_many_seeds_show_that_a_measure_sees_no_difference() -> None:
    noise = np.random.default_rng(0).normal(0, 0.02, (2, 30))
    models = settings(
        perfect=[0.0] * 30, importances=noise[0].tolist(), concepts=(2 + noise[1]).tolist()
    )
    (row,) = sanity_record(SANITY, models).rows
    assert [step.found for step in row.order] == ["the same", "worse"]
    assert row.outcome == "fails" and row.order[0].decision.answer == "not there"


def test_what_fails_a_measure_must_hold_for_all_steps_together() -> None:
    """With p = 0.046: better alone, not as the worst of two."""
    order = ("perfect", "random_importances", "random_concepts")
    values = dict(
        zip(order, ((0.0,) * 4, (-2.0, -0.4, -0.8, -1.4), (5.0, 5.1, 5.2, 5.3)), strict=True)
    )
    first = judged("m", {}, "lower", values).order[0]
    assert first.high < 0 and first.found == "too few repeats"


@pytest.mark.parametrize(("missed", "usable"), [(0.1, True), (0.6, False), (np.nan, False)])
def test_a_layer_may_be_read_if_the_slope_misses_little(missed: float, usable: bool) -> None:
    about = {"kind": "layer", "layer": "layer2", "method": "nmf", "concepts": 5}
    models = [
        model(
            "layer2-nmf", about,
            score("surrogate_error", [1.0, 1.0], surrogate="linearized"),
            score("surrogate_error", [1.2, 1.2], surrogate="rebuilt"),
            score("linearization_error", [missed, missed]),
        ),
        model(
            "nmf-5", {"kind": "method", "method": "nmf", "concepts": 5},
            score("surrogate_error", [0.4, 0.6], surrogate="rebuilt"),
        ),
    ]  # fmt: skip
    result = layers_record(LayersSpec(kind="layers", title="t", metric="surrogate_error"), models)
    assert [row.usable for row in result.rows] == [usable]
    assert result.last["nmf"].value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("missed", "answer"),
    [
        ([0.1], "too few repeats"),
        ([0.1, 0.8, 0.2], "too few repeats"),
        ([0.1, 0.12, 0.11], "confirmed"),
        ([0.9, 0.92, 0.91], "contradicted"),
        ([0.5, 0.51, 0.49, 0.5], "not there"),
    ],
)
def test_a_slope_is_usable_only_if_it_surely_misses_less_than_half(
    missed: list[float], answer: str
) -> None:
    about = {"kind": "layer", "layer": "layer2", "method": "nmf", "concepts": 5}
    scores = [
        score("surrogate_error", [1.0] * len(missed), surrogate="linearized"),
        score("surrogate_error", [1.2] * len(missed), surrogate="rebuilt"),
        score("linearization_error", missed),
    ]
    spec = LayersSpec(kind="layers", title="t", metric="surrogate_error")
    (row,) = layers_record(spec, [model("layer2-nmf", about, *scores)]).rows
    assert row.decision is not None and row.decision.answer == answer
    assert row.usable is (answer == "confirmed")


def test_a_curve_has_a_line_for_each_method_and_its_knee() -> None:
    models = [
        model(
            f"{method}-{n}", {"kind": "method", "method": method, "concepts": n},
            score("surrogate_distance", [value, value]),
        )
        for method, values in (("nmf", (0.9, 0.3, 0.28, 0.27)), ("pca", (0.4, 0.5, 0.6, 0.7)))
        for n, value in zip((10, 5, 1, 20), np.array(values)[[2, 1, 0, 3]], strict=True)
    ]  # fmt: skip
    result = curve_record(CurveSpec(kind="curve", title="t"), models)
    assert [(line.method, line.knee) for line in result.lines] == [("nmf", 5.0), ("pca", None)]
    assert result.lines[0].concepts == [1, 5, 10, 20]
    gains = [line.decision.answer for line in result.lines if line.decision is not None]
    assert gains == ["confirmed", "contradicted"]


def test_no_knee_in_a_straight_line() -> None:
    assert elbow([1, 2, 4, 8], [4.0, 3.0, 2.0, 1.0], "lower") is None
    assert elbow([1, 2], [2.0, 1.0], "lower") is None
    assert elbow([1, 2, 4], [0.1, 0.8, 0.9], "higher") == 2.0
