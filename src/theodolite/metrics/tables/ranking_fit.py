"""Does one list of features for all rows predict how the output changes when they are removed?"""

from dataclasses import replace
from typing import Annotated, Any, Literal
from weakref import WeakKeyDictionary

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite._stats.subset_fits import LEAST_SPREAD, RELATIVE_ZERO
from theodolite.evidence.attributions.subsets import sum_groups
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import Card, NullModel, Pooled
from theodolite.metrics.states import FACT
from theodolite.metrics.tables.attribution_fit import (
    Signs,
    Source,
    SubsetAnswers,
    fit_best_attributions,
    fit_metric,
)

Order = Annotated[
    int | None, Field(ge=0, description="Seed of a random order of the list; None: its own order.")
]
Rows = Float[np.ndarray, "rows samples"]
ORDERS, NEAR = 200, 0.02
"""Random orders of a list, and the difference of fits below which two are alike."""
ONE_LIST = 0.9
"""Likeness of rows from which a table is one list for all rows."""
ONLY_SIZES: tuple[Literal["given", "ignored"], ...] = ("ignored",)


class ListFits:
    """Fits of any list of features to the answers about each row, without summing again."""

    def __init__(self, answers: SubsetAnswers) -> None:
        table, weights = answers.removed.astype(float), answers.weights
        away = table - np.einsum("ns,nsj->nj", weights, table)[:, None]
        weighted = (away * weights[:, :, None]).swapaxes(1, 2)
        self._squares = weighted @ away
        self._products, self._spreads = {}, {}
        for signs, change in (("given", answers.change), ("ignored", np.abs(answers.change))):
            moved = change - (weights * change).sum(axis=1, keepdims=True)
            square, raw = ((weights * part**2).sum(axis=1) for part in (moved, change))
            undefined = square <= np.maximum(LEAST_SPREAD**2, RELATIVE_ZERO * raw)
            self._products[signs] = (weighted @ moved[:, :, None])[:, :, 0]
            self._spreads[signs] = np.where(undefined, np.nan, square)

    def fit(self, features: Float[np.ndarray, " groups"], signs: str) -> np.ndarray:
        """Return the correlation of a list with the answers about each row."""
        if signs == "ignored":
            features = np.abs(features)
        square = (self._squares @ features) @ features
        constant = square <= RELATIVE_ZERO * float((features**2).sum())
        root = np.sqrt(np.where(constant, 1.0, square) * self._spreads[signs])
        fits = np.clip(self._products[signs] @ features / root, -1.0, 1.0)
        return np.asarray(np.where(constant & ~np.isnan(root), 0.0, fits))

    def rank_orders(self, features: Float[np.ndarray, " groups"], signs: str) -> dict[str, float]:
        """Return the shares of random orders that fit as well as a list, and clearly better."""
        fits = self.fit(features, signs)
        if np.isnan(fits).all():
            return {}
        own, random = np.nanmean(fits), np.random.default_rng(0)
        orders = [self.fit(random.permutation(features), signs) for _ in range(ORDERS)]
        ahead = np.nanmean(orders, axis=1) - own
        return {
            f"orders_as_good.{signs}": float((ahead >= -1e-12).mean()),
            f"orders_better.{signs}": float((ahead > NEAR).mean()),
        }


_LIST_FITS: "WeakKeyDictionary[AttributionEvidence, ListFits]" = WeakKeyDictionary()
"""Of evidence that is scored for many orders of a list."""


def _list_fits(evidence: AttributionEvidence) -> ListFits:
    if evidence not in _LIST_FITS:
        _LIST_FITS[evidence] = ListFits(SubsetAnswers(evidence))
    return _LIST_FITS[evidence]


def _is_global(evidence: AttributionEvidence) -> bool:
    return evidence.scope.names == ("global",)


def _mean_list(values: Float[np.ndarray, "samples groups"], sign: str) -> np.ndarray:
    total = (values if sign == "given" else np.abs(values)).sum(axis=0)
    return np.asarray(total / max(len(values), 1))


def _fit_rows(
    evidence: AttributionEvidence, sign: str, source: str, order: int | None
) -> Float[np.ndarray, " samples"]:
    fits = _list_fits(evidence)
    if source == "attributions":
        features = _mean_list(sum_groups(np.asarray(evidence.values), evidence.groups), sign)
        if order is not None:
            features = np.random.default_rng(order).permutation(features)
        return fits.fit(features, sign)
    if _is_global(evidence):
        return fits.fit(_mean_list(fit_best_attributions(evidence), sign), sign)
    return SubsetAnswers(evidence).fit_best("mixed", sign)


