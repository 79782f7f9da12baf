"""Samples to look at: what an explanation names, what is there, and where the model looked."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from theodolite._runs.folder.run_records import ExampleRecord
from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.answers import by_kind
from theodolite._verdicts.words import number_word
from theodolite.errors import UnsafeInputError
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.metrics.located.concept_location import inside_regions
from theodolite.metrics.shared.ranking import RankBy, compute_importance, select_top_concepts
from theodolite.report.overlays import (
    Annotation,
    EmbeddedImage,
    ImageDrawing,
    definitions,
    mask_path,
    region_of,
    tile,
)

NAMED = 5
FIRST = 4
"""Samples that are seen at once; the others are behind a line to open."""
MOST_ANNOTATED = 4
COUNTED, WIDER = 1 / 12, 1 / 4
"""Shares of the image: the region that the score counts, and a larger one around it."""


@dataclass(frozen=True)
class NamedConcept:
    """One concept that an explanation names."""

    name: str
    weighs: str
    """What it adds to the predicted class, with its sign; empty if not known."""
    there: bool | None
    """In the image; None if not known."""
    inside: bool | None
    """Its place is in the region that its map marks; None if it has no visible place."""
    tied: bool = False
    """Equal values make the region larger than what the score counts."""
    tile: ImageDrawing | None = None
    """The image with the region; None without maps or image."""


@dataclass(frozen=True)
class Example:
    """One sample."""

    sample: str
    label: str
    predicted: str
    right: bool
    annotated: str
    """Names of the concepts that are there."""
    named: tuple[NamedConcept, ...]
    image: EmbeddedImage | None = None
    tile: ImageDrawing | None = None
    """The image with all that was annotated."""


def examples(material: RunMaterial, records: Sequence[ExampleRecord], seed: int) -> list[Example]:
    """The images that the run kept; without images, rows of its table drawn by its seed."""
    run_evidence = material.evidence("location", seed) if records else None
    if run_evidence is None:
        run_evidence = material.evidence("concept", seed)
    if run_evidence is None:
        return []
    rows = np.array([record.row for record in records] or drawn_rows(run_evidence, seed))
    if rows.max() >= len(run_evidence):
        raise UnsafeInputError(
            "record 'produced.json'", f"row {rows.max()}", f"rows below {len(run_evidence)}"
        )
    evidence = run_evidence[rows]
    files = [record.file for record in records] or [""] * len(rows)
    return [_example(material, evidence, i, file) for i, file in enumerate(files)]


def examples_part(examples: Sequence[Example]) -> dict[str, Any] | None:
    """What the page shows of samples; None without any."""
    if not examples:
        return None
    return {
        "words": _lede(examples),
        "definitions": definitions(e.image for e in examples if e.image is not None),
        "first": examples[:FIRST],
        "more": examples[FIRST:],
    }


def _lede(examples: Sequence[Example]) -> str:
    first = examples[:FIRST]
    what = "images" if examples[0].tile else "samples"
    number = number_word(len(first)).capitalize()
    if len(first) == 1:
        what = what.removesuffix("s")
    judged = (
        ", alternating correct and incorrect predictions"
        if len({e.right for e in first}) > 1
        else ""
    )
    sentences = [f"{number} test {what} drawn at random{judged}, with the top-ranked concepts."]
    tiles = "".join(c.tile.svg for e in examples for c in e.named if c.tile is not None)
    if 'class="region"' in tiles:
        sentences.append(
            "The clear region inside the orange line is the highlighted 1/12 of the image, which "
            "the score counts. The thin line encloses 1/4."
        )
    drawings = "".join(e.tile.svg for e in examples if e.tile is not None)
    if 'class="truth"' in drawings:
        sentences.append("Dashed lines are annotations.")
    if 'class="cross"' in drawings:
        sentences.append("Crosses are the annotated locations.")
    return " ".join(sentences)


def drawn_rows(evidence: Any, seed: int, n: int = 2 * FIRST) -> list[int]:
    """Draw samples at random, alternating correct and incorrect predictions."""
    explained: Any = by_kind([evidence])[ConceptEvidence]
    order = np.random.default_rng(seed).permutation(len(evidence))
    if explained.predicted is None or explained.labels is None:
        return [int(row) for row in order[:n]]
    right = np.asarray(explained.predicted == explained.labels)[order]
    in_turn = [row for pair in zip(order[right], order[~right], strict=False) for row in pair]
    rest = np.setdiff1d(order, in_turn[:n], assume_unique=True)
    return [int(row) for row in [*in_turn, *rest][:n]]


def _example(material: RunMaterial, evidence: Any, i: int, file: str) -> Example:
    explained: Any = by_kind([evidence])[ConceptEvidence]
    weighs = explained.weights is not None and explained.predicted is not None
    by: RankBy = "contribution" if weighs else "value"
    contributions = compute_importance(explained[i : i + 1], by, "signed")
    order = select_top_concepts(contributions, min(NAMED, len(explained.concepts)))[0].tolist()
    names, classes = explained.concepts.names, explained.classes.names
    label = "" if explained.labels is None else classes[explained.labels[i]]
    predicted = "" if explained.predicted is None else classes[explained.predicted[i]]
    image = EmbeddedImage.of(material.image(file), f"image-{i}") if file else None
    sample = evidence.samples.name(i)
    annotated = _annotated_names(explained, i)
    texts = [
        (names[j], _signed(contributions[0, j], weighs=weighs), _there(explained, i, j))
        for j in order
    ]
    return Example(
        sample=sample,
        label=label,
        predicted=predicted,
        right=label == predicted,
        annotated=annotated,
        named=tuple(
            _concept_tile(evidence, i, j, image, words, f"tile-{i}-{rank}")
            for rank, (j, words) in enumerate(zip(order, texts, strict=True))
        ),
        image=image,
        tile=None if image is None else _whole(evidence, i, image, sample, f"tile-{i}"),
    )


def _signed(value: float, *, weighs: bool) -> str:
    digits = 2 if abs(value) < 0.095 else 1
    if abs(value) < 0.005:
        return "0"
    return f"{value:+.{digits}f}".replace("-", "−") if weighs else f"{value:.{digits}f}"


def _there(evidence: ConceptEvidence, i: int, j: int) -> bool | None:
    if evidence.truth is None or (evidence.known is not None and not evidence.known[i, j]):
        return None
    return bool(evidence.truth[i, j])


def _annotated_names(evidence: ConceptEvidence, i: int) -> str:
    names = evidence.concepts.names
    there = [names[j] for j in range(len(names)) if _there(evidence, i, j)]
    more = len(there) - MOST_ANNOTATED
    return ", ".join(there[:MOST_ANNOTATED]) + (f" and {more} more" if more > 0 else "")


def _whole(evidence: Any, i: int, image: EmbeddedImage, sample: str, name: str) -> ImageDrawing:
    annotation = Annotation()
    if isinstance(evidence, LocationEvidence):
        annotation = _annotation(evidence, i, range(len(evidence.parts)), image)
    words = annotation.words()
    alternative = f"Sample {sample}" + (f" with {words}" if words else "")
    return tile(image, name, alternative, annotation=annotation)


def _concept_tile(
    evidence: Any,
    i: int,
    j: int,
    image: EmbeddedImage | None,
    words: tuple[str, str, bool | None],
    name: str,
) -> NamedConcept:
    if not isinstance(evidence, LocationEvidence) or image is None:
        return NamedConcept(*words, inside=None)
    size = (image.width, image.height)
    concept_map = np.asarray(evidence.maps[i, j], np.float64)
    regions = [region_of(concept_map, share, size) for share in (COUNTED, WIDER)]
    part = int(evidence.part_of[j])
    annotation = _annotation(evidence, i, [part] if part >= 0 else [], image)
    inside = _inside(evidence, i, j) if annotation.points else None
    alternative = f"{words[0]}: the marked region is at the {regions[0].where}"
    if annotation.words():
        looked = {None: "", True: ", in the region", False: ", not in the region"}[inside]
        alternative += f"; {annotation.words()}{looked}"
    drawing = tile(image, name, alternative, regions=regions, annotation=annotation)
    return NamedConcept(*words, inside=inside, tied=regions[0].tied, tile=drawing)


def _inside(evidence: LocationEvidence, i: int, j: int) -> bool:
    credit, visible = inside_regions(
        evidence[i : i + 1], np.array([[j]]), np.array([COUNTED]), "stable"
    )
    return bool((credit[0, 0, 0] * visible[0, 0]).any())


def _annotation(
    evidence: LocationEvidence, i: int, parts: Sequence[int], image: EmbeddedImage
) -> Annotation:
    chosen = list(parts)
    scale = np.array([image.height, image.width]) / evidence.sizes[i]
    size = (image.width, image.height)
    masks: Sequence[Bool[np.ndarray, "rows columns"]] = (
        [] if evidence.masks is None else [m for m in evidence.masks[i, chosen] if m.any()]
    )
    boxes = _places(evidence.boxes, i, chosen) * np.tile(scale, 2)
    points = _places(evidence.points, i, chosen) * scale
    return Annotation(
        [(left, top, right, bottom) for top, left, bottom, right in boxes.tolist()],
        [(column, row) for row, column in points.tolist()],
        [mask_path(mask, size) for mask in masks],
    )


def _places(
    places: Float[np.ndarray, "samples parts places coordinates"] | None, i: int, parts: list[int]
) -> Float[np.ndarray, "places coordinates"]:
    """Those that are visible."""
    if places is None:
        return np.zeros((0, 1))
    flat = np.asarray(places[i, parts], np.float64).reshape(-1, places.shape[-1])
    return flat[~np.isnan(flat).any(axis=1)]
