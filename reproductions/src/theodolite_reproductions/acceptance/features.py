"""What a learned score knows of an explanation, block by block."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite.datasets.votes.voted import ShownExplanation
from theodolite.errors import EvidenceError
from theodolite_reproductions.acceptance.embedding import Embedder
from theodolite_reproductions.acceptance.rendering import Rendering, spoken_text, vectors_of
from theodolite_reproductions.acceptance.words import length_features, word_features

BLOCKS = {
    "embedding": "the vector of the explanation",
    "context": "the vector of what is explained",
    "product": "the product of the two, number by number",
    "difference": "how far the two lie apart, number by number",
    "likeness": "cosines between explanation, what is explained, and its label",
    "words": "counts and shares of words",
    "length": "the number of words",
    "label": "which of the common labels is explained",
    "siblings": "how it differs from other explanations of the same",
}
NEED_VECTORS = frozenset({"embedding", "context", "product", "difference", "likeness", "siblings"})
BESIDE = {
    "context": ("context",),
    "product": ("context",),
    "difference": ("context",),
    "likeness": ("context", "label"),
    "words": ("context", "label"),
    "label": ("label",),
    "siblings": ("context", "label"),
}
"""What a block takes beside the explanation itself."""
MOST_LABELS = 26
LEAST_SHARE = 0.01
"""A label is common if at least so many explanations have it."""


@dataclass(frozen=True, eq=False)
class Explanations:
    """Explanations to be scored, rated or not."""

    items: Sequence[ShownExplanation]
    techniques: Sequence[str]
    """The technique of each; empty if it is not known."""
    clusters: Int[np.ndarray, " explanations"]
    """Explanations of the same image or question have the same number."""
    numbers: Mapping[str, Float[np.ndarray, " explanations"]]

    def __len__(self) -> int:
        return len(self.items)

    def beside(self, blocks: Sequence[str], rendering: Rendering) -> dict[str, Sequence[str]]:
        """What is said of each explanation, as far as the blocks take it."""
        names = {name for block in blocks for name in BESIDE.get(block, ())}
        columns: dict[str, Sequence[str]] = {
            name: [getattr(item, name) for item in self.items] for name in sorted(names)
        }
        if rendering.distances or rendering.values_of:
            columns["technique"] = self.techniques
        return columns


class ExplanationFeatures:
    """Blocks of features of some explanations; each is computed when first asked for."""

    def __init__(
        self,
        explanations: Explanations,
        embedder: Embedder | None,
        rendering: Rendering,
        labels: Sequence[str],
    ) -> None:
        self.explanations, self.embedder, self.rendering = explanations, embedder, rendering
        self.labels = tuple(labels)
        self._blocks: dict[str, np.ndarray] = {}

    def rendered(self, rendering: Rendering) -> "ExplanationFeatures":
        """Those of the same explanations shown in another way."""
        return ExplanationFeatures(self.explanations, self.embedder, rendering, self.labels)

    def matrix(self, names: Sequence[str]) -> Float[np.ndarray, "explanations features"]:
        """The blocks beside each other."""
        blocks = [self.block(name) for name in names]
        return np.hstack([np.zeros((len(self.explanations), 0)), *blocks])

    def block(self, name: str) -> Float[np.ndarray, "explanations features"]:
        """One of ``BLOCKS``, or a number that came with the explanations."""
        if name not in self._blocks:
            self._blocks[name] = np.asarray(self._make(name), np.float64)
        return self._blocks[name]

    def _make(self, name: str) -> np.ndarray:
        explanations = self.explanations
        if name not in BLOCKS:
            if name not in explanations.numbers:
                known = [*BLOCKS, *explanations.numbers]
                raise EvidenceError("features", repr(name), f"some of {known}")
            return np.asarray(explanations.numbers[name], np.float64)[:, None]
        makers: dict[str, Callable[[], np.ndarray]] = {
            "embedding": lambda: vectors_of(
                explanations.items, explanations.techniques, self.rendering, self._embedder(name)
            ),
            "context": lambda: self._embedder(name).texts(
                [item.context for item in explanations.items]
            ),
            "product": lambda: self.block("embedding") * self.block("context"),
            "difference": lambda: np.abs(self.block("embedding") - self.block("context")),
            "likeness": self._likeness,
            "words": self._words,
            "length": lambda: length_features(self._texts())[1],
            "label": self._label,
            "siblings": self._siblings,
        }
        return makers[name]()

    def _embedder(self, name: str) -> Embedder:
        if self.embedder is None:
            raise EvidenceError(
                "embedding", f"none, for {name!r}", "one", "Name one, such as minilm."
            )
        return self.embedder

    def _texts(self) -> list[str]:
        pairs = zip(self.explanations.items, self.explanations.techniques, strict=True)
        return [spoken_text(item, technique, self.rendering) for item, technique in pairs]

    def _words(self) -> np.ndarray:
        items = self.explanations.items
        contexts, labels = [item.context for item in items], [item.label for item in items]
        return word_features(self._texts(), contexts, labels)[1]

    def _likeness(self) -> np.ndarray:
        labels = self._embedder("likeness").texts([item.label for item in self.explanations.items])
        explanation, context, label = (
            _unit(v) for v in (self.block("embedding"), self.block("context"), labels)
        )
        return np.stack(
            [
                (explanation * context).sum(1),
                (explanation * label).sum(1),
                (context * label).sum(1),
            ],
            axis=1,
        )

    def _label(self) -> np.ndarray:
        return np.array(
            [[item.label == label for label in self.labels] for item in self.explanations.items],
            np.float64,
        ).reshape(len(self.explanations), len(self.labels))

    def _siblings(self) -> np.ndarray:
        """Zero for an explanation that has none."""
        group = np.unique(self.explanations.clusters, return_inverse=True)[1]
        sizes = np.bincount(group)[group][:, None]

        def mean(values: np.ndarray) -> np.ndarray:
            return np.asarray(
                np.stack([np.bincount(group, column) for column in values.T], 1)[group]
            )

        own = np.hstack([self.block("words"), self.block("likeness")])
        vectors = _unit(self.block("embedding"))
        others = np.maximum(sizes - 1, 1)
        alike = ((vectors * mean(vectors)).sum(1, keepdims=True) - 1) / others
        alike = np.where(sizes > 1, alike, 0.0)
        return np.hstack([own - mean(own) / sizes, alike])


def common_labels(explanations: Sequence[ShownExplanation]) -> tuple[str, ...]:
    """Labels that are worth a feature each: at most 26, the commonest first."""
    counts = Counter(explanation.label for explanation in explanations if explanation.label)
    enough = [(-n, label) for label, n in counts.items() if n >= LEAST_SHARE * len(explanations)]
    return tuple(label for _, label in sorted(enough)[:MOST_LABELS])


def _unit(vectors: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(norms > 0, norms, 1.0))
