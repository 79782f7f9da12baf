"""Scores of attributions: worked numbers, loops beside them, and planted ends."""

from dataclasses import replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import spearmanr

from theodolite._planted.attributions import planted_attributions
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.tables.attribution_fit import fit_best_attributions
from theodolite.metrics.tables.ranking_fit import compare_rows, describe_attributions
from theodolite.testing.strategies import attribution_evidence


def value_of(name: str, evidence: AttributionEvidence, **options: Any) -> Any:
    return np.asarray(find_metric(name).state.of(evidence, **options).value())


def null_of(name: str, null: str, evidence: AttributionEvidence, **options: Any) -> Any:
    metric = find_metric(name)
    model = next(n for n in metric.nulls if n.name == null)
    return np.ravel(metric.null_state(model, evidence, **options).value())


def by_hand(*values: float, **more: Any) -> AttributionEvidence:
    """f(x) = 2 x1 - x2 at (1, 1, 1), one background row of zeros: all six subsets."""
    return AttributionEvidence(
        values=np.array([values]), inputs=np.ones((1, 3)), background=np.zeros((1, 3)),
        respond=lambda rows: 2 * rows[:, 0] - rows[:, 1], **more,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "fit"),
    [
        ((2, -1, 0), 1.0), ((1, -1, 0), 0.9733), ((2, 1, 0), 0.6225), ((1, 1, 1), 0.1325),
        ((0, 0, 1), -0.1325), ((0, 0, 0), 0.0),
    ],
)  # fmt: skip
def test_attribution_fit_worked_by_hand(values: tuple[float, ...], fit: float) -> None:
    evidence = by_hand(*values)
    assert evidence.change.tolist() == [[2.0, -1.0, 1.0, 0.0, 2.0, -1.0]]
    assert value_of("attribution_fit", evidence)[0] == pytest.approx(fit, abs=5e-5)
    best = value_of("attribution_fit", evidence, source="best")
    np.testing.assert_allclose(best, 1.0, atol=1e-9)
    np.testing.assert_allclose(fit_best_attributions(evidence), [[2.0, -1.0, 0.0]], atol=1e-5)


def test_attribution_fit_equal_attributions_say_nothing_but_size() -> None:
    mixed, regressed = value_of("attribution_fit", by_hand(1, 1, 1))[:, 0]
    assert mixed == pytest.approx(0.1325, abs=5e-5) and regressed == 0.0


def test_attribution_fit_undefined_where_nothing_changes() -> None:
    evidence = replace(by_hand(1, 0, 0), change=np.full((1, 6), 0.25))
    assert np.isnan(value_of("attribution_fit", evidence)).all()
    assert np.isnan(value_of("ranking_fit", evidence)).all()


def naive_fit(
    attributions: np.ndarray, removed: np.ndarray, change: np.ndarray, *, regress: bool
) -> float:
    """Of one row, subset by subset; groups are columns that go together."""
    n_groups = removed.shape[1]
    weights = []
    for subset in removed:
        size = int(subset.sum())
        enumerated = n_groups <= 7 and len(removed) == 2**n_groups - 2
        kernel = 1 / (comb(n_groups, size) * size * (n_groups - size)) if enumerated else 1.0
        weights.append(kernel)
    sums = np.array([sum(attributions[subset]) for subset in removed])
    w, sizes = np.array(weights) / sum(weights), removed.sum(axis=1).astype(float)
    columns = np.stack([np.ones(len(w)), sizes] if regress else [np.ones(len(w))], axis=1)
    root = np.sqrt(w)[:, None]

    def rest(values: np.ndarray) -> np.ndarray:
        if regress and np.ptp(sizes) == 0:
            return values - w @ values
        coefficients = np.linalg.lstsq(root * columns, root[:, 0] * values, rcond=None)[0]
        return values - columns @ coefficients

    a, b = rest(sums), rest(change)
    if np.sqrt(w @ b**2) < 1e-9:
        return float("nan")
    if np.sqrt(w @ a**2) < 1e-9:
        return 0.0
    return float(w @ (a * b) / np.sqrt((w @ a**2) * (w @ b**2)))


def by_group(evidence: AttributionEvidence) -> tuple[np.ndarray, np.ndarray]:
    groups = evidence.groups
    if groups is None:
        return np.asarray(evidence.values), np.asarray(evidence.removed)
    numbers = range(int(groups.max()) + 1)
    values = np.stack([evidence.values[:, groups == g].sum(axis=1) for g in numbers], axis=1)
    return values, np.stack([evidence.removed[:, :, groups == g][:, :, 0] for g in numbers], axis=2)


def first_five(row: np.ndarray, groups: np.ndarray | None) -> set[int]:
    numbers = np.arange(len(row)) if groups is None else groups
    sums = [row[numbers == g].sum() for g in range(numbers.max() + 1)]
    return set(sorted(range(len(sums)), key=lambda j: (-abs(sums[j]), j))[:5])


def mean_of_defined(values: list[float]) -> float:
    defined = [value for value in values if not np.isnan(value)]
    return float(np.mean(defined)) if defined else float("nan")


@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(attribution_evidence())
def test_fits_against_loops(evidence: AttributionEvidence) -> None:
    values, removed = by_group(evidence)
    rows = range(len(evidence))
    for number, regress in enumerate((False, True)):
        fits = [naive_fit(values[i], removed[i], evidence.change[i], regress=regress) for i in rows]
        sizes = [
            naive_fit(abs(values[i]), removed[i], abs(evidence.change[i]), regress=regress)
            for i in rows
        ]
        result = value_of("attribution_fit", evidence, signs=("given", "ignored"))[number]
        np.testing.assert_allclose(
            result, [mean_of_defined(fits), mean_of_defined(sizes)], atol=1e-9
        )
        general = np.abs(values).mean(axis=0)
        fits = [naive_fit(general, removed[i], evidence.change[i], regress=regress) for i in rows]
        null = null_of("attribution_fit", "global_ranking", evidence)[number]
        np.testing.assert_allclose(null, mean_of_defined(fits), atol=1e-9)
    fits = [naive_fit(general, removed[i], abs(evidence.change[i]), regress=False) for i in rows]
    np.testing.assert_allclose(
        value_of("ranking_fit", evidence)[0], mean_of_defined(fits), atol=1e-9
    )


