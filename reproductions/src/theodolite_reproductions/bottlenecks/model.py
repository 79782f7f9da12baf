"""Concept bottleneck and concept embedding models as torch modules, for any encoder and head."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from theodolite_reproductions.bottlenecks.encoders import HIDDEN, encoder, head
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, Encoding

Concepts = Float[Tensor, "samples concepts"]
Vectors = Float[Tensor, "samples concepts size"]
Front = Callable[[int], nn.Module]
_building = Lock()


class BottleneckOutput(NamedTuple):
    """What a bottleneck says of a batch, on the way from the input to the classes."""

    logits: Concepts
    values: Concepts
    """What the head of a CBM sees; for a CEM, how much of the positive vector it sees."""
    scores: Float[Tensor, "samples classes"]
    positive: Vectors | None = None
    negative: Vectors | None = None
    weighted: Vectors | None = None


def concept_values(logits: Tensor, encoding: Encoding) -> Tensor:
    """Concepts as the head of a CBM sees them."""
    if encoding == "hard":
        return (logits > 0).to(logits.dtype)
    return torch.sigmoid(logits) if encoding == "soft" else logits


class ConceptBottleneck(nn.Module):
    """Inputs to concepts, and from these alone to classes :cite:p:`koh2020concept`."""

    def __init__(self, encoder: nn.Module, head: nn.Module, encoding: Encoding = "soft") -> None:
        super().__init__()
        self.encoder, self.head, self.encoding = encoder, head, encoding

    def forward(self, x: Tensor, truth: Tensor | None = None) -> BottleneckOutput:
        """The concepts and the class scores. The truth is not needed, and not used."""
        logits = self.encoder(x)
        values = concept_values(logits, self.encoding)
        return BottleneckOutput(logits, values, self.head(values))


class ConceptEmbedding(nn.Module):
    r"""Two vectors a concept, mixed by its probability :cite:p:`zarlenga2022concept`.

    From the encoder's features, a linear layer with leaky ReLU gives :math:`c_i^+` and
    :math:`c_i^-`; a linear layer scores both together, which gives the probability :math:`p_i`;
    the head sees all :math:`w_i = p_i c_i^+ + (1 - p_i) c_i^-` in a row.

    In training, each :math:`p_i` of each sample is replaced by its truth with probability
    ``intervention_rate``. (The authors' code draws once a batch, for all its samples.)

    Args:
        encoder: From inputs to ``n_features`` numbers.
        head: From ``n_concepts * size`` numbers to class scores.
        n_features: See above.
        n_concepts: See above.
        size: Of one vector.
        shared: Whether one layer scores all concepts, or each has its own.
        intervention_rate: See above.
    """

    def __init__(  # noqa: PLR0913  each is a part of the model
        self,
        encoder: nn.Module,
        head: nn.Module,
        *,
        n_features: int,
        n_concepts: int,
        size: int = 16,
        shared: bool = True,
        intervention_rate: float = 0.0,
    ) -> None:
        super().__init__()
        self.encoder, self.head = encoder, head
        self.size, self.intervention_rate = size, intervention_rate
        self.vectors = nn.Sequential(nn.Linear(n_features, n_concepts * 2 * size), nn.LeakyReLU())
        layers = nn.Linear(2 * size, 1 if shared else n_concepts)
        self.scoring, self.scoring_bias = layers.weight, layers.bias
        self.generator: torch.Generator | None = None

    def forward(self, x: Tensor, truth: Tensor | None = None) -> BottleneckOutput:
        """The concepts and the class scores; ``truth`` is for interventions in training."""
        both = self.vectors(self.encoder(x)).unflatten(1, (-1, 2 * self.size))
        logits = (both * self.scoring).sum(dim=2) + self.scoring_bias
        probabilities = torch.sigmoid(logits)
        if self.training and truth is not None and self.intervention_rate > 0:
            draws = torch.rand(logits.shape, generator=self.generator, device=logits.device)
            mask = draws < self.intervention_rate
            probabilities = torch.where(mask, truth.to(logits.dtype), probabilities)
        positive, negative = both[..., : self.size], both[..., self.size :]
        share = probabilities.unsqueeze(2)
        weighted = share * positive + (1 - share) * negative
        scores = self.head(weighted.flatten(1))
        return BottleneckOutput(logits, probabilities, scores, positive, negative, weighted)


Network = ConceptBottleneck | ConceptEmbedding


def build(  # noqa: PLR0913  each is a part of the model
    settings: BottleneckSettings,
    input_shape: tuple[int, ...],
    n_concepts: int,
    n_classes: int,
    *,
    seed: int,
    brightest: float = 255.0,
    front: Front | None = None,
) -> Network:
    """The network of these settings with its first weights.

    ``front`` makes an encoder with a number of outputs, in place of the encoder that is named.
    """
    cem = settings.kind == "cem"
    weights = Path(settings.encoder_weights) if settings.encoder_weights else None
    n_out = HIDDEN if cem else n_concepts
    with first_weights(seed, 0):
        encodes = front(n_out) if front else encoder(
            settings.encoder, input_shape, n_out,
            dropout=settings.dropout, brightest=brightest, weights=weights,
        )  # fmt: skip
    n_in = n_concepts * settings.embedding if cem else n_concepts
    back = build_head(settings, n_in, n_classes, seed=seed)
    if not cem:
        return ConceptBottleneck(encodes, back, settings.encoding)
    with first_weights(seed, 2):
        return ConceptEmbedding(
            encodes, back, n_features=HIDDEN, n_concepts=n_concepts, size=settings.embedding,
            shared=settings.shared_scoring, intervention_rate=settings.intervention_rate,
        )  # fmt: skip


def build_head(settings: BottleneckSettings, n_in: int, n_classes: int, *, seed: int) -> nn.Module:
    """The head of these settings; its first weights do not depend on the encoder's."""
    with first_weights(seed, 1):
        return head(settings.head, n_in, n_classes, activation=settings.head_activation)


@contextmanager
def first_weights(seed: int, part: int) -> Iterator[None]:
    """Layers made in here get weights from this seed; torch's own generator stays as it was."""
    with _building, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(3 * seed + part)
        yield
