"""Public function ``theodolite.score``: compute one metric with its interval and baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from theodolite._runs.auditing.common import PlainArray
from theodolite._runs.auditing.front import (
    Source,
    chosen_resampling,
    evidence_parts,
)
from theodolite._runs.auditing.result import answer_source
from theodolite._runs.auditing.sources import merge_sources
from theodolite._scoring.evaluate import Resampling
from theodolite._scoring.request import MetricRequest
from theodolite._verdicts.missing import NOT_AMONG_METRICS
from theodolite._verdicts.selection import MetricSelection
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Score


def score(  # noqa: PLR0913  as audit has them
    metric: str,
    evidence: Source | Sequence[Source] | None = None,
    *,
    options: Mapping[str, object] = MappingProxyType({}),
    resampling: Resampling | None = None,
    progress: Progress = silent,
    seed: int | None = None,
    resamples: int | None = None,
    **arrays: PlainArray,
) -> Score:
    """Compute one metric of your evidence, with its interval and baselines.

    Args:
        metric: Name of the metric; ``theodolite metrics`` lists them.
        evidence: As in ``theodolite.audit``.
        options: Options of the metric; ``theodolite metrics NAME`` lists them.
        resampling: All settings of resampling, if ``seed`` and ``resamples`` are not enough.
        progress: Function that is called while the score is computed.
        seed: Seed of intervals and baselines. Default: 0.
        resamples: Number of resamples for intervals. Default: 1000.
        **arrays: Plain arrays instead of evidence, as in ``theodolite.audit``.

    Returns:
        The score with the options that its card quotes. If an option takes several values at once,
        ``Score.sweep`` has the scores for the other values.

    Example:
        >>> import theodolite
        >>> from theodolite.testing import planted_concepts
        >>> theodolite.score("concept_existence", planted_concepts(), options={"top": 3}).value
        1.0
    """
    resampling = chosen_resampling(resampling, seed, resamples)
    entry = find_metric(metric)
    swept = {name: _as_tuple(value) for name, value in options.items() if name in entry.sweeps}
    chosen = MetricRequest(entry, {**options, **swept}).options
    if entry.detail:  # otherwise every choice of "over" is computed
        chosen = {"over": entry.default("over"), **chosen}
    selection = MetricSelection({entry.name: [chosen]}, NOT_AMONG_METRICS)
    source = merge_sources(evidence_parts(evidence, arrays, "score"))
    scores = answer_source(source, resampling, progress, selection, "raise").scores
    first = max(scores, key=lambda s: sum(s.options.get(k) == v for k, v in entry.headline.items()))
    return replace(first, sweep=tuple(s for s in scores if s is not first))


def _as_tuple(value: object) -> object:
    """Return the values of a swept option as a tuple, even if there is one only."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)
