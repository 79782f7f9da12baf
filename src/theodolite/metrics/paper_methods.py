"""Methods by the names that their papers give them, where one name is not one metric."""

from typing import NamedTuple

from theodolite.metrics.base import Metric
from theodolite.metrics.catalogue import catalogue, fold_name, paper_names


class PaperMethod(NamedTuple):
    """What to use here for a method of a paper."""

    names: tuple[str, ...]
    """As the paper writes it, the usual name first."""
    metrics: tuple[str, ...]
    commands: tuple[str, ...] = ()
    """Commands that run it, or show its data."""


METHODS = (
    PaperMethod(
        ("PASTA", "PASTA score", "PASTA-metric"),
        ("predicted_rating_agreement", "predicted_rating_correlation", "predicted_rating_error"),
        ("papers accept train", "papers accept score"),
    ),
    PaperMethod(
        ("PASTA data set", "PASTA dataset"),
        ("rater_agreement", "rater_correlation"),
        ("data info pasta_votes", "data info pasta_images"),
    ),
    PaperMethod(
        ("CoAM", "concept activation mapping"),
        ("concept_location",),
        ("papers show alignment_monumai",),
    ),
    PaperMethod(
        ("Network Dissection", "NetDissect", "compositional explanations"),
        ("unit_iou",),
        ("dissect --help",),
    ),
    PaperMethod(("C-SHAP-Eval", "ICE-Eval"), ("surrogate_accuracy",)),
)


def find_method(name: str) -> PaperMethod | None:
    """Return what stands for a name of a paper that is not one metric's name.

    >>> find_method("SURF").metrics, find_method("pasta score").metrics[0]
    (('surrogate_distance', 'surrogate_error'), 'predicted_rating_agreement')
    """
    folded = fold_name(name)
    for method in METHODS:
        if folded in map(fold_name, method.names):
            return method
    bearers = paper_names().get(folded, ())
    return PaperMethod((name,), bearers) if len(bearers) > 1 else None


def list_names_in_papers(metric: Metric) -> tuple[str, ...]:
    """Return every name by which a reader of a paper may look for a metric.

    >>> list_names_in_papers(catalogue()["surrogate_error"])
    ('SURF_MAE', 'SURF MAE', 'SURF')
    """
    names = list(metric.paper_names)
    for name in metric.paper_names:
        group = name.rpartition("_")[0]
        names += [name.replace("_", " "), group] if len(group) > 1 else []
    names += [name for method in METHODS if metric.name in method.metrics for name in method.names]
    return tuple(dict.fromkeys(names))


def list_of_paper(paper: str) -> list[Metric]:
    """Return the metrics of a paper, by author and year, such as makinwa2022."""
    return [metric for metric in catalogue().values() if metric.cite.startswith(paper)]
