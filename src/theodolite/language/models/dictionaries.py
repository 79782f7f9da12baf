"""Dictionaries of activations: what one must do, and one that knows nothing of the network."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.ragged import compute_starts

Activations = Float[np.ndarray, "n dimensions"]
MOST_CODES = 1 << 24
"""Codes that are held at once, most of them 0."""


@runtime_checkable
class FeatureDictionary(Protocol):
    """Directions, and how much of each is in an activation."""

    @property
    def rows(self) -> Float[np.ndarray, "latents dimensions"]:
        """What one unit of each latent adds to an activation."""

    @property
    def encode(self) -> Any:
        """Activations to codes, one column a latent."""

    @property
    def decode(self) -> Any:
        """Codes to activations."""


def largest_only(
    codes: Float[np.ndarray, "n latents"], active: int
) -> Float[np.ndarray, "n latents"]:
    """The codes themselves, with all but the largest of each row put to 0."""
    if active < codes.shape[1]:
        small = np.argpartition(-codes, active - 1, axis=1)[:, active:]
        np.put_along_axis(codes, small, 0.0, axis=1)
    return codes


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """Codes without their zeros."""

    latent: Int[np.ndarray, " values"]
    """Rising within an activation."""
    value: Float[np.ndarray, " values"]
    starts: Int[np.ndarray, " activations1"]
    """Where each activation's codes begin, and where the last end."""


def sparse_codes(dictionary: FeatureDictionary, activations: Activations) -> SparseCodes:
    """Codes of activations, some at a time."""
    latents, values, counts = [], [], []
    for codes in _some_codes(dictionary, activations):
        row, latent = np.nonzero(codes)
        latents.append(latent.astype(np.int32))
        values.append(codes[row, latent].astype(np.float32))
        counts.append(np.bincount(row, minlength=len(codes)))
    if not latents:
        return SparseCodes(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(1, np.int64))
    starts = compute_starts(np.concatenate(counts))
    return SparseCodes(np.concatenate(latents), np.concatenate(values), starts)


def largest_codes(
    dictionary: FeatureDictionary, activations: Activations, starts: Int[np.ndarray, " sequences1"]
) -> Float[np.ndarray, "sequences latents"]:
    """The largest code of each latent in each sequence; 0 where it is never active."""
    pooled = np.zeros((len(starts) - 1, len(dictionary.rows)), np.float32)
    sequence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    at = 0
    for codes in _some_codes(dictionary, activations):
        np.maximum.at(pooled, sequence[at : at + len(codes)], codes.astype(np.float32))
        at += len(codes)
    return pooled


def _some_codes(dictionary: FeatureDictionary, activations: Activations) -> Iterator[np.ndarray]:
    step = max(MOST_CODES // max(len(dictionary.rows), 1), 1)
    for at in range(0, len(activations), step):
        yield np.asarray(dictionary.encode(activations[at : at + step]))


@dataclass(frozen=True, eq=False)
class RandomDictionary:
    """Directions that know nothing: the largest of activations along them, standardized.

    Whatever a dictionary is said to show, directions drawn at random must be asked as well, with
    as many latents of which as many are active.
    """

    rows: Float[np.ndarray, "latents dimensions"]
    """Each of length 1."""
    mean: Float[np.ndarray, " dimensions"]
    scale: Float[np.ndarray, " dimensions"]
    active: int
    """Latents that are active in an activation, at most."""
    unit: float
    """By how much rebuilt activations are scaled, fitted once."""

    @classmethod
    def drawn_for(
        cls, activations: Activations, latents: int, active: int, seed: int
    ) -> "RandomDictionary":
        """For activations of which it knows the spread of each dimension alone."""
        if not 1 <= active <= latents:
            raise EvidenceError("active", f"{active} of {latents}", "1 or more, and no more")
        if len(activations) < 2:
            raise EvidenceError("activations", f"{len(activations)}", "two or more")
        rows = np.random.default_rng(seed).standard_normal((latents, activations.shape[1]))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        mean, scale = activations.mean(axis=0), activations.std(axis=0)
        plain = cls(rows, mean, np.where(scale > 0, scale, 1.0), active, 1.0)
        some = activations[:: max(len(activations) // 1_000, 1)]
        rebuilt = plain.encode(some) @ rows
        inside = (some - mean) / plain.scale
        norm = float((rebuilt**2).sum())
        unit = float((rebuilt * inside).sum()) / norm if norm > 0 else 1.0
        return cls(plain.rows, plain.mean, plain.scale, active, unit)

    def encode(self, activations: Activations) -> Float[np.ndarray, "n latents"]:
        """The largest products, where above 0."""
        codes = ((np.asarray(activations, float) - self.mean) / self.scale) @ self.rows.T
        return np.asarray(np.maximum(largest_only(codes, self.active), 0.0))

    def decode(self, codes: Float[np.ndarray, "n latents"]) -> Activations:
        """What the codes stand for."""
        return np.asarray(codes @ self.rows * self.unit * self.scale + self.mean)
