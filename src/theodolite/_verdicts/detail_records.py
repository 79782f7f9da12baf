"""Records in ``scores.json`` for single concepts, classes and units."""

from collections.abc import Sequence

import numpy as np

from theodolite._storage.records import Record
from theodolite.results import Answer, Detail, DetailDraws, DetailTests, Items

Numbers = list[float | None]
OF_DRAWS = ("mean", "low", "high", "beaten", "n")
OF_TESTS = ("low", "high", "p_below_tolerance", "p_above_tolerance", "allowance")


class DetailDrawsRecord(Record):
    """Comparison of each concept or class with the draws of a baseline."""

    null: str
    mean: Numbers
    low: Numbers
    high: Numbers
    beaten: Numbers
    n: Numbers
    answers: tuple[Answer, ...]


class DetailTestsRecord(Record):
    """Tests of the fault of each concept."""

    tolerance: float
    low: Numbers
    high: Numbers
    p_below_tolerance: Numbers
    p_above_tolerance: Numbers
    allowance: Numbers


class DetailRecord(Record):
    """The score of each concept or class."""

    over: Items
    names: list[str]
    values: Numbers
    low: Numbers | None
    high: Numbers | None
    chosen: Numbers | None = None
    draws: DetailDrawsRecord | None = None
    tests: DetailTestsRecord | None = None


def written(value: float) -> float | None:
    """A number as records have it: undefined is null."""
    return None if np.isnan(value) else float(value)


def listed(values: np.ndarray) -> Numbers:
    """Numbers as records have them."""
    return [written(v) for v in values]


def numbers(values: Sequence[float | None]) -> np.ndarray:
    """Numbers of a record: null is undefined."""
    return np.array([np.nan if value is None else value for value in values], float)


def detail_record(detail: Detail) -> DetailRecord:
    """A detail as it is written."""
    arrays = {"low": detail.low, "high": detail.high, "chosen": detail.chosen}
    draws = None
    if detail.draws is not None:
        own = vars(detail.draws)
        arrays_of = {name: listed(own[name]) for name in OF_DRAWS}
        draws = DetailDrawsRecord(null=own["null"], answers=own["answers"], **arrays_of)
    tests = None
    if detail.tests is not None:
        own = vars(detail.tests)
        columns = {name: listed(own[name]) for name in OF_TESTS}
        tests = DetailTestsRecord(tolerance=own["tolerance"], **columns)
    return DetailRecord(
        over=detail.over,
        names=list(detail.names),
        values=listed(detail.values),
        draws=draws,
        tests=tests,
        **{name: None if array is None else listed(array) for name, array in arrays.items()},
    )


def detail_of(detail: DetailRecord) -> Detail:
    """A written detail as it was."""
    low, high, chosen = (
        None if own is None else numbers(own) for own in (detail.low, detail.high, detail.chosen)
    )
    draws = None
    if detail.draws is not None:
        arrays = {name: numbers(getattr(detail.draws, name)) for name in OF_DRAWS}
        draws = DetailDraws(detail.draws.null, **arrays, answers=detail.draws.answers)
    tests = None
    if detail.tests is not None:
        columns = {name: numbers(getattr(detail.tests, name)) for name in OF_TESTS}
        tests = DetailTests(detail.tests.tolerance, **columns)
    return Detail(
        detail.over, tuple(detail.names), numbers(detail.values), low, high, chosen, draws, tests
    )
