"""Compare methods by people's ratings, with intervals over raters and images."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int
from scipy.stats import t as student

from theodolite._stats.multiple import correct_holm
from theodolite.errors import EvidenceError

Answer = Literal["higher", "lower", "same", "inconclusive"]
LEVEL, POWER = 0.95, 0.8
MIN_RATERS = MIN_IMAGES = 6
"""Fewer do not give an interval."""
ESTIMABLE = 1e-8


@dataclass(frozen=True)
class ComparisonPlan:
    """Comparisons that were fixed before the first rating."""

    primary: tuple[str, ...] = ()
    """Questions that the study was planned for. Empty: the first one."""
    pairs: tuple[tuple[str, str], ...] | None = None
    """Pairs of methods. None: all pairs."""
    smallest: float = 0.3
    """Smallest relevant difference, in points of the scale."""


@dataclass(frozen=True)
class EstimatedValue:
    """Mean or difference with its 95 % CI over raters and images; no CI with too few of them."""

    value: float
    low: float | None = None
    high: float | None = None
    p: float | None = None
    variance: float | None = None
    df: float | None = None


@dataclass(frozen=True)
class MethodMean:
    """Mean rating of a method on a question."""

    question: str
    method: str
    n: int
    mean: EstimatedValue


@dataclass(frozen=True)
class MethodDifference:
    """Difference of the mean ratings of two methods on a question, first minus second."""

    question: str
    first: str
    second: str
    planned: bool
    difference: EstimatedValue
    adjusted_p: float | None = None
    """Holm-adjusted over all planned comparisons."""
    answer: Answer | None = None
    """None for exploratory comparisons, which have no verdict."""
    factor: float | None = None
    """How many times as many images and ratings find the smallest relevant difference with 80 %
    power, where the answer is inconclusive."""


@dataclass(frozen=True)
class RatingComparison:
    """Means and differences of all methods on all questions of a study."""

    plan: ComparisonPlan
    raters: int
    images: int
    votes: int
    means: tuple[MethodMean, ...]
    differences: tuple[MethodDifference, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``results.json``."""
        return asdict(self)

    def to_lines(self) -> list[str]:
        """Return the result as text: planned comparisons first, then means, then the others."""
        planned = [row for row in self.differences if row.planned]
        others = [row for row in self.differences if not row.planned]
        lines = [f"Planned comparisons ({len(planned)}, Holm-corrected)"]
        lines += [_format_difference(row, self.plan.smallest) for row in planned]
        lines.append("Mean ratings")
        lines += [f"  {m.question}  {m.method}  {_format_value(m.mean)}" for m in self.means]
        if others:
            lines.append("Exploratory comparisons (no verdict)")
            lines += [_format_difference(row, self.plan.smallest) for row in others]
        lines.append(f"{self.raters:,} raters, {self.images:,} images, {self.votes:,} votes")
        return lines


def describe_planned(comparison: RatingComparison) -> list[str]:
    """Return a sentence for each planned comparison."""
    return [
        _describe_difference(row, comparison.plan.smallest)
        for row in comparison.differences if row.planned
    ]  # fmt: skip


def _describe_difference(row: MethodDifference, smallest: float) -> str:
    value = row.difference
    if value.low is None or value.high is None:
        return (
            f"Planned comparison on {row.question}: {row.first} and {row.second} differ by "
            f"{value.value:+.2f} points; there is no interval with fewer than {MIN_RATERS} raters "
            "or images."
        )
    low, high = value.low, value.high
    first, second = row.first, row.second
    if row.answer == "lower":
        first, second, low, high = second, first, -high, -low
    bounds = f"95 % CI {low:.2f} to {high:.2f}".replace("-", "−")
    if row.answer in ("higher", "lower"):
        p = row.adjusted_p or 0.0
        p_text = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
        finding = (
            f"{first} was rated {abs(value.value):.2f} points higher than {second} "
            f"({bounds}; Holm-corrected {p_text})"
        )
    elif row.answer == "same":
        finding = f"{first} and {second} were rated the same within ±{smallest:g} points ({bounds})"
    else:
        finding = f"the difference of {first} and {second} is inconclusive ({bounds})"
        if row.factor is not None and row.factor > 1:
            finding += (
                f"; ±{smallest:g} needs about {row.factor:.1f} times as many images and ratings"
            )
    return f"Planned comparison on {row.question}: {finding}."


def _format_value(value: EstimatedValue, sign: str = "") -> str:
    if value.low is None or value.high is None:
        return f"{value.value:{sign}.2f} (no interval: fewer than 6 raters or images)"
    return f"{value.value:{sign}.2f} [{value.low:{sign}.2f}, {value.high:{sign}.2f}]"


