"""The catalogue, filled by walking the package: a metric is found because its file is there."""

import difflib
import functools
import importlib
import importlib.metadata
import pkgutil

import theodolite.metrics
from theodolite.errors import EvidenceError
from theodolite.metrics.base import CATALOGUE, Metric


@functools.cache
def catalogue() -> dict[str, Metric]:
    """Every metric by name: ours, and those of packages that join ``theodolite.metrics``."""
    for module in pkgutil.walk_packages(theodolite.metrics.__path__, "theodolite.metrics."):
        if not module.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(module.name)
    for point in importlib.metadata.entry_points(group="theodolite.metrics"):
        point.load()
    return dict(sorted(CATALOGUE.items()))


def find_metric(name: str) -> Metric:
    """One metric by name."""
    metric = catalogue().get(name)
    if metric is None:
        close = difflib.get_close_matches(name, catalogue(), n=3, cutoff=0.3)
        such = f", such as {', '.join(close)}" if close else ""
        raise EvidenceError(
            "metric", repr(name), f"a score of the catalogue{such}", "See `theodolite metrics`."
        )
    return metric
