"""Scores of attributions: worked numbers, a loop beside them, planted ends, and the verdict."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.stats import spearmanr

import theodolite
from support.strip_zones import interval_zone
from theodolite._planted.attributions import (
    _sum_read_features,
    named_features,
    planted_attributions,
)
from theodolite._planted.conditions import Condition
from theodolite._planted.validation.characteristics import FALSE_ALARMS, get_max_count
from theodolite._verdicts.rules import verdict
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.tables.feature_removal import IN_GENERAL
from theodolite.report.figures.score_strip import strip_marks, zone_borders
from theodolite.testing.strategies import attribution_evidence


def value_of(name: str, evidence: AttributionEvidence, **options: Any) -> Any:
    return np.asarray(find_metric(name).state.of(evidence, **options).value())


def null_of(name: str, null: str, evidence: AttributionEvidence) -> float:
    metric = find_metric(name)
    model = next(n for n in metric.nulls if n.name == null)
    return float(np.ravel(metric.null_state(model, evidence).value())[0])


def by_hand(*values: float) -> AttributionEvidence:
    """f(x) = x1, background rows with x1 = 0 and x1 = 1, each drawn once."""
    return AttributionEvidence(
        values=np.array([values]), inputs=np.array([[1.0, 5.0, 5.0]]),
        background=np.array([[0.0, 3.0, 3.0], [1.0, 3.0, 3.0]]), respond=lambda rows: rows[:, 0],
    )  # fmt: skip


def test_worked_by_hand() -> None:
    right, wrong = by_hand(1, 0, 0), by_hand(0, 1, 0)
    assert np.abs(right.output[:, None, None] - right.removed).tolist() == [[[0.5, 0.5]]]
    assert value_of("feature_necessity", right) == [0.5]
    assert value_of("feature_sufficiency", right) == [0.0]
    first = replace(wrong, counts=wrong.counts[:1], removed=wrong.removed[:, :, :1],
                    only=wrong.only[:, :, :1], chance_removed=wrong.chance_removed[..., :1],
                    chance_only=wrong.chance_only[..., :1],
                    best_removed=wrong.best_removed[:, :, :1])  # fmt: skip
    assert value_of("feature_necessity", first) == [0.0]
    assert value_of("feature_sufficiency", first) == [0.5]
    assert value_of("feature_necessity", wrong) == [0.25]  # the tie: then the first feature goes


def test_planted_ends_exactly() -> None:
    """The only feature that is used, and features of which none is."""
    random = np.random.default_rng(0)
    inputs, background = random.normal(size=(40, 12)), random.normal(size=(15, 12))

    def respond(rows: np.ndarray) -> np.ndarray:
        return 3 * rows[:, 4]

    used, unused = np.zeros((40, 12)), random.normal(size=(40, 12))
    used[:, 4], unused[:, 4] = 1.0, 0.0
    rows = {"inputs": inputs, "background": background, "respond": respond}
    perfect = AttributionEvidence(values=used, **rows)
    alone = np.abs(3 * inputs[:, 4] - (3 * background[:, 4]).mean()).mean()
    assert value_of("feature_necessity", perfect)[0] == pytest.approx(alone, abs=1e-12)
    assert value_of("feature_sufficiency", perfect)[0] == pytest.approx(0.0, abs=1e-12)
    worst = AttributionEvidence(values=unused, **rows)
    assert value_of("feature_necessity", worst)[0] == pytest.approx(0.0, abs=1e-12)
    assert value_of("feature_sufficiency", worst)[0] == pytest.approx(alone, abs=1e-12)
    # the search asks the model, so it finds the feature whatever the attribution says
    best = replace(worst, removed=worst.best_removed)
    assert value_of("feature_necessity", best)[0] == pytest.approx(alone, abs=1e-12)


def loop(evidence: AttributionEvidence, answers: np.ndarray) -> float:
    """Mean over samples and steps, one number at a time."""
    sums = [
        abs(evidence.output[i] - answers[i, 0, k])
        for i in range(len(evidence))
        for k in range(answers.shape[2])
    ]
    return sum(sums) / len(sums)


def first_five(row: np.ndarray, groups: np.ndarray | None) -> set[int]:
    numbers = np.arange(len(row)) if groups is None else groups
    sums = [row[numbers == g].sum() for g in range(numbers.max() + 1)]
    return set(sorted(range(len(sums)), key=lambda j: (-abs(sums[j]), j))[:5])


@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(attribution_evidence())
def test_against_loops(evidence: AttributionEvidence) -> None:
    assert value_of("feature_necessity", evidence)[0] == pytest.approx(
        loop(evidence, evidence.removed)
    )
    assert value_of("feature_sufficiency", evidence)[0] == pytest.approx(
        loop(evidence, evidence.only)
    )
    for null in ("global_ranking", "another_sample", "random_features"):
        at = [i for i, name in enumerate(evidence.chances.names) if name.startswith(null)]
        means = [loop(evidence, evidence.chance_removed[:, i]) for i in at]
        assert null_of("feature_necessity", null, evidence) == pytest.approx(np.mean(means))
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


def test_another_samples_attribution_is_the_mean_over_all_others() -> None:
    evidence = planted_attributions(12)
    evidence = replace(evidence, other_method_values=np.roll(evidence.values, 3, axis=1))
    shares = [
        len(first_five(a, None) & first_five(b, None)) / 5
        for i, a in enumerate(evidence.values)
        for j, b in enumerate(evidence.other_method_values)
        if i != j
    ]
    null = null_of("method_agreement", "another_sample", evidence)
    assert null == pytest.approx(np.mean(shares))
    assert null_of("method_agreement", "random_features", evidence) == pytest.approx(5 / 13)


def test_conditional_removal_is_asked_where_it_is_there() -> None:
    plain = planted_attributions(12)
    with pytest.raises(EvidenceError, match="attribution_plan"):
        value_of("feature_necessity", plain, removal=("conditional",))
    both = theodolite.attribution_plan(plain, removal="conditional", draws=4).ask(
        _sum_read_features
    )
    fitted = find_metric("feature_necessity").fitted(both)
    assert fitted == {"removal": ("background", "conditional")}
    values = value_of("feature_necessity", both, removal=("background", "conditional"))
    assert values.shape == (2,) and values[0] != values[1]


def scored(evidence: AttributionEvidence) -> Any:
    result = theodolite.audit(evidence, metrics=["feature_necessity"], resamples=100)
    return result.scores[0]


def planted(dial: float, seed: int = 1) -> AttributionEvidence:
    """Right orders in a share of samples."""
    condition = Condition(clusters=150, dial=dial)
    (bundle,) = named_features.draw("feature_necessity", condition, seed).evidence
    return bundle


def as_good_in_general(bundle: AttributionEvidence, seed: int = 0) -> AttributionEvidence:
    """The same, with global feature ranking that is as right as the attributions, on other samples."""
    own = np.abs(bundle.output[:, None, None] - bundle.removed)
    dealt_out = np.random.default_rng(seed).permutation(own)
    chance = bundle.chance_removed.copy()
    chance[:, 0] = bundle.output[:, None, None] - dealt_out
    return replace(bundle, chance_removed=chance)


def test_yes_partly_and_no() -> None:
    yes = verdict(scored(planted(1.0)), validated=False)
    assert yes.answer == "yes" and "better than global feature ranking" in yes.summary
    partly = verdict(scored(as_good_in_general(planted(1.0))), validated=False)
    assert partly.answer == "partly" and partly.summary.endswith(IN_GENERAL)
    assert "better than random features" in partly.summary
    assert "but not surely than global feature ranking" in partly.summary
    little = verdict(scored(planted(0.5)), validated=False)
    assert little.answer == "partly" and "not surely at least" in little.summary
    no = verdict(scored(planted(0.0)), validated=False)
    assert no.answer == "no" and IN_GENERAL not in no.summary


def test_zones_of_the_strip_are_those_answers() -> None:
    for bundle in (planted(1.0), planted(0.5), planted(0.0)):
        score = scored(bundle)
        zone = interval_zone(strip_marks(score))
        assert zone is None or zone == verdict(score, validated=False).answer
    general = scored(as_good_in_general(planted(1.0)))
    borders = dict(zone_borders(general))
    nulls = {null.name: null.value for null in general.nulls}
    assert borders["no"] == nulls["random_features"]
    assert borders["partly"] == nulls["global_ranking"] > 0.8 * general.best


def test_a_general_order_is_rarely_called_local() -> None:
    """Attributions no better than global feature ranking: yes in at most 2.5 % of draws, and chance."""
    draws = 400 if os.environ.get("THEODOLITE_FULL") else 40
    answers = [
        verdict(scored(as_good_in_general(planted(1.0, seed), seed)), validated=False).answer
        for seed in range(draws)
    ]
    assert answers.count("yes") <= get_max_count(FALSE_ALARMS, draws)
    assert answers.count("partly") >= draws - get_max_count(2 * FALSE_ALARMS, draws)


def test_a_linear_model_on_like_scales_is_partly() -> None:
    """Its one order is right everywhere: that is no failure, and nothing local either."""
    random = np.random.default_rng(3)
    weights = np.array([8.0, 4, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01])
    inputs = random.choice([-1.0, 1.0], (120, 10))
    evidence = AttributionEvidence(
        values=inputs * weights, inputs=inputs, background=random.choice([-1.0, 1.0], (20, 10)),
        base=np.zeros(120), respond=lambda rows: rows @ weights,
    )  # fmt: skip
    answer = verdict(scored(evidence), validated=False)
    assert answer.answer == "partly" and answer.summary.endswith(IN_GENERAL)
