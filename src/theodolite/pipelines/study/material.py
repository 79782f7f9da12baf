"""Make study material from a run of saliency methods."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from theodolite.datasets.masks.mask_data import MaskData
from theodolite.datasets.study_material.checks import (
    PRACTICE,
    Checked,
    Frame,
    frame_of,
    planned_checks,
)
from theodolite.datasets.study_material.explained_images import Item, Looks, material_from_arrays
from theodolite.datasets.study_material.material import Material
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.explainers.rendering import bwr
from theodolite.explainers.saliency.methods import TECHNIQUES, explainer
from theodolite.models.loaded_model import LoadedModel
from theodolite.pipelines.saliency.map_tasks import SavedNetwork, list_library_versions
from theodolite.pipelines.saliency.pipeline import SaliencyPipeline, _draw_rows
from theodolite.pipelines.study.twins import (
    TwinImage,
    TwinSettings,
    check_no_material,
    make_twin_images,
)

__all__ = ["TwinSettings", "material_from_saliency_run"]


def material_from_saliency_run(
    pipeline: SaliencyPipeline,
    data: MaskData,
    folder: Path,
    settings: TwinSettings,
    *,
    progress: Progress = silent,
    origin: Mapping[str, str] | None = None,
) -> Material:
    """Explain images and changed ones again, and write the study material.

    The same settings and seed give the same bytes. A method is explained by its layer and options
    in the run. The network looks at the images as people do: no larger than ``longest``.

    Args:
        pipeline: The run's own, with its network and its methods.
        data: The run's data.
        folder: The study folder; it must have no material yet.
        settings: How many images and hidden checks, which techniques, and how they look.
        progress: Told how far it is.
        origin: What else is to be known about the run, such as its digest.
    """
    check_no_material(folder)
    techniques = settings.choose(pipeline.methods)
    objects = _object_names(data, pipeline.objects)
    classifier = SavedNetwork(pipeline.backbone, pipeline.weights, pipeline._names()).classifier()
    candidates = _draw_rows(data, settings.images + PRACTICE + settings.checks, settings.seed)
    real, spare = settings.rows(candidates)
    twins = make_twin_images(data, [*real, *spare], _predict(classifier), settings,
                         progress)  # fmt: skip
    frames = [_frame(data, row, twins[row].images[0].size, objects) for row in spare]
    checks = planned_checks(frames, hidden=settings.checks, seed=settings.seed)
    planned = _jobs(techniques, real, spare, checks)
    jobs = [(twins[row], name, make) for row, name, make in planned]
    items = _items(pipeline, classifier, jobs, settings, progress)
    signed = any(TECHNIQUES[name].sign == "signed" for name in techniques)
    paper = settings.colors == "paper"
    looks = Looks(
        legend="signed" if signed or paper else "unsigned",
        colors=np.asarray(np.rint(bwr() * 255), np.uint8) if paper else None,
        scaled=not paper,
        longest=settings.longest,
    )
    source = {
        "pipeline": "saliency",
        "data set": data.name,
        "network": classifier.name,
        "network digest": classifier.digest,
        "seed": f"{settings.seed}",
        **{f"version of {name}": version for name, version in list_library_versions().items()},
    }
    return material_from_arrays(
        items, folder, looks=looks, seed=settings.seed, origin={**source, **(origin or {})}
    )


Job = tuple[int, str, Callable[[Item], Item]]
"""Row, technique and the function that finishes the item."""


def _jobs(
    techniques: Sequence[str], real: Sequence[int], spare: Sequence[int], checks: Sequence[Checked]
) -> list[Job]:
    """List every explanation of the study by technique; checks take techniques in turn."""
    jobs: list[Job] = [(row, name, lambda item: item) for name in techniques for row in real]
    for number, check in enumerate(checks):
        jobs.append((spare[check.spare], techniques[number % len(techniques)], check.make))
    return sorted(jobs, key=lambda job: techniques.index(job[1]))


def _items(
    pipeline: SaliencyPipeline,
    classifier: LoadedModel,
    jobs: Sequence[tuple[TwinImage, str, Callable[[Item], Item]]],
    settings: TwinSettings,
    progress: Progress,
) -> Iterator[Item]:
    explain, of = None, ""
    for done, (twin, name, make) in enumerate(jobs):
        progress("explanations", done, len(jobs))
        if explain is None or name != of:  # each has a copy of the network
            explain, of = explainer(
                name, classifier.network, layer=pipeline._layer(name), grid=classifier.grid,
                seed=settings.seed, options=pipeline.options.get(name),
            ), name  # fmt: skip
        batch = _prepare(classifier, twin.images)
        maps = explain(batch, np.asarray(twin.classes, np.int64))
        if settings.colors == "paper":
            maps = maps / np.maximum(np.abs(maps).max(axis=(1, 2), keepdims=True), 1e-30)
        item = twin.item(name, list(maps), lambda label: _name(classifier, label))
        yield make(replace(item, positive=TECHNIQUES[name].sign == "positive"))
    progress("explanations", len(jobs), len(jobs))


def _prepare(
    classifier: LoadedModel, images: Sequence[Image.Image]
) -> Float[np.ndarray, "images 3 rows columns"]:
    return np.stack([classifier.preprocessing(image) for image in images])


def _predict(
    classifier: LoadedModel,
) -> Callable[[Sequence[Image.Image]], Int[np.ndarray, " images"]]:
    def predict(images: Sequence[Image.Image]) -> Int[np.ndarray, " images"]:
        labels = classifier.probabilities(_prepare(classifier, images)).argmax(axis=1)
        return np.asarray(labels, np.int64)

    return predict


def _name(classifier: LoadedModel, label: int) -> str:
    return classifier.classes[label] if classifier.classes else f"class {label}"


def _object_names(data: MaskData, objects: Sequence[str]) -> list[str]:
    unknown = [name for name in objects if name not in data.concepts]
    if unknown:
        raise EvidenceError("objects", repr(unknown[0]), f"some of {data.concepts[:8]}")
    usual = [c for c, kind in zip(data.concepts, data.categories, strict=True) if kind == "object"]
    return list(objects or usual)


def _frame(data: MaskData, row: int, size: tuple[int, int], objects: Sequence[str]) -> Frame | None:
    """Return the frame of the object, if the image has exactly one that can be framed."""
    layers = data.layers(row, size[::-1])
    masks = {name: (layers == data.concepts.index(name) + 1).any(axis=0) for name in objects}
    there = [(name, mask) for name, mask in masks.items() if mask.any()]
    return frame_of(there[0][1], there[0][0]) if len(there) == 1 else None
