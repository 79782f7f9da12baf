"""Explain test images by saliency maps as well, beside the concepts of a post-hoc bottleneck.

A step of the pipeline for post-hoc bottlenecks.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.datasets.concept_data import ConceptData
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Fills, Samples
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.explainers.probing.patch_answers import (
    QUICK_CEILING_IMAGES,
    QUICK_SUBSETS,
    PatchPlan,
    ask_without_patches,
    find_edges,
    find_saturation,
)
from theodolite.explainers.rendering import enlarge_map
from theodolite.explainers.saliency.methods import explainer
from theodolite.models.asked_model import AskedModel, clip_log_odds
from theodolite.models.loaded_model import LoadedModel
from theodolite.pipelines.feature_pass import FeaturePass

NAME = "saliency"
BATCH = 32
TOLERANCE = 1e-3
"""Largest difference of an output from that of pooled maps and the head, for CAM."""
WITHOUT_OUTPUTS = "No saliency maps: the model does not return a row of outputs per image."


def with_saliency(
    produced: Produced,
    data: ConceptData,
    seen: FeaturePass,
    backbone: LoadedModel,
    layer: str,
    context: WorkContext,
) -> Produced:
    """Return the run's evidence with Grad-CAM maps of these images beside it.

    Every map explains the class that the network predicts. The network is run on the images
    without half of their patches.

    Args:
        produced: The run's evidence.
        data: The images and their regions.
        seen: The feature pass over the images.
        backbone: The network.
        layer: Layer of the maps.
        context: Seed and progress.
    """
    model, note = _explain(data, seen, backbone, layer, context)
    notes = (*produced.notes, note)
    if model is None:
        return replace(produced, notes=notes)
    description = {"name": "concepts", "what": produced.claim.text if produced.claim else ""}
    return replace(produced, about=description, compared=[*produced.compared, model], notes=notes)


def draw_images(seen: FeaturePass, n: int, seed: int) -> FeaturePass:
    """Return the pass over ``n`` images drawn at random."""
    order = np.random.default_rng(seed).permutation(len(seen.rows))[:n]
    return seen.of(seen.rows[np.sort(order)])


def _explain(
    data: ConceptData, seen: FeaturePass, backbone: LoadedModel, layer: str, context: WorkContext
) -> tuple[ComparedModel | None, str]:
    """Return the evidence and a note on how it was made."""
    seed, outputs = context.seeds[0], seen.outputs()
    if outputs.shape[1] < 2 or not np.isfinite(outputs).all():
        return None, WITHOUT_OUTPUTS
    predicted = outputs.argmax(axis=1)
    images = np.stack([backbone.preprocessing(data.image(int(row))) for row in seen.rows])
    try:
        maps = compute_cam(backbone, seen, outputs, predicted)
        if maps is None:
            maps = _compute_grad_cam(backbone, layer, images, predicted)
    except EvidenceError as error:  # no library, or no gradients
        return None, f"No saliency maps. {error}"
    network = AskedModel(backbone.network, lambda batch: batch, BATCH)
    with network.open():
        probabilities = network.ask(images)
        clean = probabilities[np.arange(len(images)), predicted]
        answers = ask_without_patches(
            images, lambda batch, rows: network.ask_log_odds(batch, predicted[rows]),
            clip_log_odds(clean), ("mean",),
            PatchPlan(QUICK_SUBSETS, QUICK_CEILING_IMAGES, seed), context.progress,
        )  # fmt: skip
    names = backbone.classes if len(backbone.classes) == outputs.shape[1] else ()
    evidence = SaliencyEvidence(
        maps=np.stack([enlarge_map(own, images.shape[2:]) for own in maps]).astype(np.float32),
        objects=_regions(data, seen.rows, images.shape[2:]),
        edges=find_edges(images),
        saturation=find_saturation(images),
        **vars(answers),
        fills=Fills(("mean",)),
        clean=clean,
        predicted=predicted,
        classes=Classes(tuple(names)) if len(set(names)) == len(names) else Classes(),
        samples=_samples(data, seen.rows),
    )
    what = f"Grad-CAM maps of {layer}, for the class that the network predicts"
    note = (
        f"Saliency: {what}, on {len(images):,} test images. The network was run "
        f"{network.passes - len(images):,} times without half of the patches of an image."
    )
    return ComparedModel(NAME, {"what": what}, [[evidence]]), note


def compute_cam(
    backbone: LoadedModel,
    seen: FeaturePass,
    outputs: Float[np.ndarray, "images outputs"],
    predicted: Int[np.ndarray, " images"],
) -> Float[np.ndarray, "images height width"] | None:
    """Return Grad-CAM maps from kept maps, if outputs are linear in the means of maps.

    Then the gradient of an output is its row of the head's weights. None if outputs are not.
    """
    if not backbone.head:
        return None
    head: Any = backbone.network.get_submodule(backbone.head)
    weights = head.weight.detach().double().cpu().numpy()
    bias = 0.0 if head.bias is None else head.bias.detach().double().cpu().numpy()
    pooled = seen.pooled()
    if weights.shape != (outputs.shape[1], pooled.shape[1]):
        return None
    if np.abs(pooled @ weights.T + bias - outputs).max() > TOLERANCE:
        return None
    parts, at = [], 0
    for maps in seen:
        own = weights[predicted[at : at + len(maps)]]
        parts.append(np.einsum("nc,nchw->nhw", own, maps))
        at += len(maps)
    return np.asarray(np.concatenate(parts).clip(min=0.0))


def _compute_grad_cam(
    backbone: LoadedModel, layer: str, images: np.ndarray, predicted: np.ndarray
) -> Float[np.ndarray, "images height width"]:
    explain = explainer("grad_cam", backbone.network, layer=layer, grid=backbone.grid)
    starts = range(0, len(images), BATCH)
    return np.concatenate(
        [explain(images[at : at + BATCH], predicted[at : at + BATCH]) for at in starts]
    )


def _samples(data: ConceptData, rows: Int[np.ndarray, " images"]) -> Samples:
    clusters = None if data.groups is None else data.groups[rows]
    return Samples(index=rows, ids=np.array([data.images[i] for i in rows]), clusters=clusters)


def _regions(
    data: ConceptData, rows: Int[np.ndarray, " images"], size: tuple[int, int]
) -> Bool[np.ndarray, "images rows columns"] | None:
    """Return the union of all concepts' regions of each image; None if there are none."""
    regions = np.stack([data.regions(int(row), size).any(axis=0) for row in rows])
    return regions if regions.any() else None
