"""A score trained by gradients on features that are computed once: no loader, no files."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from theodolite._stats.ranks import average_ranks
from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite_reproductions.acceptance.losses import loss
from theodolite_reproductions.acceptance.scorer import Features, Layers
from theodolite_reproductions.acceptance.settings import ScorerSettings

if TYPE_CHECKING:
    import torch

Ratings = Float[np.ndarray, " explanations"]


def train_layers(
    features: Features,
    ratings: Ratings,
    validation: Bool[np.ndarray, " explanations"],
    settings: ScorerSettings,
    *,
    levels: int = 5,
    seed: int = 0,
) -> Layers:
    """Adam on the losses; the weights of the epoch that did best on the validation part.

    Args:
        features: A row for each explanation.
        ratings: 0 to 1, a number for each.
        validation: Which of them the epoch is chosen by; nothing is learned from these.
        settings: See there.
        levels: How many answers there were, for the agreement that picks the epoch.
        seed: Of weights and order.
    """
    require("torch", "training", "torch")
    import torch  # noqa: PLC0415

    from theodolite.models.torch_threads import limit_to_one_thread  # noqa: PLC0415

    if not (0 < validation.sum() < len(validation)):
        raise EvidenceError("validation", f"{validation.sum()} rows", "some, but not all")
    center, spread = _scale(features[~validation], settings)
    scaled = ((features - center) / spread).astype(np.float32)
    random = np.random.default_rng([seed, 3])
    sizes = (features.shape[1], *(settings.hidden if settings.scorer == "mlp" else ()), 1)
    parameters = [torch.from_numpy(array).requires_grad_() for array in _begin(sizes, random)]
    known = torch.from_numpy(scaled[~validation])
    target = torch.from_numpy(ratings[~validation].astype(np.float32))
    judge = (torch.from_numpy(scaled[validation]), ratings[validation], levels)
    with limit_to_one_thread():
        best = _course(parameters, (known, target), judge, settings, random)
    return Layers(
        center=center,
        spread=spread,
        weights=tuple(best[0::2]),
        biases=tuple(best[1::2]),
        rectified=settings.variant == "reference",
    )


def _course(
    parameters: "list[torch.Tensor]",
    data: "tuple[torch.Tensor, torch.Tensor]",
    judge: "tuple[torch.Tensor, np.ndarray, int]",
    settings: ScorerSettings,
    random: np.random.Generator,
) -> list[np.ndarray]:
    """The epochs, and the best weights on the way."""
    import torch  # noqa: PLC0415

    steps, rectified = settings.steps, settings.variant == "reference"
    adam = Adam(parameters, steps.learning_rate, steps.weight_decay)
    best, reached = [p.detach().numpy().copy() for p in parameters], -np.inf
    features, target = data
    for epoch in range(steps.epochs):
        order = torch.from_numpy(random.permutation(len(features)))
        for start in range(0, len(order), steps.batch):
            rows = order[start : start + steps.batch]
            predictions = _forward(parameters, features[rows], rectified=rectified)
            wrong = loss(predictions, target[rows], steps.weights, settings.variant)
            adam.step(torch.autograd.grad(wrong, parameters))
        if (epoch + 1) % settings.every == 0 or epoch + 1 == steps.epochs:
            with torch.no_grad():
                predictions = _forward(parameters, judge[0], rectified=rectified)
            worth = _worth(predictions.numpy().astype(np.float64), judge[1], judge[2], settings)
            if worth > reached:
                best, reached = [p.detach().numpy().copy() for p in parameters], worth
    return best


class Adam:
    """Adam as torch has it, without the seconds that its optimisers take to be imported."""

    def __init__(self, parameters: "Sequence[torch.Tensor]", rate: float, decay: float) -> None:
        self.parameters, self.rate, self.decay, self.done = parameters, rate, decay, 0
        self.means = [parameter.detach() * 0 for parameter in parameters]
        self.squares = [parameter.detach() * 0 for parameter in parameters]

    def step(self, gradients: "Sequence[torch.Tensor]") -> None:
        """Change the parameters by their gradients."""
        self.done += 1
        first, second = 1 - 0.9**self.done, 1 - 0.999**self.done
        for number, gradient in enumerate(gradients):
            parameter = self.parameters[number].detach()  # the same numbers, without a history
            whole = gradient + self.decay * parameter if self.decay else gradient
            mean, square = self.means[number], self.squares[number]
            mean.mul_(0.9).add_(whole, alpha=0.1)
            square.mul_(0.999).addcmul_(whole, whole, value=0.001)
            parameter.addcdiv_(mean, (square / second).sqrt_().add_(1e-8), value=-self.rate / first)


def _forward(
    parameters: "list[torch.Tensor]", features: "torch.Tensor", *, rectified: bool
) -> "torch.Tensor":
    activations = features
    for number in range(0, len(parameters), 2):
        activations = activations @ parameters[number].T + parameters[number + 1]
        if number + 2 < len(parameters) or rectified:
            activations = activations.clamp_min(0)
    return activations[:, 0]


def _begin(sizes: tuple[int, ...], random: np.random.Generator) -> list[np.ndarray]:
    """Uniform within one over the root of the inputs, as torch's own layers begin."""
    parameters = []
    for inputs, outputs in pairwise(sizes):
        bound = 1 / np.sqrt(inputs)
        for shape in ((outputs, inputs), (outputs,)):
            parameters.append(random.uniform(-bound, bound, shape).astype(np.float32))
    return parameters


def _scale(features: Features, settings: ScorerSettings) -> tuple[np.ndarray, np.ndarray]:
    if settings.variant == "reference":
        return np.zeros(features.shape[1]), np.ones(features.shape[1])
    return standard(features)


def standard(features: Features) -> tuple[np.ndarray, np.ndarray]:
    """Mean and standard deviation; a feature that never changes is only shifted."""
    spread = features.std(axis=0)
    return features.mean(axis=0), np.where(spread > 1e-12, spread, 1.0)


def _worth(predictions: Ratings, truth: Ratings, levels: int, settings: ScorerSettings) -> float:
    """Return how well the validation part is predicted; undefined counts as worst."""
    if settings.chosen_by == "agreement":
        return quadratic_kappa(predictions, truth, levels)
    ranks = average_ranks(np.stack([predictions, truth]))
    if (np.ptp(ranks, axis=1) == 0).any():
        return -np.inf
    return float(np.corrcoef(ranks)[0, 1])


def quadratic_kappa(predictions: Ratings, truth: Ratings, levels: int) -> float:
    """Agreement of ratings from 0 to 1, each taken to the nearest answer, halves going up."""
    bins = [
        np.floor(np.clip(ratings, 0, 1) * (levels - 1) + 0.5).astype(np.int64)
        for ratings in (predictions, truth)
    ]
    apart = ((bins[0] - bins[1]) ** 2).mean()
    by_chance = sum(
        float((bins[0] == i).mean() * (bins[1] == j).mean()) * (i - j) ** 2
        for i in range(levels)
        for j in range(levels)
    )
    return float(1 - apart / by_chance) if by_chance > 0 else -np.inf
