"""How much of a map lies in the frames that people drew before they saw it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

NAMES = ("sum_all", "sum_pos", "sum_neg", "entropy")
"""What is told of a map; the paper's names."""
Frames = Sequence[tuple[float, float, float, float]]
"""Left, upper edge, width and height, each as a share of the image."""


def frame_numbers(
    relevance: Float[np.ndarray, "rows columns"], inside: Bool[np.ndarray, "rows columns"]
) -> dict[str, float]:
    """The share of a map that lies in frames: of all its values, signed; of what speaks for the
    class; of what speaks against it. And the entropy of the whole map, 1 if it is even.

    Undefined is NaN: a share of nothing, or of a map that is 0 everywhere.

    >>> relevance = np.array([[2.0, -1.0], [0.0, 1.0]])
    >>> numbers = frame_numbers(relevance, np.array([[True, True], [False, False]]))
    >>> {name: round(value, 3) for name, value in numbers.items()}
    {'sum_all': 0.25, 'sum_pos': 0.667, 'sum_neg': 1.0, 'entropy': 0.75}
    """
    positive, negative, size = (
        np.maximum(relevance, 0),
        np.maximum(-relevance, 0),
        np.abs(relevance),
    )
    total = float(size.sum())

    def share(part: np.ndarray, whole: float) -> float:
        return float(part[inside].sum()) / whole if whole > 0 and inside.any() else float("nan")

    p = size[size > 0] / total if total > 0 else np.array([np.nan])
    return {
        "sum_all": share(relevance, total),
        "sum_pos": share(positive, float(positive.sum())),
        "sum_neg": share(negative, float(negative.sum())),
        "entropy": float(-(p * np.log(p)).sum() / np.log(relevance.size)),
    }


def mean_numbers(
    relevance: Float[np.ndarray, "rows columns"], people: Sequence[Frames]
) -> dict[str, float]:
    """The mean over people of what their own frames say; the entropy needs nobody."""
    if not people:
        return frame_numbers(relevance, np.zeros(relevance.shape, bool))
    each = [frame_numbers(relevance, _inside(frames, relevance.shape)) for frames in people]
    return {name: _mean([numbers[name] for numbers in each]) for name in NAMES}


def frames_by_explanation(
    boxes: Mapping[str, Sequence[Any]], sizes: Mapping[str, tuple[float, float]]
) -> dict[str, list[Frames]]:
    """The frames of each person, by explanation, as shares of the image.

    ``sizes`` are rows and columns in pixels.
    """
    by_person: dict[tuple[str, str], list[tuple[float, float, float, float]]] = {}
    columns = [boxes.get(n, ()) for n in ("explanation", "person", "x", "y", "width", "height")]
    for explanation, person, x, y, width, height in zip(*columns, strict=True):
        if explanation in sizes:
            down, across = sizes[explanation]
            frame = (x / across, y / down, width / across, height / down)
            by_person.setdefault((explanation, person), []).append(frame)
    frames: dict[str, list[Frames]] = {}
    for (explanation, _), own in by_person.items():
        frames.setdefault(explanation, []).append(own)
    return frames


def _inside(frames: Frames, shape: tuple[int, ...]) -> Bool[np.ndarray, "rows columns"]:
    inside = np.zeros(shape, bool)
    rows, columns = ((np.arange(n) + 0.5) / n for n in shape)
    for x, y, width, height in frames:
        down = (rows >= y) & (rows < y + height)
        inside |= np.outer(down, (columns >= x) & (columns < x + width))
    return inside


def _mean(values: Sequence[float]) -> float:
    known = [value for value in values if value == value]
    return float(np.mean(known)) if known else float("nan")
