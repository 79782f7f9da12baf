"""Train ConceptSHAP's directions and the network that decodes them. Used by
:mod:`.concept_shap`."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from theodolite._storage.optional import require

if TYPE_CHECKING:
    from torch import Tensor

NEAREST = 32
NEAR = APART = 0.1
"""Number of nearest embeddings and weight of the regularizers, as published."""

RATE, BATCH = 3e-3, 128
"""Learning rate and batch size of a decoder that is trained further."""


@dataclass(frozen=True, eq=False)
class Decoder:
    """Network from concept projections to embeddings: a ReLU layer and a linear one."""

    first: Float[np.ndarray, "concepts hidden"]
    first_bias: Float[np.ndarray, " hidden"]
    second: Float[np.ndarray, "hidden dimensions"]
    second_bias: Float[np.ndarray, " dimensions"]

    def __call__(self, codes: Float[np.ndarray, "n concepts"]) -> Float[np.ndarray, "n dimensions"]:
        active = np.maximum(codes @ self.first + self.first_bias, 0)
        return np.asarray(active @ self.second + self.second_bias)


@dataclass(frozen=True)
class ConceptShapSettings:
    """Size, epochs and learning rate of the training."""

    hidden: int
    epochs: int
    learning_rate: float
    batch: int
    beta: float


@dataclass(frozen=True, eq=False)
class LastLayer:
    """The last layer and the labels that reconstructions must still predict."""

    head: Float[np.ndarray, "classes dimensions"]
    bias: Float[np.ndarray, " classes"]
    labels: Int[np.ndarray, " n"]


def train_directions(
    embeddings: Float[np.ndarray, "n dimensions"],
    task: LastLayer,
    training: ConceptShapSettings,
    *,
    n_concepts: int,
    seed: int,
) -> tuple[Float[np.ndarray, "concepts dimensions"], Decoder]:
    """Train directions (of any length) and their decoder."""
    require("torch", "ConceptShap", "torch")
    import torch  # noqa: PLC0415

    def tensor(values: np.ndarray) -> "Tensor":
        return torch.tensor(values, dtype=torch.float32)

    # in units of the embeddings' typical length, so that one learning rate fits all networks
    unit = float(np.sqrt((embeddings**2).mean())) or 1.0
    rows, labels = tensor(embeddings / unit), torch.tensor(task.labels, dtype=torch.int64)
    head, bias = tensor(task.head * unit), tensor(task.bias)
    lengths = rows.norm(dim=1, keepdim=True).clamp_min(1e-12)
    random = torch.Generator().manual_seed(seed)
    wide, deep = rows.shape[1], training.hidden
    directions = torch.randn(n_concepts, wide, generator=random) / wide**0.5
    first = torch.randn(n_concepts, deep, generator=random) * (2 / n_concepts) ** 0.5
    second = torch.randn(deep, wide, generator=random) * (1 / deep) ** 0.5
    learned = [directions, first, torch.zeros(deep), second, rows.mean(dim=0)]
    for weights in learned:
        weights.requires_grad_()
    optimizer = torch.optim.Adam(learned, lr=training.learning_rate)
    others = 1 - torch.eye(n_concepts)
    for _ in range(training.epochs):
        for part in torch.split(torch.randperm(len(rows), generator=random), training.batch):
            vectors = torch.nn.functional.normalize(learned[0], dim=1)
            codes = rows[part] @ vectors.T
            cosines = codes / lengths[part]
            if training.beta > 0:
                codes = codes * (cosines > training.beta)
            active = torch.relu(codes @ learned[1] + learned[2])
            logits = (active @ learned[3] + learned[4]) @ head.T + bias
            close = cosines.topk(min(NEAREST, len(part)), dim=0).values.mean()
            alike = (vectors @ vectors.T * others).sum() / others.sum().clamp_min(1)
            loss = torch.nn.functional.cross_entropy(logits, labels[part])
            loss = loss - NEAR * close + APART * alike
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    arrays = [weights.detach().numpy().astype(np.float64) for weights in learned]
    return arrays[0], Decoder(arrays[1] / unit, arrays[2], arrays[3] * unit, arrays[4] * unit)


def retrain_decoder(
    decoder: Decoder,
    codes: Float[np.ndarray, "n concepts"],
    task: LastLayer,
    epochs: int,
    seed: int,
) -> Decoder:
    """Train the decoder further on fixed projections, by cross-entropy alone."""
    import torch  # noqa: PLC0415

    def tensor(values: np.ndarray) -> "Tensor":
        return torch.tensor(values, dtype=torch.float32)

    # in the same units as in the first training
    unit = float(np.sqrt((decoder.second_bias**2).mean())) or 1.0
    rows, labels = tensor(codes / unit), torch.tensor(task.labels, dtype=torch.int64)
    head, bias = tensor(task.head * unit), tensor(task.bias)
    learned = [
        tensor(values)
        for values in (
            decoder.first * unit, decoder.first_bias, decoder.second / unit,
            decoder.second_bias / unit,
        )
    ]  # fmt: skip
    for weights in learned:
        weights.requires_grad_()
    optimizer = torch.optim.Adam(learned, lr=RATE)
    random = torch.Generator().manual_seed(seed)
    for _ in range(epochs):
        for part in torch.split(torch.randperm(len(rows), generator=random), BATCH):
            active = torch.relu(rows[part] @ learned[0] + learned[1])
            logits = (active @ learned[2] + learned[3]) @ head.T + bias
            loss = torch.nn.functional.cross_entropy(logits, labels[part])
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    arrays = [weights.detach().numpy().astype(np.float64) for weights in learned]
    return Decoder(arrays[0] / unit, arrays[1], arrays[2] * unit, arrays[3] * unit)
