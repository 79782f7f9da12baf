"""An explanation as people are shown it: an image with colors, an image with holes, a sentence.

What is shown is also what an embedding of images and texts is given.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, UInt8

from theodolite._storage.map_colors import unsigned_colors
from theodolite.errors import EvidenceError
from theodolite.explainers.rendering import bwr, enlarge_map

Values: TypeAlias = Literal["signed", "as they are", "paper lime", "paper shap"]
Variant: TypeAlias = Literal["ours", "reference"]
Blend: TypeAlias = Literal["added", "mixed"]
Image: TypeAlias = Float[np.ndarray, "rows columns 3"]
Map: TypeAlias = Float[np.ndarray, "rows columns"]
SmallMap: TypeAlias = Float[np.ndarray, "height width"]
FAR = 10_000.0
"""What the published code takes for the distance of a concept that it was not given."""


def heatmap(
    image: Image, relevance: Map, *, values: Values = "signed"
) -> UInt8[np.ndarray, "rows columns 3"]:
    r"""The image under its map, blue over white to red, half and half.

    .. math:: h = 255 \cdot g / \max g, \qquad g = \tfrac12 c(v(m)) + \tfrac12 x

    :math:`c` are the 256 colors of matplotlib's ``bwr`` and :math:`v` puts a map into 0 to 1.
    ``signed`` keeps the sign: nothing is white, against is blue, for is red. The others are as
    published: ``as they are`` cuts off what is outside of 0 to 1 (maps of the CAM family), ``paper
    lime`` takes -1, 0 and 1 to 0, 0.49 and 0.98, and ``paper shap`` divides by the largest value
    and then cuts off, so that zero and everything below it are the same blue.

    Args:
        image: Red, green and blue, 0 to 1.
        relevance: How much each pixel matters.
        values: How the map is put into 0 to 1.
    """
    _check(image, relevance)
    colors = bwr()
    place = (color_positions(relevance, values) * len(colors)).astype(np.int64)
    mixed = 0.5 * colors[np.minimum(place, len(colors) - 1)] + 0.5 * image
    return np.asarray(mixed / mixed.max() * 255).astype(np.uint8)


def masked_image(image: Image, relevance: Map) -> UInt8[np.ndarray, "rows columns 3"]:
    """The image times its map: what does not matter is dark. The map is cut off at 0 and 1."""
    _check(image, relevance)
    product = np.asarray(image, np.float64) * np.clip(relevance, 0, 1)[..., None]
    return np.asarray(np.rint(product * 255)).astype(np.uint8)


def concept_overlay(
    image: Image,
    concept_map: SmallMap,
    *,
    beta: float = 0.45,
    span: tuple[float, float] | None = None,
    blend: Blend = "added",
    colors: Callable[[Map], Image] | None = None,
) -> Image:
    r"""A concept's map in colors over the image.

    .. math:: X + \beta J \qquad\text{or, mixed,}\qquad (1 - \beta) X + \beta J

    :math:`J` are colors of the map enlarged to the image. Added up, as
    :cite:t:`aysel2025concept` have it (Algorithm 2, colored), what is above 1 is cut off.

    Args:
        image: Red, green and blue, 0 to 1.
        concept_map: Of any size.
        beta: Strength of the colors, 0 to 1.
        span: Values that are the first and the last color; without, the map's own lowest and
            highest: colors then say where a concept is strongest, not how strong it is.
        blend: How the two are put together.
        colors: Red, green and blue for numbers from 0 to 1; without, those of cividis. The paper's
            rainbow makes steps where the map has none.
    """
    if not 0 <= beta <= 1:
        raise EvidenceError("beta", f"{beta:g}", "0 to 1")
    low, high = span or (float(np.min(concept_map)), float(np.max(concept_map)))
    if not low <= high:
        raise EvidenceError("span", f"{low:g} to {high:g}", "the lower value first")
    wide = high - low if high > low else 1.0
    # stretched before it is enlarged: the range is that of the map, not of what lies between
    stretched = np.clip(enlarge_map((concept_map - low) / wide, image.shape[:2]), 0.0, 1.0)
    _check(image, stretched)
    heat = (colors or magnitude_colors)(stretched)
    of_image = 1.0 - beta if blend == "mixed" else 1.0
    return np.asarray(np.minimum(of_image * image + beta * heat, 1.0))


def concept_cut_out(
    image: Image,
    concept_map: SmallMap,
    *,
    threshold: float | None = None,
    share: float | None = None,
) -> Image:
    r"""The image where a concept's map is high, and black elsewhere.

    .. math:: X \odot 1[\bar F_j \ge \tau]

    :math:`\bar F_j` is the map enlarged to the image :cite:p:`aysel2025concept` (Algorithm 2,
    binary).

    Args:
        image: Red, green and blue, 0 to 1.
        concept_map: Of any size.
        threshold: The value of the map from which on the image is shown; or:
        share: How much of the image is shown, its highest pixels; equal ones are all shown.
    """
    if (threshold is None) == (share is None):
        raise EvidenceError("threshold", "both or none of threshold and share", "one of them")
    pixels = enlarge_map(concept_map, image.shape[:2])
    _check(image, pixels)
    if share is not None:
        if not 0 < share <= 1:
            raise EvidenceError("share", f"{share:g}", "above 0, up to 1")
        n = max(int(np.floor(share * pixels.size + 0.5)), 1)
        threshold = float(np.partition(pixels, pixels.size - n, axis=None)[pixels.size - n])
    return np.asarray(np.where((pixels >= threshold)[..., None], image, 0.0))


def magnitude_colors(values: Map) -> Image:
    """Colors of cividis for numbers from 0 to 1."""
    table = unsigned_colors()
    return np.asarray(table[np.rint(values * (len(table) - 1)).astype(np.int64)] / 255)


def color_positions(relevance: Map, values: Values) -> Float[np.ndarray, "rows columns"]:
    """A map as places on the scale of colors, 0 to 1."""
    numbers = np.asarray(relevance, np.float64)
    largest = float(np.abs(numbers).max(initial=0.0)) or 1.0
    if values == "signed":
        return 0.5 + numbers / largest / 2
    if values == "as they are":
        return np.clip(numbers, 0, 1)
    if values == "paper lime":
        if not np.isin(numbers, (-1, 0, 1)).all():
            raise EvidenceError("relevance", "other values", "-1, 0 and 1, as of LIME's segments")
        return (numbers + 1) * 0.49
    if values == "paper shap":
        return np.clip(numbers / largest, 0, 1)
    raise EvidenceError(
        "values", repr(values), "'signed', 'as they are', 'paper lime' or 'paper shap'"
    )


def sentence(
    concepts: Mapping[str, float],
    n: int = 20,
    *,
    variant: Variant = "ours",
    distances: bool = False,
) -> str:
    """The concepts that matter most, in words: ``beak, wing, tail``.

    Ours: by size, whatever the sign; or, of ``distances``, the nearest first. Equal ones come in
    alphabetical order. ``reference`` does what the published code does: a concept also takes the
    value of any other whose name contains its own, equal ones come in reverse alphabetical order, a
    comma ends the sentence, and distances below 10,000 are not read, so that the first of the
    alphabet are named.

    >>> sentence({"wing": -0.5, "beak": 0.9, "tail": 0.1}, n=2)
    'beak, wing'
    >>> sentence({"wing": -0.5, "beak": 0.9, "tail": 0.1}, n=2, variant="reference")
    'beak, wing, '
    """
    if n < 1:
        raise EvidenceError("n", f"{n}", "at least one concept")
    if not all(np.isfinite(value) for value in concepts.values()):
        raise EvidenceError("concepts", "NaN or infinite values", "finite numbers")
    if variant == "reference":
        return "".join(f"{name}, " for name in _as_published(concepts, distances=distances)[:n])
    if variant != "ours":
        raise EvidenceError("variant", repr(variant), "'ours' or 'reference'")
    size = {name: value if distances else -abs(value) for name, value in concepts.items()}
    return ", ".join(sorted(size, key=lambda name: (size[name], name))[:n])


def weighted_embedding(
    concepts: Mapping[str, float],
    embed: Callable[[Sequence[str]], Float[np.ndarray, "concepts dimensions"]],
) -> Float[np.ndarray, " dimensions"]:
    r"""One embedding of an explanation by concepts: theirs, added up by how much they matter.

    .. math:: \phi(e) = \sum_k \frac{|e_k|}{\lVert e \rVert_2} \, \phi(\text{concept}_k)

    Of an explanation in which nothing matters it is zero.
    """
    if not concepts:
        raise EvidenceError("concepts", "none", "at least one")
    names = sorted(concepts)
    size = np.abs(np.array([concepts[name] for name in names], np.float64))
    norm = float(np.sqrt((size**2).sum()))
    return np.asarray(size / (norm or 1.0) @ np.asarray(embed(names), np.float64))


def _as_published(concepts: Mapping[str, float], *, distances: bool) -> list[str]:
    start = FAR if distances else 0.0
    values = {
        name: max([start, *(abs(value) for other, value in concepts.items() if name in other)])
        for name in concepts
    }
    pairs = sorted((value, name) for name, value in values.items())
    return [name for _, name in (pairs if distances else reversed(pairs))]


def _check(image: np.ndarray, relevance: np.ndarray) -> None:
    if image.shape[:2] != relevance.shape:
        raise EvidenceError(
            "relevance", f"{relevance.shape}", f"{image.shape[:2]}, as the image",
            "Enlarge the map to the image first.",
        )  # fmt: skip
    if not np.isfinite(relevance).all():
        raise EvidenceError("relevance", "NaN or infinite values", "finite numbers")
    if not (image.size and image.min() >= 0 and image.max() <= 1):
        raise EvidenceError("image", "values outside of 0 to 1", "0 to 1")
