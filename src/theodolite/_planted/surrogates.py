"""A linear layer, explained by concepts that are turned and importances that are noisy."""

import numpy as np

from theodolite._planted.conditions import Condition
from theodolite._planted.draws import Draw, start_draw
from theodolite._planted.generators import Arrays, generator
from theodolite.evidence.kinds.surrogate import SurrogateEvidence

WEIGHTS = np.array([8.0, 4.0, 2.0, 1.0])
CLASSES = 4
BIAS = -7.0
SPARE = 2
"""Directions that no concept needs."""


def planted_surrogates(
    n_samples: int = 200, n_classes: int = 4, *, faithfulness: float = 1.0, seed: int = 0
) -> SurrogateEvidence:
    """A layer of four concepts a class, explained by these concepts and their true importances.

    Each class has four directions of its own, of falling weight. An explanation that is not
    faithful turns its vectors to random directions, mixes random numbers into the importances and
    the outputs of other samples into its own: ``faithfulness`` is the share of the truth.

    >>> planted = planted_surrogates()
    >>> [name for name in ("head", "vectors", "labels") if planted.has(name)]
    ['head', 'vectors', 'labels']
    """
    condition = Condition(clusters=n_samples, dial=faithfulness)
    draw = start_draw("", condition, (seed, 1), (seed, 2))
    return SurrogateEvidence.per_class(**_layer(draw, n_classes))


def _layer(draw: Draw, classes: int) -> Arrays:
    k, dial, models = len(WEIGHTS), draw.dial, draw.models
    basis = np.linalg.qr(models.normal(size=(classes * k + SPARE, classes * k)))[0].T
    vectors = basis.reshape(classes, k, -1)
    noise = models.normal(size=vectors.shape)
    noise /= np.linalg.norm(noise, axis=2, keepdims=True)
    angle = (1 - dial) * np.pi / 2
    turned = np.cos(angle) * vectors + np.sin(angle) * noise
    importances = dial * WEIGHTS + (1 - dial) * models.random((classes, k))
    head = np.einsum("k,ckd->cd", WEIGHTS, vectors)

    def network() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels, embeddings with more of their concepts, and what the layer makes of them."""
        labels = (draw.uniform() * classes).astype(int)
        own = labels[:, None] == np.arange(classes)
        more = np.where(own, 0.5 + 0.5 * draw.uniform(classes), 0.0)
        codes = 0.5 * draw.uniform(classes, k) + more[..., None]
        embeddings = np.einsum("nck,ckd->nd", codes, vectors)
        return labels, embeddings, embeddings @ head.T + BIAS

    labels, embeddings, outputs = network()
    by_concepts = dial * outputs + (1 - dial) * network()[2]
    return {
        "embeddings": embeddings, "head": head, "bias": np.full(classes, BIAS), "labels": labels,
        "vectors": turned / np.linalg.norm(turned, axis=2, keepdims=True),
        "importances": importances, "learned": by_concepts, "linearized": by_concepts,
        "rebuilt": outputs,
    }  # fmt: skip


@generator(
    "explained layer", SurrogateEvidence.per_class,
    serves=(
        "surrogate_distance", "surrogate_error", "surrogate_agreement", "surrogate_accuracy",
        "surrogate_rank_correlation", "surrogate_relative_error",
        "surrogate_relative_error_by_class", "attribute_agreement", "completeness",
        "concept_deletion", "concept_insertion", "linearization_error",
    ),
    says="a linear layer of four concepts a class; concepts are turned by an angle from 90° to 0 "
    "and importances mixed with random ones, less the higher the dial",
    per_model=True, chunks=2, dials=(0.0, 0.4, 0.7, 0.9, 1.0), reference=0.9,
    no_ends=("concept_deletion", "concept_insertion"),
)  # fmt: skip
def explained_layer(draw: Draw) -> Arrays:
    return _layer(draw, CLASSES)
