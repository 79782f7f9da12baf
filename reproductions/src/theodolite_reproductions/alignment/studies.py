"""Tables for claims of Aysel et al. (2025) that its scores alone do not tell."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from theodolite.datasets.concept_data import ConceptData, split_rows
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.models.concept_bank import Projection
from theodolite.models.posthoc import PosthocBottleneck
from theodolite.pipelines.posthoc.evidence import PostHocInputs, concept_evidence
from theodolite.pipelines.posthoc.network import NetworkOutputs
from theodolite_reproductions.alignment.named import (
    class_means,
    contributions,
    cosines,
    first_named,
    share_there,
)
from theodolite_reproductions.alignment.region_study import region_table
from theodolite_reproductions.bottlenecks.settings import (
    BottleneckSettings,
    Encoding,
    LabeledFeatures,
)

PROJECTIONS: tuple[Projection, ...] = ("dot", "margin", "centered")
REFERENCES = ("share", "majority")
"""What annotators say of a class: the share who say so, or whether most do."""
COLUMNS = ("seed", "projection", "reference", "over", "form", "item", "value")
ENCODINGS: tuple[Encoding, ...] = ("soft", "logit")
NAMED = 5
VALIDATION = 0.2
Table = dict[str, list[Any]]


def study_tables(
    data: ConceptData,
    work: PostHocInputs,
    models: Sequence[PosthocBottleneck],
    bundles: Sequence[Sequence[Evidence]],
    answers: NetworkOutputs | None,
    seeds: Sequence[int],
) -> dict[str, Table]:
    """By name; every table has a row an image, concept or class, for each seed."""
    tables: dict[str, list[Table]] = {"global_importance": [], "named_concepts": [], "regions": []}
    for seed, model, own in zip(seeds, models, bundles, strict=True):
        tables["global_importance"].append(importance_table(data, work, model, seed))
        tables["named_concepts"].append(image_table(data, work, model, answers, seed))
        tables["regions"] += [
            region_table(data, bundle, seed)
            for bundle in own
            if isinstance(bundle, LocationEvidence) and bundle.points is not None
        ]
    return {name: stacked(parts) for name, parts in tables.items() if parts}


def stacked(parts: Sequence[Table]) -> Table:
    """Tables of the same columns, one below the other."""
    return {name: [value for part in parts for value in part[name]] for name in parts[0]}


def importance_table(
    data: ConceptData, work: PostHocInputs, model: PosthocBottleneck, seed: int
) -> Table:
    """CGIM of each concept and of each class, for each projection and reference."""
    rows: list[tuple[Any, ...]] = []
    axes = (("concepts", data.concepts.names), ("classes", data.classes.names))
    features = work.features[work.test]
    for projection in PROJECTIONS:
        own = model.projected(projection)
        means = class_means(concept_evidence(data, work.test, own, features))
        forms = {1: own.weights, 2: means, 3: own.weights * means}
        for reference in REFERENCES:
            share = np.asarray(data.class_truth, float)
            truth = share if reference == "share" else (share >= 0.5).astype(float)
            rows += [
                (seed, projection, reference, over, form, name, float(value))
                for over, names in axes
                for form, matrix in forms.items()
                for name, value in zip(
                    names, cosines(matrix, truth, of_classes=over == "classes"), strict=True
                )
            ]
    return dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))


def image_table(
    data: ConceptData,
    work: PostHocInputs,
    model: PosthocBottleneck,
    answers: NetworkOutputs | None,
    seed: int,
) -> Table:
    """Of each test image: what is right, and what is there of the concepts that are named first,
    beside bottlenecks that were trained on the concepts' labels."""
    rows, features = work.test, work.features[work.test]
    evidence = concept_evidence(data, rows, model, features)
    labels = data.labels[rows]
    table: Table = {
        "class": labels.tolist(),
        "seed": [seed] * len(rows),
        "bottleneck": (evidence.predicted == labels).astype(float).tolist(),
    }
    if answers is not None and answers.match is None:
        right = answers.outputs[rows].argmax(axis=1) == labels
        table["probe"] = right.astype(float).tolist()
    table |= {f"posthoc_{by}": column for by, column in _existence(evidence).items()}
    for encoding in ENCODINGS:
        trained = label_trained(data, work, encoding, seed)
        table[f"{encoding}_right"] = (trained.predicted == labels).astype(float).tolist()
        table |= {f"{encoding}_{by}": column for by, column in _existence(trained).items()}
    phi = concept_correlations(data.class_truth >= 0.5)
    for projection in PROJECTIONS:
        own = concept_evidence(data, rows, model.projected(projection), features)
        named, others = absent_correlations(own, phi)
        table[f"named_{projection}"], table[f"others_{projection}"] = (
            named.tolist(),
            others.tolist(),
        )
    return table


