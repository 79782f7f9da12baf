"""Interventions: what is set, in which order, and what comes of it, against loops over samples."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from support.networks.bottlenecks import majority, untrained
from theodolite.errors import EvidenceError
from theodolite_reproductions.bottlenecks.interventions import (
    Cooperative,
    Policy,
    intervention_curve,
    intervention_order,
    reference_head,
)
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, LabeledFeatures
from theodolite_reproductions.bottlenecks.training import fit_bottleneck

KINDS: list[dict[str, Any]] = [
    {},
    {"head": "mlp"},
    {"encoding": "hard", "training": "independent"},
    {"encoding": "logit"},
    {"kind": "cem", "embedding": 3},
]
every_kind = pytest.mark.parametrize("kind", KINDS, ids=str)


@every_kind
def test_all_concepts_told_is_the_head_on_the_truth(kind: dict[str, Any]) -> None:
    trained, said, truth, _ = untrained(**kind)
    told = trained.intervene(said, np.ones_like(truth), truth)
    if kind.get("kind") == "cem":
        assert said.positive is not None and said.negative is not None
        expected = trained.answer(np.where(truth[..., None], said.positive, said.negative))
    elif kind.get("encoding") == "logit":
        expected = trained.answer(np.where(truth, 5.0, -5.0))
    else:
        expected = trained.answer(truth.astype(float))
    assert np.array_equal(told, expected)
    nothing = trained.intervene(said, np.zeros_like(truth), truth)
    assert_allclose(nothing, said.scores, atol=1e-5)


def test_only_what_is_under_the_mask_is_told() -> None:
    trained, said, truth, _ = untrained()
    mask = np.random.default_rng(1).random(truth.shape) < 0.4
    values = said.values.copy()
    for row, concept in np.argwhere(mask):
        values[row, concept] = float(truth[row, concept])
    assert np.array_equal(trained.intervene(said, mask, truth), trained.answer(values))


@every_kind
@pytest.mark.parametrize("policy", ["random", "uncertainty", "cooperative"])
def test_a_curve_is_the_loop_over_samples(kind: dict[str, Any], policy: Any) -> None:
    trained, said, truth, labels = untrained(**kind)
    curve = intervention_curve(trained, said, truth, labels, policy=policy, seed=3)
    order = intervention_order(trained, said, truth, policy=policy, seed=3)
    assert curve.shape == (40, 5)
    for sample in range(40):
        one, mask = said.rows(np.array([sample])), np.zeros((1, 4), bool)
        assert sorted(order[sample]) == [0, 1, 2, 3]
        for step in range(5):
            if step:
                mask[0, order[sample, step - 1]] = True
            scores = trained.intervene(one, mask, truth[[sample]])
            assert curve[sample, step] == (scores.argmax() == labels[sample])


def test_the_end_is_the_same_for_every_policy() -> None:
    trained, said, truth, labels = untrained(n=300)
    policies: list[Any] = ["random", "uncertainty", "cooperative"]
    curves = [intervention_curve(trained, said, truth, labels, policy=p) for p in policies]
    for one, other in pairwise(curves):
        assert np.array_equal(one[:, -1], other[:, -1])
        assert np.array_equal(one[:, 0], other[:, 0])
        assert not np.array_equal(one[:, 1:-1], other[:, 1:-1])


def test_random_is_uniform_among_the_rest() -> None:
    trained, said, truth, _ = untrained(n=6000, n_concepts=3)
    order = intervention_order(trained, said, truth, policy="random", seed=0)
    orders, counts = np.unique(order, axis=0, return_counts=True)
    assert len(orders) == 6
    assert abs(counts / 1000 - 1).max() < 0.1
    again = intervention_order(trained, said, truth, policy="random", seed=0)
    other = intervention_order(trained, said, truth, policy="random", seed=1)
    assert np.array_equal(order, again) and not np.array_equal(order, other)


def test_the_most_uncertain_first() -> None:
    trained, said, truth, _ = untrained(n=100)
    order = intervention_order(trained, said, truth, policy="uncertainty")
    for sample in range(100):
        nearness = [abs(float(p) - 0.5) for p in said.probabilities[sample]]
        left, expected = set(range(4)), []
        while left:
            nearest = min(left, key=lambda concept: nearness[concept])
            expected.append(nearest)
            left.remove(nearest)
        assert order[sample].tolist() == expected


def naive_coop(
    policy: Cooperative, trained: Any, said: Any, known: np.ndarray, truth: np.ndarray
) -> np.ndarray:
    """The definition, sample by sample and concept by concept."""
    scores = np.zeros(known.shape)
    for sample in range(len(known)):
        one = said.rows(np.array([sample]))
        before = softmax(trained.intervene(one, known[[sample]], truth[[sample]])[0].astype(float))
        best = int(before.argmax())
        for concept in range(known.shape[1]):
            p = float(said.probabilities[sample, concept])
            entropy = -p * np.log(p) - (1 - p) * np.log(1 - p)
            change = 0.0
            for value, chance in ((True, p), (False, 1 - p)):
                mask, told = known[[sample]].copy(), truth[[sample]].copy()
                mask[0, concept], told[0, concept] = True, value
                after = softmax(trained.intervene(one, mask, told)[0].astype(float))
                change += chance * abs(after[best] - before[best])
            cost = policy.costs[concept] if policy.costs else 0.0
            scores[sample, concept] = (
                policy.uncertainty * entropy + policy.importance * change - policy.cost * cost
            )
    return scores


@every_kind
@pytest.mark.parametrize(
    "policy", [Cooperative(), Cooperative(0.3, 2.0, 0.5, (1.0, 0.0, 0.5, 0.2))], ids=str
)
def test_coop_is_its_definition(kind: dict[str, Any], policy: Cooperative) -> None:
    trained, said, truth, _ = untrained(n=15, **kind)
    rng = np.random.default_rng(2)
    for share in (0.0, 0.4, 0.8):
        known = rng.random(truth.shape) < share
        kept = known.copy(), truth.copy()
        score = policy(trained, said, known, truth, rng)
        expected = naive_coop(policy, trained, said, known, truth)
        assert_allclose(score[~known], expected[~known], atol=1e-6)
        assert np.array_equal(known, kept[0]) and np.array_equal(truth, kept[1])


def test_coop_does_not_look_at_what_is_not_known() -> None:
    trained, said, truth, _ = untrained(n=50)
    known = np.random.default_rng(0).random(truth.shape) < 0.5
    lied = np.where(known, truth, ~truth)
    one, other = (
        Cooperative()(trained, said, known, t, np.random.default_rng()) for t in (truth, lied)
    )
    assert np.array_equal(one, other)


def test_coop_by_its_parts() -> None:
    trained, said, truth, _ = untrained(n=50)
    only_doubt: Policy = Cooperative(importance=0)
    by_entropy = intervention_order(trained, said, truth, policy=only_doubt)
    assert np.array_equal(
        by_entropy, intervention_order(trained, said, truth, policy="uncertainty")
    )
    cheap_first = Cooperative(cost=100, costs=(3.0, 1.0, 2.0, 0.0))
    order = intervention_order(trained, said, truth, policy=cheap_first)
    assert (order == [3, 1, 2, 0]).all()
    with pytest.raises(EvidenceError, match="costs: got 2; needed 4"):
        intervention_order(trained, said, truth, policy=Cooperative(cost=1, costs=(1.0, 2.0)))


@pytest.mark.parametrize("encoding", ["hard", "soft"])
def test_the_reference_is_the_head_of_an_independent_bottleneck(encoding: Any) -> None:
    train, validation, test = majority(300, 0), majority(100, 1), majority(200, 2)
    settings = BottleneckSettings(
        epochs=1, batch=64, head_epochs=20, head_optimizer="sgd", head_learning_rate=0.5,
        encoding=encoding, training="independent",
    )  # fmt: skip
    trained = fit_bottleneck(settings, train, validation, n_classes=2, seed=4)
    reference = reference_head(settings, train, validation, n_classes=2, seed=4)
    assert np.array_equal(reference.answer(test.truth), trained.answer(test.truth.astype(float)))
    said = trained.say(test.inputs)
    curve = intervention_curve(trained, said, test.truth, test.labels)
    score = (reference.predicted(test.truth) == test.labels).mean() - curve[:, -1].mean()
    assert score == 0.0  # by construction
    assert curve[:, -1].all()  # most of three is linear
    assert not curve[:, 0].all()


def test_a_reference_is_no_better_than_its_head() -> None:
    truth = np.random.default_rng(0).random((400, 2)) < 0.5
    data = LabeledFeatures(
        truth.astype(np.float32), truth, (truth[:, 0] ^ truth[:, 1]).astype(np.int64)
    )

    def right(head: str) -> float:
        settings = BottleneckSettings(
            head=head, head_activation="relu", head_epochs=40, head_learning_rate=0.02, batch=64
        )
        reference = reference_head(settings, data, data, n_classes=2, seed=0)
        return float((reference.predicted(truth) == data.labels).mean())

    assert right("linear") < 0.8  # either-or is not linear
    assert right("mlp") == 1.0