@settings(max_examples=10, deadline=None, derandomize=True, database=None)
@given(attribution_evidence())
def test_agreement_and_additivity_against_loops(evidence: AttributionEvidence) -> None:
    groups = evidence.groups
    n_groups = evidence.values.shape[1] if groups is None else groups.max() + 1
    pairs = list(zip(evidence.values, evidence.other_method_values, strict=True))
    shares = [len(first_five(a, groups) & first_five(b, groups)) / 5 for a, b in pairs]
    expected = np.mean(shares) if n_groups > 5 else np.nan
    np.testing.assert_allclose(value_of("method_agreement", evidence), expected)
    if groups is None:
        # ranks of equals are shared; where one side has no order at all it is undefined
        orders = [
            spearmanr(np.abs(a), np.abs(b)).statistic
            for a, b in zip(evidence.values, evidence.randomized_values, strict=True)
            if np.ptp(np.abs(a)) > 0 and np.ptp(np.abs(b)) > 0
        ]
        expected = np.mean(orders) if orders else np.nan
        np.testing.assert_allclose(
            value_of("attribution_randomization", evidence), expected, atol=1e-12
        )
    missed = np.abs(evidence.base + evidence.values.sum(axis=1) - evidence.output).mean()
    spread = evidence.output.std()
    np.testing.assert_allclose(
        value_of("additivity_gap", evidence), missed / spread if spread > 1e-6 else np.nan
    )


def test_best_attributions_of_all_subsets_are_shapley_values() -> None:
    """Of three features, from orders; but for what they add up to."""
    random = np.random.default_rng(2)
    inputs, background = random.normal(size=(5, 3)), random.normal(size=(4, 3))

    def respond(rows: np.ndarray) -> np.ndarray:
        return rows[:, 0] * rows[:, 1] + np.sin(rows[:, 2]) + 0.5 * rows[:, 0]

    evidence = AttributionEvidence(
        values=inputs, inputs=inputs, background=background, respond=respond
    )

    def without(row: np.ndarray, subset: tuple[int, ...]) -> float:
        rows = np.tile(row, (4, 1))
        rows[:, list(subset)] = background[:, list(subset)]
        return float(respond(rows).mean())

    for row, own in zip(inputs, fit_best_attributions(evidence), strict=True):
        shapley = np.zeros(3)
        for j in range(3):
            others = [k for k in range(3) if k != j]
            for size in range(3):
                for subset in combinations(others, size):
                    gain = without(row, subset) - without(row, (*subset, j))
                    shapley[j] += gain / (3 * comb(2, size))
        # all features are off by the same: nothing makes them add up to the output
        assert np.ptp(own - shapley) < 1e-4 < np.ptp(shapley)


def test_best_fit_of_drawn_subsets_is_crossfitted() -> None:
    """Where nothing is additive the best possible is not above 0 by fitting noise."""
    random = np.random.default_rng(0)
    evidence = replace(
        planted_attributions(60), removed=random.random((60, 128, 13)) < 0.5,
        change=random.normal(size=(60, 128)),
    )  # fmt: skip
    best = find_metric("attribution_fit").state.each(evidence, source="best").part[:, 0, 0]
    own = find_metric("attribution_fit").state.each(evidence).part[:, 0, 0]
    assert best.mean() < 0.1 and best.mean() >= own.mean() - 1e-12


def test_another_samples_attribution_is_the_mean_over_all_others() -> None:
    evidence = planted_attributions(12)
    evidence = replace(evidence, other_method_values=np.roll(evidence.values, 3, axis=1))
    shares = [
        len(first_five(a, None) & first_five(b, None)) / 5
        for i, a in enumerate(evidence.values)
        for j, b in enumerate(evidence.other_method_values)
        if i != j
    ]
    null = null_of("method_agreement", "another_sample", evidence)[0]
    assert null == pytest.approx(np.mean(shares))
    assert null_of("method_agreement", "random_features", evidence)[0] == pytest.approx(5 / 13)


def test_likeness_of_rows_against_all_pairs() -> None:
    values = np.random.default_rng(1).normal(size=(9, 4)) + np.arange(4)
    pairs = [np.corrcoef(a, b)[0, 1] for a, b in combinations(values, 2)]
    assert compare_rows(values) == pytest.approx(np.mean(pairs))
    assert compare_rows(np.ones((3, 4))) == 0.0
    assert describe_attributions(by_hand(1, 1, 1))["names_nothing"] == 1.0


def test_list_with_signs_is_not_one_without() -> None:
    evidence = replace(by_hand(2, -1, 0), scope="global")
    sizes, signed = value_of("ranking_fit", evidence, signs=("ignored", "given"))
    assert signed == pytest.approx(1.0) and sizes < 1.0
    assert find_metric("ranking_fit").fitted(evidence) == {"signs": ("given",)}
    rows = replace(planted_attributions(12), values=np.tile(np.arange(13.0) - 1, (12, 1)))
    assert find_metric("ranking_fit").fitted(rows) == {"signs": ("ignored", "given")}
    assert find_metric("ranking_fit").fitted(by_hand(2, -1, 0)) == {"signs": ("ignored",)}
