"""Parts of a score as records: intervals, nulls, tests and caveats."""

from pydantic import Field

from theodolite._storage.records import Record
from theodolite.results import Answer, Reason, Scope, Source


class IntervalRecord(Record):
    """An interval and what was varied."""

    low: float
    high: float
    level: float
    over: Source
    method: str
    n: int
    scope: Scope = "fixed"
    error: float | None = None
    df: float | None = None


class NullRecord(Record):
    """A null and the interval of score minus null."""

    name: str
    value: float | None
    difference: IntervalRecord | None
    per_seed: list[float | None] = Field(default_factory=list)
    p: float | None = None
    draws: list[float] = Field(default_factory=list)
    label: str = ""
    """Display text."""


class DefectRecord(Record):
    """What a score that looks for a fault shows."""

    low: float
    high: float
    p_below_tolerance: float
    p_nonzero: float
    p_above_tolerance: float
    error: float
    df: float


class CaveatRecord(Record):
    """Why some answers cannot be read from a score."""

    reason: Reason
    summary: str
    answers: tuple[Answer, ...]


class AnnotationRecord(Record):
    """How much of a leak wrong annotations of the concepts could explain."""

    error: float
    declared: bool
    share: float
    p_nonzero: float
    p_above_tolerance: float
    tipping: float | None


class ShareRecord(Record):
    """How much of the way from a baseline to the best possible a score has gone."""

    value: float
    low: float
    high: float
    null: str
    room: float
    error: float
    df: float


class PairRecord(Record):
    """Two concepts, and the weight of models that use the product of their values."""

    first: str
    second: str
    weight: float
