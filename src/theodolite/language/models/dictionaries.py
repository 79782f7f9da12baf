"""Interface of SAEs (``FeatureDictionary``), sparse activations, and a random-direction
baseline."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.ragged import compute_starts

Activations = Float[np.ndarray, "n dimensions"]
MAX_CODES = 1 << 24
"""Largest number of dense activations in memory at once."""


@runtime_checkable
class FeatureDictionary(Protocol):
    """Interface of an SAE: decoder rows, encode and decode."""

    @property
    def rows(self) -> Float[np.ndarray, "latents dimensions"]:
        """Decoder row of each latent."""

    @property
    def encode(self) -> Any:
        """Function from model activations to SAE activations, one column per latent."""

    @property
    def decode(self) -> Any:
        """Function from SAE activations to model activations."""


def keep_largest(
    codes: Float[np.ndarray, "n latents"], active: int
) -> Float[np.ndarray, "n latents"]:
    """Return the activations with all but the largest of each row set to 0."""
    if active < codes.shape[1]:
        small = np.argpartition(-codes, active - 1, axis=1)[:, active:]
        np.put_along_axis(codes, small, 0.0, axis=1)
    return codes


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """SAE activations without their zeros."""

    latent: Int[np.ndarray, " values"]
    """Active latents, rising within a token."""
    value: Float[np.ndarray, " values"]
    starts: Int[np.ndarray, " activations1"]
    """Start of each token's entries, and the end of the last."""


def compute_sparse_codes(dictionary: FeatureDictionary, activations: Activations) -> SparseCodes:
    """Compute sparse SAE activations in batches."""
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


def compute_largest_codes(
    dictionary: FeatureDictionary, activations: Activations, starts: Int[np.ndarray, " sequences1"]
) -> Float[np.ndarray, "sequences latents"]:
    """Return each latent's largest activation in each sequence; 0 if never active."""
    pooled = np.zeros((len(starts) - 1, len(dictionary.rows)), np.float32)
    sequence = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    at = 0
    for codes in _some_codes(dictionary, activations):
        np.maximum.at(pooled, sequence[at : at + len(codes)], codes.astype(np.float32))
        at += len(codes)
    return pooled


def _some_codes(dictionary: FeatureDictionary, activations: Activations) -> Iterator[np.ndarray]:
    step = max(MAX_CODES // max(len(dictionary.rows), 1), 1)
    for at in range(0, len(activations), step):
        yield np.asarray(dictionary.encode(activations[at : at + step]))


@dataclass(frozen=True, eq=False)
class RandomDictionary:
    """Baseline SAE with random directions and as many active latents.

    Whatever a dictionary is said to show, directions drawn at random must be asked as well, with
    as many latents of which as many are active.
    """

    rows: Float[np.ndarray, "latents dimensions"]
    """Directions of length 1."""
    mean: Float[np.ndarray, " dimensions"]
    scale: Float[np.ndarray, " dimensions"]
    active: int
    """Largest number of active latents per token."""
    unit: float
    """Scale of reconstructions, fitted once."""

    @classmethod
    def drawn_for(
        cls, activations: Activations, latents: int, active: int, seed: int
    ) -> "RandomDictionary":
        """Draw directions for activations, using only the spread of each dimension."""
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
        """Return the largest positive products."""
        codes = ((np.asarray(activations, float) - self.mean) / self.scale) @ self.rows.T
        return np.asarray(np.maximum(keep_largest(codes, self.active), 0.0))

    def decode(self, codes: Float[np.ndarray, "n latents"]) -> Activations:
        """Return the reconstruction of SAE activations."""
        return np.asarray(codes @ self.rows * self.unit * self.scale + self.mean)
