"""Register metrics by importing every module of the package, and find them by name."""

import difflib
import functools
import importlib
import pkgutil
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import theodolite.metrics
from theodolite.errors import EvidenceError
from theodolite.evidence import registry
from theodolite.evidence.plugins import leave_out, load_plugins
from theodolite.metrics.base import CATALOGUE, Metric

GROUP = "metrics"

GENERATED = "theodolite.metrics.functions"
"""Written from the catalogue, so that it is not read from them."""
QUANTUS_NAMES = {
    "FaithfulnessCorrelation": "map_fit",
    "SensitivityN": "map_fit",
    "RelevanceMassAccuracy": "relevance_mass",
    "AttributionLocalisation": "relevance_mass",
    "RelevanceRankAccuracy": "relevance_rank",
    "PointingGame": "relevance_peak",
    "MaxSensitivity": "max_sensitivity",
    "ModelParameterRandomisation": "randomization_similarity",
    "MPRT": "randomization_similarity",
    "Sparseness": "sparseness",
}
"""Metrics of Quantus with the same definition here; of ``map_fit`` the subsets are drawn again."""
NEAREST_TO_QUANTUS = {
    "PixelFlipping": "removal_necessity",
    "RegionPerturbation": "removal_necessity",
    "Selectivity": "removal_necessity",
    "IROF": "removal_necessity",
    "ROAD": "removal_faithfulness",
    "TopKIntersection": "relevance_top",
    "Completeness": "additivity_gap",
}
"""Metrics of Quantus that are defined otherwise, and what is nearest to them here."""


def catalogue() -> dict[str, Metric]:
    """Return every metric by name: ours, those of packages that join ``theodolite.metrics``, and
    those that were declared since."""
    global _in_order
    _load_packages()
    if _in_order != CATALOGUE:
        _in_order = dict(sorted(CATALOGUE.items()))
    return _in_order


_in_order: dict[str, Metric] = {}
"""A copy of ``CATALOGUE`` in the order of names; comparing it is cheaper than sorting anew."""


@functools.cache
def load_library() -> None:
    """Import every module of theodolite with metrics; once in a process."""
    for module in pkgutil.walk_packages(theodolite.metrics.__path__, "theodolite.metrics."):
        private = module.name.rpartition(".")[2].startswith("_")
        if not private and not module.name.startswith(GENERATED):
            importlib.import_module(module.name)


@functools.cache
def _load_packages() -> None:
    """Import every module with metrics; once in a process."""
    load_library()
    registry.kinds()  # metrics of other packages may need kinds of theirs
    before = set(CATALOGUE)
    for package, name, _ in load_plugins(GROUP, _remove_on_failure):
        for entered in sorted(set(CATALOGUE) - before):
            if fault := _fault_of(CATALOGUE[entered]):
                del CATALOGUE[entered]
                leave_out(package, GROUP, name, f"{entered}: {fault}")
        before = set(CATALOGUE)


@contextmanager
def _remove_on_failure() -> Iterator[None]:
    """Remove what a package registered if an exception ends its import."""
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
    """Return a metric by its name, or by its name in papers or in Quantus.

    >>> find_metric("CTL").name, find_metric("surf-mae").name, find_metric("PointingGame").name
    ('concept_task_leakage', 'surrogate_error', 'relevance_peak')
    """
    metric, options = find_metric_and_options(name)
    if options:
        text = ", ".join(f"{option}={choice}" for option, choice in options.items())
        raise EvidenceError("metric", repr(name), f"its name and options: {metric.name}, {text}")
    return metric


def find_metric_and_options(name: str) -> tuple[Metric, dict[str, Any]]:
    """Return a metric, and the options that a paper's name implies: CGIM2 is form 2 of CGIM."""
    if name in catalogue():
        return catalogue()[name], {}
    bearers = paper_names().get(fold_name(name), ())
    if len(bearers) == 1:
        return catalogue()[bearers[0]], {}
    if bearers:
        raise EvidenceError(
            "metric", repr(name), f"one of {', '.join(bearers)}", "Several scores go by that name."
        )
    numbered = re.fullmatch(r"(.*[^0-9])([0-9]+)", name)
    bearers = paper_names().get(fold_name(numbered[1]), ()) if numbered else ()
    if numbered and len(bearers) == 1:
        metric, number = catalogue()[bearers[0]], int(numbered[2])
        if metric.sweeps and number in metric.choices(metric.sweeps[0]):
            return metric, {metric.sweeps[0]: number}
    if name in QUANTUS_NAMES:
        return catalogue()[QUANTUS_NAMES[name]], {}
    raise _unknown(name)


def paper_names() -> dict[str, tuple[str, ...]]:
    """Return the metrics by their names in papers, without case and hyphens.

    A name that begins several (SURF: SURF_MAE and SURF_EMD) is none of them.
    """
    names: dict[str, list[str]] = {}
    for metric in catalogue().values():
        for paper_name in metric.paper_names:
            names.setdefault(fold_name(paper_name), []).append(metric.name)
            group, _, rest = paper_name.rpartition("_")
            if rest and len(group) > 1:
                names.setdefault(fold_name(group), []).append(metric.name)
    return {name: tuple(bearers) for name, bearers in names.items()}


def fold_name(name: str) -> str:
    """Return a name without case, spaces and hyphens."""
    return re.sub(r"[-_ ]", "", name).casefold()


def _unknown(name: str) -> EvidenceError:
    if name in NEAREST_TO_QUANTUS:
        nearest = f"Quantus defines it otherwise; the nearest is {NEAREST_TO_QUANTUS[name]}."
        return EvidenceError("metric", repr(name), "a score of the catalogue", nearest)
    known = [*catalogue(), *(p for m in catalogue().values() for p in m.paper_names)]
    close = difflib.get_close_matches(name, known, n=3, cutoff=0.3)
    such = f", such as {', '.join(close)}" if close else ""
    return EvidenceError(
        "metric", repr(name), f"a score of the catalogue{such}", "See `theodolite metrics`."
    )
