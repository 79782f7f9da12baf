"""Evidence of any size for the benchmarks: any batch of it can be made alone."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from theodolite.evidence.axes import Classes
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.store import StoredShards, is_stored, stored
from theodolite.evidence.store_writer import EvidenceWriter

BATCH = 2048
PIECE = 512
CONCEPTS, CLASSES, DIMENSIONS = 12, 10, 64


def locations(n: int) -> Iterator[LocationEvidence]:
    """Concepts with maps, of which about half point at the right place."""
    for number, start in enumerate(range(0, n, BATCH)):
        random = np.random.default_rng([1, number])
        rows = min(BATCH, n - start)
        labels = random.integers(0, CLASSES, rows)
        truth = random.random((rows, CONCEPTS)) < 0.4
        values = random.normal(size=(rows, CONCEPTS)).astype(np.float32) + 0.8 * truth
        points = random.random((rows, CONCEPTS, 1, 2)) * 224
        maps = random.random((rows, CONCEPTS, 7, 7), np.float32)
        cell = (points[:, :, 0] / 32).astype(int)
        sample, concept = np.nonzero(random.random((rows, CONCEPTS)) < 0.5)
        maps[sample, concept, cell[sample, concept, 0], cell[sample, concept, 1]] += 1
        weights = np.random.default_rng(0).normal(size=(CONCEPTS, CLASSES))
        yield LocationEvidence(
            explained=ConceptEvidence(
                values=values,
                truth=truth,
                labels=labels,
                predicted=(values @ weights).argmax(axis=1),
                weights=weights,
                classes=Classes.numbered(CLASSES),
            ),
            maps=maps,
            sizes=np.full((rows, 2), 224),
            part_of=np.arange(CONCEPTS),
            points=points,
        )


def surrogates(n: int) -> Iterator[SurrogateEvidence]:
    """A linear layer, and concepts that explain some of it."""
    layer = np.random.default_rng(2)
    head = layer.normal(size=(CLASSES, DIMENSIONS))
    vectors = layer.normal(size=(CONCEPTS, DIMENSIONS))
    importances = vectors @ head.T / (vectors**2).sum(axis=1, keepdims=True)
    for number, start in enumerate(range(0, n, BATCH)):
        random = np.random.default_rng([3, number])
        rows = min(BATCH, n - start)
        yield SurrogateEvidence(
            embeddings=random.normal(size=(rows, DIMENSIONS)).astype(np.float32),
            head=head,
            vectors=vectors,
            importances=importances,
            labels=random.integers(0, CLASSES, rows),
            classes=Classes.numbered(CLASSES),
        )


def written(folder: Path, n: int) -> tuple[StoredShards, StoredShards]:
    """Both in a folder, written once."""
    result = []
    for name, batches in (("location", locations(n)), ("surrogate", surrogates(n))):
        place = folder / f"{name}-{n}"
        if not is_stored(place):
            with EvidenceWriter(place, PIECE) as writer:
                for batch in batches:
                    writer.add(batch)
        result.append(stored(place))
    return result[0], result[1]
