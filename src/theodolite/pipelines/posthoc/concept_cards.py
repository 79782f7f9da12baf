"""Report cards of concepts: the image patches in which each is strongest."""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Float, Int

from theodolite._storage.images import encode_jpeg
from theodolite.datasets.labeled_images import LabeledImages
from theodolite.evidence.pipeline_output import ConceptCard
from theodolite.pipelines.faithfulness.explained_layer import ClassPatches, ExplainedLayer
from theodolite.pipelines.faithfulness.explanations import DiscoveredConcepts, Explanation

PATCHES = 4
MAX_PATCH_SIDE = 112


def make_concept_cards(
    explanation: Explanation, layer: ExplainedLayer, data: LabeledImages, n_classes: int
) -> tuple[list[ConceptCard], dict[str, bytes]]:
    """Return cards of the strongest concepts of some classes, and the images by file name."""
    usable = [
        (of, part)
        for of in layer.patches
        for part in explanation.parts
        if part.of in (of, None) and (layer.labels == of).any()
    ]
    step = max(len(usable) // max(n_classes, 1), 1)
    cards: list[ConceptCard] = []
    images: dict[str, bytes] = {}
    for of, part in usable[::step][:n_classes]:
        for card, files in _cards(part, layer, data, of):
            cards.append(card)
            images |= files
    return cards, images


def _cards(
    part: DiscoveredConcepts, layer: ExplainedLayer, data: LabeledImages, of: int
) -> Iterator[tuple[ConceptCard, dict[str, bytes]]]:
    class_patches = layer.patches[of]
    importance = part.importances[:, of]
    adds = importance * part.codes[layer.labels == of].mean(axis=0)
    order = [int(k) for k in np.argsort(-np.abs(np.nan_to_num(adds)), kind="stable")]
    strength = part.fitted.encode(class_patches.patches.embeddings)
    for k in [k for k in order if not np.isnan(importance[k])][:5]:
        best = select_strongest(strength[:, k], class_patches.patches.image)
        files = {
            f"concepts/{of:03d}-{k:03d}-{at}.jpg": _cut(class_patches, int(row), data)
            for at, row in enumerate(best)
        }
        yield (
            ConceptCard(
                layer.classes.names[of],
                part.names[k],
                float(importance[k]),
                float(adds[k]),
                tuple(files),
            ),
            files,
        )


def select_strongest(
    strength: Float[np.ndarray, " patches"], image: Int[np.ndarray, " patches"]
) -> Int[np.ndarray, " shown"]:
    """Return the patches with most of a concept, one per image.

    >>> select_strongest(np.array([3.0, 5.0, 1.0, 0.0]), np.array([0, 0, 1, 2]))
    array([1, 2])
    """
    order = np.argsort(-strength, kind="stable")
    first = order[np.sort(np.unique(image[order], return_index=True)[1])]
    return first[strength[first] > 0][:PATCHES]


def _cut(class_patches: ClassPatches, row: int, data: LabeledImages) -> bytes:
    top, left, bottom, right = (int(v) for v in class_patches.patches.boxes[row])
    image = data.image(int(class_patches.rows[class_patches.patches.image[row]]))
    return encode_jpeg(image.crop((left, top, right, bottom)), longest=MAX_PATCH_SIDE)
