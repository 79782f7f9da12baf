"""What a learned score is trained by: error, direction and order of its predictions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from theodolite.errors import EvidenceError

if TYPE_CHECKING:
    from torch import Tensor

Variant: TypeAlias = Literal["paper", "reference"]
LEAST = 1e-8


@dataclass(frozen=True, kw_only=True)
class LossWeights:
    """How much each part of the loss counts."""

    cosine: float = 1.0
    error: float = 0.01
    rank: float = 0.1

    @classmethod
    def of(cls, variant: Variant) -> "LossWeights":
        """Those that were published: in the paper, or with the code."""
        return cls() if variant == "paper" else cls(cosine=0.01, error=10.0, rank=0.01)


def loss(
    predicted: "Tensor", target: "Tensor", weights: LossWeights, variant: Variant = "paper"
) -> "Tensor":
    r"""The weighted sum of the three.

    .. math:: L = \alpha L_s + \beta L_{mse} + \gamma L_r

    ``reference`` takes direction and order as the published code does: see there.
    """
    if variant not in ("paper", "reference"):
        raise EvidenceError("variant", repr(variant), "'paper' or 'reference'")
    reference = variant == "reference"
    cosine = cosine_of_each if reference else cosine_loss
    rank = rank_of_neighbors if reference else rank_loss
    total = weights.error * error_loss(predicted, target)
    total = total + weights.cosine * cosine(predicted, target)
    return total + weights.rank * rank(predicted, target)


def error_loss(predicted: "Tensor", target: "Tensor") -> "Tensor":
    """The mean squared error."""
    return ((predicted - target) ** 2).mean()


def cosine_loss(predicted: "Tensor", target: "Tensor") -> "Tensor":
    r"""Return how far the predictions of a batch, as one vector, point away from the ratings.

    .. math:: L_s = 1 - \frac{\sum_k \hat m_k m_k}{\lVert\hat m\rVert\,\lVert m\rVert}
    """
    norms = (predicted**2).sum().sqrt() * (target**2).sum().sqrt()
    return 1 - (predicted * target).sum() / norms.clamp_min(LEAST)


def rank_loss(predicted: "Tensor", target: "Tensor") -> "Tensor":
    r"""Return how far pairs are in the wrong order, over all pairs of the batch.

    .. math:: L_r = \frac{1}{|P|} \sum_{k_1 < k_2}
        \max(0, -(\hat m_{k_1} - \hat m_{k_2}) (m_{k_1} - m_{k_2}))
    """
    n = len(predicted)
    if n < 2:
        return predicted.sum() * 0
    values, apart = predicted.detach(), target[:, None] - target[None]
    wrong = ((values[:, None] - values[None]) * apart < 0) * -apart
    # within a given order the loss is linear in the predictions: no gradient through all pairs
    slopes = wrong.sum(dim=1) - wrong.sum(dim=0)
    return (predicted * slopes).sum() / (n * (n - 1))  # each pair is there twice


def cosine_of_each(predicted: "Tensor", target: "Tensor") -> "Tensor":
    """The cosine of numbers one by one, as the published code has it.

    It is 1 for any two numbers above zero: there is nothing to learn from it.
    """
    sizes = predicted.abs().clamp_min(LEAST) * target.abs().clamp_min(LEAST)
    return (1 - predicted * target / sizes).mean()


def rank_of_neighbors(predicted: "Tensor", target: "Tensor") -> "Tensor":
    """Order within pairs that follow each other in the batch, as the published code has it.

    How far the ratings lie apart does not count.
    """
    if len(predicted) < 2:
        return predicted.sum() * 0
    signs = (target[:-1] - target[1:]).sign()
    return (-(predicted[:-1] - predicted[1:]) * signs).clamp_min(0).mean()
