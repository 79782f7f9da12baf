"""Define the conditions of planted evidence: effect size, sample size and known disturbances."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

import numpy as np

from theodolite.errors import EvidenceError

Representation = Literal[
    "float64", "float32", "three digits", "two digits", "percent", "int8", "uint16", "saturated",
    "binary", "constant",
]  # fmt: skip
Form = Literal["line", "square"]
Leak = Literal["thin", "pair", "pair with truth", "wave"]
Truths = Literal["free", "class", "class correlated", "class level", "product"]
CODES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "float64": lambda values: values,
    "float32": lambda values: values.astype(np.float32),
    "three digits": lambda values: np.round(values, 3),
    "two digits": lambda values: np.round(values, 2),
    "percent": lambda values: np.round(100 * values),
    "int8": lambda values: np.round(127 * values),
    "uint16": lambda values: np.round(65535 * values),
}
OF_JOINT_LEAKS = (
    "leak", "leaking", "truths", "balance", "crosstalk", "annotation_error", "error_declared",
    "shuffled",
)  # fmt: skip
"""Fields that leave the draws of other generators as they are."""
LEVELS = {"three digits": 1000, "two digits": 100, "percent": 100, "int8": 127, "uint16": 65535}
"""How many steps there are from 0 to 1."""


@dataclass(frozen=True, kw_only=True)
class Condition:
    """One cell of the grid: what is planted, and how the evidence looks."""

    dial: float = 0.0
    """From 0 (worthless; of a fault: none of it) to 1 (perfect; of a fault: all of it)."""
    clusters: int = 300
    rows: int = 1
    """Rows of each cluster."""
    within: float = 0.0
    """Spread within clusters over that between them; 0: rows are copies."""
    unequal: bool = False
    """Whether sizes of clusters follow Pareto's law (1.2) instead of being equal."""
    mixed: bool = False
    """Whether rows of a cluster have labels of their own instead of sharing one."""
    declared: bool = True
    """Whether the evidence says which rows belong together."""
    concepts: int = 3
    """Concepts; units, for scores of units; raters, for scores of votes."""
    labels: int = 2
    values: Representation = "float64"
    prevalence: float = 0.5
    """The share of samples in which a concept is there."""
    unknown: float = 0.0
    """The share of true concepts that nobody knows."""
    seeds: int = 1
    """How often the model was trained."""
    form: Form = "line"
    """How pairs of values depend on each other."""
    leak: Leak = "thin"
    """Where a joint leak is: in many values a little, in two together, in one and another true
    concept, or in a wave over the ranks of one."""
    leaking: int = 0
    """Concepts that a thin leak is spread over; 0 for all."""
    truths: Truths = "free"
    """How true concepts and labels depend on each other."""
    balance: float = 0.5
    """Share of the first of two labels."""
    crosstalk: float = 0.0
    """How much a value carries of the other true concepts."""
    annotation_error: float = 0.0
    """Share of wrong annotations of the concepts."""
    error_declared: bool = False
    """Whether the evidence says how many annotations are wrong."""
    shuffled: bool = False
    """Whether rows of a cluster lie apart."""

    def __post_init__(self) -> None:
        if not 0 <= self.dial <= 1:
            raise EvidenceError("dial", f"{self.dial}", "from 0 to 1")
        if self.values not in get_args(Representation):
            raise EvidenceError("values", repr(self.values), f"one of {get_args(Representation)}")
        least = min(self.clusters, self.rows, self.concepts, self.seeds)
        if least < 1 or self.labels < 2:
            raise EvidenceError("condition", f"{asdict(self)}", "one or more of each, two labels")

    @property
    def rarest_label(self) -> int:
        """Clusters of the rarest label, which nineteen of twenty draws have."""
        shares = np.full(self.labels, 1 / self.labels)
        if self.balance != 0.5:
            shares = np.array([self.balance, 1 - self.balance])
        counts = np.random.default_rng(0).multinomial(self.clusters, shares, 400)
        return int(np.quantile(counts.min(axis=1), 0.05))

    def describe(self) -> dict[str, Any]:
        """Return plain JSON; of what only joint leaks vary, what is not as usual."""
        plain = {f.name: f.default for f in fields(self)}
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in OF_JOINT_LEAKS or value != plain[name]
        }

    def changed_from(self, usual: "Condition") -> dict[str, Any]:
        """What is not as usual."""
        plain = asdict(usual)
        return {name: value for name, value in asdict(self).items() if value != plain[name]}
