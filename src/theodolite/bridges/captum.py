"""Convert attributions and concept vectors of captum to evidence.

``saliency_evidence`` takes what ``attribute`` gave. Lost: the sign and size of single channels
(one number per pixel is kept), the baseline, the target's logit, the convergence delta.

``surrogate_evidence`` takes ``TCAV.cavs`` and what ``TCAV.interpret`` gave. Lost: how well each
classifier told its concept from the counterparts (``accs``), its intercept, and the counterparts
themselves; of several runs against other random counterparts each is a concept of its own. CAVs
that captum saved to disk are pickles and are not read here.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Shaped

from theodolite.bridges._tensors import flags, numbers, whole
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts, Samples
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence

Channels = Literal["sum", "largest"]
TcavScore = Literal["magnitude", "sign_count"]


def saliency_evidence(
    attributions: Any,
    *,
    channels: Channels = "sum",
    objects: Any = None,
    predicted: Any = None,
    classes: Sequence[str] = (),
    samples: Samples | None = None,
) -> SaliencyEvidence:
    """One map for each sample, from attributions to pixels, to a layer or to features.

    Args:
        attributions: (samples, channels, rows, columns), without channels, or (samples, features),
            which become maps of one row: scores of places mean nothing then. A tuple of one is
            taken as it.
        channels: One number per pixel is their sum, or the one that is largest in size (as usual
            for plain gradients).
        objects: Masks of the maps' own size. A layer's map is smaller than the image: bring it
            up first, with ``captum.attr.LayerAttribution.interpolate``.
        predicted: The class that each attribution is of: the ``target`` that was given.
        classes: Names of the classes.
        samples: Ids and clusters.
    """
    maps = joined_channels(attributions, channels)
    masks = None if objects is None else flags(objects, "objects")
    if masks is not None and masks.shape != maps.shape:
        raise EvidenceError(
            "objects", f"shape {masks.shape}", f"{maps.shape}, as the maps",
            "Bring the maps up: captum.attr.LayerAttribution.interpolate(attributions, "
            f"{masks.shape[-2:]}, 'bilinear').",
        )  # fmt: skip
    return SaliencyEvidence(
        maps=maps,
        objects=masks,
        predicted=None if predicted is None else whole(predicted, "predicted"),
        classes=Classes(tuple(classes)),
        samples=samples or Samples(),
    )


def joined_channels(
    attributions: Any, channels: Channels = "sum"
) -> Float[np.ndarray, "samples rows columns"]:
    """One number for each sample and pixel."""
    if isinstance(attributions, tuple):
        if len(attributions) != 1:
            raise EvidenceError(
                "attributions", f"those to {len(attributions)} inputs", "those to one of them",
                "Pass one, such as attributions[0].",
            )  # fmt: skip
        attributions = attributions[0]
    values = np.asarray(numbers(attributions, "attributions"), np.float64)
    if values.ndim == 2:
        return values[:, None, :]
    if values.ndim == 3:
        return values
    if values.ndim != 4:
        raise EvidenceError(
            "attributions", f"shape {values.shape}", "(samples, channels, rows, columns)"
        )
    if channels == "sum":
        return np.asarray(values.sum(axis=1))
    largest = np.abs(values).argmax(axis=1)[:, None]
    return np.asarray(np.take_along_axis(values, largest, axis=1)[:, 0])


def surrogate_evidence(
    cavs: Mapping[str, Mapping[str, Any]],
    scores: Mapping[int, Mapping[str, Mapping[str, Mapping[str, Any]]]],
    *,
    layer: str,
    embeddings: Any,
    outputs: Any,
    score: TcavScore = "magnitude",
) -> SurrogateEvidence:
    r"""Do the network's outputs follow from its concept vectors and their TCAV scores?

    The first concept of each experimental set is taken, the rest of the set are its counterparts.
    With captum's own choice of attribution (gradients), ``magnitude`` divided by the length of the
    CAV is the mean slope of the class along the concept's direction, and
    :math:`\sum_c` slope · projection is a first-order account of the class. ``sign_count`` is a
    share of samples: it says whether, not how much, and is here for comparison.

    Args:
        cavs: ``tcav.cavs`` after ``interpret``.
        scores: What ``interpret`` gave, by the class that was its ``target``.
        layer: One of TCAV's layers.
        embeddings: Output of that layer, (samples, …).
        outputs: Output of the model for the same samples, before any softmax.
        score: Which of captum's two.
    """
    activations, logits = numbers(embeddings, "embeddings"), numbers(outputs, "outputs")
    sets = [key for key in cavs if layer in cavs[key]]
    if not sets or not scores:
        raise EvidenceError(
            "cavs", f"none at layer {layer!r}" if not sets else "no scores",
            "concept vectors and scores of one layer",
        )  # fmt: skip
    vectors, lengths, names = [], [], []
    for key in sets:
        vector, name = _first_vector(cavs[key][layer])
        lengths.append(float(np.linalg.norm(vector)))
        vectors.append(vector / lengths[-1])
        names.append(name if name not in names else f"{name} ({key})")
    importances = np.full((len(sets), logits.shape[1]), np.nan)
    for target, target_scores in scores.items():
        for row, key in enumerate(sets):
            if key in target_scores and layer in target_scores[key]:
                first = numbers(target_scores[key][layer][score], score)[0]
                importances[row, target] = first / (lengths[row] if score == "magnitude" else 1.0)
    return SurrogateEvidence(
        importances=importances,
        vectors=np.stack(vectors),
        embeddings=activations.reshape(len(activations), -1),
        outputs=logits,
        concepts=Concepts(tuple(names)),
    )


def _first_vector(cav: Any) -> tuple[Shaped[np.ndarray, " dimensions"], str]:
    """The vector of a set's first concept. Rows are in the order of ids, not of the set."""
    first, stats = cav.concepts[0], cav.stats
    row = [int(number) for number in stats["classes"]].index(int(first.id))
    vector = np.asarray(numbers(stats["weights"], "weights")[row], np.float64)
    if not np.linalg.norm(vector) > 0:
        raise EvidenceError(f"CAV of {first.name!r}", "a vector of zeros", "a direction")
    return vector, str(first.name)