def _format_difference(row: MethodDifference, smallest: float) -> str:
    line = f"  {row.question}  {row.first} − {row.second}  {_format_value(row.difference, '+')}"
    if row.answer is None:
        return line
    if row.adjusted_p is not None:
        line += "  p < 0.001" if row.adjusted_p < 0.001 else f"  p = {row.adjusted_p:.3f}"
    words = {"higher": f"{row.first} higher", "lower": f"{row.second} higher",
             "same": f"same within ±{smallest:g}", "inconclusive": "inconclusive"}  # fmt: skip
    line += f"  {words[row.answer]}"
    if row.factor is not None and row.factor > 1:
        line += f" (±{smallest:g} needs about {row.factor:.1f} times as many images and votes)"
    return line


def compare_ratings(
    votes: Mapping[str, Sequence[Any]], questions: Sequence[str], plan: ComparisonPlan | None = None
) -> RatingComparison:
    """Compare the mean ratings of methods, with 95 % CIs over raters and images.

    Where raters met several methods, their habits are taken out; where each met one method, plain
    means are compared. The variance counts raters and images as sampled (two-way clusters).

    Args:
        votes: Columns of the ratings: ``participant``, ``image_key``, ``technique``, one column
            for each question, and optionally ``counted``.
        questions: Names of the columns with ratings.
        plan: Comparisons that were fixed beforehand. Default: all pairs on the first question.

    Returns:
        The means and differences; planned differences have a verdict.

    Raises:
        EvidenceError: If a column is missing, or no rating counts.
    """
    needed = ("participant", "image_key", "technique", *questions)
    missing = [name for name in needed if name not in votes]
    if missing:
        raise EvidenceError("votes", f"no column {missing[0]!r}", ", ".join(needed))
    plan = plan or ComparisonPlan(tuple(questions[:1]))
    plan = plan if plan.primary else ComparisonPlan(tuple(questions[:1]), plan.pairs, plan.smallest)
    counted = np.asarray(votes.get("counted", np.ones(len(votes["technique"]), bool)), bool)
    columns = {name: np.asarray(votes[name], object)[counted] for name in needed}
    if not counted.any():
        raise EvidenceError("votes", "none that counts", "at least one")
    means: list[MethodMean] = []
    differences: list[MethodDifference] = []
    for question in questions:
        table = _Ratings.of(columns, question)
        means += [
            MethodMean(question, method, int((table.methods == code).sum()), table.mean(code))
            for code, method in enumerate(table.names)
        ]
        for first, second in combinations(table.names, 2):
            estimate = table.difference(table.names.index(first), table.names.index(second))
            if estimate is not None:
                planned = _is_planned(plan, question, first, second)
                differences.append(MethodDifference(question, first, second, planned, estimate))
    return RatingComparison(
        plan, len(set(columns["participant"])), len(set(columns["image_key"])),
        int(counted.sum()), tuple(means), tuple(_judge(differences, plan.smallest)),
    )  # fmt: skip


def _is_planned(plan: ComparisonPlan, question: str, first: str, second: str) -> bool:
    pairs = plan.pairs is None or {first, second} in [set(pair) for pair in plan.pairs]
    return question in plan.primary and pairs


