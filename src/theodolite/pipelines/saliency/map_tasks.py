"""Tasks of the saliency pipeline: maps of one method on a few images, and all tests of them."""

import hashlib
import importlib.metadata
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.evidence.workers import Arrays
from theodolite.explainers.probing.pixel_removal import Removal, compute_removal_curves
from theodolite.explainers.probing.randomization import compute_map_similarity, randomize_weights
from theodolite.explainers.probing.stability import StabilitySettings, measure_map_changes
from theodolite.explainers.saliency.methods import explainer
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_named_model
from theodolite.pipelines.feature_pass import ImageFiles

Batch = Float[np.ndarray, "samples 3 rows columns"]
LIBRARIES = ("torch", "grad-cam", "captum", "lime", "shap", "numpy", "scikit-image")
CHANCE_SEED = 1_000_003
"""Offset of the seed of the baseline map, so that it differs from a scored random map."""


@dataclass(frozen=True)
class ProbedImages:
    """Settings of the tests of each map."""

    ways: tuple[str, ...]
    percents: tuple[float, ...]
    noises: tuple[str, ...]
    draws: int
    radius: float
    seed: int


@dataclass(frozen=True)
class SaliencyTask:
    """A method and the images that it runs on."""

    method: str
    layer: str | None
    options: Mapping[str, Any]
    rows: tuple[int, ...]
    """Rows of the images in the data set."""
    shaken: tuple[bool, ...]
    randomized: tuple[bool, ...]
    chance: bool = False
    """Whether the map is the random baseline."""

    def as_dict(self) -> dict[str, Any]:
        """Return everything that determines the result besides images and network, as JSON."""
        return asdict(self)


class SavedNetwork:
    """A classifier that each process loads from its file once."""

    def __init__(self, name: str, weights: Path | None, classes: tuple[str, ...]) -> None:
        self.name, self.weights, self.classes = name, weights, classes

    def __call__(self) -> "LoadedNetwork":
        return _load(self.name, self.weights, self.classes)

    def classifier(self) -> LoadedModel:
        return _load(self.name, self.weights, self.classes).classifier


@lru_cache(maxsize=1)
def _load(name: str, weights: Path | None, classes: tuple[str, ...]) -> "LoadedNetwork":
    return LoadedNetwork(load_named_model(name, weights=weights, classes=classes))


@dataclass(eq=False)
class LoadedNetwork:
    """A classifier, and on demand the same with random weights."""

    classifier: LoadedModel

    @cached_property
    def forgetful(self) -> Any:
        return randomize_weights(self.classifier.network, seed=0)

    @property
    def black(self) -> Float[np.ndarray, "3"]:
        preprocessing = self.classifier.preprocessing
        return -np.asarray(preprocessing.mean, np.float32) / np.asarray(
            preprocessing.spread, np.float32
        )


def prepare(data: ImageFiles, rows: tuple[int, ...], classifier: LoadedModel) -> Batch:
    """Return the images preprocessed for the network."""
    return np.stack([classifier.preprocessing(data.image(row)) for row in rows])


def run_task(
    data: ImageFiles, probed: ProbedImages, piece: SaliencyTask, loaded: LoadedNetwork
) -> Arrays:
    """Return the maps of some images, and the results of all tests."""
    classifier = loaded.classifier
    batch = prepare(data, piece.rows, classifier)
    probabilities = classifier.probabilities(batch)
    targets = probabilities.argmax(axis=1).astype(np.int64)
    seed = probed.seed + (CHANCE_SEED if piece.chance else 0)

    def method(network: Any) -> Callable[[Batch, Int[np.ndarray, " n"]], np.ndarray]:
        return explainer(
            piece.method, network, layer=piece.layer, grid=classifier.grid, seed=seed,
            options=piece.options,
        )  # fmt: skip

    explain = method(classifier.network)
    started = time.process_time()  # of this process alone: the machine may be busy
    maps = explain(batch, targets)
    seconds = time.process_time() - started
    numbers = np.asarray(piece.rows)
    curves = compute_removal_curves(
        classifier.probabilities, batch, maps, targets=targets, numbers=numbers,
        removal=Removal(black=loaded.black, seed=probed.seed, ways=probed.ways,
                        percents=probed.percents),
    )  # fmt: skip
    return {
        "maps": maps,
        "targets": targets,
        "confidence": probabilities.max(axis=1),
        "clean": curves.clean,
        "least_first": curves.least_first,
        "most_first": curves.most_first,
        "norms": np.linalg.norm(maps.reshape(len(maps), -1).astype(np.float64), axis=1),
        "changes": _changes(explain, batch, maps, targets, probed, piece),
        "randomized_similarity": _alike(method, batch, maps, targets, loaded, piece),
        "seconds": np.full(len(maps), seconds / len(maps)),
    }


def _changes(
    explain: Any,
    batch: Batch,
    maps: np.ndarray,
    targets: np.ndarray,
    probed: ProbedImages,
    piece: SaliencyTask,
) -> np.ndarray:
    changes = np.full((len(batch), max(len(probed.noises), 1), max(probed.draws, 1)), np.nan)
    some = np.flatnonzero(piece.shaken)
    if len(some) and probed.noises and probed.draws:
        noise_settings = StabilitySettings(
            draws=probed.draws, seed=probed.seed, noises=probed.noises, radius=probed.radius
        )
        moved = measure_map_changes(
            explain, batch[some], maps[some], targets=targets[some], settings=noise_settings,
            numbers=np.asarray(piece.rows)[some],
        )  # fmt: skip
        changes[some] = moved.changes
    return changes


def _alike(
    method: Any,
    batch: Batch,
    maps: np.ndarray,
    targets: np.ndarray,
    loaded: LoadedNetwork,
    piece: SaliencyTask,
) -> np.ndarray:
    similarity = np.full(len(batch), np.nan)
    some = np.flatnonzero(piece.randomized)
    if len(some):
        again = method(loaded.forgetful)(batch[some], targets[some])
        similarity[some] = compute_map_similarity(maps[some], again)
    return similarity


def to_half_precision(maps: np.ndarray) -> np.ndarray:
    """Return maps in half precision, unless they would overflow or vanish."""
    top = np.abs(maps).reshape(len(maps), -1).max(axis=1)
    fits = ((top == 0) | ((top < 6e4) & (top > 1e-2))).all()
    return maps.astype(np.float16) if fits else maps


def list_library_versions() -> dict[str, str]:
    """Return the versions of the libraries that compute maps."""
    by_package = {}
    for package in LIBRARIES:
        try:
            by_package[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return by_package


def compute_task_digest(piece: SaliencyTask, images: Mapping[int, str]) -> str:
    """Return a digest of a task's images and settings."""
    identity = [piece.as_dict(), [images[row] for row in piece.rows]]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
