"""Match the outputs of a model with the classes of a data set, by name."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Int

MIN_CLASSES, MIN_IMAGES = 2, 50
"""What a part of the classes must have, so that faithfulness is evaluated on it."""


@dataclass(frozen=True, eq=False)
class ClassMatch:
    """Which of the data set's classes a model has an output for."""

    kind: Literal["same", "part", "other"]
    """All classes; some, with enough test images; or another set of classes."""
    classes: Int[np.ndarray, " matched"]
    """Classes of the data set that were found, in order; empty for "other"."""
    columns: Int[np.ndarray, " matched"]
    """Output of the model for each of them."""
    of: int
    """Number of classes of the data set."""
    by_order: bool = False
    """Whether names were missing, and equal numbers of classes were taken to be in one order."""

    @property
    def label(self) -> str:
        """Whose outputs faithfulness is evaluated on.

        >>> match_classes(["cat", "dog"], ["dog", "owl", "cat"]).label
        'network, 2 of 3 classes'
        """
        if self.kind == "other":
            return "probe"
        part = f", {len(self.classes)} of {self.of} classes"
        return "network" + part * (self.kind == "part")


def match_classes(
    model_classes: Sequence[str],
    data_classes: Sequence[str],
    *,
    n_outputs: int | None = None,
    test_labels: Int[np.ndarray, " images"] | None = None,
) -> ClassMatch:
    """Match classes by name; a name that occurs twice on either side matches nothing.

    Args:
        model_classes: Names of the model's outputs, in order; empty if unknown.
        data_classes: Names of the data set's classes, in order.
        n_outputs: Number of the model's outputs, if their names are unknown. As many as the data
            set has classes are taken to be in its order.
        test_labels: Class of each test image; a part needs 50 of them. Without, any number will do.

    >>> match_classes(["tabby, tabby cat", "Egyptian_cat"], ["egyptian-cat", "Tabby"]).columns
    array([1, 0])
    """
    n = len(data_classes)
    everything = np.arange(n)
    if not model_classes and n_outputs == n:
        return ClassMatch("same", everything, everything, n, by_order=True)
    outputs, classes = [*map(_normalize, model_classes)], [*map(_normalize, data_classes)]
    counts, own = Counter(outputs), Counter(classes)
    matched = [k for k, name in enumerate(classes) if counts[name] == 1 == own[name]]
    columns = np.array([outputs.index(classes[k]) for k in matched], int)
    if len(matched) == n:
        return ClassMatch("same", everything, columns, n)
    few = test_labels is not None and np.isin(test_labels, matched).sum() < MIN_IMAGES
    if len(matched) < MIN_CLASSES or few:
        return ClassMatch("other", everything[:0], everything[:0], n)
    return ClassMatch("part", np.array(matched, int), columns, n)


def _normalize(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", name.partition(",")[0]).strip().casefold()
