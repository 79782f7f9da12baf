"""Surrogate that learns to reconstruct a model's embedding from concepts (as in ConceptSHAP)."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError

if TYPE_CHECKING:
    from torch import Tensor

MIN_LOSS = 1e-7
"""Loss or learning rate at which training stops."""
ROWS = 256
Loss = Literal["cross_entropy", "l1"]


@dataclass(frozen=True, kw_only=True)
class LearnedSurrogateSettings:
    """Training settings. Batch and patience are ours, the rest is as published."""

    loss: Loss = "cross_entropy"
    """Loss between class probabilities, or between logits."""
    hidden: int = 500
    learning_rate: float = 0.1
    epochs: int = 100
    batch: int = 128
    patience: int = 5
    """Epochs without a lower loss before the learning rate is halved."""
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("hidden", "learning_rate", "epochs", "batch", "patience"):
            least = MIN_LOSS if name == "learning_rate" else 0
            if not least < getattr(self, name) < math.inf:
                raise EvidenceError(name, f"{getattr(self, name)}", f"a number above {least}")


@dataclass(frozen=True, eq=False, kw_only=True)
class LearnedSurrogate:
    r"""Prediction of a model's outputs from concepts alone: the evaluation of ConceptSHAP.

    .. math:: \hat y_i = f_i \cdot M(p_i) + b_i, \qquad M(p) = W_2 \max(W_1 p + c_1, 0) + c_2

    :math:`p_i` are a sample's projections on the concepts of output :math:`i`; :math:`f_i` and
    :math:`b_i` are its row of the model's last layer. One :math:`M` serves all outputs.
    """

    inner: Float[np.ndarray, "hidden concepts"]
    inner_bias: Float[np.ndarray, " hidden"]
    outer: Float[np.ndarray, "dimensions hidden"]
    outer_bias: Float[np.ndarray, " dimensions"]
    head: Float[np.ndarray, "classes dimensions"]
    bias: Float[np.ndarray, " classes"]
    losses: tuple[float, ...]
    """Mean loss of each epoch."""
    diverged: bool
    """Whether a loss became infinite; the weights are the last finite ones."""

    def outputs(
        self, projections: Float[np.ndarray, "samples _classes _concepts"]
    ) -> Float[np.ndarray, "samples classes"]:
        """Return the surrogate's logits for concept projections."""
        needed = (len(self.head), self.inner.shape[1])
        if projections.shape[1:] != needed:
            got = f"{projections.shape[1:]} a sample"
            raise EvidenceError("projections", got, f"{needed}: classes, concepts")
        logits = np.empty(projections.shape[:2], np.float32)
        with np.errstate(over="ignore", invalid="ignore"):  # a surrogate may have run far off
            back, shift = self.head @ self.outer, self.head @ self.outer_bias + self.bias
            for start in range(0, len(logits), ROWS):
                some = projections[start : start + ROWS].astype(np.float32)
                hidden = np.maximum(some @ self.inner.T + self.inner_bias, 0)
                logits[start : start + ROWS] = np.einsum("nch,ch->nc", hidden, back) + shift
        return logits


def fit_learned_surrogate(
    projections: Float[np.ndarray, "samples classes concepts"],
    outputs: Float[np.ndarray, "_samples _classes"],
    head: Float[np.ndarray, "_classes dimensions"],
    bias: Float[np.ndarray, " _classes"],
    settings: LearnedSurrogateSettings | None = None,
) -> LearnedSurrogate:
    """Train a surrogate to reproduce the model's outputs.

    With Adam, whose learning rate is halved where the loss no longer falls, until the loss is all
    but 0 or the epochs are over. The same seed gives the same weights.

    Args:
        projections: Each sample on the concepts of each output.
        outputs: The model's logits.
        head: The weights of the model's last layer.
        bias: Its bias.
        settings: See there.
    """
    import torch  # noqa: PLC0415

    from theodolite.models.torch_threads import limit_to_one_thread  # noqa: PLC0415

    _check({"projections": projections, "outputs": outputs, "head": head, "bias": bias})
    settings = settings or LearnedSurrogateSettings()
    ones = np.ones((*projections.shape[:2], 1))
    arrays = (np.concatenate([projections, ones], axis=2).transpose(1, 0, 2), outputs, head, bias)
    data = tuple(torch.from_numpy(array.astype(np.float32)) for array in arrays)
    with torch.no_grad(), limit_to_one_thread():
        (inner, outer, outer_bias), losses, diverged = _train(data, settings)
    return LearnedSurrogate(
        inner=inner[:, :-1].numpy(), inner_bias=inner[:, -1].numpy(), outer=outer.numpy(),
        outer_bias=outer_bias.numpy(), head=data[2].numpy(), bias=data[3].numpy(),
        losses=losses, diverged=diverged,
    )  # fmt: skip


