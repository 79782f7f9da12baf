"""Differences from ``per_sample.parquet``, where the evidence itself is not at hand."""

import math

import numpy as np

from theodolite._runs.comparison.aligned_samples import MIN_SHARED, NotComparableError
from theodolite._runs.comparison.intervals import ResamplingSource, compute_paired_interval
from theodolite._runs.comparison.loaded_runs import LoadedRun
from theodolite._runs.comparison.paired_differences import Difference
from theodolite._scoring.request import Resampling
from theodolite._stats.resampling import draw_poisson_weights
from theodolite._storage.tables import read_parquet
from theodolite.metrics.base import total
from theodolite.results import Score

TABLE = "per_sample.parquet"
NO_EVIDENCE = "the evidence is not at hand, and what each sample gave was not kept"


def compute_table_difference(
    runs: tuple[LoadedRun, LoadedRun], scores: tuple[Score, Score], resampling: Resampling
) -> Difference:
    """Second minus first, from what each sample gave. Only where that adds up to the scores."""
    mine, yours = (_read_sample_values(run, score) for run, score in zip(runs, scores, strict=True))
    names = [name for name in mine if name in yours]
    if len(names) < MIN_SHARED:
        raise NotComparableError("other samples")
    if all(name.isdecimal() for name in names):
        raise NotComparableError("the evidence is not at hand, and samples have numbers only")
    values = np.array([[side[name] for side in (mine, yours)] for name in names])
    moved = values[:, 1] - values[:, 0]
    both = ~np.isnan(moved)
    if int(both.sum()) < MIN_SHARED:
        raise NotComparableError("no samples that count in both")
    moved, values = moved[both], values[both]
    weights = draw_poisson_weights(np.arange(len(moved)), resampling.resamples, resampling.seed)
    whole = weights.sum(axis=1)
    resampled = np.where(whole > 0, total(moved, weights) / np.maximum(whole, 1), np.nan)
    low, high = scores[0].bounds
    source = ResamplingSource("samples", len(moved), resampling.level, float(high - low))
    first, second = (float(column.mean()) for column in values.T)
    these = compute_paired_interval(resampled, float(moved.mean()), source)
    return Difference(first, second, these, len(moved))


def _read_sample_values(run: LoadedRun, score: Score) -> dict[str, float]:
    path = run.folder / TABLE
    if not path.is_file() or score.detail is not None:
        raise NotComparableError(NO_EVIDENCE)
    if any(interval.over == "clusters" for interval in score.intervals):
        raise NotComparableError(
            "the evidence is not at hand, and which samples belong together is not"
        )
    table = read_parquet(path)
    rows = zip(
        table["sample"], table["metric"], table["options"], table["value"], strict=True
    )  # as the run wrote them
    by_label: dict[str, dict[str, float]] = {}
    for sample, metric, label, value in rows:
        if metric == score.metric and _has_same_options(label, score):
            by_label.setdefault(label, {})[sample] = math.nan if value is None else value
    if not by_label:
        raise NotComparableError(NO_EVIDENCE)
    by_sample = by_label[max(by_label, key=len)]
    mean = np.nanmean([*by_sample.values(), *([np.nan] * (not by_sample))])
    expected = score.per_seed[0] if score.per_seed else score.value
    if not abs(mean - expected) <= 1e-9:
        raise NotComparableError("what each sample gave does not add up to the score")
    return by_sample


def _has_same_options(label: str, score: Score) -> bool:
    """Return whether the options that a row names are those of the score."""
    options = [part.partition("=") for part in label.split(", ") if "=" in part]
    return all(str(score.options.get(name)) == value for name, _, value in options)
