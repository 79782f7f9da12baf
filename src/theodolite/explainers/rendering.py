"""An explanation as people are shown it: a picture with colours, a picture with holes, a sentence.

What is shown is also what an embedding of pictures and texts is given.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from jaxtyping import Float, UInt8

from theodolite.errors import EvidenceError

Values: TypeAlias = Literal["signed", "as they are", "paper lime", "paper shap"]
Variant: TypeAlias = Literal["ours", "reference"]
Picture: TypeAlias = Float[np.ndarray, "rows columns 3"]
Map: TypeAlias = Float[np.ndarray, "rows columns"]
COLOURS = 256
FAR = 10_000.0
"""What the published code takes for the distance of a concept that it was not given."""


def heatmap(
    picture: Picture, relevance: Map, *, values: Values = "signed"
) -> UInt8[np.ndarray, "rows columns 3"]:
    r"""The picture under its map, blue over white to red, half and half.

    .. math:: h = 255 \cdot g / \max g, \qquad g = \tfrac12 c(v(m)) + \tfrac12 x

    :math:`c` are the 256 colours of matplotlib's ``bwr`` and :math:`v` puts a map into 0 to 1.
    ``signed`` keeps the sign: nothing is white, against is blue, for is red. The others are as
    published: ``as they are`` cuts off what is outside of 0 to 1 (maps of the CAM family), ``paper
    lime`` takes -1, 0 and 1 to 0, 0.49 and 0.98, and ``paper shap`` divides by the largest value
    and then cuts off, so that zero and everything below it are the same blue.

    Args:
        picture: Red, green and blue, 0 to 1.
        relevance: How much each pixel matters.
        values: How the map is put into 0 to 1.
    """
    _check(picture, relevance)
    place = np.minimum(
        (colour_positions(relevance, values) * COLOURS).astype(np.int64), COLOURS - 1
    )
    mixed = 0.5 * bwr()[place] + 0.5 * picture
    return np.asarray(mixed / mixed.max() * 255).astype(np.uint8)


def masked_picture(picture: Picture, relevance: Map) -> UInt8[np.ndarray, "rows columns 3"]:
    """The picture times its map: what does not matter is dark. The map is cut off at 0 and 1."""
    _check(picture, relevance)
    product = np.asarray(picture, np.float64) * np.clip(relevance, 0, 1)[..., None]
    return np.asarray(np.rint(product * 255)).astype(np.uint8)


def colour_positions(relevance: Map, values: Values) -> Float[np.ndarray, "rows columns"]:
    """A map as places on the scale of colours, 0 to 1."""
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


def bwr() -> Float[np.ndarray, "256 3"]:
    """Blue over white to red in 256 steps, the same numbers as matplotlib's."""
    half = (COLOURS - 1) / 2
    along = (COLOURS - 1) * np.linspace(0, 1, COLOURS)
    up, down = np.minimum(along / half, 1), np.minimum(1 - (along - half) / half, 1)
    return np.stack([up, np.minimum(up, down), down], axis=1)


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


def _check(picture: np.ndarray, relevance: np.ndarray) -> None:
    if picture.shape[:2] != relevance.shape:
        raise EvidenceError(
            "relevance", f"{relevance.shape}", f"{picture.shape[:2]}, as the picture",
            "Enlarge the map to the picture first.",
        )  # fmt: skip
    if not np.isfinite(relevance).all():
        raise EvidenceError("relevance", "NaN or infinite values", "finite numbers")
    if not (picture.size and picture.min() >= 0 and picture.max() <= 1):
        raise EvidenceError("picture", "values outside of 0 to 1", "0 to 1")
