"""The catalogue, filled by walking the package: a metric is found because its file is there."""

import difflib
import functools
import importlib
import pkgutil
from collections.abc import Iterator
from contextlib import contextmanager

import theodolite.metrics
from theodolite.errors import EvidenceError
from theodolite.evidence import registry
from theodolite.metrics.base import CATALOGUE, Metric
from theodolite.plugins import leave_out, load_each

GROUP = "metrics"


@functools.cache
def catalogue() -> dict[str, Metric]:
    """Every metric by name: ours, and those of packages that join ``theodolite.metrics``."""
    for module in pkgutil.walk_packages(theodolite.metrics.__path__, "theodolite.metrics."):
        if not module.name.rpartition(".")[2].startswith("_"):
            importlib.import_module(module.name)
    registry.kinds()  # metrics of other packages may need kinds of theirs
    before = set(CATALOGUE)
    for package, name, _ in load_each(GROUP, _unless_it_fails):
        for entered in sorted(set(CATALOGUE) - before):
            if fault := _fault_of(CATALOGUE[entered]):
                del CATALOGUE[entered]
                leave_out(package, GROUP, name, f"{entered}: {fault}")
        before = set(CATALOGUE)
    return dict(sorted(CATALOGUE.items()))


@contextmanager
def _unless_it_fails() -> Iterator[None]:
    """What a package enters goes again if an exception ends it."""
    before = dict(CATALOGUE)
    try:
        with registry.unless_it_fails():
            yield
    except BaseException:
        CATALOGUE.clear()
        CATALOGUE.update(before)
        raise


def _fault_of(metric: Metric) -> str:
    """Why a metric of another package cannot be asked; empty if it can."""
    try:
        kind = metric.needs
        if kind not in registry.kinds().values():
            return f"it needs {kind.__name__}, which is no kind of evidence"
        known = {name for name, _ in kind.layouts()}
        known |= {f"{n}.{name}" for n, own in kind.inner_kinds() for name, _ in own.layouts()}
        choices = (arrays for option in metric.uses_if.values() for arrays in option.values())
        unknown = {*metric.uses, *(name for arrays in choices for name in arrays)} - known
        metric.hints()
    except Exception as error:  # noqa: BLE001  the declaration cannot be read
        return f"{type(error).__name__}: {error}"
    return f"{sorted(unknown)[0]!r} is no array of {kind.kind} evidence" if unknown else ""


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
