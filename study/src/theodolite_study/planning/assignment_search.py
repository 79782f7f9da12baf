"""Search an assignment that keeps the image gap, by integer programming.

Used by `planning.planned` where balanced assignments cannot keep the gap.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import coo_array

from theodolite_study.planning.assign_explanations import distribute_pairs, encode_as_integers

MAX_UNKNOWNS = 250
"""Maximum number of unknowns; larger searches are not begun."""
MAX_NODES = 30
INFEASIBLE_STATUS = 2


@dataclass(frozen=True)
class PlanLimits:
    """Constraints that a plan has to satisfy."""

    votes: int
    panel: int
    quota: int
    gap: int
    most: int | None


def search_assignment(
    images: Sequence[str],
    techniques: Sequence[str],
    limits: PlanLimits,
    random: np.random.Generator,
) -> tuple[list[list[int]] | None, bool]:
    """Search an assignment that can be ordered with the gap, as balanced as possible.

    If there is none, the second value says whether that is proven.
    """
    of: dict[str, list[int]] = defaultdict(list)
    for i in random.permutation(len(images)):
        of[images[i]].append(int(i))
    many = np.array([len(members) for members in of.values()])
    at_least = -(-int(many.max()) * limits.votes // limits.panel)
    if (at_least - 1) * (limits.gap + 1) + 1 > min(limits.quota, len(images)):
        return None, True
    # with more of one image the rest would not fill the gaps
    deep = min(int(many.max()), (min(limits.quota, len(images)) - 1) // (limits.gap + 1) + 1)
    deep = deep if limits.most is None else min(deep, limits.most)
    if limits.panel * len(many) * deep > MAX_UNKNOWNS:
        return None, False
    counts, proven = _solve_image_counts(many, deep, limits)
    if counts is None:
        return None, proven
    rows = distribute_pairs(list(of.values()), counts)
    _balance_techniques(rows, images, techniques)
    return rows, True


def _solve_image_counts(
    many: np.ndarray, deep: int, limits: PlanLimits
) -> tuple[np.ndarray | None, bool]:
    """Compute how many explanations of each image each person gets, by integer programming.

    ``x[r, p, j]``: person r gets more than j of image p; ``y[r, j]``: of any image. ``low`` and
    ``high``: the smallest and the largest share.
    """
    people, n = limits.panel, len(many)
    size = people * n * deep
    x = np.arange(size).reshape(people, n, deep)
    y = size + np.arange(people * deep).reshape(people, deep)
    low, high = size + people * deep, size + people * deep + 1
    rules = _LinearRules()
    for p in range(n):
        total = int(many[p]) * limits.votes
        rules.add(x[:, p].ravel(), 1, least=total, most=total)
    for r in range(people):
        own = x[r].ravel()
        ones = np.ones(len(own))
        rules.add([*own, low], [*ones, -1], least=0)
        rules.add([*own, high], [*ones, -1], most=0)
        if r:  # people are alike: only one of all their orders is looked at
            rules.add([*own, *x[r - 1].ravel()], [*ones, *-ones], most=0)
        for j in range(1, deep):
            _add_order_rules(rules, x[r], y[r], j, limits.gap)
    upper = np.ones(high + 1)
    for p in range(n):
        upper[x[:, p, min(int(many[p]), deep) :].ravel()] = 0
    upper[[low, high]] = limits.quota
    cost = np.zeros(high + 1)
    cost[low], cost[high] = -1, 1
    answer = milp(
        cost, integrality=np.ones(high + 1), bounds=Bounds(0, upper),
        constraints=rules.all(high + 1), options={"node_limit": MAX_NODES},
    )  # fmt: skip
    if answer.x is None:
        return None, answer.status == INFEASIBLE_STATUS
    return np.asarray(answer.x[x].round().astype(int).sum(axis=2)), True


def _add_order_rules(
    rules: "_LinearRules", own: np.ndarray, any_of: np.ndarray, j: int, gap: int
) -> None:
    """Require j rounds of gap + 1 before the last round if j + 1 are of one image."""
    for of_image in own:
        rules.add([of_image[j], of_image[j - 1]], [1, -1], most=0)
        rules.add([of_image[j], any_of[j]], [1, -1], most=0)
    others = np.delete(own, j, axis=1).ravel()
    rules.add([*others, any_of[j]], [*np.ones(len(others)), -j * (gap + 1)], least=0)


class _LinearRules:
    """Linear constraints, collected one after the other."""

    def __init__(self) -> None:
        self.rows: list[np.ndarray] = []
        self.columns: list[np.ndarray] = []
        self.factors: list[np.ndarray] = []
        self.least: list[float] = []
        self.most: list[float] = []

    def add(
        self,
        columns: Sequence[Any] | np.ndarray,
        factors: float | Sequence[Any],
        *,
        least: float = -np.inf,
        most: float = np.inf,
    ) -> None:
        """Require a weighted sum of unknowns to lie between two numbers."""
        self.rows.append(np.full(len(columns), len(self.least)))
        self.columns.append(np.asarray(columns))
        self.factors.append(np.broadcast_to(np.asarray(factors, float), len(columns)))
        self.least.append(least)
        self.most.append(most)

    def all(self, unknowns: int) -> LinearConstraint:
        """Return the constraints in the form of scipy."""
        where = (np.concatenate(self.rows), np.concatenate(self.columns))
        shape = (len(self.least), unknowns)
        table = coo_array((np.concatenate(self.factors), where), shape=shape).tocsr()
        return LinearConstraint(table, self.least, self.most)


def _balance_techniques(
    rows: Sequence[list[int]], images: Sequence[str], techniques: Sequence[str]
) -> None:
    """Swap explanations of one image between participants while that balances techniques."""
    names = encode_as_integers(techniques)
    counts = np.array([np.bincount(names[row], minlength=names.max() + 1) for row in rows])
    changed = True
    while changed:
        changed = False
        for r, row in enumerate(rows):
            for s in range(r):
                changed |= _exchange((row, rows[s]), (counts[r], counts[s]), images, names)


def _exchange(
    rows: tuple[list[int], list[int]],
    counts: tuple[np.ndarray, np.ndarray],
    images: Sequence[str],
    names: np.ndarray,
) -> bool:
    first, second = rows
    for a, i in enumerate(first):
        for b, j in enumerate(second):
            if images[i] != images[j] or i in second or j in first:
                continue
            t, u = names[i], names[j]
            # moving one t there and one u back brings both closer, in squares
            if (counts[0][t] - counts[1][t]) - (counts[0][u] - counts[1][u]) > 2:
                first[a], second[b] = j, i
                counts[0][[t, u]] += (-1, 1)
                counts[1][[t, u]] += (1, -1)
                return True
    return False
