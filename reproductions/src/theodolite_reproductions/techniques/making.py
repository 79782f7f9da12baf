"""Explanations of images by many techniques: maps of methods on networks, and concepts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._storage.paths import find_in_data, sha256_of
from theodolite._storage.text import read_json
from theodolite.datasets.monumai import monumai
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.concept_head import ConceptHead
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.evidence.workers import Arrays, Work
from theodolite.explainers.concepts.methods import concept_explainer
from theodolite.models.concept_bank import ConceptBank
from theodolite.models.loading import load_named_model
from theodolite.models.posthoc import PosthocBottleneck
from theodolite.pipelines.feature_pass import run_feature_pass
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline
from theodolite.pipelines.saliency.map_tasks import (
    ProbedImages,
    SaliencyTask,
    SavedNetwork,
    compute_task_digest,
    list_library_versions,
    run_task,
    to_half_precision,
)
from theodolite_reproductions.datasets.votes.pasta_images import PastaImages

STORED = 56
"""Rows and columns of a stored map, where the network's own number can be divided to it."""


@dataclass(frozen=True, kw_only=True)
class TechniqueNetwork:
    """A network, and what its methods look at."""

    __pydantic_config__ = {"extra": "forbid"}

    backbone: str
    weights: str = ""
    class_names: str = ""
    layer: str | None = None
    layers: Mapping[str, str] = field(default_factory=dict)
    """Of single methods: another layer."""
    without: tuple[str, ...] = ()
    """Methods that are not run on it."""


@dataclass(frozen=True, kw_only=True)
class TechniqueConcepts:
    """A post-hoc bottleneck on MonuMAI's elements, and what explains its head."""

    __pydantic_config__ = {"extra": "forbid"}

    data: str
    """The folder of MonuMAI."""
    network: str
    """One of the networks."""
    methods: tuple[str, ...] = ("linear_head", "lime_cbm", "shap_cbm", "rise_cbm")
    n_examples: int = 50
    regulariser: float = 0.1


@dataclass(frozen=True, eq=False)
class TechniqueWork:
    """Images to be explained, where weights and classes are, and who does the work."""

    data: PastaImages
    root: Path
    context: WorkContext

    @property
    def seed(self) -> int:
        """Of all that is drawn."""
        return self.context.seeds[0]

    def weights(self, network: TechniqueNetwork) -> Path | None:
        """Of a network; None: its library looks for them."""
        return find_in_data(self.root, network.weights) if network.weights else None

    def class_names(self, network: TechniqueNetwork) -> tuple[str, ...]:
        """Of a network; none where its library knows them."""
        if not network.class_names:
            return ()
        names = read_json(find_in_data(self.root, network.class_names), "class names")
        if not isinstance(names, list):
            raise EvidenceError("class_names", type(names).__name__, "a list of names")
        return tuple(map(str, names))


@dataclass(frozen=True, eq=False)
class TechniqueMaps:
    """What a technique made of the images on which it did not fail."""

    technique: str
    rows: tuple[int, ...]
    arrays: Arrays
    """Of each row, as `do_piece` has it."""
    classes: tuple[str, ...]
    failed: int

    def predicted(self, at: int) -> str:
        """The class that is explained."""
        number = int(self.arrays["targets"][at])
        return self.classes[number] if number < len(self.classes) else f"class {number}"

    def evidence(self, probed: ProbedImages, ids: Sequence[str]) -> SaliencyEvidence:
        """Maps, and what became of them and of the answer, with the explanations' own ids."""
        arrays = self.arrays
        fields: dict[str, Any] = {
            "maps": to_half_precision(_smaller(arrays["maps"])), "clean": arrays["clean"],
            "most_first": arrays["most_first"], "least_first": arrays["least_first"],
            "percents": np.asarray(probed.percents, float), "removals": tuple(probed.ways),
            "samples": Samples(ids=np.array(ids)),
        }  # fmt: skip
        if probed.noises and probed.draws:
            fields |= {
                "norms": arrays["norms"],
                "changes": arrays["changes"],
                "noises": probed.noises,
            }
        return SaliencyEvidence(**fields)


