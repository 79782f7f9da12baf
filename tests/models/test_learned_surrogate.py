"""The learned surrogate: against the definition written plainly, and on a case that it can solve."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import log_softmax, softmax

from theodolite.errors import EvidenceError
from theodolite.models.learned_surrogate import (
    LearnedSurrogate,
    LearnedSurrogateSettings,
    _step,
    fit_learned_surrogate,
)

torch = pytest.importorskip("torch")

N, C, K, D = 200, 4, 3, 6
SMALL = LearnedSurrogateSettings(hidden=20, learning_rate=0.01, epochs=3, batch=64)


def planted(n: int = N) -> tuple[np.ndarray, ...]:
    """Embeddings in a space that the concepts of each output span: they tell all of it."""
    random = np.random.default_rng(7)
    basis, head = random.normal(size=(K, D)), random.normal(size=(C, D))
    embeddings = random.normal(size=(n, K)) @ basis
    vectors = np.broadcast_to(np.linalg.pinv(basis).T, (C, K, D))  # one set for all outputs
    bias = random.normal(size=C)
    projections = np.einsum("nd,ckd->nck", embeddings, vectors)
    return projections, embeddings @ head.T + bias, head, bias


def plainly(surrogate: LearnedSurrogate, projections: np.ndarray) -> np.ndarray:
    """The definition: for each sample and output a vector of all dimensions, times the head."""
    result = np.empty(projections.shape[:2])
    for n, i in np.ndindex(*result.shape):
        hidden = np.maximum(surrogate.inner @ projections[n, i] + surrogate.inner_bias, 0)
        rebuilt = surrogate.outer @ hidden + surrogate.outer_bias
        result[n, i] = surrogate.head[i] @ rebuilt + surrogate.bias[i]
    return result


@pytest.mark.parametrize("kind", ["cross_entropy", "l1"])
def test_outputs_are_those_of_the_definition(kind: Any) -> None:
    data = planted(300)
    surrogate = fit_learned_surrogate(*data, replace(SMALL, loss=kind))
    assert surrogate.inner.shape == (20, K) and surrogate.outer.shape == (D, 20)
    assert_allclose(surrogate.outputs(data[0]), plainly(surrogate, data[0]), atol=1e-4)


@pytest.mark.parametrize("kind", ["cross_entropy", "l1"])
def test_loss_and_gradients_are_those_of_the_definition(kind: Any) -> None:
    random = torch.Generator().manual_seed(0)

    def drawn(*shape: int) -> Any:
        return torch.randn(shape, generator=random)

    inputs, wanted, head, bias = drawn(C, 9, K + 1), drawn(9, C), drawn(C, D), drawn(C)
    inputs[..., -1] = 1
    weights = [drawn(20, K + 1), drawn(D, 20), drawn(D)]
    with torch.no_grad():
        loss, gradients = _step(weights, (inputs, wanted, head, bias), kind)
    inner, outer, outer_bias = (w.double().requires_grad_() for w in weights)
    rebuilt = torch.relu(inputs.double() @ inner.T) @ outer.T + outer_bias
    given = (rebuilt * head[:, None].double()).sum(dim=2).T + bias
    if kind == "l1":
        expected = (given - wanted).abs().mean()
    else:
        expected = -(wanted.double().softmax(1) * given.log_softmax(1)).sum(dim=1).mean()
    assert_allclose(loss, expected.item(), rtol=1e-5)
    expected.backward()
    for result, weight in zip(gradients, (inner, outer, outer_bias), strict=True):
        assert_allclose(result, weight.grad, rtol=1e-3, atol=1e-4)


def test_where_concepts_tell_all_it_learns_all() -> None:
    projections, outputs, head, bias = planted()
    settings = LearnedSurrogateSettings(hidden=50, learning_rate=0.01, epochs=300, batch=32)
    for kind, most in (("l1", 0.1), ("cross_entropy", 0.01)):
        surrogate = fit_learned_surrogate(
            projections, outputs, head, bias, replace(settings, loss=kind)
        )
        given = surrogate.outputs(projections)
        if kind == "l1":
            lost, at_first = np.abs(given - outputs).mean(), surrogate.losses[0]
        else:
            truth = softmax(outputs, axis=1)
            own = -(truth * log_softmax(outputs, axis=1)).sum(axis=1).mean()
            lost = -(truth * log_softmax(given, axis=1)).sum(axis=1).mean() - own
            at_first = surrogate.losses[0] - own
        assert lost < most and lost < at_first / 20, kind
        assert not surrogate.diverged


def test_each_output_sees_its_own_concepts() -> None:
    projections, outputs, head, bias = planted()
    surrogate = fit_learned_surrogate(projections, outputs, head, bias, SMALL)
    changed = projections.copy()
    changed[:, 2] += 1
    difference = surrogate.outputs(changed) - surrogate.outputs(projections)
    assert (np.abs(difference).max(axis=0) > 0).tolist() == [False, False, True, False]


def arrays(surrogate: LearnedSurrogate) -> bytes:
    names = ("inner", "inner_bias", "outer", "outer_bias")
    return b"".join(getattr(surrogate, name).tobytes() for name in names)


def test_the_seed_decides_and_nothing_else_is_touched() -> None:
    data = planted()
    state, threads = torch.get_rng_state(), torch.get_num_threads()
    before = [array.copy() for array in data]
    one, same = (fit_learned_surrogate(*data, SMALL) for _ in range(2))
    other = fit_learned_surrogate(*data, replace(SMALL, seed=1))
    assert arrays(one) == arrays(same) != arrays(other)
    assert one.losses == same.losses and len(one.losses) == 3
    assert torch.equal(state, torch.get_rng_state())
    assert threads == torch.get_num_threads() and torch.is_grad_enabled()
    assert all(np.array_equal(a, b) for a, b in zip(before, data, strict=True))


def test_the_published_settings() -> None:
    settings = LearnedSurrogateSettings()
    assert (settings.hidden, settings.learning_rate, settings.epochs) == (500, 0.1, 100)
    assert settings.loss == "cross_entropy"


def test_training_stops_when_nothing_is_lost() -> None:
    """A head of zeros: the bias alone is the answer, from the first epoch on."""
    projections, _, head, bias = planted()
    outputs = np.broadcast_to(bias, (N, C)).copy()
    settings = replace(SMALL, loss="l1", epochs=50)
    surrogate = fit_learned_surrogate(projections, outputs, np.zeros_like(head), bias, settings)
    assert len(surrogate.losses) == 1 and surrogate.losses[0] < 1e-7


def test_training_stops_when_the_steps_are_too_small() -> None:
    settings = replace(SMALL, learning_rate=3e-7, patience=1, epochs=200, loss="l1")
    projections, outputs, head, bias = planted()
    surrogate = fit_learned_surrogate(projections, outputs, head, bias, settings)
    assert 4 <= len(surrogate.losses) < 200


@pytest.mark.parametrize("epochs", [1, 50])
def test_a_loss_that_is_not_finite_is_recorded(epochs: int) -> None:
    data = planted(64)
    settings = replace(SMALL, learning_rate=1e30, epochs=epochs)
    surrogate = fit_learned_surrogate(*data, settings)
    assert surrogate.diverged
    assert np.isfinite(surrogate.outputs(data[0])).all()
    assert np.isfinite(surrogate.losses).all()


@pytest.mark.parametrize(
    ("which", "wrong", "says"),
    [
        (1, np.zeros((N, C + 1)), r"outputs: got shape \(200, 5\); needed \(200, 4\)"),
        (1, np.zeros((N - 1, C)), r"outputs: got shape \(199, 4\)"),
        (2, np.zeros((C + 1, D)), r"head: got shape \(5, 6\); needed \(4, 6\)"),
        (3, np.zeros(C - 1), r"bias: got shape \(3,\)"),
        (0, np.zeros((0, C, K)), "at least one of all"),
        (0, np.zeros((N, C, 0)), "at least one of all"),
        (2, np.zeros((C, 0)), "at least one of all"),
        (0, np.full((N, C, K), np.nan), "projections: got NaN"),
        (3, np.full(C, np.inf), "bias: got NaN or infinite"),
    ],
)
def test_what_does_not_fit_is_refused(which: int, wrong: np.ndarray, says: str) -> None:
    data = list(planted())
    data[which] = wrong
    with pytest.raises(EvidenceError, match=says):
        fit_learned_surrogate(*data, SMALL)


def test_other_projections_are_refused() -> None:
    surrogate = fit_learned_surrogate(*planted(), SMALL)
    for shape in ((5, C, K + 1), (5, C + 1, K)):
        with pytest.raises(EvidenceError, match=r"needed \(4, 3\): classes, concepts"):
            surrogate.outputs(np.zeros(shape))


@pytest.mark.parametrize("name", ["hidden", "learning_rate", "epochs", "batch", "patience"])
def test_settings_that_make_no_sense(name: str) -> None:
    with pytest.raises(EvidenceError, match=f"{name}: got 0; needed a number above (0|1e-07)"):
        LearnedSurrogateSettings(**{name: 0})
