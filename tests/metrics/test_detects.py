"""Scores of units: plain oracles, planted cases, and the readings of the paper and its code."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from support.of_evidence import of_evidence
from theodolite._planted.units import planted_units
from theodolite._runs.auditing.front import audit
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.detects.units import DetectionAccuracy, PixelRecall, UnitIoU
from theodolite.testing.strategies import unit_evidence

detection_and_accuracy = of_evidence("detection_and_accuracy")

FEW = Resampling(resamples=100, shuffles=100)


@given(evidence=unit_evidence())
@settings(max_examples=50)
def test_oracles(evidence: UnitEvidence) -> None:
    result = [
        UnitIoU.of(evidence).value(),
        UnitIoU.of(evidence, denominator="category").value(),
        DetectionAccuracy.of(evidence).value(),
        PixelRecall.of(evidence).value(),
    ]
    for u in range(len(evidence.units)):
        unit = annotated_unit = formula = shared = shown = met = 0
        for i in range(len(evidence)):
            m, g, b = (int(a[i, u]) for a in (evidence.unit_pixels, evidence.formula_pixels,
                                              evidence.shared_pixels))  # fmt: skip
            unit, formula, shared = unit + m, formula + g, shared + b
            annotated_unit += m if evidence.annotated[i, u] else b  # type: ignore[index]
            shown, met = shown + (g > 0), met + (b > 0)
        expected = [
            shared / (unit + formula - shared) if unit + formula else np.nan,
            shared / (annotated_unit + formula - shared) if annotated_unit + formula else np.nan,
            met / shown if shown else np.nan,
            shared / formula if formula else np.nan,
        ]
        assert_allclose([f[u] for f in result], expected)


@given(evidence=unit_evidence(), meeting=st.sampled_from(["overlap", "present"]))
@settings(max_examples=50)
def test_correlation_is_numpys(evidence: UnitEvidence, meeting: str) -> None:
    result = detection_and_accuracy(evidence, meeting=meeting)  # type: ignore[arg-type]
    right = np.asarray(evidence.right)
    fires = evidence.unit_pixels > 0 if evidence.fires is None else evidence.fires
    there, shared = evidence.formula_pixels > 0, evidence.shared_pixels > 0
    sets = (fires | there, shared if meeting == "overlap" else fires & there)
    overlap = np.where(there.any(axis=0), UnitIoU.of(evidence).value(), np.nan)
    scores = (DetectionAccuracy.of(evidence).value(), overlap)
    for row, chosen in enumerate(sets):
        accuracy = np.array(
            [right[chosen[:, u]].mean() if chosen[:, u].any() else np.nan
             for u in range(len(evidence.units))]
        )  # fmt: skip
        for column, score in enumerate(scores):
            usable = ~np.isnan(score) & ~np.isnan(accuracy)
            x, y = score[usable], accuracy[usable]
            if usable.sum() < 3 or np.ptp(x) < 1e-9 or np.ptp(y) < 1e-9:
                continue
            assert_allclose(result[row, column], np.corrcoef(x, y)[0, 1], atol=1e-9)


def test_planted_units() -> None:
    perfect = planted_units(2400, alignment=1.0)
    assert_allclose(
        DetectionAccuracy.of(perfect).value(), 0.6 + 0.4 * np.linspace(0, 1, 12), atol=0.1
    )
    worst = planted_units(alignment=0.0)
    assert (DetectionAccuracy.of(worst).value() == 0).all()
    assert (UnitIoU.of(worst).value() == 0).all()
    assert detection_and_accuracy(perfect)[1, 0] > 0.6
    result = {v.question: v for v in audit(perfect, FEW).verdicts}["detects"]
    assert result.answer in ("partly", "yes") and result.score is not None
    assert result.score.metric == "detection_accuracy" and result.score.n == 12
    assert {v.question: v.answer for v in audit(worst, FEW).verdicts}["detects"] == "no"


def test_every_unit_has_an_interval_and_the_null_is_the_one_given() -> None:
    evidence = planted_units(400, alignment=0.7)
    (score,) = evaluate(MetricRequest(find_metric("detection_accuracy")), [evidence], FEW)
    assert score.detail is not None and score.detail.over == "units"
    assert score.detail.low is not None and score.detail.high is not None
    assert (score.detail.low <= score.detail.values).all()
    assert [(i.over, i.scope) for i in score.intervals] == [
        ("samples", "fixed"),
        ("units", "population"),
    ]
    chance = evidence.chance_shared_pixels > 0
    shown = evidence.chance_formula_pixels > 0
    expected = np.nanmean(chance.sum(axis=0) / shown.sum(axis=0))
    assert score.null is not None
    assert_allclose(score.null.value, expected)


def test_correlation_counts_units_and_is_judged_by_shuffles() -> None:
    result = evaluate(
        MetricRequest(find_metric("detection_and_accuracy")), [planted_units(1200)], FEW
    )
    assert [(s.options["which"], s.options["by"]) for s in result] == [
        ("union", "detection_accuracy"), ("union", "iou"),
        ("intersection", "detection_accuracy"), ("intersection", "iou"),
    ]  # fmt: skip
    assert all((s.n, s.n_undefined, s.n_unit) == (12, 0, "units") for s in result)
    null = result[2].null
    assert null is not None and null.difference is not None and null.difference.low > 0


def test_a_correlation_alone_is_no_answer() -> None:
    bare = replace(planted_units(), chance_unit_pixels=None, chance_formula_pixels=None,
                   chance_shared_pixels=None)  # fmt: skip
    result = audit(bare, FEW)
    assert {s.metric for s in result.scores} == {"detection_and_accuracy"}
    assert {v.answer for v in result.verdicts} == {"not_evaluated"}
    assert {u.metric for u in result.not_computed} >= {"detection_accuracy", "unit_iou"}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"shared_pixels": np.full((200, 12), 600)}, "more pixels than in either mask"),
        ({"unit_pixels": np.full((200, 12), 0.5)}, "unit_pixels"),
        ({"chance_unit_pixels": None}, "2 of three arrays"),
        ({"unit_pixels": np.ones((200, 5), int)}, "units"),
        ({"right": np.ones(3, bool)}, "samples"),
    ],
)
def test_counts_that_cannot_be(change: dict[str, np.ndarray | None], says: str) -> None:
    with pytest.raises(EvidenceError, match=says):
        replace(planted_units(), **change)  # type: ignore[arg-type]
