"""A claim must exceed all draws of a null that travel in the evidence."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from support.evidence.judged_dictionaries import judged, shares
from theodolite._planted.tokens import planted_tokens
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._stats.draws import compare_items_with_draws, compare_with_draws
from theodolite._verdicts.rules import claim_p, verdict
from theodolite._verdicts.scores_file import ScoreRecord, score_of, score_record
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.ragged import Ragged
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Score

RANDOM = "random_sae"
OF_LANGUAGE = ("latent_probe", "activation_precision", "loss_recovered", "divergence_recovered")


def scored(name: str, evidence: TokenEvidence, **options: Any) -> Score:
    request = MetricRequest(find_metric(name), options)
    return evaluate(request, [evidence], Resampling(60))[0]


def of_random(score: Score) -> Any:
    return next(null for null in score.nulls if null.name == RANDOM)


def fewer(evidence: TokenEvidence, n: int) -> TokenEvidence:
    """The same with only so many draws tried: others are NaN where they may be."""
    changed: dict[str, Any] = {}
    for name in ("chance_loss_spliced", "chance_divergence_spliced"):
        own = getattr(evidence, name)
        flat = np.array(own.flat)
        flat[:, n:] = np.nan
        changed[name] = Ragged(flat, own.starts)
    names = ("chance_pooled", "chance_activation", "chance_on_formula")
    changed |= {name: getattr(evidence, name)[:, :n] for name in names}
    axis = replace(evidence.chances, names=evidence.chances.names[:n])
    return replace_arrays(evidence, **changed, chances=axis)


@pytest.mark.parametrize("name", OF_LANGUAGE)
def test_a_claim_exceeds_every_draw(name: str) -> None:
    evidence = planted_tokens(120)
    score = scored(name, evidence)
    null = of_random(score)
    assert len(null.draws) == 20
    assert null.value == pytest.approx(np.mean(null.draws), abs=0.02)
    # the losses of this evidence do not vary, so that no line is surely reached
    claim = "partly" if name.endswith("recovered") else "yes"
    assert verdict(score, validated=False).answer == claim
    assert "above 20 of 20 draws" in verdict(score, validated=False).summary
    best = replace(null, draws=(*null.draws[:-1], score.value))
    others = tuple(best if n.name == RANDOM else n for n in score.nulls)
    beaten = verdict(replace(score, nulls=others), validated=False)
    assert beaten.answer == "inconclusive"
    assert "above 19 of 20 draws" in beaten.summary


@pytest.mark.parametrize("name", OF_LANGUAGE)
def test_fewer_draws_claim_nothing_and_say_why(name: str) -> None:
    score = scored(name, fewer(planted_tokens(120), 3))
    assert len(of_random(score).draws) == 3
    answered = verdict(score, validated=False)
    assert answered.answer == "inconclusive"
    assert "3 draws of random SAE cannot show more; 20 are needed" in answered.summary
    assert math.isnan(claim_p(score))


def test_without_draws_it_is_no_finding() -> None:
    whole = planted_tokens(120)
    score = scored("latent_probe", replace_arrays(whole, chance_pooled=None))
    answered = verdict(score, validated=False)
    assert (answered.answer, answered.reason) == ("inconclusive", "undefined")
    assert "no finding about the network" in answered.summary


def test_draws_that_were_not_tried_are_left_out() -> None:
    whole = planted_tokens(40)
    flat = np.array(whole.chance_loss_spliced.flat)
    few = scored("loss_recovered", fewer(whole, 2))
    costs = whole.loss_ablated.flat - whole.loss.flat
    each = [(whole.loss_ablated.flat - flat[:, draw]).sum() / costs.sum() for draw in range(2)]
    assert of_random(few).draws == pytest.approx(each)
    assert of_random(few).value == pytest.approx(np.mean(each))


def test_every_concept_has_an_answer_and_its_rank() -> None:
    score = scored("latent_probe", planted_tokens(200))
    draws = score.detail.draws
    assert draws.answers == ("yes",) * 3
    assert (draws.beaten == 20).all()
    assert (draws.n == 20).all()
    assert (draws.low < score.detail.values - draws.mean).all()
    assert (score.detail.values - draws.mean < draws.high).all()
    because = verdict(score, validated=False).summary
    assert "concepts one by one: 3 yes" in because
    assert "more than a word (single token: " in because
    written = ScoreRecord.model_validate(json.loads(score_record(score).model_dump_json()))
    again = score_of(written)
    assert again.detail.draws.answers == draws.answers
    np.testing.assert_array_equal(again.detail.draws.low, draws.low)
    np.testing.assert_array_equal(again.detail.chosen, score.detail.chosen)
    assert of_random(again).draws == of_random(score).draws


@pytest.mark.parametrize(
    ("low", "high", "beaten", "n", "answer"),
    [
        (0.01, 0.30, 20, 20, "yes"),
        (0.01, 0.30, 19, 20, "inconclusive"),
        (0.01, 0.05, 19, 20, "no"),
        (-0.01, 0.30, 20, 20, "inconclusive"),
        (-0.20, 0.099, 3, 20, "no"),
        (-0.20, 0.101, 3, 20, "inconclusive"),
        (0.2, 0.3, 19, 19, "inconclusive"),
        (math.nan, math.nan, 20, 20, "inconclusive"),
    ],
)
def test_the_rule(low: float, high: float, beaten: float, n: float, answer: str) -> None:
    draws = np.where(np.arange(n) < beaten, 0.4, 0.6)
    assert compare_with_draws(0.5, draws, (low, high)) == answer


def test_of_many_items_without_an_effect_few_are_called_better() -> None:
    """One by one, each of 40 items beats its 20 draws by chance in one case of 21."""
    random = np.random.default_rng(0)
    intervals = np.tile([[0.01], [1.0]], 40)
    any_yes = np.zeros((2, 300))
    for number in range(300):
        values, draws = random.normal(size=40), random.normal(size=(20, 40))
        each = [compare_with_draws(v, draws[:, j], (0.01, 1.0)) for j, v in enumerate(values)]
        together = compare_items_with_draws(values, draws, intervals)
        any_yes[:, number] = ["yes" in answers for answers in (each, together)]
    assert any_yes[0].mean() > 0.7
    assert any_yes[1].mean() <= 0.07
    values, draws = np.r_[np.full(8, 12.0), np.zeros(32)], random.normal(size=(20, 40))
    assert compare_items_with_draws(values, draws, intervals)[:8] == ("yes",) * 8
    assert compare_items_with_draws(-values, -draws, intervals).count("yes") == 0


def test_random_dictionaries_are_not_called_better_and_planted_latents_are() -> None:
    """In short; benchmarks/random_dictionaries.py has 20 seeds of 20 concepts."""
    concepts, dictionaries = shares(judged(seed, 10, in_texts=True) for seed in range(2))
    assert (concepts <= 0.1, dictionaries) == (True, 0.0)
    assert shares([judged(0, 10, (0.9, 0.05))]) == (1.0, 1.0)
    assert shares([judged(0, 10, (0.9, 0.05), shuffled=True)])[0] <= 0.1
