"""Ask any image model, a torch module or a function, for the log-odds of one class per image."""

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped

from theodolite.errors import EvidenceError
from theodolite.evidence.attributions.models import to_log_odds
from theodolite.models.features import set_evaluation_mode

LEAST_PROBABILITY = 1e-6
ONE = 1e-3
"""How far the sum of a row of probabilities may be from 1."""
Images = Shaped[np.ndarray, "images channels rows columns"]


class AskedModel:
    """A model with its mode, device and batch size.

    Args:
        model: Torch module, or a function from a batch to outputs.
        restore: Function from images with channels first to a batch as the model takes it.
        batch_size: Images of a batch; halved where memory does not suffice.
    """

    def __init__(self, model: Any, restore: Callable[[Images], Any], batch_size: int) -> None:
        if not callable(model):
            raise EvidenceError(
                "model", type(model).__name__, "a torch module or a function of a batch of images"
            )
        self.model, self.restore, self.batch_size = model, restore, batch_size
        self.is_module = hasattr(model, "named_modules")
        self.passes = 0
        """Images that the model was asked about."""
        self._returns_probabilities: bool | None = None

    def open(self) -> AbstractContextManager[Any]:
        """Switch a module to evaluation without gradients, and restore it afterwards."""
        stack = ExitStack()
        if self.is_module:
            import torch  # noqa: PLC0415

            stack.enter_context(set_evaluation_mode(self.model))
            stack.enter_context(torch.no_grad())
        return stack

    def ask(self, images: Images) -> Float[np.ndarray, "images classes"]:
        """Return probabilities of all classes."""
        parts, start = [], 0
        while start < len(images):
            part = images[start : start + self.batch_size]
            try:
                parts.append(self._read_outputs(self._call(part), len(part)))
            except Exception as error:
                if self.batch_size == 1 or not _is_out_of_memory(error):
                    raise
                self.batch_size //= 2
                continue
            start += len(part)
        self.passes += len(images)
        outputs = np.concatenate(parts)
        if self._returns_probabilities is None:
            sums = np.abs(outputs.sum(axis=1) - 1) < ONE
            self._returns_probabilities = bool(outputs.min() >= 0 and sums.all())
        if self._returns_probabilities:
            return outputs
        shifted = np.exp(outputs - outputs.max(axis=1, keepdims=True))
        return np.asarray(shifted / shifted.sum(axis=1, keepdims=True))

    def ask_log_odds(
        self, images: Images, target: Int[np.ndarray, " images"]
    ) -> Float[np.ndarray, " images"]:
        """Return the log-odds of one class of each image."""
        probabilities = self.ask(images)
        return clip_log_odds(probabilities[np.arange(len(images)), target])

    def _call(self, images: Images) -> Any:
        batch = self.restore(images)
        if self.is_module:
            import torch  # noqa: PLC0415

            first = next(self.model.parameters(), None)
            batch = torch.as_tensor(batch)
            batch = batch if first is None else batch.to(first.device)
        return self.model(batch)

    def _read_outputs(self, outputs: Any, n: int) -> Float[np.ndarray, "images classes"]:
        outputs = getattr(outputs, "logits", outputs)
        outputs = outputs[0] if isinstance(outputs, tuple | list) else outputs
        if hasattr(outputs, "detach"):
            outputs = outputs.detach().double().cpu().numpy()
        values = np.asarray(outputs, np.float64)
        values = values[:, None] if values.ndim == 1 else values
        if values.ndim != 2 or len(values) != n or not np.isfinite(values).all():
            raise EvidenceError(
                "model", f"outputs of shape {values.shape} for {n} images",
                f"finite outputs of shape ({n}, classes)",
            )  # fmt: skip
        if values.shape[1] == 1:  # a single output is the log-odds of the second of two classes
            values = np.concatenate([np.zeros_like(values), values], axis=1)
        return values


def clip_log_odds(probabilities: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """Return log-odds of probabilities, which are clipped at one in a million.

    >>> clip_log_odds(np.array([0.5, 1.0])).round(2).tolist()
    [0.0, 13.82]
    """
    return to_log_odds(np.clip(probabilities, LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))


def _is_out_of_memory(error: Exception) -> bool:
    return type(error).__name__ == "OutOfMemoryError" or "out of memory" in str(error).lower()
