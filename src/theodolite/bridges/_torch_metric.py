"""The torchmetrics class behind ``theodolite.bridges.torchmetrics``. Importing this imports
torch."""

import hashlib
from typing import Any

import numpy as np
import torch
import torchmetrics

from theodolite.bridges._batch_metric import BatchMetric
from theodolite.bridges._tensors import numbers
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.registry import kinds


class TheodoliteMetric(torchmetrics.Metric):
    """Metric of the catalogue that is accumulated over batches, on one machine or several.

    The state is one block of bytes. torchmetrics gathers blocks without knowing their arrays, also
    from processes that had no batch; sums are added afterwards.
    """

    full_state_update = False
    is_differentiable = False

    def __init__(self, batch_metric: BatchMetric) -> None:
        super().__init__()
        self.batch_metric = batch_metric
        options_text = repr(sorted((name, repr(v)) for name, v in batch_metric.options.items()))
        # collections share the states of metrics that look alike: the name keeps these apart
        digest = hashlib.sha256(options_text.encode()).hexdigest()
        self.state_name = f"{batch_metric.name}_{digest[:12]}"
        self.add_state(self.state_name, default=[], dist_reduce_fx="cat")

    @property
    def higher_is_better(self) -> bool:  # type: ignore[override]
        """Whether higher values are better."""
        return self.batch_metric.metric.better == "higher"

    @property
    def plot_lower_bound(self) -> float:  # type: ignore[override]
        """Lowest possible value of the metric."""
        return self.batch_metric.metric.bounds[0]

    @property
    def plot_upper_bound(self) -> float:  # type: ignore[override]
        """Highest possible value of the metric."""
        return self.batch_metric.metric.bounds[1]

    @property
    def dtype(self) -> torch.dtype:
        """A process without a batch sends nothing, and it must be nothing of the same type."""
        return torch.uint8

    def update(self, evidence: Evidence | None = None, **arrays: Any) -> None:
        """Count a batch: evidence, or its arrays by name as tensors.

        With numbers of samples (``samples=``) each is counted once, however often it comes.
        """
        batch = evidence if evidence is not None else bundle(self.batch_metric.metric.needs, arrays)
        numbered = evidence is None and arrays.get("samples") is not None
        own = self.batch_metric.block(batch, numbered=numbered)
        if not self.batch_metric.keeps(numbered=numbered):
            own = self.batch_metric.merged(np.concatenate([*self._blocks(), own]))
            getattr(self, self.state_name).clear()
        getattr(self, self.state_name).append(torch.tensor(own, device=self.device))

    def compute(self) -> torch.Tensor:
        """The score of all samples so far; NaN if there were none."""
        content = np.concatenate([*self._blocks(), np.zeros(0, np.uint8)])
        kind = torch.float32 if self.device.type == "mps" else torch.float64
        return torch.tensor(self.batch_metric.value(content), dtype=kind, device=self.device)

    def _blocks(self) -> list[np.ndarray]:
        state = getattr(self, self.state_name)
        tensors = state if isinstance(state, list) else [state]
        return [np.asarray(tensor.detach().cpu().to(torch.uint8).numpy()) for tensor in tensors]


def bundle(kind: type[Evidence], arrays: dict[str, Any]) -> Evidence:
    """Evidence from tensors by name; names of other kinds, as a collection gives them, are left."""
    known = {name for other in kinds().values() for name in other.axes()}
    known |= {name for other in kinds().values() for name, _ in other.layouts()}
    unknown = sorted(set(arrays) - known - {"samples"})
    if unknown:
        raise EvidenceError("update", f"{unknown[0]!r}", f"arrays of {kind.kind} evidence")
    plain = {
        name: numbers(value, name) if isinstance(value, torch.Tensor) else value
        for name, value in arrays.items()
    }
    return _build_evidence(kind, plain)


def _build_evidence(kind: type[Evidence], arrays: dict[str, Any]) -> Evidence:
    fields: dict[str, Any] = {
        name: _build_evidence(inner, arrays) for name, inner in kind.inner_kinds()
    }
    names = {name for name, _ in kind.layouts()} | set(kind.axes())
    if fields:  # names of the bundle inside are given there
        names -= {name for _, inner in kind.inner_kinds() for name in inner.axes()}
    elif "samples" in arrays:
        samples = arrays["samples"]
        fields["samples"] = samples if isinstance(samples, Samples) else Samples(index=samples)
    fields |= {name: array for name, array in arrays.items() if name in names}
    try:
        return kind(**fields)
    except TypeError as error:
        raise EvidenceError(
            "update", f"only {', '.join(sorted(arrays))}", f"the arrays of {kind.kind} evidence"
        ) from error
