"""Four images of a saliency audit: the image, its map, and the strongest pixels on the object."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from markupsafe import Markup

from theodolite._runs.report_material import RunMaterial
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.metrics.faithful.map_fit import fit_patches
from theodolite.metrics.located.relevance_top import TOP, score_top_pixels
from theodolite.report.overlays import (
    UNANNOTATED,
    Annotation,
    EmbeddedImage,
    ImageDrawing,
    Region,
    data_address,
    definitions,
    mask_path,
    relevance_overlay,
    tile,
)

SHOWN = 4


@dataclass(frozen=True)
class MapExample:
    """One image, and how its map scores."""

    sample: str
    explained: str
    """The explained class."""
    words: str
    image: ImageDrawing
    map: str
    """Address of the map over the pale image."""
    strongest: ImageDrawing


def map_images(material: RunMaterial, seed: int) -> dict[str, Any] | None:
    """Of the stored images two with the highest and two with the lowest fit; None without any."""
    evidence = material.evidence(SaliencyEvidence.kind, seed)
    records = material.made_record.examples
    if not records or not isinstance(evidence, SaliencyEvidence):
        return None
    stored = evidence[np.array([record.row for record in records])]
    fits, hits = score_images(stored)
    chosen = choose_extremes(fits if np.isfinite(fits).any() else hits)
    cards, images = [], []
    for number in chosen:
        stored_image = material.image(records[number].file)
        image = EmbeddedImage.of(stored_image, f"image-{number}")
        images.append(image)
        cards.append(
            _card(stored, number, image, stored_image, (float(fits[number]), float(hits[number])))
        )
    return {
        "lede": _lede(stored, has_fit=bool(np.isfinite(fits).any())),
        "definitions": definitions(images),
        "cards": cards,
    }


def score_images(
    evidence: SaliencyEvidence,
) -> tuple[Float[np.ndarray, " samples"], Float[np.ndarray, " samples"]]:
    """Return the fit of each map, and the share of its strongest pixels on the object; or NaN."""
    maps, unknown = np.asarray(evidence.maps, float), np.full(len(evidence), np.nan)
    fits = hits = unknown
    if evidence.removed is not None and evidence.drop is not None:
        fits = fit_patches(maps, np.asarray(evidence.removed), np.asarray(evidence.drop)[:, 0])
    if evidence.objects is not None:
        hits = score_top_pixels(maps, np.asarray(evidence.objects))
    return fits, hits


def choose_extremes(values: Float[np.ndarray, " samples"], n: int = SHOWN) -> list[int]:
    """Return the numbers of the highest and the lowest values, half each; undefined ones last.

    >>> choose_extremes(np.array([0.1, np.nan, 0.9, 0.5, 0.7, 0.3]))
    [2, 4, 5, 0]
    """
    order = np.argsort(-values, kind="stable")
    order = order[np.isfinite(values[order])]
    if len(order) < n:
        return [*order.tolist(), *np.flatnonzero(~np.isfinite(values)).tolist()][:n]
    return [*order[: n - n // 2].tolist(), *order[len(order) - n // 2 :].tolist()]


def _card(
    evidence: SaliencyEvidence,
    number: int,
    image: EmbeddedImage,
    stored_image: Any,
    scored: tuple[float, float],
) -> MapExample:
    name = evidence.samples.name(number)
    relevance = np.asarray(evidence.maps[number], float)
    size = (image.width, image.height)
    n_top, annotation = max(relevance.size // 100, 1), UNANNOTATED
    if evidence.objects is not None:
        marked = np.asarray(evidence.objects[number])
        n_top = max(round(TOP * float(marked.sum())), 1)
        annotation = Annotation(masks=[mask_path(marked, size)])
    words = _words(*scored, n_top)
    line = max(float(np.partition(relevance, -n_top, axis=None)[-n_top]), np.finfo(float).tiny)
    region = Region(mask_path(relevance >= line, size), "", tied=False)
    explained = evidence.predicted
    return MapExample(
        name,
        "" if explained is None else evidence.classes.names[int(explained[number])],
        words,
        tile(image, f"map-image-{number}", f"Image {name}"),
        data_address(relevance_overlay(stored_image, relevance, width=image.width, outlined=False)),
        tile(
            image, f"map-top-{number}", f"Strongest pixels of image {name}: {words}",
            regions=[region], annotation=annotation,
        ),
    )  # fmt: skip


def _words(fit: float, hit: float, n_top: int) -> str:
    """Return how one map scores.

    >>> _words(0.934, 1.0, 6), _words(0.31, 0.3334, 6), _words(float("nan"), 1.0, 6)
    ('fit 0.93, on the object', 'fit 0.31, 2 of 6 pixels on the object', 'on the object')
    """
    parts = [] if np.isnan(fit) else [f"fit {fit:.2f}".replace("-", "−")]
    if not np.isnan(hit):
        on = round(hit * n_top)
        parts.append("on the object" if on == n_top else f"{on} of {n_top} pixels on the object")
    return ", ".join(parts)


def _lede(evidence: SaliencyEvidence, *, has_fit: bool) -> Markup:
    by = "fit" if has_fit else "fraction of top pixels on the object"
    parts: Sequence[str] = [
        f"The two stored images with the highest {by}, and the two with the lowest.",
        "Second: the map over the pale image. Orange supports the explained class, blue opposes "
        "it.",
        "Third: the top pixels, which the score counts, inside the orange line"
        + ("; the dashed line is the object." if evidence.objects is not None else "."),
    ]
    if has_fit:
        parts = [*parts, "Fit: how well sums of the map predict the effect of removal (at most 1)."]
    return Markup(" ").join(parts)
