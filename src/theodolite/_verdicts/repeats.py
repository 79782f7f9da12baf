"""Rows of the evidence that repeat each other: counted once, or said to be in doubt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theodolite._stats.copies import copy_clusters
from theodolite._stats.similar_rows import find_similar_rows
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.shards import InMemoryShards, Shards
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.leak_free.predictive import concept_strata
from theodolite.results import Caveat, Score

ROWS: dict[type[Evidence], str] = {ConceptEvidence: "values", EmbeddingEvidence: "vectors"}
"""Kinds whose rows are compared, and the array that they are compared by."""
Seeds = Sequence[Mapping[type[Evidence], Shards]]


@dataclass(frozen=True, eq=False)
class RepeatedRows:
    """The evidence with copies as clusters, and what a reader must know of it."""

    seeds: Seeds
    notes: tuple[str, ...] = ()
    caveat: Caveat | None = None


def find_repeats(seeds: Seeds) -> RepeatedRows:
    """Copies become clusters of all evidence about the same samples.

    Only evidence that is in memory and declares no clusters is looked at.
    """
    own = next((seeds[0][kind] for kind in ROWS if kind in seeds[0]), None)
    if not isinstance(own, InMemoryShards) or own.whole.samples.clusters is not None:
        return RepeatedRows(seeds)
    evidence: Any = own.whole
    inner = next((bundle for _, bundle in evidence._inner()), evidence)
    values = getattr(evidence, ROWS[own.kind])
    others = [
        np.asarray(part).reshape(len(values), -1)
        for part in (inner.truth, inner.labels)
        if part is not None
    ]
    rows = np.asarray(values).reshape(len(values), -1)
    clusters = copy_clusters(rows, *([np.hstack(others)] if others else []))
    notes: tuple[str, ...] = ()
    distinct = np.arange(len(rows))
    if clusters is not None:
        distinct = np.unique(clusters)
        n = len(clusters) - len(distinct)
        notes = (f"{n:,} of {len(clusters):,} rows repeat others; they are counted once.",)
        seeds = [_declared(kinds, evidence, clusters) for kinds in seeds]
    similar = None
    if inner.truth is not None and inner.labels is not None:
        strata = np.repeat(concept_strata(inner).T, rows.shape[1] // inner.truth.shape[1], axis=1)
        labels = np.asarray(inner.labels)
        similar = find_similar_rows(rows[distinct], strata[distinct], labels[distinct])
    if similar is None:
        return RepeatedRows(seeds, notes)
    summary = similar.summary
    caveat = Caveat("data_quality", summary, ("no", "partly"))
    return RepeatedRows(seeds, (*notes, f"{summary[0].upper()}{summary[1:]}."), caveat)


def _declared(
    kinds: Mapping[type[Evidence], Shards], evidence: Evidence, clusters: np.ndarray
) -> dict[type[Evidence], Shards]:
    index = np.asarray(evidence.samples.index)
    keys = index[clusters]
    changed: dict[type[Evidence], Shards] = dict(kinds)
    for kind, shards in kinds.items():
        if isinstance(shards, InMemoryShards) and shards.whole.samples.clusters is None:
            same = np.array_equal(np.asarray(shards.whole.samples.index), index)
            if same:
                changed[kind] = InMemoryShards(_with_clusters(shards.whole, keys))
    return changed


def _with_clusters(evidence: Any, clusters: np.ndarray) -> Any:
    samples = replace(evidence.samples, clusters=clusters)
    inside = {name: _with_clusters(bundle, clusters) for name, bundle in evidence._inner()}
    return replace(evidence, samples=samples, **inside)


def with_doubt(scores: Sequence[Score], doubt: Caveat | None) -> tuple[Score, ...]:
    """Scores that look for leakage must not accuse on such evidence."""
    if doubt is None:
        return tuple(scores)
    return tuple(
        replace(score, caveat=score.caveat or doubt)
        if score.question == "leak_free" and find_metric(score.metric).is_defect_metric
        else score
        for score in scores
    )
