"""Panels that show samples: a concept's values by label, and its vectors from their widest side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite._stats.information import is_discrete
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.report.chapters.leakage_models import ReportModel, known_rows
from theodolite.report.figures.bars import BinCounts, Bins, Heights, two_sided_histogram
from theodolite.report.figures.points import cloud
from theodolite.report.figures.scales import Scale, round_scale
from theodolite.report.figures.svg import REST, Figure, swatch

BINS = 24
MOST_LABELS = 4
MOST_POINTS = 1500
UNEVEN = 12.0
"""From this ratio of the tallest to the median bar on, counts are drawn logarithmically."""


def activation_panels(
    models: Sequence[ReportModel], concepts: Sequence[str]
) -> list[dict[str, Any]]:
    """One row per concept, one panel per model that has it."""
    model_evidence = [
        (model, evidence)
        for model in models
        for evidence in [model.concepts()]
        if evidence is not None
    ]
    if not model_evidence:
        return []
    rows = [_activation_row(concept, model_evidence) for concept in concepts]
    return [row for row in rows if row["panels"]]


def _activation_row(
    concept: str, model_evidence: Sequence[tuple[ReportModel, ConceptEvidence]]
) -> dict[str, Any]:
    matches = [(model, evidence) for model, evidence in model_evidence if _knows(evidence, concept)]
    if not matches:
        return {"panels": []}
    labels = _telling_labels(matches[0][1], concept)
    histograms = [(model, *_histogram(evidence, concept, labels)) for model, evidence in matches]
    totals = np.concatenate([c for _, _, groups in histograms for g in groups
                             for c in (g.there, g.not_there)])  # fmt: skip
    tallest = int(totals.max())
    uneven = tallest > UNEVEN * float(np.median(totals[totals > 0]))
    heights = Heights.up_to(tallest, logarithmic=uneven)
    names = matches[0][1].classes.names
    rest = len(_labels(matches[0][1])) > len(labels)
    key = [(swatch(style, filled=True), names[label]) for style, label in enumerate(labels)]
    return {
        "concept": concept,
        "key": key,
        "rest": rest,
        "logarithmic": uneven,
        "panels": [
            Figure(
                two_sided_histogram(groups, bins, heights, f"Values of {concept}, {model.name}"),
                model.name,
            )
            for model, bins, groups in histograms
        ],
    }


def _knows(evidence: ConceptEvidence, concept: str) -> bool:
    names = evidence.concepts.names
    return concept in names and len(known_rows(evidence, names.index(concept))) > 0


def _labels(evidence: ConceptEvidence) -> list[int]:
    return [int(label) for label in np.unique(np.asarray(evidence.labels))]


def _telling_labels(evidence: ConceptEvidence, concept: str) -> list[int]:
    """Both labels; of more, those whose values lie lowest and highest given the concept."""
    all_labels = _labels(evidence)
    if len(all_labels) <= 2:
        return all_labels
    j = evidence.concepts.names.index(concept)
    rows = known_rows(evidence, j)
    values = np.asarray(evidence.values, float)[rows, j]
    truth, labels = np.asarray(evidence.truth)[rows, j], np.asarray(evidence.labels)[rows]
    for there in (False, True):
        own = truth == there
        if own.any():
            values[own] -= values[own].mean()
    counts = {label: int((labels == label).sum()) for label in all_labels}
    enough = [label for label in all_labels if counts[label] >= 5] or all_labels
    order = sorted(enough, key=lambda label: float(values[labels == label].mean()))
    ends = order if len(order) <= MOST_LABELS else [*order[:2], *order[-2:]]
    return sorted(ends)


def _histogram(
    evidence: ConceptEvidence, concept: str, labels: Sequence[int]
) -> tuple[Bins, list[BinCounts]]:
    j = evidence.concepts.names.index(concept)
    rows = known_rows(evidence, j)
    values = np.asarray(evidence.values, float)[rows, j]
    there, own = np.asarray(evidence.truth)[rows, j], np.asarray(evidence.labels)[rows]
    bins = _bins(values)
    number = _bin_of(values, bins)

    def counts(chosen: np.ndarray) -> Int[np.ndarray, " bins"]:
        return np.bincount(number[chosen], minlength=len(bins.edges)).astype(np.int64)

    groups = []
    others = ~np.isin(own, labels)
    if others.any():
        groups.append(
            BinCounts("other labels", REST, counts(others & there), counts(others & ~there))
        )
    for style, label in enumerate(labels):
        mine = own == label
        name = evidence.classes.names[label]
        groups.append(BinCounts(name, style, counts(mine & there), counts(mine & ~there)))
    return bins, groups


def _bins(values: Float[np.ndarray, " samples"]) -> Bins:
    """Equal ones from 0 to 1, or over the range of logits; one per value where there are few."""
    seen = np.unique(values)
    if is_discrete(values) and len(seen) <= 12:
        edges = np.stack([seen - 0.12, seen + 0.12], axis=1)
        scale = Scale(float(seen[0]) - 0.5, float(seen[-1]) + 0.5, tuple(float(v) for v in seen))
        return Bins(edges, scale)
    if seen[0] >= 0 and seen[-1] <= 1:
        scale = Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    else:
        scale = round_scale([seen[0], seen[-1]], (-np.inf, np.inf), zero=False)
    ends = np.linspace(scale.low, scale.high, BINS + 1)
    return Bins(np.stack([ends[:-1], ends[1:]], axis=1), scale)


def _bin_of(values: Float[np.ndarray, " samples"], bins: Bins) -> Int[np.ndarray, " samples"]:
    numbers = np.searchsorted(bins.edges[:, 0], values, side="right") - 1
    return np.clip(numbers, 0, len(bins.edges) - 1)


def vector_panels(models: Sequence[ReportModel]) -> list[dict[str, Any]]:
    """One row per model that has vectors: the first concept's, by label and by other concepts."""
    rows = []
    for model in models:
        evidence = model.evidence(EmbeddingEvidence)
        if evidence is not None and evidence.explained.truth is not None:
            rows.append(_vector_row(model.name, evidence))
    return [row for row in rows if row is not None]


