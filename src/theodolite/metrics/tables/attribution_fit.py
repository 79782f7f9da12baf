"""Do attributions predict how the output changes when features are removed?"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import Field

from theodolite._stats.sampling import POOLED, draw_other_rows, draw_pool, hash_to_uniforms
from theodolite._stats.subset_fits import (
    correlate_rows,
    fit_additive,
    predict_additive,
    sum_removed,
)
from theodolite.evidence.attributions.subsets import is_enumerated, sum_groups, weigh_subsets
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.base import Card, NullModel, PerSample, SampleMean, metric

ANOTHER, GLOBAL, GLOBAL_MEAN = "another_sample", "global_ranking", "global_mean"
RANDOM = "random_features"
IN_GENERAL = "No better than a global ranking of the same attributions."
DRAWS = 20
"""Other rows, or random orders, that a baseline is the mean of."""
_OTHER_SEED, _RANDOM_SEED = 0x6F746865, 0x66656174
Sizes = Annotated[
    Sequence[Literal["mixed", "regressed_out"]],
    Field(min_length=1, description="Whether the number of removed features is regressed out."),
]
Signs = Annotated[
    Sequence[Literal["given", "ignored"]],
    Field(min_length=1, description="Whether signs count, or sizes alone."),
]
Source = Annotated[
    Literal["attributions", "best"],
    Field(description="Sums of the attributions, or of the best possible ones."),
]
BOTH: tuple[Literal["mixed", "regressed_out"], ...] = ("mixed", "regressed_out")
attribution_metric = partial(
    metric,
    question="faithful",
    asked_as="Do the attributions predict how the output changes when features are removed?",
)
fit_metric = partial(
    attribution_metric,
    better="higher",
    bounds=(-1.0, 1.0),
    uses=("values", "removed", "change"),
    may_use=("groups",),
    ideal=lambda evidence: evidence,
    ideal_options={"source": "best"},
    cite="bhatt2020evaluating",
)


class SubsetAnswers:
    """What a model answered about the rows of evidence, by features or groups of them."""

    def __init__(self, evidence: AttributionEvidence) -> None:
        groups, removed = evidence.groups, np.asarray(evidence.removed)
        if groups is not None:
            removed = removed[:, :, np.unique(groups, return_index=True)[1]]
        self.removed = removed
        self.change = np.asarray(evidence.change, float)
        self.weights = weigh_subsets(removed)
        self.n_removed = removed.sum(axis=2, dtype=float)
        self.groups = groups

    def correlate(
        self, sums: Float[np.ndarray, "samples subsets"], size: str, signs: str
    ) -> Float[np.ndarray, " samples"]:
        """Return the fit of sums that have signs, or of sums of sizes."""
        change = self.change if signs == "given" else np.abs(self.change)
        sizes = None if size == "mixed" else self.n_removed
        return correlate_rows(sums, change, self.weights, sizes)

    def fit(
        self, values: Float[np.ndarray, "samples groups"], size: str, signs: str
    ) -> Float[np.ndarray, " samples"]:
        """Return the fit of attributions of each row, or of one list for all rows."""
        values = values if signs == "given" else np.abs(values)
        return self.correlate(sum_removed(values, self.removed), size, signs)

    def fit_best(self, size: str, signs: str) -> Float[np.ndarray, " samples"]:
        """Return the fit of the best possible attributions."""
        enumerated = is_enumerated(*self.removed.shape[1:])
        sums = predict_additive(
            self.removed, self.change, self.weights,
            enumerated=enumerated, signed=signs == "given",
        )  # fmt: skip
        return self.correlate(sums, size, signs)


def fit_best_attributions(evidence: AttributionEvidence) -> Float[np.ndarray, "samples groups"]:
    """Return the additive attributions that come nearest to the answers about each row."""
    answers = SubsetAnswers(evidence)
    return fit_additive(answers.removed, answers.change, answers.weights)


def has_signs(evidence: AttributionEvidence) -> bool:
    """Return whether any attribution is negative; without, all are taken as sizes."""
    return bool((np.asarray(evidence.values) < 0).any())


def _choose_signs(evidence: AttributionEvidence) -> dict[str, Any]:
    return {"signs": ("given",) if has_signs(evidence) else ("ignored",)}


def _for_each(
    sizes: Sequence[str],
    signs: Sequence[str],
    fit: Callable[[str, str], Float[np.ndarray, " samples"]],
) -> PerSample:
    rows = [[fit(size, sign) for sign in signs] for size in sizes]
    return PerSample.from_values(np.moveaxis(np.array(rows), 2, 0))


def _pool_attributions(evidence: AttributionEvidence) -> dict[str, np.ndarray]:
    samples = evidence.samples
    values = sum_groups(np.asarray(evidence.values), evidence.groups)
    return draw_pool(np.asarray(samples.index), {"values": values}, samples.clusters)


def _fit_other_rows(
    evidence: AttributionEvidence,
    sums: Mapping[str, np.ndarray],
    *,
    size: Sizes = BOTH,
    signs: Signs = ("given",),
    **options: Any,
) -> PerSample:
    del options
    samples, answers = evidence.samples, SubsetAnswers(evidence)
    numbers = np.asarray(samples.index)
    rows = draw_other_rows(sums, numbers, (DRAWS,), _OTHER_SEED, samples.clusters)
    others = sums[POOLED + "values"]

    def fit(size: str, sign: str) -> Float[np.ndarray, " samples"]:
        if not len(others) or (rows < 0).any():
            return np.full(len(numbers), np.nan)
        fits = [answers.fit(others[rows[:, i]], size, sign) for i in range(DRAWS)]
        return np.asarray(np.mean(fits, axis=0))

    return _for_each(size, signs, fit)


def _sum_attributions(evidence: AttributionEvidence) -> dict[str, np.ndarray]:
    values = sum_groups(np.asarray(evidence.values), evidence.groups)
    return {
        "mean": values.sum(axis=0), "sizes": np.abs(values).sum(axis=0),
        "samples": np.asarray(float(len(values))),
    }  # fmt: skip


def _fit_global(array: str, only: str = "") -> Callable[..., PerSample]:
    """Return the fit of one list for all rows; undefined for signs that it is not for."""

    def expected(
        evidence: AttributionEvidence,
        sums: Mapping[str, np.ndarray],
        *,
        size: Sizes = BOTH,
        signs: Signs = ("given",),
        **options: Any,
    ) -> PerSample:
        del options
        answers = SubsetAnswers(evidence)
        mean = sums[array] / max(float(sums["samples"]), 1.0)
        table = np.broadcast_to(mean, (len(evidence), len(mean)))

        def fit(size: str, sign: str) -> Float[np.ndarray, " samples"]:
            if only and sign != only:
                return np.full(len(table), np.nan)
            return answers.fit(table, size, sign)

        return _for_each(size, signs, fit)

    return expected


def _fit_random(
    evidence: AttributionEvidence,
    *,
    size: Sizes = BOTH,
    signs: Signs = ("given",),
    **options: Any,
) -> PerSample:
    del options
    answers = SubsetAnswers(evidence)
    values = sum_groups(np.asarray(evidence.values), evidence.groups)
    numbers = np.asarray(evidence.samples.index)
    uniforms = hash_to_uniforms(numbers, (DRAWS, values.shape[1]), _RANDOM_SEED)

    def fit(size: str, sign: str) -> Float[np.ndarray, " samples"]:
        if sign == "given":  # with signs at random the expectation is 0
            return 0.0 * answers.fit(values, size, sign)
        orders = [np.argsort(uniforms[:, i], axis=1) for i in range(DRAWS)]
        tables = [np.take_along_axis(values, order, axis=1) for order in orders]
        return np.asarray(np.mean([answers.fit(t, size, sign) for t in tables], axis=0))

    return _for_each(size, signs, fit)


@fit_metric(
    "attribution_fit",
    title="Attribution fit",
    sweeps=("size", "signs"),
    headline={"size": "mixed", "signs": "given"},
    fitting=lambda evidence: {"size": BOTH, **_choose_signs(evidence)},
    threshold=0.8,
    threshold_from="null",
    share_from=(ANOTHER, RANDOM),
    judged_with=("attribution_fit", "ranking_fit"),
    nulls=(
        NullModel(
            ANOTHER, "the attributions of 20 other rows, mean fit",
            expected=_fit_other_rows, sums=_pool_attributions, random=False,
            label="another row's attributions",
        ),
        NullModel(
            GLOBAL, "every row has the mean size of each feature's attributions",
            expected=_fit_global("sizes"), sums=_sum_attributions, random=False,
            if_not_beaten=IN_GENERAL, label="global ranking",
        ),
        NullModel(
            GLOBAL_MEAN, "every row has the mean of each feature's attributions, with its sign",
            expected=_fit_global("mean", "given"), sums=_sum_attributions, random=False,
            if_not_beaten=IN_GENERAL, label="global ranking with signs",
        ),
        NullModel(
            RANDOM, "the row's own sizes in 20 random orders, mean fit; with signs at random, 0",
            expected=_fit_random, random=False,
        ),
    ),
    card=Card(
        question="Do the attributions of a row predict how its output changes when features are "
        "removed?",
        interpretation="1 if sums of attributions go exactly with the changes, 0 if they say "
        "nothing about them. Compare with the best possible: no additive attributions reach 1 "
        "where features work together. Of the way from another row's attributions to the best "
        "possible, 80 % is enough; a convention. Exact Shapley values with noise of a quarter of "
        "their variance are near it.",
        limitations="It tests what attributions predict, not where they come from: those of a "
        "similar model pass. Removed values come from background rows, so rows appear that no data "
        "set has, and the model may answer them at its whim. Only relative sizes count: read it "
        "beside `additivity_gap`. Where signs are not given, sizes alone are compared.",
        cost="samples x subsets x 20 answers of the model, asked once for all attributions",
        template="Sums of attributions go with the change of the output: correlation {value} "
        "({low}–{high}{best}). {null}{enough}.",
    ),
)  # fmt: skip
class AttributionFit(SampleMean):
    r"""Correlation of summed attributions with what removal changes, mean over samples.

    .. math:: \frac1N \sum_i \mathrm{corr}_{S}\Bigl(\sum_{j \in S} a_{ij},\;
        f(x_i) - \frac1B \sum_b f\bigl(x_i^{(S \leftarrow b)}\bigr)\Bigr)

    Over subsets S of features, weighted by the Shapley kernel where all are removed. 0 where all
    sums of a row are equal; undefined where no removal changes its output. The faithfulness
    correlation of :cite:t:`bhatt2020evaluating`. With ``size="regressed_out"`` the number of
    removed features cannot explain anything: attributions that name no feature have 0.

    Example:
        >>> import numpy as np
        >>> from theodolite.metrics import attribution_fit
        >>> subsets = np.array([[[1, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 1], [1, 0, 1], [0, 1, 1]]])
        >>> change = [[2.0, -1.0, 1.0, 0.0, 2.0, -1.0]]  # of 2 x1 - x2 at (1, 1, 1)
        >>> attribution_fit([[1.0, -1.0, 0.0]], subsets == 1, change).round(4)
        array([[0.9733],
               [0.982 ]])
    """

    @classmethod
    def each(
        cls,
        evidence: AttributionEvidence,
        *,
        size: Sizes = BOTH,
        signs: Signs = ("given",),
        source: Source = "attributions",
    ) -> PerSample:
        """Correlate over the subsets of each sample."""
        answers = SubsetAnswers(evidence)
        values = sum_groups(np.asarray(evidence.values), evidence.groups)

        def fit(size: str, sign: str) -> Float[np.ndarray, " samples"]:
            own = answers.fit(values, size, sign)
            if source == "attributions":
                return own
            best = answers.fit_best(size, sign)
            defined = ~np.isnan(own)
            return np.maximum(best, own) if best[defined].sum() < own[defined].sum() else best

        return _for_each(size, signs, fit)
