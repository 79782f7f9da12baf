"""ConceptSHAP: learn directions that suffice for the network's last layer (Yeh et al., 2020)."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.explainers.discovery._checks import (
    check_encode_input,
    check_fit_input,
    normalize_rows,
)
from theodolite.explainers.discovery._concept_shap_training import (
    ConceptShapSettings,
    Decoder,
    LastLayer,
    retrain_decoder,
    train_directions,
)
from theodolite.explainers.discovery.directions import DirectionConcepts
from theodolite.explainers.discovery.protocol import Codes, Directions, Embeddings


@dataclass(frozen=True, eq=False)
class ConceptShap(DirectionConcepts):
    r"""Directions for all classes together, learned so that their codes still tell the labels.

    With the directions a small network is learned that makes embeddings of codes again. The loss is
    the cross entropy of the network's last layer on these embeddings, minus 0.1 times the mean
    cosine of each direction with the embeddings nearest to it (in the batch), plus 0.1 times the
    mean cosine between directions. Yeh et al. 2020.

    Codes are the projections :math:`h \cdot v_k`; with ``beta`` above 0 those with a cosine of at
    most ``beta`` are 0, as in the paper. Here `decode` is the learned network: it is not linear,
    and the dictionary alone does not tell what it does. The directions are enough for the labels;
    that they are the ones the network uses is not promised: others with the same span do as well.

    ``labels`` are those of the rows passed to `fit`. The importance of a concept is its Shapley
    value for `concept_completeness_value`. Needs torch to fit, not to use.

    Example:
        >>> ConceptShap(np.eye(2), np.zeros(2), np.array([0, 1]), n_concepts=1).n_concepts
        1
    """

    head: Float[np.ndarray, "classes dimensions"] = field(repr=False)
    bias: Float[np.ndarray, " classes"] = field(repr=False)
    labels: Int[np.ndarray, " samples"] = field(repr=False)
    n_concepts: int = 100
    beta: float = 0.0
    hidden: int = 500
    epochs: int = 40
    learning_rate: float = 3e-3
    batch: int = 128
    vectors: Directions | None = field(default=None, repr=False)
    decoder: Decoder | None = field(default=None, repr=False)

    def fit(self, embeddings: Embeddings, *, seed: int) -> "ConceptShap":
        """Learn the directions of these embeddings."""
        values = check_fit_input(embeddings, self.n_concepts, fewest=self.n_concepts)
        if values.shape != (len(self.labels), self.head.shape[1]):
            raise EvidenceError(
                "embeddings",
                f"shape {values.shape}",
                f"{(len(self.labels), self.head.shape[1])}: a row per label, as wide as the head",
            )
        if self.labels.min() < 0 or self.labels.max() >= len(self.head):
            raise EvidenceError(
                "labels",
                f"{self.labels.min()} to {self.labels.max()}",
                f"0 to {len(self.head) - 1}: a row of the head each",
            )
        directions, decoder = train_directions(
            values,
            LastLayer(self.head, self.bias, self.labels),
            ConceptShapSettings(
                self.hidden, self.epochs, self.learning_rate, self.batch, self.beta
            ),
            n_concepts=self.n_concepts,
            seed=seed,
        )
        return replace(self, vectors=normalize_rows(directions)[0], decoder=decoder)

    def relearned(self, codes: Codes, *, epochs: int, seed: int) -> "ConceptShap":
        """Return these directions with a decoder trained further on these projections.

        A row of codes for each label; those of concepts that are left out are 0.
        """
        self.dictionary()
        assert self.decoder is not None  # noqa: S101  learned together with the directions
        task = LastLayer(self.head, self.bias, self.labels)
        return replace(self, decoder=retrain_decoder(self.decoder, codes, task, epochs, seed))

    def encode(self, embeddings: Embeddings) -> Codes:
        """Return projections on the directions; 0 at or below the threshold."""
        values = check_encode_input(embeddings, self.dictionary())
        codes = np.asarray(values @ self.dictionary().T)
        if self.beta > 0:
            codes[codes <= self.beta * np.linalg.norm(values, axis=1, keepdims=True)] = 0.0
        return codes

    def decode(self, codes: Codes) -> Embeddings:
        """Decode with the learned network, which is not linear."""
        self.dictionary()
        assert self.decoder is not None  # noqa: S101  learned together with the directions
        return self.decoder(np.asarray(codes, np.float64))