def _average(fits: Float[np.ndarray, " samples"], weights: Rows) -> Float[np.ndarray, " rows"]:
    defined = ~np.isnan(fits)
    total = weights[:, defined].sum(axis=1, dtype=float)
    part = weights[:, defined] @ fits[defined]
    return np.asarray(np.divide(part, total, out=np.full(len(total), np.nan), where=total > 0))


def compare_rows(values: Float[np.ndarray, "samples groups"]) -> float:
    """Return the mean correlation between the attributions of two different rows.

    >>> round(compare_rows(np.array([[1.0, 2, 3], [2, 4, 6], [3, 2, 1]])), 3)
    -0.333
    """
    n = len(values)
    if n < 2:
        return float("nan")
    away = values - values.mean(axis=1, keepdims=True)
    length = np.sqrt((away**2).sum(axis=1))
    varies = length > 1e-12 * np.abs(values).max(axis=1, initial=0.0)
    unit = np.divide(away, length[:, None], out=np.zeros_like(away), where=varies[:, None])
    return float(((unit.sum(axis=0) ** 2).sum() - varies.sum()) / (n * (n - 1)))


def choose_signs(evidence: AttributionEvidence) -> dict[str, Any]:
    """Return the option ``signs``: a list with negative entries is tested with its signs.

    One that all rows of a table repeat is tested by its sizes, too.
    """
    values = sum_groups(np.asarray(evidence.values), evidence.groups)
    if not (_mean_list(values, "given") < 0).any():
        return {"signs": ONLY_SIZES}
    if _is_global(evidence):
        return {"signs": ("given",)}
    alike = compare_rows(values) >= ONE_LIST
    return {"signs": (*ONLY_SIZES, "given") if alike else ONLY_SIZES}


def describe_attributions(evidence: AttributionEvidence) -> dict[str, float]:
    """Return what a verdict on attributions reads beside scores."""
    values = sum_groups(np.asarray(evidence.values), evidence.groups)
    flat = np.ptp(values, axis=1) <= 1e-12 * np.abs(values).max(axis=1, initial=0.0)
    return {
        "likeness": compare_rows(values), "features": float(values.shape[1]),
        "one_list": float(_is_global(evidence)), "names_nothing": float(flat.all()),
    }  # fmt: skip


def _in_random_order(state: "RankingFit", seed: int) -> "RankingFit":
    return replace(state, options={**state.options, "order": seed})


@fit_metric(
    "ranking_fit",
    title="Fit of a global ranking",
    decides=False,
    sweeps=("signs",),
    headline={"signs": "ignored"},
    fitting=choose_signs,
    share_from=("random_order",),
    nulls=(
        NullModel(
            "random_order", "the same list in random orders", _in_random_order, on="state",
        ),
    ),
    card=Card(
        question="Does one list of features for all rows predict how outputs change when features "
        "are removed?",
        interpretation="The list is the mean size of each feature's attributions. Compare with the "
        "same list in random orders, and with the best possible: sizes row by row, or the best "
        "list where one list is all that was given. How far it reaches says how local the "
        "explained function is.",
        limitations="Sizes count, unless all rows have one list with signs. With five or fewer "
        "features a random order is right by luck too often to tell.",
        cost="no answers beyond those of `attribution_fit`",
    ),
)  # fmt: skip
class RankingFit(Pooled):
    r"""Correlation of one list, summed, with sizes of changes, mean over samples.

    .. math:: \frac1N \sum_i \mathrm{corr}_{S}\Bigl(\sum_{j \in S} \frac1N \sum_k |a_{kj}|,\;
        \bigl|f(x_i) - \tfrac1B \sum_b f(x_i^{(S \leftarrow b)})\bigr|\Bigr)

    As :func:`~theodolite.metrics.functions.faithful.attribution_fit` otherwise.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import ranking_fit
        >>> subsets = np.array([[[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]]])
        >>> ranking_fit([[2.0, 1.0, 0.0]], subsets == 1, [[2.0, 1.0, 3.0, 0.0, 2.0, 1.0]])
        array([1.])
    """

    @staticmethod
    def measure(
        evidence: AttributionEvidence,
        weights: Rows,
        *,
        signs: Signs = ONLY_SIZES,
        source: Source = "attributions",
        order: Order = None,
    ) -> np.ndarray:
        rows = [_average(_fit_rows(evidence, sign, source, order), weights) for sign in signs]
        return np.stack(rows, axis=1)

    @staticmethod
    def measure_with_moments(
        evidence: AttributionEvidence, weights: Rows, **options: Any
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        facts = describe_attributions(evidence)
        own = sum_groups(np.asarray(evidence.values), evidence.groups)
        for sign in options.get("signs", ONLY_SIZES):
            facts |= _list_fits(evidence).rank_orders(_mean_list(own, sign), sign)
        values = RankingFit.measure(evidence, weights, **options)
        return values, {FACT + name: np.asarray(value) for name, value in facts.items()}
