"""Compare scores of Quantus with ratings and with our scores.

The input is the dictionary that ``quantus.evaluate(..., agg_func=lambda scores: scores)`` returns,
or its JSON; Quantus itself is not needed. Lost are the direction and settings of each metric, and
everything that was aggregated before. Curves of single samples become their mean. Quantus scores
have no interval or baseline: compare them with ratings or with our scores.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from theodolite.bridges._tensors import numbers
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.axes import Measures
from theodolite.evidence.kinds.rating import RatingEvidence

Curves = Literal["mean", "last", "refuse"]
Results = Mapping[str, Any]
WHOLE = "Ask for every sample: quantus.evaluate(..., agg_func=lambda scores: scores)."


def columns(
    results: Results, *, curves: Curves = "mean"
) -> dict[str, dict[str, Float[np.ndarray, " samples"]]]:
    """Return a number per sample for each method and metric; NaN if Quantus returned none.

    A metric that was called with several sets of arguments is several columns: ``metric (set)``.

    >>> columns({"IG": {"Sparseness": [0.5, None]}})
    {'IG': {'Sparseness': array([0.5, nan])}}
    """
    by_method: dict[str, dict[str, np.ndarray]] = {}
    for method, metrics in results.items():
        if not isinstance(metrics, Mapping):
            raise EvidenceError(
                "results", f"{type(metrics).__name__} for {printable(method)!r}",
                "method -> metric -> a score for each sample",
            )  # fmt: skip
        by_method[str(method)] = {}
        for metric, scores in metrics.items():
            calls = scores if isinstance(scores, Mapping) else {"": scores}
            for call, call_scores in calls.items():
                name = f"{metric} ({call})" if call else str(metric)
                by_method[str(method)][name] = _sample_scores(
                    call_scores, f"{method}, {name}", curves
                )
    lengths = {len(values) for by_metric in by_method.values() for values in by_metric.values()}
    if len(lengths) != 1:
        raise EvidenceError(
            "results",
            f"{sorted(lengths) or 'no'} scores",
            "a score for each sample, for all",
            WHOLE,
        )
    return by_method


def table(
    results: Results, *, ids: Sequence[str] | None = None, curves: Curves = "mean"
) -> dict[str, list[Any]]:
    """A long table with the columns sample, method, metric and value: a row for each score.

    ``ids`` names the samples, in the order in which Quantus saw them; else they are numbered.
    """
    rows: dict[str, list[Any]] = {"sample": [], "method": [], "metric": [], "value": []}
    for method, metrics in columns(results, curves=curves).items():
        for metric, values in metrics.items():
            names = [str(i) for i in range(len(values))] if ids is None else list(ids)
            if len(names) != len(values):
                raise EvidenceError("ids", f"{len(names)}", f"{len(values)}, one for each sample")
            rows["sample"] += names
            rows["method"] += [method] * len(values)
            rows["metric"] += [metric] * len(values)
            rows["value"] += values.tolist()
    return rows


def beside_votes(
    rated: RatingEvidence, results: Results, *, position: Any, curves: Curves = "mean"
) -> RatingEvidence:
    """Add scores of Quantus to the measures of ratings, for ``vote_correlations``.

    Args:
        rated: Votes with ``technique``; its names must be those of Quantus' methods. What was
            measured before stays.
        results: As above.
        position: For each explanation that was voted on, the position of its sample in
            ``x_batch``.
        curves: What becomes of curves.
    """
    if rated.technique is None:
        raise EvidenceError("technique", "none", "the technique of each explanation")
    by_method = columns(results, curves=curves)
    n = len(next(iter(next(iter(by_method.values())).values())))
    at = numbers(position, "position")
    if at.shape != (len(rated),) or at.dtype.kind not in "iu" or at.min() < 0 or at.max() >= n:
        raise EvidenceError(
            "position", f"{at.dtype} of shape {at.shape}",
            f"for each of {len(rated)} explanations a number from 0 to {n - 1}",
        )  # fmt: skip
    names = [*dict.fromkeys(metric for by_metric in by_method.values() for metric in by_metric)]
    measured = np.full((len(rated), len(names)), np.nan)
    for number, technique in enumerate(rated.techniques.names):
        for column, metric in enumerate(names):
            values = by_method.get(technique, {}).get(metric)
            rows = np.asarray(rated.technique) == number
            if values is not None:
                measured[rows, column] = values[at[rows]]
    if np.isnan(measured).all():
        raise EvidenceError(
            "techniques", f"{list(rated.techniques.names)[:5]}", f"methods of {list(by_method)[:5]}"
        )
    before = [] if rated.measured is None else list(rated.measures.names)
    old = np.empty((len(rated), 0)) if rated.measured is None else np.asarray(rated.measured)
    both = np.concatenate([old, measured], axis=1)
    return replace(rated, measured=both, measures=Measures((*before, *names)))


def _sample_scores(scores: Any, what: str, curves: Curves) -> Float[np.ndarray, " samples"]:
    """A number for each sample."""
    if np.ndim(scores) == 0 if not isinstance(scores, list | tuple) else not scores:
        raise EvidenceError(printable(what), "one number for all samples", "one for each", WHOLE)
    return np.array([_sample_score(score, what, curves) for score in scores])


def _sample_score(score: Any, what: str, curves: Curves) -> float:
    try:
        values = np.atleast_1d(np.asarray(np.nan if score is None else score, np.float64))
    except (TypeError, ValueError) as error:
        raise EvidenceError(printable(what), f"{score!r:.60}", "numbers") from error
    if values.ndim != 1 or not values.size or (curves == "refuse" and values.size > 1):
        raise EvidenceError(printable(what), f"shape {values.shape} for a sample", "one number")
    return float(values[-1] if curves == "last" else values.mean())
