"""Which of many concepts a dictionary tells, with few false answers among them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from support.evidence.concept_worlds import concept_world, held_out, planted, told
from theodolite._planted.tokens import planted_tokens
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._stats.draws import compare_with_draws, compute_draw_p
from theodolite._stats.multiple import correct_discoveries
from theodolite.errors import EvidenceError
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.language.concept_answers import concept_answers, describe
from theodolite.metrics.catalogue import find_metric

pytest.importorskip("torch")
RANDOM = np.random.default_rng(0)


def test_p_is_that_of_a_further_draw() -> None:
    draws = RANDOM.normal(0.6, 0.05, (4000, 21))
    p = np.array([compute_draw_p(row[0], row[1:]) for row in draws])
    assert_allclose([(p <= level).mean() for level in (0.05, 0.5)], [0.05, 0.5], atol=0.02)
    assert compute_draw_p(0.7, np.full(20, 0.6)) == 1 / 21
    assert compute_draw_p(0.6, np.full(20, 0.6)) == 1.0
    assert np.isnan(compute_draw_p(0.9, draws[0, :19]))


def test_the_correction_is_that_of_scipy() -> None:
    from scipy.stats import false_discovery_control  # noqa: PLC0415

    p = RANDOM.random(30) ** 3
    assert_allclose(correct_discoveries(p), false_discovery_control(p))
    missing = correct_discoveries(np.array([np.nan, 0.01, np.nan, 0.03]))
    assert_allclose(missing, [np.nan, 0.02, np.nan, 0.03])


def test_values_and_draws_are_those_of_the_score() -> None:
    evidence = planted_tokens(200)
    score = evaluate(MetricRequest(find_metric("latent_probe")), [evidence], Resampling(20))[0]
    answers = concept_answers(evidence, resamples=50).answers
    assert_allclose([own.value for own in answers], score.detail.values, atol=1e-12)
    assert_allclose([own.mean for own in answers], score.detail.draws.mean, atol=1e-12)
    beaten = [(own.value > own.draws).sum() for own in answers]
    assert_allclose(beaten, score.detail.draws.beaten)
    assert all(own.answer == "yes" for own in answers)
    best = concept_answers(evidence, resamples=50).to_columns()["best_draw"]
    assert_allclose(best, [own.draws.max() for own in answers])
    assert "no random dictionary of 20 does as well" in answers[0].sentence


def test_a_concept_at_the_ceiling_is_never_no() -> None:
    draws = np.clip(RANDOM.normal(0.998, 0.001, 20), 0, 1)
    answer = compare_with_draws(1.0, draws, (-0.003, 0.0002), passed=False, best=1.0)
    assert answer == "inconclusive"
    sentence = describe("French", 5, 1.0, draws, answer, 0.3, 20)
    assert "AUROC 1.000" in sentence and "too easy to show what the dictionary adds" in sentence
    low = np.full(20, 0.9) + 0.001 * np.arange(20)
    assert (
        compare_with_draws(0.9, low, (-0.02, 0.04), passed=False, best=1.0) == "no"
    )  # half of the room
    assert compare_with_draws(0.9, low, (-0.02, 0.06), passed=False, best=1.0) == "inconclusive"
    assert compare_with_draws(0.6, low - 0.4, (-0.02, 0.09), passed=False, best=1.0) == "no"
    assert compare_with_draws(0.9, low - 0.4, (0.2, 0.6), best=1.0) == "yes"


def test_few_draws_and_missing_parts() -> None:
    evidence = planted_tokens(60)
    few = replace_arrays(
        evidence, chance_pooled=evidence.chance_pooled[:, :19],
        chance_activation=None, chance_on_formula=None, chance_loss_spliced=None,
        chance_divergence_spliced=None, chance_removed=None, chance_only=None,
        chances=type(evidence.chances).numbered(19),
    )  # fmt: skip
    answers = concept_answers(few, resamples=10)
    assert {own.answer for own in answers.answers} == {"inconclusive"} == {answers.answer}
    with pytest.raises(EvidenceError, match="chance_pooled"):
        concept_answers(replace_arrays(evidence, chance_pooled=None))


def test_random_dictionaries_get_few_false_answers() -> None:
    """As ``benchmarks/concept_discoveries.py`` does over 200 worlds."""
    rule, rank, power = [], [], []
    for seed in range(3):
        world = concept_world(seed, 22)
        each = np.stack([held_out(world, own) for own in world.pooled])
        for values in each[20:]:
            rule.append(told(values, each[:20]).any())
            rank.append((values > each[:20].max(axis=0)).any())
        values, chosen = planted(world, world.pooled[20], 0.5, (0.9, 0.05), seed)
        power.append(
            told(held_out(world, values), each[:20])[chosen & (world.kind != "easy")].mean()
        )
    assert np.mean(rule) <= 0.2 < np.mean(rank)  # 6 dictionaries; expected 0.05 and 0.6
    assert np.mean(power) > 0.5
