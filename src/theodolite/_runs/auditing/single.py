"""One score with its interval and its nulls."""

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
from theodolite._runs.auditing.sources import together
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
    """One metric of what you have: its value with interval and nulls.

    Args:
        metric: Its name, as ``theodolite metrics`` lists it.
        evidence: As in ``theodolite.audit``.
        options: Its options, as ``theodolite metrics NAME`` lists them.
        resampling: How intervals and nulls are drawn, where ``seed`` and ``resamples`` are not all.
        progress: Called as work goes on.
        seed: Seed of intervals and nulls, 0 if not given.
        resamples: Resamples for intervals, 1000 if not given.
        **arrays: Plain arrays instead of evidence, as in ``theodolite.audit``.

    Returns:
        The score with the options that its card quotes; with an option that takes several values at
        once, those of the other values are in ``Score.sweep``.

    Example:
        >>> import theodolite
        >>> from theodolite.testing import planted_concepts
        >>> theodolite.score("concept_existence", planted_concepts(), options={"top": 3}).value
        1.0
    """
    resampling = chosen_resampling(resampling, seed, resamples)
    entry = find_metric(metric)
    swept = {name: _several(value) for name, value in options.items() if name in entry.sweeps}
    chosen = MetricRequest(entry, {**options, **swept}).options
    if entry.detail:  # else every choice of it is asked
        chosen = {"over": entry.default("over"), **chosen}
    selection = MetricSelection({entry.name: [chosen]}, NOT_AMONG_METRICS)
    source = together(evidence_parts(evidence, arrays, "score"))
    scores = answer_source(source, resampling, progress, selection, "raise").scores
    first = max(scores, key=lambda s: sum(s.options.get(k) == v for k, v in entry.headline.items()))
    return replace(first, sweep=tuple(s for s in scores if s is not first))


def _several(value: object) -> object:
    """A swept option takes several values: one alone is a list of one."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)
