"""Plan which participant rates which explanation, and in which order, before a study begins."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.ext.studies import VotesNeeded, votes_needed
from theodolite_study.planning.assign_explanations import assign_evenly
from theodolite_study.planning.assignment_search import PlanLimits, search_assignment
from theodolite_study.planning.item_order import can_keep_gap, compute_largest_gap, order_with_gap

__all__ = ["PlannedExplanation", "RatingPlan", "plan_ratings"]


@dataclass(frozen=True)
class PlannedExplanation:
    """Explanation that needs votes, with its image and technique."""

    key: str
    image_key: str
    technique: str


@dataclass(frozen=True)
class RatingPlan:
    """For each participant the explanations, in the order in which they are shown."""

    rows: tuple[tuple[str, ...], ...]
    needed: VotesNeeded
    even: bool
    """Whether participants differ by at most one in their numbers of explanations, of each
    technique and of each image. False where the limits leave no such plan."""

    def table(self) -> dict[str, list[Any]]:
        """Return the table for the export: row (participant, from 1), position (from 1),
        instance."""
        cells = [
            (row, position, key)
            for row, keys in enumerate(self.rows, start=1)
            for position, key in enumerate(keys, start=1)
        ]
        return {
            name: [cell[column] for cell in cells]
            for column, name in enumerate(("row", "position", "instance"))
        }

    def __str__(self) -> str:
        return str(self.needed)


def plan_ratings(  # noqa: PLR0913  each is a limit of its own
    instances: Sequence[PlannedExplanation],
    *,
    votes: int,
    panel: int,
    quota: int,
    gap: int = 0,
    most: int | None = None,
    seed: int,
) -> RatingPlan:
    """Plan a study in which each explanation gets votes of this many different participants.

    Numbers of explanations, and those of each technique and each image, differ by one at most
    between people: such a plan exists always (a balanced coloring of the edges between images
    and techniques) and is found by flows. If the gap cannot be kept within it, a plan with
    other shares is sought; numbers then differ as little as was found.

    Args:
        instances: The explanations.
        votes: Of different people for each.
        panel: How many people there are.
        quota: The most that one of them is asked for.
        gap: At least so many others between two explanations of one image.
        most: How often one person may meet one image.
        seed: Of everything that is left to chance.

    Raises:
        EvidenceError: No such plan exists, or, in large studies with a tight gap, none was found;
            the message tells which.
    """
    limits = PlanLimits(votes, panel, quota, gap, most)
    needed = _check_possible(instances, limits)
    random = np.random.default_rng(seed)
    images = [seat.image_key for seat in instances]
    shares = assign_evenly(images, [seat.technique for seat in instances], votes, panel, random)
    even = all(can_keep_gap(_count_images(row, images), gap) for row in shares)
    if not even:
        shares = _search_other_assignment(instances, limits, shares, random)
    rows = []
    for at in random.permutation(panel):
        order = order_with_gap([images[i] for i in shares[at]], gap, random)
        rows.append(tuple(instances[shares[at][i]].key for i in order))
    return RatingPlan(tuple(rows), needed, even)


def _count_images(row: Sequence[int], images: Sequence[str]) -> Mapping[str, int]:
    return Counter(images[i] for i in row)


def _check_possible(instances: Sequence[PlannedExplanation], limits: PlanLimits) -> VotesNeeded:
    """Check the necessary conditions of a plan before searching one."""
    if len({seat.key for seat in instances}) < len(instances):
        raise EvidenceError("instances", "a key twice", "distinct keys")
    if limits.gap < 0:
        raise EvidenceError("same_image_gap", f"{limits.gap}", "0 or more")
    if limits.most is not None and limits.most < 1:
        raise EvidenceError("same_image_most", f"{limits.most}", "1 or more")
    needed = votes_needed(len(instances), limits.votes, limits.panel, limits.quota)
    of_image = Counter(seat.image_key for seat in instances)
    image, many = of_image.most_common(1)[0]
    at_least = -(-many * limits.votes // limits.panel)
    if limits.most is not None and at_least > limits.most:
        raise EvidenceError(
            "same_image_most",
            f"{limits.most}",
            f"{at_least} or more: {image!r} has {many} explanations with {limits.votes} votes "
            f"each, for {limits.panel} people",
            "Raise it, have more people or fewer votes.",
        )
    return needed


def _search_other_assignment(
    instances: Sequence[PlannedExplanation],
    limits: PlanLimits,
    shares: Sequence[Sequence[int]],
    random: np.random.Generator,
) -> list[list[int]]:
    images = [seat.image_key for seat in instances]
    techniques = [seat.technique for seat in instances]
    other, proven = search_assignment(images, techniques, limits, random)
    if other is not None:
        return other
    works = min(compute_largest_gap(_count_images(row, images)) for row in shares)
    beside = "" if limits.most is None else f" with same_image_most {limits.most}"
    raise EvidenceError(
        "same_image_gap",
        f"{limits.gap}{beside}",
        f"a smaller one: {'no plan keeps it' if proven else 'no plan that keeps it was found'}",
        f"{works} can be kept." if works >= 0 else "Have more people.",
    )
