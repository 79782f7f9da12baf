"""Fit post-hoc bottlenecks, or load them from the cache if they were fitted before.

A head is the same for every projection, so runs that differ only in projection or scores share it.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import sklearn
from jaxtyping import Bool, Float, Int

from theodolite._storage.arrays import read_safetensors, write_safetensors
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Concepts
from theodolite.models.concept_bank import ConceptBank, draw_examples, fit_concept_bank
from theodolite.models.posthoc import Head, PosthocBottleneck, fit_linear, fit_posthoc

VERSION = 1
"""Version of the fits; files of other versions are ignored."""


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """Data that a bottleneck is fitted to."""

    features: Float[np.ndarray, "samples channels"]
    labels: Int[np.ndarray, " samples"]
    presence: Bool[np.ndarray, "samples concepts"]
    known: Bool[np.ndarray, "samples concepts"] | None
    concepts: Concepts

    def digest(self) -> str:
        """Return a digest of all training data."""
        state = hashlib.sha256(json.dumps(self.concepts.names).encode())
        for array in (self.features, self.labels, self.presence, self.known):
            if array is not None:
                state.update(f"{array.dtype}{array.shape}".encode())
                state.update(np.ascontiguousarray(array).data)
        return state.hexdigest()


@dataclass(frozen=True)
class FitSettings:
    """Settings of a fit."""

    n_examples: int
    regulariser: float
    head: Head
    seed: int


def fit_or_load(
    training: TrainingSet, n_classes: int, settings: FitSettings, cache: Path
) -> PosthocBottleneck:
    """Return the bottleneck on plain products, fitted or from the cache."""
    identity = [VERSION, sklearn.__version__, training.digest(), n_classes, vars(settings)]
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    path = cache.resolve() / "bottlenecks" / f"{key}.safetensors"
    try:
        if path.is_file():
            return _from_arrays(read_safetensors(path), training, n_classes)
    except (UnsafeInputError, KeyError):
        pass  # a file that was cut off is made again
    model = _fitted(training, n_classes, settings)
    bank = model.bank
    arrays = {"vectors": bank.vectors, "intercepts": bank.intercepts, "means": bank.means}
    path.parent.mkdir(parents=True, exist_ok=True)
    heads = {"weights": model.weights, "bias": model.bias}
    write_safetensors(path, {name: np.asarray(own) for name, own in (arrays | heads).items()})
    return model


def fit_or_load_linear(
    features: Float[np.ndarray, "samples channels"],
    labels: Int[np.ndarray, " samples"],
    n_classes: int,
    cache: Path,
) -> tuple[Float[np.ndarray, "channels classes"], Float[np.ndarray, " classes"]]:
    """Return a linear layer from features to classes, fitted or from the cache."""
    nothing = np.zeros((len(labels), 0), bool)
    digest = TrainingSet(features, labels, nothing, None, Concepts()).digest()
    identity = [VERSION, sklearn.__version__, "linear", digest, n_classes]
    key = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    path = cache.resolve() / "bottlenecks" / f"{key}.safetensors"
    try:
        if path.is_file():
            arrays = read_safetensors(path)
            return arrays["weights"], arrays["bias"]
    except (UnsafeInputError, KeyError):
        pass  # a file that was cut off is made again
    weights, bias = fit_linear(features, labels, n_classes)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_safetensors(path, {"weights": weights, "bias": bias})
    return weights, bias


def _fitted(training: TrainingSet, n_classes: int, settings: FitSettings) -> PosthocBottleneck:
    examples = draw_examples(
        training.presence,
        training.known,
        n_positive=settings.n_examples,
        n_negative=settings.n_examples,
        concepts=training.concepts,
        seed=settings.seed,
    )
    bank = fit_concept_bank(
        training.features, examples, training.concepts, regulariser=settings.regulariser
    )
    pair = (training.features, training.labels)
    return fit_posthoc(bank, pair, n_classes, head=settings.head, seed=settings.seed)


def _from_arrays(
    arrays: dict[str, np.ndarray], training: TrainingSet, n_classes: int
) -> PosthocBottleneck:
    vectors, weights = arrays["vectors"], arrays["weights"]
    expected = (len(training.concepts), training.features.shape[1])
    if vectors.shape != expected or weights.shape != (len(training.concepts), n_classes):
        raise UnsafeInputError("fitted bottleneck", f"{vectors.shape}", f"{expected}")
    bank = ConceptBank(training.concepts, vectors, arrays["intercepts"], arrays["means"])
    return PosthocBottleneck(bank, "dot", weights, arrays["bias"])
