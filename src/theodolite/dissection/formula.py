"""Formulas of concepts: chains of OR, AND and AND NOT (Mu and Andreas, 2020)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

import numpy as np
from jaxtyping import Integer

from theodolite.errors import EvidenceError

Operator = Literal["OR", "AND", "AND NOT"]
OPERATORS: tuple[Operator, ...] = ("OR", "AND", "AND NOT")


@dataclass(frozen=True)
class Formula:
    """A first concept, then steps that each join one more: ((first op concept) op concept) …

    >>> formula = Formula(0, (("OR", 1), ("AND NOT", 2)))
    >>> formula.text(["horn", "tusk", "tree"])
    '((horn OR tusk) AND (NOT tree))'
    >>> Formula.parse('((horn OR tusk) AND (NOT tree))', ["horn", "tusk", "tree"]) == formula
    True
    """

    first: int
    steps: tuple[tuple[Operator, int], ...] = ()

    def __len__(self) -> int:
        return 1 + len(self.steps)

    @property
    def concepts(self) -> tuple[int, ...]:
        """The concepts in order, with repeats."""
        return (self.first, *(concept for _, concept in self.steps))

    @property
    def negated(self) -> bool:
        """Whether the formula contains a NOT."""
        return any(operator == "AND NOT" for operator, _ in self.steps)

    def literals(self) -> tuple[tuple[int, bool], ...]:
        """Return each concept with True, or False if it is negated."""
        return ((self.first, True), *((c, op != "AND NOT") for op, c in self.steps))

    def text(self, names: Sequence[str]) -> str:
        """Return the formula as the published code prints it."""
        text = names[self.first]
        for operator, concept in self.steps:
            if operator == "AND NOT":
                text = f"({text} AND (NOT {names[concept]}))"
            else:
                text = f"({text} {operator} {names[concept]})"
        return text

    @staticmethod
    def parse(text: str, names: Sequence[str]) -> "Formula":
        """Parse a formula from its printed form."""
        number = {name: i for i, name in enumerate(names)}
        steps: list[tuple[Operator, int]] = []
        rest = text.strip()
        while rest not in number:
            inner = rest[1:-1] if rest.startswith("(") and rest.endswith(")") else ""
            step = _last_step(inner, number)
            if step is None:
                raise EvidenceError("formula", repr(text), "a printed formula of known concepts")
            steps.append(step[:2])
            rest = inner[: -step[2]]
        return Formula(number[rest], tuple(reversed(steps)))

    def holds(self, mask: Callable[[int], np.ndarray]) -> np.ndarray:
        """Return where the formula holds, given a mask for each concept."""
        where = np.asarray(mask(self.first), bool)
        for operator, concept in self.steps:
            there = np.asarray(mask(concept), bool)
            if operator == "OR":
                where = where | there
            else:
                where = where & (there if operator == "AND" else ~there)
        return where

    def equivalent(self, other: "Formula") -> bool:
        """Return whether both formulas are logically equivalent."""
        concepts = sorted({*self.concepts, *other.concepts})
        return bool(np.array_equal(self._table(concepts), other._table(concepts)))

    def simplified(self) -> "Formula":
        """Return the formula without steps that have no logical effect."""
        for dropped in range(len(self.steps)):
            shorter = Formula(self.first, self.steps[:dropped] + self.steps[dropped + 1 :])
            if self.equivalent(shorter):
                return shorter.simplified()
        for start in range(len(self.steps)):  # a chain that forgets how it began
            operator, concept = self.steps[start]
            shorter = Formula(concept, self.steps[start + 1 :])
            if operator != "AND NOT" and self.equivalent(shorter):
                return shorter.simplified()
        return self

    def _table(self, concepts: Sequence[int]) -> np.ndarray:
        rows = np.array(list(product([False, True], repeat=len(concepts))))
        column = {concept: rows[:, i] for i, concept in enumerate(concepts)}
        return self.holds(lambda concept: column[concept])


def as_rows(formulas: Sequence[Formula | None], longest: int) -> Integer[np.ndarray, "n numbers"]:
    """Encode formulas as integers: length, operators, concepts; length 0 is no formula.

    >>> as_rows([Formula(4, (("AND NOT", 7),)), None], 2).tolist()
    [[2, -1, 2, 4, 7], [0, -1, -1, -1, -1]]
    >>> from_rows(as_rows([Formula(4, (("AND NOT", 7),)), None], 2))
    [Formula(first=4, steps=(('AND NOT', 7),)), None]
    """
    rows = np.full((len(formulas), 1 + 2 * longest), -1, np.int32)
    rows[:, 0] = [0 if formula is None else len(formula) for formula in formulas]
    for row, formula in zip(rows, formulas, strict=True):
        if formula is not None:
            row[2 : 1 + len(formula)] = [OPERATORS.index(operator) for operator, _ in formula.steps]
            row[1 + longest : 1 + longest + len(formula)] = formula.concepts
    return rows


def from_rows(rows: Integer[np.ndarray, "n numbers"]) -> list[Formula | None]:
    """Decode the integers of ``as_rows``."""
    longest = rows.shape[1] // 2
    formulas: list[Formula | None] = []
    for length, *numbers in rows.tolist():
        concepts = numbers[longest : longest + length]
        pairs = zip(numbers[1:length], concepts[1:], strict=True)
        steps = tuple((OPERATORS[operator], concept) for operator, concept in pairs)
        formulas.append(Formula(concepts[0], steps) if length else None)
    return formulas


def _last_step(inner: str, number: dict[str, int]) -> tuple[Operator, int, int] | None:
    """The operator and concept that a printed formula ends with, and how long that is in print."""
    for name in sorted(number, key=len, reverse=True):  # a name may hold the word OR itself
        for operator, ending in (
            ("AND NOT", f" AND (NOT {name})"), ("OR", f" OR {name}"), ("AND", f" AND {name}"),
        ):  # fmt: skip
            if inner.endswith(ending) and len(inner) > len(ending):
                return operator, number[name], len(ending)  # type: ignore[return-value]
    return None
