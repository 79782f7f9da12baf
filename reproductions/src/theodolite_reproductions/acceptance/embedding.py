"""Vectors of sentences and images, computed once and kept."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from jaxtyping import Float
from PIL import Image

from theodolite._storage.arrays import read_npy, write_npy
from theodolite._storage.text import read_json
from theodolite.errors import UnsafeInputError
from theodolite.evidence.pipeline_output import Progress, WorkContext, silent
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_named_model
from theodolite.pipelines.feature_pass import compute_weights_digest
from theodolite_reproductions.acceptance.image_text import ImageTextEmbedding, load_embedding

SENTENCES, IMAGES = 1024, 64


@dataclass(frozen=True, eq=False)
class Embedder:
    """An embedding with a folder in which its vectors are found again."""

    embedding: ImageTextEmbedding
    digest: str
    """Of the embedding's own weights: other weights are other vectors."""
    cache: Path | None = None
    progress: Progress = silent

    def texts(self, sentences: Sequence[str]) -> Float[np.ndarray, "sentences dimensions"]:
        """A vector for each sentence; equal ones are embedded once."""
        different = sorted(set(sentences))

        def some(start: int, stop: int) -> np.ndarray:
            return self.embedding.texts(different[start:stop])

        vectors = self._vectors("sentences", different, some, SENTENCES)
        place = {sentence: row for row, sentence in enumerate(different)}
        return vectors[[place[sentence] for sentence in sentences]]

    def images(
        self, names: Sequence[str], make: Callable[[int], Image.Image]
    ) -> Float[np.ndarray, "images dimensions"]:
        """A vector for each image that ``make`` makes; a name says all that decides an image."""

        def some(start: int, stop: int) -> np.ndarray:
            return self.embedding.images([make(row) for row in range(start, stop)])

        return self._vectors("images", names, some, IMAGES)

    def _vectors(
        self, what: str, names: Sequence[str], some: Callable[[int, int], np.ndarray], size: int
    ) -> Float[np.ndarray, "n dimensions"]:
        parts = []
        for start in range(0, len(names), size):
            self.progress(f"vectors of {what}", start, len(names))
            stop = min(start + size, len(names))
            parts.append(self._part(what, names[start:stop], partial(some, start, stop)))
        self.progress(f"vectors of {what}", len(names), len(names))
        wide = self.embedding.dimensions
        return np.concatenate(parts) if parts else np.zeros((0, wide), np.float32)

    def _part(self, what: str, names: Sequence[str], make: Callable[[], np.ndarray]) -> np.ndarray:
        if self.cache is None:
            return make()
        identity = json.dumps([what, self.embedding.name, self.digest, list(names)])
        key = hashlib.sha256(identity.encode()).hexdigest()
        path = self.cache.resolve() / "embeddings" / f"{key}.npy"
        shape = (len(names), self.embedding.dimensions)
        try:
            if path.is_file():
                vectors = read_npy(path)
                if vectors.shape == shape and np.isfinite(vectors).all():
                    return vectors
        except UnsafeInputError:
            pass  # a file that was cut off is made again
        vectors = make().astype(np.float32)
        write_npy(path, vectors)
        return vectors


@dataclass(frozen=True)
class StandsIn:
    """The classifier of the offline stand-in; its name is empty if there is none."""

    name: str = ""
    weights: Path | None = None
    class_names: Path | None = None
    """A JSON list, in the order of the logits; where the library does not know them."""

    def load(self) -> LoadedModel | None:
        """The network with the names of its classes."""
        if not self.name:
            return None
        return load_named_model(self.name, weights=self.weights, classes=self.classes())

    def classes(self) -> tuple[str, ...]:
        """The names in the file."""
        if self.class_names is None:
            return ()
        names = read_json(self.class_names, "class names")
        if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
            raise UnsafeInputError(f"class names {self.class_names.name!r}", "other content",
                               "a JSON list of names, in the order of the logits")  # fmt: skip
        return tuple(names)

    def digests(self) -> dict[str, str]:
        """What it was read from, by file."""
        return compute_weights_digest(self.weights) | compute_weights_digest(self.class_names)


def embedder_for(
    name: str, weights: Path | None, classifier: StandsIn, context: WorkContext
) -> Embedder:
    """An embedding by name; ``classifier`` is for the offline stand-in."""
    stands_in = classifier.load()
    identity = [
        classifier.name,
        *compute_weights_digest(weights).values(),
        *classifier.digests().values(),
    ]
    loaded = load_embedding(name, weights=weights, classifier=stands_in)
    return Embedder(loaded, " ".join(identity), context.cache, context.progress)
