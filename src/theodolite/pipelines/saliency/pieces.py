"""One method on a few images: maps, and what becomes of them and of the answer."""

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
from theodolite.explainers.probing.randomization import map_similarity, randomize_weights
from theodolite.explainers.probing.removal import Removal, removal_curves
from theodolite.explainers.probing.stability import StabilitySettings, map_changes
from theodolite.explainers.saliency.methods import explainer
from theodolite.models.classifier import Classifier
from theodolite.models.classifiers import load_classifier
from theodolite.pipelines.features import ImageFiles

Batch = Float[np.ndarray, "samples 3 rows columns"]
LIBRARIES = ("torch", "grad-cam", "captum", "lime", "shap", "numpy", "scikit-image")
CHANCE_SEED = 1_000_003
"""Added to a run's seed for the random map that others are held against: if the run also scores a
random map of its own, it is another one."""


@dataclass(frozen=True)
class ProbedImages:
    """What is done with each map."""

    ways: tuple[str, ...]
    percents: tuple[float, ...]
    noises: tuple[str, ...]
    draws: int
    radius: float
    seed: int


@dataclass(frozen=True)
class SaliencyPiece:
    """A method and the images that it is run on."""

    method: str
    layer: str | None
    options: Mapping[str, Any]
    rows: tuple[int, ...]
    """Of the data set."""
    shaken: tuple[bool, ...]
    randomized: tuple[bool, ...]
    chance: bool = False
    """Whether the map is the random one that others are held against."""

    def as_dict(self) -> dict[str, Any]:
        """All that decides it beside images and network, as plain JSON."""
        return asdict(self)


class SavedNetwork:
    """A classifier as a tool: where it is sent to, it is loaded from its file, once."""

    def __init__(self, name: str, weights: Path | None, classes: tuple[str, ...]) -> None:
        self.name, self.weights, self.classes = name, weights, classes

    def __call__(self) -> "LoadedNetwork":
        return _load(self.name, self.weights, self.classes)

    def classifier(self) -> Classifier:
        return _load(self.name, self.weights, self.classes).classifier


@lru_cache(maxsize=1)
def _load(name: str, weights: Path | None, classes: tuple[str, ...]) -> "LoadedNetwork":
    return LoadedNetwork(load_classifier(name, weights, classes=classes))


@dataclass(eq=False)
class LoadedNetwork:
    """The classifier, and the same with random weights once it is asked for."""

    classifier: Classifier

    @cached_property
    def forgetful(self) -> Any:
        return randomize_weights(self.classifier.network, seed=0)

    @property
    def black(self) -> Float[np.ndarray, "3"]:
        preprocessing = self.classifier.preprocessing
        return -np.asarray(preprocessing.mean, np.float32) / np.asarray(
            preprocessing.spread, np.float32
        )


def prepare(data: ImageFiles, rows: tuple[int, ...], classifier: Classifier) -> Batch:
    """The images as the network wants them."""
    return np.stack([classifier.preprocessing(data.image(row)) for row in rows])


def do_piece(
    data: ImageFiles, probed: ProbedImages, piece: SaliencyPiece, loaded: LoadedNetwork
) -> Arrays:
    """Maps of some images, and everything that is asked of them."""
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
    curves = removal_curves(
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
    piece: SaliencyPiece,
) -> np.ndarray:
    changes = np.full((len(batch), max(len(probed.noises), 1), max(probed.draws, 1)), np.nan)
    some = np.flatnonzero(piece.shaken)
    if len(some) and probed.noises and probed.draws:
        shaking = StabilitySettings(
            draws=probed.draws, seed=probed.seed, noises=probed.noises, radius=probed.radius
        )
        moved = map_changes(
            explain, batch[some], maps[some], targets=targets[some], shaking=shaking,
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
    piece: SaliencyPiece,
) -> np.ndarray:
    similarity = np.full(len(batch), np.nan)
    some = np.flatnonzero(piece.randomized)
    if len(some):
        again = method(loaded.forgetful)(batch[some], targets[some])
        similarity[some] = map_similarity(maps[some], again)
    return similarity


def half_if_it_fits(maps: np.ndarray) -> np.ndarray:
    """Half precision where it keeps the maps: neither too large for it nor lost below its end."""
    top = np.abs(maps).reshape(len(maps), -1).max(axis=1)
    fits = ((top == 0) | ((top < 6e4) & (top > 1e-2))).all()
    return maps.astype(np.float16) if fits else maps


def versions() -> dict[str, str]:
    """Of the libraries that make maps: another version may make others."""
    by_package = {}
    for package in LIBRARIES:
        try:
            by_package[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return by_package


def piece_digest(piece: SaliencyPiece, images: Mapping[int, str]) -> str:
    """A digest of what a piece looks at and how."""
    identity = [piece.as_dict(), [images[row] for row in piece.rows]]
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()
