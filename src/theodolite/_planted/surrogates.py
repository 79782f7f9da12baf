"""Planted faithfulness: explanations of a linear layer, with a dial from random to perfect."""

import numpy as np

from theodolite.evidence.kinds.surrogate import SurrogateEvidence


def planted_surrogates(
    n_samples: int = 200, n_classes: int = 4, *, faithfulness: float = 1.0, seed: int = 0
) -> SurrogateEvidence:
    """A layer of four concepts a class, explained by these concepts and their true importances.

    Each class has four directions of its own, of falling weight. An explanation that is not
    faithful mixes random numbers into the importances and random directions into the vectors:
    ``faithfulness`` is the share of the truth.

    >>> planted = planted_surrogates()
    >>> [name for name in ("head", "vectors", "labels") if planted.has(name)]
    ['head', 'vectors', 'labels']
    """
    random = np.random.default_rng(seed)
    weights = np.array([8.0, 4.0, 2.0, 1.0])
    k = len(weights)
    basis = np.linalg.qr(random.normal(size=(n_classes * k + 2, n_classes * k)))[0].T
    vectors = basis.reshape(n_classes, k, -1)
    labels = np.arange(n_samples) % n_classes
    own = labels[:, None] == np.arange(n_classes)
    spread = random.uniform(0.0, 0.5, size=(n_samples, n_classes, k))
    codes = spread + np.where(own, random.uniform(0.5, 1.0, size=own.shape), 0.0)[..., None]
    head = np.einsum("k,ckd->cd", weights, vectors)
    noise = random.normal(size=vectors.shape)
    mixed = faithfulness * vectors + (1 - faithfulness) * noise / np.linalg.norm(
        noise, axis=2, keepdims=True
    )
    importances = faithfulness * weights + (1 - faithfulness) * random.random((n_classes, k))
    embeddings = np.einsum("nck,ckd->nd", codes, vectors)
    bias = np.full(n_classes, -7.0)
    outputs = embeddings @ head.T + bias
    return SurrogateEvidence.per_class(
        embeddings=embeddings,
        head=head,
        bias=bias,
        vectors=mixed / np.linalg.norm(mixed, axis=2, keepdims=True),
        importances=importances,
        labels=labels,
        learned=outputs,
        linearized=outputs,
        rebuilt=outputs,
    )
