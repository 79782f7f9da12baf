"""Make study material from a run of a post-hoc concept bottleneck."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.study_material.checks import PRACTICE, planned_checks
from theodolite.datasets.study_material.explained_images import Item, Looks, material_from_arrays
from theodolite.datasets.study_material.material import Material
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.explainers.concepts.methods import concept_explainer
from theodolite.models.concept_bank import ConceptBank
from theodolite.models.features import FeatureExtractor
from theodolite.models.posthoc import PosthocBottleneck
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline
from theodolite.pipelines.study.twins import (
    TwinImage,
    TwinSettings,
    check_no_material,
    make_twin_images,
)

TECHNIQUES = ("linear_head", "lime_cbm", "shap_cbm", "rise_cbm")
"""Techniques that explain any linear head."""
BATCH = 16
Values = Callable[[Sequence[Image.Image]], Float[np.ndarray, "images concepts"]]


@dataclass(frozen=True, eq=False)
class PosthocRun:
    """A finished run: its pipeline, its data and the bottleneck."""

    pipeline: PosthocPipeline
    data: ConceptData
    model: Mapping[str, np.ndarray]
    """Arrays from the run folder's model.safetensors."""

    def bottleneck(self) -> PosthocBottleneck:
        """Return the bottleneck of the run."""
        data, model = self.data, self.model
        needed = {"vectors", "intercepts", "weights", "bias"}
        shape = (len(data.concepts), len(data.classes))
        if not needed <= set(model) or model["weights"].shape != shape:
            raise EvidenceError(
                "model", f"arrays {sorted(model)}",
                f"{sorted(needed)} for these concepts and classes",
            )  # fmt: skip
        bank = ConceptBank(data.concepts, model["vectors"], model["intercepts"], model.get("means"))
        return PosthocBottleneck(bank, self.pipeline.projection, model["weights"], model["bias"])


def material_from_posthoc_run(
    run: PosthocRun,
    folder: Path,
    settings: TwinSettings,
    *,
    progress: Progress = silent,
    origin: Mapping[str, str] | None = None,
) -> Material:
    """Explain test images and changed ones by concepts, and write the study material.

    Args:
        run: Its settings, data and bottleneck.
        folder: The study folder; it must have no material yet.
        settings: How many images and hidden checks, which techniques; ``linear_head`` if none.
        progress: Told how far it is.
        origin: What else is to be known about the run, such as its digest.
    """
    check_no_material(folder)
    techniques = settings.choose(TECHNIQUES) if settings.techniques else TECHNIQUES[:1]
    data, bottleneck = run.data, run.bottleneck()
    values = _values(run.pipeline, bottleneck)
    order = np.random.default_rng(settings.seed).permutation(np.flatnonzero(data.is_test))
    candidates = data.at_hand(order)[: settings.images + PRACTICE + settings.checks]
    real, spare = settings.rows(candidates)

    def predict(images: Sequence[Image.Image]) -> Int[np.ndarray, " images"]:
        return np.asarray(bottleneck.predict(values(images)), np.int64)

    twins = make_twin_images(data, [*real, *spare], predict, settings, progress)
    # marked parts are not all there are, and few people know their names: none is to be framed
    checks = planned_checks([None] * len(spare), hidden=settings.checks, seed=settings.seed)
    background = values([twin.images[0] for twin in twins.values()])

    def items() -> Iterator[Item]:
        total = len(techniques) * len(twins)
        for at, name in enumerate(techniques):
            explain = concept_explainer(name, bottleneck, background=background, seed=settings.seed)
            by_row: dict[int, Item] = {}
            for row, twin in twins.items():
                progress("explanations", at * len(twins) + len(by_row), total)
                by_row[row] = _item(twin, name, values, explain, data)
            yield from (by_row[row] for row in real)
            yield from (
                check.make(by_row[spare[check.spare]])
                for number, check in enumerate(checks)
                if number % len(techniques) == at
            )
        progress("explanations", total, total)

    source = {
        "pipeline": "posthoc_cbm",
        "data set": data.name,
        "network": run.pipeline.backbone,
        "seed": f"{settings.seed}",
    }
    return material_from_arrays(
        items(), folder, looks=Looks(longest=settings.longest), seed=settings.seed,
        origin={**source, **(origin or {})},
    )  # fmt: skip


def _values(pipeline: PosthocPipeline, bottleneck: PosthocBottleneck) -> Values:
    backbone = pipeline.load_network()
    extract = FeatureExtractor(backbone.network, pipeline.layer or backbone.layer)

    def values(images: Sequence[Image.Image]) -> Float[np.ndarray, "images concepts"]:
        pooled = []
        for at in range(0, len(images), BATCH):
            some = images[at : at + BATCH]
            maps = extract(np.stack([backbone.preprocessing(image) for image in some]))
            # as the run kept them
            pooled.append(maps.astype(np.float16).astype(np.float32).mean(axis=(2, 3)))
        return bottleneck.concepts(np.concatenate(pooled))

    return values


def _item(
    twin: TwinImage,
    technique: str,
    values: Values,
    explain: Callable[[np.ndarray, np.ndarray], np.ndarray],
    data: ConceptData,
) -> Item:
    contributions = explain(values(twin.images), np.asarray(twin.classes, np.int64))
    explanations = [
        dict(zip(data.concepts.names, map(float, row), strict=True)) for row in contributions
    ]
    return twin.item(technique, explanations, lambda label: data.classes.names[label])
