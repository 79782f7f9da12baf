"""Scores of edits: worked numbers, loops that say the same, and what is refused."""

import math

import numpy as np
import pytest
from hypothesis import given

from theodolite._planted.edits import planted_edits
from theodolite._runs.auditing.single_score import score
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.metrics import edit_direction, edit_specificity
from theodolite.metrics.base import SampleMean
from theodolite.metrics.language.edits import EditDirection, EditEffectError, EditSpecificity
from theodolite.testing.strategies import edit_evidence

BEFORE = np.array([[0.2, 0.9], [0.6, 0.1], [0.5, 0.3]])
AFTER = np.array([[0.7, 0.9], [0.6, 0.1], [0.4, 0.9]])
EDITED, DIRECTION = np.array([0, 0, 0]), np.array([1.0, 1.0, -1.0])


def value(state: type[SampleMean], evidence: EditEvidence, **options: str) -> float:
    return float(state.of(evidence, **options).value())


def test_worked_numbers() -> None:
    assert edit_direction(EDITED, DIRECTION, BEFORE, AFTER) == pytest.approx(2 / 3, abs=1e-6)
    assert edit_specificity(EDITED, DIRECTION, BEFORE, AFTER) == pytest.approx(1 / 3, abs=1e-6)
    evidence = EditEvidence(edited=EDITED, direction=DIRECTION, before=BEFORE, after=AFTER)
    assert evidence.warnings() == ["1 of 3 edits moved no concept at all; they count as misses"]


@given(evidence=edit_evidence())
def test_directions_and_largest_moves_by_hand(evidence: EditEvidence) -> None:
    hits, firsts = [], []
    for row in range(len(evidence)):
        moved = [
            float(a) - float(b)
            for a, b in zip(evidence.after[row], evidence.before[row], strict=True)
        ]
        own = moved[evidence.edited[row]]
        hits.append(own * evidence.direction[row] > 0)
        others = [abs(m) for j, m in enumerate(moved) if j != evidence.edited[row]]
        firsts.append(abs(own) > max(others, default=math.inf))
    assert value(EditDirection, evidence) == pytest.approx(np.mean(hits))
    expected = np.mean(firsts) if len(evidence.concepts) > 1 else math.nan
    assert value(EditSpecificity, evidence) == pytest.approx(expected, nan_ok=True)


@given(evidence=edit_evidence())
def test_effects_by_hand(evidence: EditEvidence) -> None:
    angles, lengths, sizes = [], [], []
    for row in range(len(evidence)):
        true = evidence.output_after[row] - evidence.output_before[row]
        predicted = evidence.surrogate_after[row] - evidence.surrogate_before[row]
        a, b = math.hypot(*true), math.hypot(*predicted)
        lengths.append(math.hypot(*(true - predicted)))
        sizes.append(abs(a - b))
        if a > 0 and b > 0:
            angles.append(1 - float(true @ predicted) / (a * b))
    assert value(EditEffectError, evidence, distance="l2") == pytest.approx(np.mean(lengths))
    assert value(EditEffectError, evidence, distance="norm") == pytest.approx(np.mean(sizes))
    expected = np.mean(angles) if angles else math.nan
    assert value(EditEffectError, evidence) == pytest.approx(expected, nan_ok=True, abs=1e-9)


def test_nulls_are_what_dealing_out_gives() -> None:
    carried = planted_edits(2000, carried=1.0)
    nulls = {
        null.name: null.value for null in score("edit_direction", carried, resamples=100).nulls
    }
    # every concept goes where the edited one goes: only dealing out shows that edits matter
    assert nulls["another_concept"] == pytest.approx(1.0)
    assert nulls["permuted_edits"] == pytest.approx(0.5, abs=0.05)


def test_perfect_and_worst() -> None:
    perfect = planted_edits()
    assert value(EditDirection, perfect) == value(EditSpecificity, perfect) == 1.0
    assert value(EditEffectError, perfect) == pytest.approx(0.0, abs=1e-9)
    turned = EditEvidence(
        edited=perfect.edited,
        direction=perfect.direction,
        before=perfect.after,
        after=perfect.before,
        output_before=perfect.output_before,
        output_after=perfect.output_after,
        surrogate_before=perfect.surrogate_after,
        surrogate_after=perfect.surrogate_before,
    )
    assert value(EditDirection, turned) == 0.0
    assert value(EditEffectError, turned) == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"direction": [1.0, 0.0, 1.0]}, "0.0 in row 1"),
        ({"output_before": [[0.5, 0.6]] * 3}, "add up to 1"),
        ({"surrogate_after": [[1.5, -0.5]] * 3}, "add up to 1"),
        ({"edited": [0, 2, 0]}, "edited"),
    ],
)
def test_what_is_no_edit_is_refused(change: dict[str, object], says: str) -> None:
    arrays = {"edited": EDITED, "direction": DIRECTION, "before": BEFORE, "after": AFTER}
    with pytest.raises(EvidenceError, match=says):
        EditEvidence(**(arrays | change))
