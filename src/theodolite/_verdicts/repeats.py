"""Rows of the evidence that repeat each other: counted once, or said to be in doubt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theodolite._stats.copies import copy_clusters, near_copy_share
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.shards import InMemoryShards, Shards
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Caveat, Score

MOST_NEAR_COPIES = 0.1
"""Of independent rows it is a hundredth; of sixty rows seldom more than 0.07."""
NEAR_COPIES = Caveat(
    "data_quality",
    "rows come in near-identical pairs: declare clusters, or each row as its own cluster if they "
    "are independent",
    ("no", "partly"),
)
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
    if clusters is not None:
        n = len(clusters) - len(np.unique(clusters))
        note = f"{n:,} of {len(clusters):,} rows repeat others; they are counted once."
        return RepeatedRows([_declared(kinds, evidence, clusters) for kinds in seeds], (note,))
    if near_copy_share(rows) > MOST_NEAR_COPIES:
        return RepeatedRows(seeds, (f"{NEAR_COPIES.summary.capitalize()}.",), NEAR_COPIES)
    return RepeatedRows(seeds)


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