def _train(
    data: "tuple[Tensor, ...]", settings: LearnedSurrogateSettings
) -> "tuple[list[Tensor], tuple[float, ...], bool]":
    """Return the weights, the mean loss of each epoch, and whether training diverged."""
    import torch  # noqa: PLC0415

    inputs, targets, head, bias = data
    random = torch.Generator().manual_seed(settings.seed)
    sizes = (settings.hidden, inputs.shape[2]), (head.shape[1], settings.hidden), (head.shape[1],)
    widths = (inputs.shape[2] - 1, settings.hidden, settings.hidden)  # as torch's layers begin
    weights = [
        (torch.rand(size, generator=random) * 2 - 1) / math.sqrt(width)
        for size, width in zip(sizes, widths, strict=True)
    ]
    optimizer = torch.optim.Adam(weights, lr=settings.learning_rate, fused=True)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(
        optimizer, factor=0.5, patience=settings.patience
    )
    losses: list[float] = []
    sound = [w.clone() for w in weights]
    while len(losses) < settings.epochs and min([*losses[-1:], *plateau.get_last_lr()]) > MIN_LOSS:
        total = 0.0
        order = torch.randperm(len(targets), generator=random)
        for start in range(0, len(order), settings.batch):
            rows = order[start : start + settings.batch]
            batch = (inputs[:, rows], targets[rows], head, bias)
            loss, gradients = _step(weights, batch, settings.loss)
            if not math.isfinite(loss):
                return sound, tuple(losses), True
            sound, total = [w.clone() for w in weights], total + loss * len(rows)
            for weight, gradient in zip(weights, gradients, strict=True):
                weight.grad = gradient
            optimizer.step()
        losses.append(total / len(targets))
        plateau.step(losses[-1])
    finite = math.isfinite(_step(weights, batch, settings.loss)[0])  # after the last step, too
    return weights if finite else sound, tuple(losses), not finite


def _step(
    weights: "list[Tensor]", data: "tuple[Tensor, ...]", kind: Loss
) -> "tuple[float, list[Tensor]]":
    """Return the mean loss and its gradient for each weight.

    By hand, since no vector of all dimensions for each sample and output is needed: with
    B = F W2 (outputs x hidden), an output is its own hidden units times its row of B.
    """
    import torch  # noqa: PLC0415

    (inner, outer, outer_bias), (inputs, targets, head, bias) = weights, data
    hidden = torch.matmul(inputs, inner.T).clamp_(min=0)  # classes x samples x hidden
    back = head @ outer
    logits = torch.bmm(hidden, back[..., None])[..., 0].T + (head @ outer_bias + bias)
    if kind == "l1":
        loss, slope = (logits - targets).abs().mean(), (logits - targets).sign() / logits.numel()
    else:
        chance = targets.softmax(dim=1)
        loss = torch.nn.functional.cross_entropy(logits, chance)
        slope = (logits.softmax(dim=1) - chance) / len(logits)
    slope = slope.T.contiguous()
    in_back = torch.bmm(slope[:, None], hidden)[:, 0]
    in_inner = torch.bmm(hidden.sign_().transpose(1, 2), slope[..., None] * inputs)
    gradients = [
        (back[..., None] * in_inner).sum(dim=0), head.T @ in_back, head.T @ slope.sum(dim=1)
    ]  # fmt: skip
    return loss.item(), gradients


def _check(arrays: dict[str, np.ndarray]) -> None:
    n, classes, concepts = arrays["projections"].shape
    dimensions = arrays["head"].shape[1]
    if 0 in (n, classes, concepts, dimensions):
        raise EvidenceError("projections", f"shape {(n, classes, concepts)}", "at least one of all")
    needed = {"outputs": (n, classes), "head": (classes, dimensions), "bias": (classes,)}
    for name, shape in needed.items():
        if arrays[name].shape != shape:
            got = f"shape {arrays[name].shape}"
            raise EvidenceError(name, got, f"{shape}, as the projections are")
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise EvidenceError(name, "NaN or infinite values", "finite numbers")
