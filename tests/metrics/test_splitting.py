"""Over how many latents a concept is split."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.metrics import f1_score

from theodolite._planted.tokens import planted_tokens
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._verdicts.from_scores import verdicts
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.language import splitting as module
from theodolite.metrics.language._probes import compute_aurocs, fitted_probe, pool_activations
from theodolite.metrics.language.latent_probe import find_known_labels, split_folds, split_halves
from theodolite.testing.strategies import token_evidence


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([0.5, 0.6, 0.62], 1.0),
        ([0.5, 0.6, 0.62, 0.9], 1.0),
        ([0.5, 0.53], 0.0),
        ([0.5, 0.54, 0.58, 0.62], 3.0),
        ([0.9], 0.0),
        ([math.nan, 0.6], math.nan),
    ],
)
def test_worked(curve: list[float], expected: float) -> None:
    np.testing.assert_equal(
        module.compute_relative_gains([np.array([f1]) for f1 in curve]), [expected]
    )
    # another resample that goes on to the end changes nothing
    several = module.compute_relative_gains([np.array([f1, 0.1 * k]) for k, f1 in enumerate(curve)])
    np.testing.assert_equal(several, [expected, len(curve) - 1.0])


def test_f1_is_that_of_scikit_learn() -> None:
    random = np.random.default_rng(0)
    positive, there = random.random((2, 30)) < 0.5
    counts = random.integers(0, 3, (4, 30)).astype(float)
    own = module.weighted_f1(positive, there, counts)
    assert own == pytest.approx([f1_score(there, positive, sample_weight=w) for w in counts])
    nothing = np.zeros(30, bool)
    assert np.isnan(module.weighted_f1(nothing, nothing, counts)).all()


@settings(max_examples=4, deadline=None)
@given(evidence=token_evidence())
def test_by_hand(evidence: TokenEvidence) -> None:
    values = pool_activations(evidence, "max").block(0, len(evidence.latents))
    choosing, known, fold = (
        split_halves(evidence, 0),
        find_known_labels(evidence),
        split_folds(evidence, 0),
    )
    expected = []
    for concept in range(evidence.truth.shape[1]):
        there = evidence.truth[:, concept]
        first, rest = known[:, concept] & choosing, known[:, concept] & ~choosing
        if any(len(set(there[rows].tolist())) < 2 for rows in (first, rest)):
            expected.append(math.nan)
            continue
        merit = compute_aurocs(values[first], there[first])
        order = sorted(range(values.shape[1]), key=lambda x: (-merit[x], x))
        last, split = None, 0
        for k in range(1, min(10, len(order)) + 1):
            own = values[:, order[:k]]
            probe = fitted_probe(own[first], there[first], fold[first])
            now = f1_score(there[rest], probe.scores(own)[rest] > 0)
            if last is not None and now - last <= 0.03 + 1e-12:
                break
            last, split = now, k - 1
        expected.append(split)
    own = find_metric("splitting").state.of(evidence).value()
    np.testing.assert_array_equal(own, expected)


def test_a_planted_concept_is_in_one_latent_and_decides_nothing() -> None:
    evidence = planted_tokens(120)
    request = MetricRequest(find_metric("splitting"))
    score = evaluate(request, [evidence], Resampling(20))[0]
    assert score.value == 0.0
    assert len(score.null.draws) == 20
    assert score.null.value > 0.5
    assert not any(v.question == "leak_free" for v in verdicts([score]))