@dataclass(frozen=True)
class _Ratings:
    """Ratings on one question as codes of raters, images and methods."""

    ratings: Float[np.ndarray, " votes"]
    raters: Int[np.ndarray, " votes"]
    images: Int[np.ndarray, " votes"]
    methods: Int[np.ndarray, " votes"]
    names: list[str]

    @classmethod
    def of(cls, columns: Mapping[str, np.ndarray], question: str) -> "_Ratings":
        answered = np.array([value is not None and value == value for value in columns[question]])
        raters, images = (
            np.unique(columns[name][answered].astype(str), return_inverse=True)[1]
            for name in ("participant", "image_key")
        )
        names, methods = np.unique(columns["technique"][answered].astype(str), return_inverse=True)
        ratings = columns[question][answered].astype(float)
        return cls(ratings, raters, images, methods, [str(name) for name in names])

    def mean(self, method: int) -> EstimatedValue:
        """Return the plain mean of a method."""
        own = self.methods == method
        value = float(self.ratings[own].mean())
        influence = (self.ratings[own] - value) / own.sum()
        return _estimate(value, influence, self.raters[own], self.images[own], test=False)

    def difference(self, first: int, second: int) -> EstimatedValue | None:
        """Return the difference of two methods, or None if the ratings do not determine it."""
        met = np.unique(np.stack([self.raters, self.methods]), axis=1)
        if np.bincount(met[0]).max() > 1:
            return self._difference_within_raters(first, second)
        value, influence = 0.0, np.zeros(len(self.ratings))
        for method, sign in ((first, 1), (second, -1)):
            own = self.methods == method
            mean = float(self.ratings[own].mean())
            value += sign * mean
            influence[own] = sign * (self.ratings[own] - mean) / own.sum()
        own = np.isin(self.methods, (first, second))
        return _estimate(value, influence[own], self.raters[own], self.images[own])

    def _difference_within_raters(self, first: int, second: int) -> EstimatedValue | None:
        """Return the difference by least squares with a fixed effect for each rater.

        None if no rater links the two methods.
        """
        n = np.bincount(self.raters)[self.raters]
        shape = (self.raters.max() + 1, len(self.names))
        shares = np.zeros(shape)
        np.add.at(shares, (self.raters, self.methods), 1)
        design = -(shares[self.raters] / n[:, None])
        design[np.arange(len(n)), self.methods] += 1
        rating = self.ratings - (np.bincount(self.raters, self.ratings)[self.raters] / n)
        inverse = np.linalg.pinv(design.T @ design, rcond=ESTIMABLE, hermitian=True)
        contrast = np.zeros(len(self.names))
        contrast[first], contrast[second] = 1.0, -1.0
        if np.abs(inverse @ (design.T @ design) @ contrast - contrast).max() > ESTIMABLE:
            return None
        effects = inverse @ (design.T @ rating)
        influence = (design @ (inverse @ contrast)) * (rating - design @ effects)
        return _estimate(float(contrast @ effects), influence, self.raters, self.images)


def _estimate(
    value: float, influence: Float[np.ndarray, " votes"], raters: Int[np.ndarray, " votes"],
    images: Int[np.ndarray, " votes"], *, test: bool = True, enough: int = MIN_RATERS,
) -> EstimatedValue:  # fmt: skip
    """Return a value with the CI of a two-way clustered variance."""
    pairs = np.unique(np.stack([raters, images]), axis=1, return_inverse=True)[1].ravel()
    (v_r, n_r), (v_p, n_p), (v_e, _) = (
        _cluster_variance(influence, codes) for codes in (raters, images, pairs)
    )
    if min(n_r, n_p) < enough:
        return EstimatedValue(value)
    variance = max(v_r, v_p, v_r + v_p - v_e)
    if variance <= 0:
        return EstimatedValue(value, value, value, None, 0.0)
    spread = v_r**2 / (n_r - 1) + v_p**2 / (n_p - 1) + v_e**2 / ((n_r - 1) * (n_p - 1))
    df, error = variance**2 / spread, float(np.sqrt(variance))
    half = float(student.ppf((1 + LEVEL) / 2, df)) * error
    p = float(2 * student.sf(abs(value) / error, df)) if test else None
    return EstimatedValue(value, value - half, value + half, p, variance, df)


def _cluster_variance(
    influence: Float[np.ndarray, " votes"], codes: Int[np.ndarray, " votes"]
) -> tuple[float, int]:
    """Return the variance between clusters and their number."""
    numbers = np.unique(codes, return_inverse=True)[1].ravel()
    sums = np.bincount(numbers, influence)
    n = len(sums)
    return float(n / (n - 1) * (sums**2).sum()) if n > 1 else 0.0, n


def _judge(differences: Iterable[MethodDifference], smallest: float) -> list[MethodDifference]:
    """Add verdicts to planned differences, Holm-adjusted over all of them."""
    rows = list(differences)
    family = [row.difference.p if row.planned else None for row in rows]
    adjusted = correct_holm([np.nan if p is None else p for p in family]).p.tolist()
    return [
        _add_verdict(row, None if family[i] is None else adjusted[i], smallest)
        if row.planned else row
        for i, row in enumerate(rows)
    ]  # fmt: skip


def _add_verdict(
    row: MethodDifference, adjusted: float | None, smallest: float
) -> MethodDifference:
    value = row.difference
    answer: Answer = "inconclusive"
    factor = None
    if adjusted is not None and adjusted <= 1 - LEVEL:
        answer = "higher" if value.value > 0 else "lower"
    elif value.low is not None and value.high is not None and (
        -smallest <= value.low and value.high <= smallest
    ):  # fmt: skip
        answer = "same"
    elif value.variance and value.df:
        quantiles = student.ppf((1 + LEVEL) / 2, value.df) + student.ppf(POWER, value.df)
        factor = float(quantiles**2 * value.variance / smallest**2)
    return MethodDifference(
        row.question, row.first, row.second, row.planned, value, adjusted, answer, factor
    )
