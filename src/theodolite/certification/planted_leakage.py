"""Concepts whose values tell a known share of what the true concepts leave open about the label."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence

Representation = Literal[
    "float64", "float32", "two digits", "percent", "int8", "uint16", "saturated", "binary",
    "constant",
]  # fmt: skip
SATURATED = 0.95
"""The share of values that lie on a bound where values are saturated."""
STEP = 0.05
"""How far a standard deviation of the deviation moves a value."""
FINEST = 2001
"""Edges that continuous values are integrated over."""
CODES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "float64": lambda values: values,
    "float32": lambda values: values.astype(np.float32),
    "two digits": lambda values: np.round(values, 2),
    "percent": lambda values: np.round(100 * values),
    "int8": lambda values: np.round(127 * values),
    "uint16": lambda values: np.round(65535 * values),
}
LEVELS = {"two digits": 100, "percent": 100, "int8": 127, "uint16": 65535}
"""How many steps there are from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class LeakageCondition:
    """One cell of the grid: what is planted, and how the evidence looks."""

    share: float = 0.0
    """Of the entropy of the label given the concept, what each value tells: the dial."""
    clusters: int = 300
    rows: int = 1
    """Rows of each cluster, which share concepts and label."""
    within: float = 0.0
    """Spread of values within clusters over that between them; 0: rows are copies."""
    declared: bool = True
    """Whether the evidence says which rows belong together."""
    concepts: int = 3
    labels: int = 2
    values: Representation = "float64"
    prevalence: float = 0.5
    """The share of clusters in which a concept is there."""

    def __post_init__(self) -> None:
        if not 0 <= self.share < 1:
            raise EvidenceError("share", f"{self.share}", "at least 0 and below 1")
        if self.values not in get_args(Representation):
            raise EvidenceError("values", repr(self.values), f"one of {get_args(Representation)}")
        if min(self.clusters, self.rows, self.concepts) < 1 or self.labels < 2:
            raise EvidenceError("condition", f"{asdict(self)}", "one or more of each, two labels")

    def describe(self) -> dict[str, Any]:
        """As plain JSON."""
        return asdict(self)


def planted_evidence(condition: LeakageCondition, seed: int) -> ConceptEvidence:
    """Evidence of one draw.

    >>> evidence = planted_evidence(LeakageCondition(clusters=40, rows=2, values="percent"), seed=0)
    >>> evidence.values.shape, len(np.unique(evidence.samples.clusters))
    ((80, 3), 40)
    """
    random = np.random.default_rng(seed)
    shape = (condition.clusters, condition.concepts)
    truth = random.random(shape) < condition.prevalence
    labels = random.integers(0, condition.labels, condition.clusters)
    between = random.normal(size=(*shape[:1], 1, shape[1]))
    own = random.normal(size=(shape[0], condition.rows, shape[1]))
    noise = (between + condition.within * own) / np.sqrt(1 + condition.within**2)
    signal = _places(condition.labels)[labels][:, None, None]
    deviation = noise + _distance(condition.share, condition.labels) * signal
    deviation = deviation.reshape(-1, shape[1])
    rows = np.repeat(np.arange(condition.clusters), condition.rows)
    values = _encode(deviation, truth[rows], condition)
    clusters = rows if condition.declared and condition.rows > 1 else None
    samples = Samples(index=np.arange(len(rows)), clusters=clusters)
    return ConceptEvidence(values=values, truth=truth[rows], labels=labels[rows], samples=samples)


def _encode(deviation: np.ndarray, truth: np.ndarray, condition: LeakageCondition) -> np.ndarray:
    if condition.values == "constant":
        deviation = np.zeros(deviation.shape)
    elif condition.values == "binary":
        deviation = np.where(deviation > 0, 1.0, -1.0)
    elif condition.values == "saturated":
        reach = _reach(condition.share, condition.labels)
        deviation = np.clip(deviation, -reach, reach)
    plain = 0.25 + 0.5 * truth + STEP * deviation
    return CODES.get(condition.values, CODES["float64"])(plain)


def true_share(condition: LeakageCondition) -> float:
    """What the values tell as they are stored, of what the true concept leaves open.

    >>> round(true_share(LeakageCondition(share=0.2)), 4)
    0.2
    >>> round(true_share(LeakageCondition(share=0.2, values="binary")), 3)
    0.137
    """
    distance = _distance(condition.share, condition.labels)
    there = [
        _information(_edges(condition, float(truth)), distance, condition.labels)
        for truth in (False, True)
    ]
    mean = (1 - condition.prevalence) * there[0] + condition.prevalence * there[1]
    return float(mean / np.log(condition.labels))


def _edges(condition: LeakageCondition, truth: float) -> Float[np.ndarray, " edges"]:
    """Between which deviations all values are stored as one."""
    kind = condition.values
    if kind == "constant":
        return np.zeros(0)
    if kind == "binary":
        return np.zeros(1)
    widest = 9 + 3 * _distance(condition.share, condition.labels)
    if kind == "saturated":
        reach = _reach(condition.share, condition.labels)
        return np.linspace(-reach, reach, FINEST)
    if kind in LEVELS:
        middle = LEVELS[kind] * (0.25 + 0.5 * truth)
        wide = LEVELS[kind] * STEP * widest
        if wide < FINEST:
            numbers = np.arange(np.floor(middle - wide), np.ceil(middle + wide)) + 0.5
            return np.asarray((numbers - middle) / (LEVELS[kind] * STEP))
    return np.linspace(-widest, widest, FINEST)


def _places(labels: int) -> Float[np.ndarray, " labels"]:
    """Equally spaced numbers of mean 0 and spread 1."""
    steps = np.arange(labels) - (labels - 1) / 2
    return np.asarray(steps / steps.std())


def _information(edges: np.ndarray, distance: float, labels: int) -> float:
    """Of labels with equal shares, from values that are stored as one between edges."""
    below = ndtr(edges[None] - distance * _places(labels)[:, None])
    cells = np.diff(np.c_[np.zeros(labels), below, np.ones(labels)], axis=1)
    mean = cells.mean(axis=0)
    logs = np.log(np.divide(cells, mean, out=np.ones_like(cells), where=cells > 0))
    return float((cells * logs).sum() / labels)


@cache
def _distance(share: float, labels: int) -> float:
    """How far labels move values for this share of their entropy, by bisection."""
    if share == 0:
        return 0.0
    low, high = 0.0, 60.0
    for _ in range(40):
        middle = (low + high) / 2
        edges = np.linspace(-9 - 3 * middle, 9 + 3 * middle, FINEST)
        if _information(edges, middle, labels) < share * np.log(labels):
            low = middle
        else:
            high = middle
    return (low + high) / 2


@cache
def _reach(share: float, labels: int) -> float:
    """Between which deviations the values lie that are not saturated."""
    distance = _distance(share, labels)
    low, high = 0.0, 60.0
    for _ in range(40):
        middle = (low + high) / 2
        places = distance * _places(labels)
        inside = (ndtr(middle - places) - ndtr(-middle - places)).mean()
        low, high = (middle, high) if inside < 1 - SATURATED else (low, middle)
    return (low + high) / 2
