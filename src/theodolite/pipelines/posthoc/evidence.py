"""Build the evidence and report facts of a post-hoc concept bottleneck."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.datasets.concept_data import ConceptData
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.explainers.concept_maps import concept_activation_maps
from theodolite.models.posthoc import PosthocBottleneck
from theodolite.pipelines.feature_pass import FeaturePass
from theodolite.pipelines.posthoc.network import FITTED, NetworkOutputs, surrogate_evidence

Setting = tuple[int, float]


@dataclass(frozen=True, eq=False)
class PostHocInputs:
    """Inputs that all settings share."""

    features: Float[np.ndarray, "images channels"]
    train: Int[np.ndarray, " train"]
    test: Int[np.ndarray, " test"]
    maps: FeaturePass
    inputs: dict[str, str]
    notes: tuple[str, ...]
    outputs: Float[np.ndarray, "images outputs"] | None
    """The network's outputs; None if features were given as a file."""


def make_evidence(
    data: ConceptData, work: PostHocInputs, model: PosthocBottleneck, answers: NetworkOutputs | None
) -> list[Evidence]:
    """Return all evidence that one model allows."""
    evidence: list[Evidence] = [concept_evidence(data, work.test, model, work.features[work.test])]
    if data.has_place().any():
        evidence.append(location_evidence(data, work, model))
    if answers is not None:
        split = (work.train, work.test)
        evidence.append(surrogate_evidence(answers, model, work.features, data, split))
    return evidence


def location_evidence(
    data: ConceptData, work: PostHocInputs, model: PosthocBottleneck
) -> LocationEvidence:
    """Return where concepts are active, and where they are annotated."""
    rows = work.maps.rows
    vectors = model.bank.vectors.astype(np.float32)
    maps = [concept_activation_maps(features, vectors) for features in work.maps]
    sizes = data.sizes(rows)
    places = data.places(rows, sizes)
    return LocationEvidence(
        explained=concept_evidence(data, rows, model, work.maps.pooled()),
        maps=np.concatenate(maps).astype(np.float32),
        sizes=sizes,
        part_of=data.part_of,
        parts=data.parts,
        masks=data.masks(rows),
        points=places.get("points"),
        boxes=places.get("boxes"),
    )


def concept_evidence(
    data: ConceptData,
    rows: Int[np.ndarray, " n"],
    model: PosthocBottleneck,
    features: Float[np.ndarray, "n channels"],
) -> ConceptEvidence:
    """Return concept predictions on some images, with the truth."""
    values = model.concepts(features)
    return ConceptEvidence(
        values=values,
        truth=data.presence[rows],
        known=None if data.known is None else data.known[rows],
        labels=data.labels[rows],
        predicted=model.predict(values),
        weights=model.weights,
        class_truth=data.class_truth,
        concepts=data.concepts,
        classes=data.classes,
        samples=Samples(
            index=rows,
            ids=np.array([data.images[row] for row in rows]),
            clusters=None if data.groups is None else data.groups[rows],
        ),
    )


def facts(
    data: ConceptData,
    work: PostHocInputs,
    bundles: Sequence[Sequence[Evidence]],
    answers: NetworkOutputs | None,
) -> list[tuple[str, float | int | str]]:
    """Return accuracies and numbers of images."""
    test_evidence = [b for seed in bundles for b in seed if isinstance(b, ConceptEvidence)]
    map_evidence = [
        b.explained for seed in bundles for b in seed if isinstance(b, LocationEvidence)
    ]
    entries: list[tuple[str, float | int | str]] = [
        ("test accuracy", _accuracy(test_evidence)),
        ("test samples", len(work.test)),
    ]
    if map_evidence:
        entries.append(("accuracy on images with maps", _accuracy(map_evidence)))
    entries.append(("test images with maps", len(work.maps.rows)))
    if answers is not None:
        accuracy = answers.compute_accuracy(data.labels, work.test)
        of = "the reference layer" if answers.by == FITTED else "the network"
        entries.append((f"test accuracy of {of}", accuracy))
    return entries


def setting_facts(best: Setting) -> tuple[tuple[str, float | int], ...]:
    """Return the setting that the held-out images chose."""
    return ("examples per concept", best[0]), ("SVM regulariser", best[1])


def _accuracy(seeds: Sequence[ConceptEvidence]) -> float:
    return float(np.mean([np.mean(evidence.predicted == evidence.labels) for evidence in seeds]))


def settings_table(
    tried: dict[Setting, tuple[float, float]], best: Setting
) -> dict[str, Sequence[Any]]:
    """Return every setting that was tried, with its accuracies."""
    return {
        "examples": [n for n, _ in tried],
        "regulariser": [c for _, c in tried],
        "held_out_accuracy": [held_out for held_out, _ in tried.values()],
        "test_accuracy": [test for _, test in tried.values()],
        "chosen": [setting == best for setting in tried],
    }