def _existence(evidence: ConceptEvidence) -> dict[str, list[float]]:
    """Of the first five, for each way to rank."""
    ways = {"contribution": contributions(evidence), "value": np.asarray(evidence.values)}
    return {by: share_there(evidence, scores, NAMED).tolist() for by, scores in ways.items()}


def label_trained(
    data: ConceptData, work: PostHocInputs, encoding: Encoding, seed: int
) -> ConceptEvidence:
    """What a bottleneck says whose concepts are trained on their labels, and whose head is on them:
    one linear layer each, on the same features."""
    from theodolite_reproductions.bottlenecks.training import fit_bottleneck  # noqa: PLC0415  torch

    settings = BottleneckSettings(
        encoding=encoding, training="sequential", encoder="linear", epochs=100, batch=256,
        learning_rate=0.003, patience=10, head_epochs=60,
    )  # fmt: skip
    stops = split_rows(data.labels[work.train], VALIDATION, seed)
    train, validation = (
        LabeledFeatures(
            work.features[rows].astype(np.float32), data.presence[rows], data.labels[rows]
        )
        for rows in (work.train[~stops], work.train[stops])
    )
    trained = fit_bottleneck(settings, train, validation, n_classes=len(data.classes), seed=seed)
    answers = trained.say(work.features[work.test].astype(np.float32))
    n = len(data.concepts)
    weights = trained.answer(np.eye(n, dtype=np.float32)) - trained.answer(
        np.zeros((1, n), np.float32)
    )
    return ConceptEvidence(
        values=answers.values, truth=data.presence[work.test], labels=data.labels[work.test],
        known=None if data.known is None else data.known[work.test],
        predicted=answers.predicted, weights=weights,
        concepts=data.concepts, classes=data.classes,
    )  # fmt: skip


def concept_correlations(
    truth: Bool[np.ndarray, "concepts classes"],
) -> Float[np.ndarray, "concepts concepts"]:
    """Phi coefficients of concepts over classes; NaN for a concept that all or no classes have."""
    centered = truth - truth.mean(axis=1, keepdims=True)
    length = np.sqrt((centered**2).sum(axis=1))
    unit = centered / np.where(length > 0, length, np.nan)[:, None]
    return np.asarray(unit @ unit.T)


def absent_correlations(
    evidence: ConceptEvidence, phi: Float[np.ndarray, "concepts concepts"]
) -> tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " samples"]]:
    """How closely absent concepts go with a present one: the highest coefficient with any concept
    that is there. Mean of the absent ones among the first five named, and of all absent ones."""
    truth = np.asarray(evidence.truth)
    usable = ~np.isnan(np.diag(phi))
    known = np.ones(truth.shape, bool) if evidence.known is None else np.asarray(evidence.known)
    present, absent = truth & known & usable, ~truth & known & usable
    highest = np.full(truth.shape, np.nan)
    safe = np.nan_to_num(phi, nan=-1.0)
    for i in np.flatnonzero(present.any(axis=1)):
        highest[i] = safe[:, present[i]].max(axis=1)
    first = first_named(contributions(evidence), NAMED)
    named = np.zeros(truth.shape, bool)
    np.put_along_axis(named, first, values=True, axis=1)
    return _mean_where(highest, absent & named), _mean_where(highest, absent)


def _mean_where(
    values: Float[np.ndarray, "samples concepts"], where: Bool[np.ndarray, "samples concepts"]
) -> Float[np.ndarray, " samples"]:
    where = where & ~np.isnan(values)
    n = where.sum(axis=1)
    total = np.where(where, values, 0.0).sum(axis=1)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
