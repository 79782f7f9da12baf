"""The pointing game against its definition."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from support.of_evidence import of_evidence
from theodolite._planted.concepts import planted_locations
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.located.pointing_game import PointingGame
from theodolite.metrics.shared.nulls import IMAGE_CENTER
from theodolite.testing.strategies import location_evidence

pointing_game = of_evidence("pointing_game")


def hits(evidence: LocationEvidence, i: int, j: int, target: str, tolerance: float) -> bool | None:
    grid = evidence.maps[i, j]
    cell = np.unravel_index(np.argmax(grid), grid.shape)
    peak = [(cell[a] + 0.5) / grid.shape[a] for a in (0, 1)]
    part, size = evidence.part_of[j], evidence.sizes[i]
    if target == "masks":
        mask = evidence.masks[i, part]
        return (
            bool(mask[tuple(int(p * n) for p, n in zip(peak, mask.shape, strict=True))])
            if mask.any()
            else None
        )
    answers = []
    for place in getattr(evidence, target)[i, part]:
        if np.isnan(place).any():
            continue
        if target == "points":
            answers.append(math.dist(place / size, peak) <= tolerance)
        else:
            answers.append(
                all(
                    place[a] / size[a] - tolerance <= peak[a] <= place[2 + a] / size[a] + tolerance
                    for a in (0, 1)
                )
            )
    return any(answers) if answers else None


@given(
    evidence=location_evidence(max_samples=4),
    target=st.sampled_from(["points", "boxes", "masks"]),
    tolerance=st.sampled_from([0.0, 0.1, 0.5]),
    pairs=st.sampled_from(["present", "all"]),
    average=st.sampled_from(["pairs", "images"]),
)
def test_equals_the_definition(
    evidence: LocationEvidence, target: str, tolerance: float, pairs: str, average: str
) -> None:
    assume(evidence.has(target))
    said = evidence.explained
    assert said.truth is not None
    by_image = []
    for i in range(len(evidence)):
        marks = []
        for j in range(len(evidence.concepts)):
            known = said.known is None or said.known[i, j]
            if pairs == "present" and not (said.truth[i, j] and known):
                continue
            marks.append(hits(evidence, i, j, target, tolerance))
        by_image.append([float(m) for m in marks if m is not None])
    chosen = sum(by_image, []) if average == "pairs" else [np.mean(m) for m in by_image if m]  # noqa: RUF017
    result = PointingGame.of(
        evidence, target=target, tolerance=tolerance, pairs=pairs, average=average
    ).value()
    assert_allclose(result, np.mean(chosen) if chosen else math.nan, rtol=1e-12)


@pytest.mark.parametrize(("alignment", "expected"), [(1.0, 1.0), (0.0, 0.0)])
def test_planted_perfect_and_worst(alignment: float, expected: float) -> None:
    assert pointing_game(planted_locations(alignment=alignment)) == expected


def test_the_image_center_points_at_the_middle() -> None:
    evidence = IMAGE_CENTER.make(planted_locations(500), 0)
    within = (
        np.linalg.norm(evidence.points[:, :, 0] / evidence.sizes[:, None] - 0.5, axis=-1) <= 0.2
    )
    truth = evidence.explained.truth
    assert_allclose(pointing_game(evidence), within[truth].mean(), atol=1e-12)


def test_masks_come_before_boxes_and_points() -> None:
    evidence = planted_locations(3, 6)
    masked = LocationEvidence(
        explained=evidence.explained, maps=evidence.maps, sizes=evidence.sizes,
        part_of=evidence.part_of, points=evidence.points, masks=np.zeros((3, 6, 9, 9), bool),
    )  # fmt: skip
    assert math.isnan(pointing_game(masked))
    assert pointing_game(masked, target="points") == 1.0


def test_places_that_are_not_there_are_refused() -> None:
    with pytest.raises(EvidenceError, match="boxes"):
        pointing_game(planted_locations(2), target="boxes")
