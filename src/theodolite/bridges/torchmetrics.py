"""Compute theodolite metrics during training: any registered metric as a torchmetrics metric."""

from typing import TYPE_CHECKING, Any

from theodolite._scoring.request import expand
from theodolite._storage.optional import require
from theodolite.bridges._batch_metric import BatchMetric
from theodolite.errors import EvidenceError
from theodolite.metrics.catalogue import find_metric

if TYPE_CHECKING:
    import torchmetrics


def as_metric(name: str, **options: Any) -> "torchmetrics.Metric":
    """Return a metric of the catalogue as a ``torchmetrics.Metric``.

    ``update`` takes the arrays of the evidence by name, as tensors. ``compute`` returns the score
    that a report shows, without interval and baselines. Options default to those that the metric's
    card quotes. If you pass several values of a swept option, such as ``top``, ``compute`` returns
    one number for each.

    Example:
        >>> import torch
        >>> metric = as_metric("concept_existence", top=1, rank_by="value")
        >>> metric.update(values=torch.tensor([[0.9, 0.1]]), truth=torch.tensor([[1, 0]]))
        >>> metric.update(values=torch.tensor([[0.2, 0.8]]), truth=torch.tensor([[1, 0]]))
        >>> metric.compute()
        tensor(0.5000, dtype=torch.float64)
    """
    require("torchmetrics", "torchmetrics", "torch")
    from theodolite.bridges._torch_metric import TheodoliteMetric  # noqa: PLC0415

    return TheodoliteMetric(make_batch_metric(name, options))


def make_batch_metric(name: str, options: dict[str, Any]) -> BatchMetric:
    """Return the metric with its options; swept ones default to what its card quotes."""
    metric = find_metric(name)
    several = [s for s in metric.sweeps if isinstance(options.get(s), list | tuple)]
    quoted = {s: metric.headline.get(s, metric.default(s)[0]) for s in metric.sweeps}
    requests = list(expand(metric, quoted | options))
    if len(requests) > 1:
        raise EvidenceError(f"options of {name}", "several choices", "one metric for each choice")
    single = tuple(s for s in metric.sweeps if s not in several)
    return BatchMetric(metric.name, requests[0].options, single)