def _vector_row(model: str, evidence: EmbeddingEvidence) -> dict[str, Any] | None:
    vectors = np.asarray(evidence.vectors[:, 0], float)
    if min(vectors.shape) < 2 or np.ptp(vectors, axis=0).max() <= 0:
        return None
    from sklearn.decomposition import PCA  # noqa: PLC0415  takes a second to load

    pca = PCA(n_components=2, svd_solver="full").fit(vectors)
    shares = [float(share) for share in pca.explained_variance_ratio_]
    rows = np.arange(len(vectors))
    if len(rows) > MOST_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_POINTS, replace=False))
    points = pca.transform(vectors[rows])
    concept_evidence = evidence.explained
    first = concept_evidence.concepts.names[0]
    panels = []
    for title, styles, names in _colourings(concept_evidence):
        key = [(swatch(style), name) for style, name in enumerate(names)]
        caption = f"Vectors of {first} by {title}, {model}"
        rest = bool((styles[rows] == REST).any())
        panels.append(
            {"svg": cloud(points, styles[rows], caption), "title": title, "key": key, "rest": rest}
        )
    return {
        "model": model,
        "concept": first,
        "panels": panels,
        "shares": " and ".join(f"{100 * share:.0f} %" for share in shares),
        "drawn": f"{len(rows):,} of {len(vectors):,} samples",
    }


def _colourings(
    evidence: ConceptEvidence,
) -> list[tuple[str, Int[np.ndarray, " samples"], list[str]]]:
    """Group by label (the four most frequent), then by truth of the second and third concept."""
    colourings = []
    if evidence.labels is not None:
        labels = np.asarray(evidence.labels)
        numbers, counts = np.unique(labels, return_counts=True)
        common = sorted(numbers[np.argsort(-counts, kind="stable")][:MOST_LABELS].tolist())
        styles = np.full(len(labels), REST)
        for style, label in enumerate(common):
            styles[labels == label] = style
        colourings.append(("label", styles, [evidence.classes.names[label] for label in common]))
    for j in range(1, min(3, len(evidence.concepts))):
        styles = np.full(len(evidence), REST)
        rows = known_rows(evidence, j)
        styles[rows] = np.asarray(evidence.truth)[rows, j]
        colourings.append((evidence.concepts.names[j], styles, ["not there", "there"]))
    return colourings
