"""Compute the importance of each concept for each class, as the compared methods define it."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float

from theodolite.explainers.discovery.concept_shap import ConceptShap
from theodolite.explainers.discovery.importance import gradient_importance
from theodolite.explainers.discovery.protocol import Discovery
from theodolite.explainers.discovery.shapley import (
    Value,
    concept_completeness_value,
    shapley_importance,
)
from theodolite.explainers.discovery.sobol import sobol_importance
from theodolite.pipelines.faithfulness.explained_layer import ExplainedLayer
from theodolite.pipelines.faithfulness.method_forms import Weighing

MAX_ROWS = 500
"""Largest number of training samples for set functions of Shapley values."""
RELEARNED_EPOCHS = 2


def compute_importance(
    layer: ExplainedLayer, fitted: Discovery, weighing: Weighing, of: int, seed: int
) -> Float[np.ndarray, " concepts"]:
    """Return the importances of a class's own concepts."""
    if weighing == "sobol":
        # decoding is linear, so the output is read from the codes at once
        gives = fitted.dictionary() @ layer.head[of]
        return np.asarray(
            sobol_importance(
                fitted.encode(layer.train[layer.select_training_rows(of)]),
                lambda codes: codes,
                lambda codes: (codes @ gives)[:, None] + layer.bias[of],
                seed=seed,
            )[0]
        )
    if weighing == "contrast":
        return contrast_importance(layer, fitted.dictionary(), of)
    return np.asarray(gradient_importance(layer.head[of : of + 1], fitted.dictionary())[0])


def contrast_importance(
    layer: ExplainedLayer, vectors: Float[np.ndarray, "concepts dimensions"], of: int
) -> Float[np.ndarray, " concepts"]:
    r"""Return CDISCO's importances: how much more a direction matters to this class than to others.

    The slope of the cross entropy at an embedding, where it is above 0, times the embedding, is
    projected on each direction. The mean over training samples predicted as the class, minus the
    mean over samples of other classes, in standard deviations of these, is the importance
    (Graziani et al. 2023, and their code). 0 where nothing varies.
    """
    outputs = layer.compute_logits(layer.train).astype(np.float64)
    share = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    share /= share.sum(axis=1, keepdims=True)
    share[np.arange(len(share)), layer.train_labels] -= 1
    slopes = np.maximum(share @ layer.head, 0.0) * layer.train
    along = slopes @ vectors.T
    own, others = along[layer.predicted == of], along[layer.train_labels != of]
    spread = others.std(axis=0)
    return np.asarray(
        np.divide(
            own.mean(axis=0) - others.mean(axis=0), spread, out=np.zeros(len(vectors)),
            where=spread > 0,
        )
    )  # fmt: skip


def shapley_table(
    layer: ExplainedLayer, fitted: ConceptShap, n: int, seed: int, *, relearned: bool
) -> Float[np.ndarray, "concepts classes"]:
    """Return class-specific Shapley values of recognition accuracy."""
    rows = _some_of_each(layer.train_labels, MAX_ROWS, seed)
    value = (
        _relearned_value(layer, fitted, rows, seed) if relearned else _value(layer, fitted, rows)
    )
    importances = shapley_importance(value, n, samples=8, seed=seed)
    return np.asarray(np.atleast_2d(importances).T)


def _value(layer: ExplainedLayer, fitted: ConceptShap, rows: np.ndarray) -> Value:
    decoder = fitted.decoder
    assert decoder is not None  # noqa: S101  it is fitted
    # the decoder's last layer and the network's in one: many sets of concepts are asked about
    outputs = replace(
        decoder,
        second=decoder.second @ layer.head.T,
        second_bias=decoder.second_bias @ layer.head.T + layer.bias,
    )
    return concept_completeness_value(
        fitted.encode(layer.train[rows]), layer.train_labels[rows], lambda codes: codes, outputs
    )


def _relearned_value(
    layer: ExplainedLayer, fitted: ConceptShap, rows: np.ndarray, seed: int
) -> Value:
    """Return the set function with a decoder retrained on each set."""
    codes = fitted.encode(layer.train)

    def value(sets: np.ndarray) -> np.ndarray:
        worth = []
        for chosen in sets:
            own = fitted.relearned(codes * chosen, epochs=RELEARNED_EPOCHS, seed=seed).decode
            each = concept_completeness_value(
                codes[rows] * chosen, layer.train_labels[rows], own, layer.compute_logits
            )
            worth.append(each(np.ones((1, codes.shape[1]), bool))[0])
        return np.stack(worth)

    return value


def _some_of_each(labels: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Draw rows at random, balanced over classes."""
    order = np.random.default_rng(seed).permutation(len(labels))
    turn = np.zeros(len(labels), int)
    for of in np.unique(labels):
        own = order[labels[order] == of]
        turn[own] = np.arange(len(own))
    return np.asarray(order[np.argsort(turn[order], kind="stable")][:n])


def keep_most_important(table: np.ndarray, n: int) -> np.ndarray:
    """Keep only the most important concepts of each class; others become NaN."""
    order = np.argsort(-np.abs(table), axis=0, kind="stable")[:n]
    chosen = np.full(table.shape, np.nan)
    np.put_along_axis(chosen, order, np.take_along_axis(table, order, axis=0), axis=0)
    return chosen