def maps_of(
    on: TechniqueWork,
    network: TechniqueNetwork,
    chosen: Mapping[str, Sequence[int]],
    options: Mapping[str, Mapping[str, Any]],
    probed: ProbedImages,
) -> list[TechniqueMaps]:
    """Maps of each method on the images chosen for it, image by image: a method that fails on
    one loses that one alone."""
    data, classes, weights = on.data, on.class_names(network), on.weights(network)
    saved = SavedNetwork(network.backbone, weights, classes)
    classifier = saved.classifier()
    pieces = [
        SaliencyTask(method, network.layers.get(method, network.layer),
                      dict(options.get(method, {})), (row,), (True,), (False,))
        for method, rows in chosen.items() for row in rows
    ]  # fmt: skip
    digests = {row: sha256_of(data.path(row)) for rows in chosen.values() for row in rows}
    work = Work(
        what=f"maps of {network.backbone}", do=partial(run_task, data, probed), items=pieces,
        digests=[compute_task_digest(piece, digests) for piece in pieces],
        about={
            "network": f"{classifier.digest} {classifier.preprocessing}",
            "probed": {**vars(probed)}, "versions": list_library_versions(),
        },
        names=[f"{piece.method}, {data.images[piece.rows[0]]}" for piece in pieces],
        tool=saved, network=True,
    )  # fmt: skip
    parts: dict[str, list[tuple[int, Arrays]]] = {method: [] for method in chosen}
    for piece, arrays in zip(pieces, on.context.workers.each(work), strict=True):
        if arrays is not None and np.isfinite(arrays["maps"]).all():
            parts[piece.method].append((piece.rows[0], arrays))
    return [
        TechniqueMaps(
            f"{method} / {network.backbone}", tuple(row for row, _ in own), _joined(own),
            classes or tuple(classifier.classes), len(chosen[method]) - len(own),
        )
        for method, own in parts.items() if own
    ]  # fmt: skip


@dataclass(frozen=True, eq=False)
class NamedConcepts:
    """What a technique says of the concepts of some images."""

    technique: str
    rows: tuple[int, ...]
    values: Float[np.ndarray, "rows concepts"]
    concepts: tuple[str, ...]
    predicted: tuple[str, ...]


def concepts_of(
    on: TechniqueWork,
    settings: TechniqueConcepts,
    network: TechniqueNetwork,
    chosen: Mapping[str, Sequence[int]],
) -> list[NamedConcepts]:
    """Explanations of a bottleneck that is fitted to MonuMAI, of whatever style it sees."""
    data, context, weights = on.data, on.context, on.weights(network)
    facades = monumai(find_in_data(on.root, settings.data))
    pipeline = PosthocPipeline(
        backbone=network.backbone, weights=weights, layer=None,
        n_examples=(settings.n_examples,), regulariser=(settings.regulariser,),
    )  # fmt: skip
    model = pipeline.make(facades, replace(context, seeds=context.seeds[:1])).model
    bank = ConceptBank(facades.concepts, model["vectors"], model["intercepts"], model["means"])
    head = PosthocBottleneck(bank, pipeline.projection, model["weights"], model["bias"])
    every = np.arange(len(data))
    backbone = load_named_model(network.backbone, weights=weights)
    values = head.concepts(run_feature_pass(data, every, backbone, None, context).pooled())
    styles = np.asarray(head.predict(values), np.int64)
    return [
        _by_concepts(method, network.backbone, list(rows), values, styles, head,
                     facades.classes.names, facades.concepts.names, on.seed)
        for method, rows in chosen.items()
    ]  # fmt: skip


def _by_concepts(  # noqa: PLR0913  what a technique needs
    method: str,
    network: str,
    rows: list[int],
    values: np.ndarray,
    styles: np.ndarray,
    head: ConceptHead,
    classes: Sequence[str],
    concepts: Sequence[str],
    seed: int,
) -> NamedConcepts:
    explain = concept_explainer(method, head, background=values, seed=seed)
    return NamedConcepts(
        f"{method} / {network}", tuple(rows), explain(values[rows], styles[rows]), tuple(concepts),
        tuple(classes[style] for style in styles[rows]),
    )  # fmt: skip


def dealt_techniques(
    techniques: Sequence[str], images: int, each: int, seed: int
) -> dict[str, list[int]]:
    """Which images each technique explains: ``each`` techniques an image, all about as often."""
    n = len(techniques)
    if not 0 <= each <= n:
        raise EvidenceError("each", f"{each}", f"0 (all) to {n} techniques an image")
    chosen: dict[str, list[int]] = {name: [] for name in techniques}
    random = np.random.default_rng(seed)
    load = np.zeros(n)
    for image in range(images):
        order = np.argsort(load + random.uniform(0, 0.5, n))[: each or n]
        load[order] += 1
        for at in sorted(order):
            chosen[techniques[at]].append(image)
    return chosen


def _joined(parts: Sequence[tuple[int, Arrays]]) -> Arrays:
    return {
        name: np.concatenate([arrays[name] for _, arrays in parts]) for name in parts[0][1]
    }  # fmt: skip


def _smaller(maps: Float[np.ndarray, "n rows columns"]) -> Float[np.ndarray, "n rows columns"]:
    """Means of square blocks, so that a run of thousands of maps can be kept."""
    n, rows, columns = maps.shape
    if rows != columns or rows <= STORED or rows % STORED:
        return maps
    step = rows // STORED
    return np.asarray(maps.reshape(n, STORED, step, STORED, step).mean(axis=(2, 4)))
