"""Top-k sparse autoencoder as a concept discovery method (package ``overcomplete``)."""

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Float

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.explainers.discovery._checks import (
    check_encode_input,
    check_fit_input,
    normalize_rows,
    require_fitted,
)
from theodolite.explainers.discovery.directions import DirectionConcepts
from theodolite.explainers.discovery.protocol import Codes, Directions, Embeddings


@dataclass(frozen=True, eq=False)
class SparseAutoencoder(DirectionConcepts):
    r"""The Top-K sparse autoencoder of the package ``overcomplete``.

    Codes are the ``active`` largest of :math:`\max(0, W h + b)`, all others are 0; embeddings are
    made of them by sums of the directions, without an offset. Fitted on all classes together; the
    benchmark that we follow takes five directions per class. The loss is the mean squared error,
    plus 0.1 times that of what is left written in directions that were not active; training
    begins with :math:`W` equal to the directions. Without these two most directions are never
    active. Gao et al. 2024; Fel et al. 2025.

    It finds planted directions if it may use more than were planted; with just as many some
    may stay mixed.

    The fitted object holds arrays only: ``overcomplete`` and torch are needed to fit, not to use.

    Example:
        >>> concepts = SparseAutoencoder(
        ...     n_concepts=3, active=1, vectors=np.eye(3), weights=np.eye(3), bias=np.zeros(3)
        ... )
        >>> concepts.encode(np.array([[1.0, 2.0, -3.0]]))
        array([[0., 2., 0.]])
    """

    n_concepts: int = 50
    active: int = 5
    epochs: int = 50
    learning_rate: float = 1e-3
    batch: int = 128
    vectors: Directions | None = field(default=None, repr=False)
    weights: Float[np.ndarray, "concepts dimensions"] | None = field(default=None, repr=False)
    bias: Float[np.ndarray, " concepts"] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not 1 <= self.active <= self.n_concepts:
            raise EvidenceError(
                "active", f"{self.active}", f"1 to {self.n_concepts}, the number of concepts"
            )

    def fit(self, embeddings: Embeddings, *, seed: int) -> "SparseAutoencoder":
        """Train the autoencoder on these embeddings."""
        values = check_fit_input(embeddings, self.n_concepts, fewest=self.n_concepts)
        unit = float(np.sqrt((values**2).mean())) or 1.0
        weights, bias, rows = self._trained((values / unit).astype(np.float32), seed)
        vectors, length = normalize_rows(rows)
        # max(0, ·) scales: the code of h is `unit` times that of h / unit
        return replace(
            self, vectors=vectors, weights=weights * length[:, None], bias=bias * length * unit
        )

    def _trained(self, values: np.ndarray, seed: int) -> tuple[np.ndarray, ...]:
        require("torch", "SparseAutoencoder", "sae")
        sae = require("overcomplete.sae", "SparseAutoencoder", "sae")
        import torch  # noqa: PLC0415
        from torch.utils.data import DataLoader, TensorDataset  # noqa: PLC0415

        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            model = sae.TopKSAE(values.shape[1], nb_concepts=self.n_concepts, top_k=self.active)
        linear = model.encoder.final_block[0]
        with torch.no_grad():  # begin with codes that are projections on the directions
            linear.weight.copy_(model.get_dictionary())
            linear.bias.zero_()
        batches = DataLoader(
            TensorDataset(torch.from_numpy(values)),
            batch_size=self.batch,
            shuffle=True,
            generator=torch.Generator().manual_seed(seed),
        )
        optimizer = torch.optim.Adam(model.parameters(), lr=self.learning_rate)
        loss = sae.losses.top_k_auxiliary_loss
        sae.train_sae(model, batches, loss, optimizer, nb_epochs=self.epochs, monitoring=0)
        model.eval()
        learned = (linear.weight, linear.bias, model.get_dictionary())
        return tuple(values.detach().numpy().astype(np.float64) for values in learned)

    def encode(self, embeddings: Embeddings) -> Codes:
        """Return the largest activations of each embedding."""
        values = check_encode_input(embeddings, self.dictionary())
        codes = values @ require_fitted(self.weights, self).T + require_fitted(self.bias, self)
        codes = np.maximum(codes, 0.0)
        if self.active < codes.shape[1]:
            small = np.argpartition(-codes, self.active - 1, axis=1)[:, self.active :]
            np.put_along_axis(codes, small, 0.0, axis=1)
        return np.asarray(codes)
