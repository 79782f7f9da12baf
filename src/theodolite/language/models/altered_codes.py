"""Baselines made from an SAE: a permuted decoder, and activations with planted concepts."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.ragged import compute_starts
from theodolite.language.models.dictionaries import Activations, FeatureDictionary, SparseCodes


@dataclass(frozen=True, eq=False)
class PermutedDecoder:
    """SAE with unchanged activations and decoder rows permuted among latents: the loss if
    directions do not matter.
    """

    dictionary: FeatureDictionary
    order: Int[np.ndarray, " latents"]
    """Latent whose row each latent uses."""

    @classmethod
    def of(cls, dictionary: FeatureDictionary, seed: int) -> "PermutedDecoder":
        """Permute the rows at random."""
        return cls(dictionary, np.random.default_rng(seed).permutation(len(dictionary.rows)))

    @property
    def rows(self) -> Float[np.ndarray, "latents dimensions"]:
        """Decoder row of each latent."""
        return np.asarray(self.dictionary.rows[self.order])

    def encode(self, activations: Activations) -> Float[np.ndarray, "n latents"]:
        """Return the activations of the original SAE."""
        return np.asarray(self.dictionary.encode(activations))

    def decode(self, codes: Float[np.ndarray, "n latents"]) -> Activations:
        """Decode with the permuted rows."""
        moved = np.zeros_like(codes)
        moved[:, self.order] = codes
        return np.asarray(self.dictionary.decode(moved))


def plant_concepts(
    codes: SparseCodes,
    starts: Int[np.ndarray, " sequences1"],
    truth: Bool[np.ndarray, "sequences concepts"],
    *,
    hits: float = 0.9,
    false_alarms: float = 0.05,
    seed: int = 0,
) -> SparseCodes:
    """Replace the first latents by noisy indicators of the concepts.

    Each is active once in a sequence, at a token drawn by chance: in sequences with its concept
    with probability ``hits``, in others with probability ``false_alarms``. Whatever is said of
    dictionaries must be said of such latents, for their meaning is known.
    """
    if not 0 <= false_alarms <= hits <= 1:
        got = f"{hits:g} and {false_alarms:g}"
        raise EvidenceError("hits and false_alarms", got, "0 to 1, hits no less")
    random = np.random.default_rng(seed)
    active = random.random(truth.shape) < np.where(truth, hits, false_alarms)
    active &= (np.diff(starts) > 0)[:, None]
    sequence, concept = np.nonzero(active)
    place = random.random(len(sequence)) * np.diff(starts)[sequence]
    token = starts[sequence] + place.astype(np.int64)
    strength = float(np.median(codes.value)) if len(codes.value) else 1.0
    rows = np.repeat(np.arange(len(codes.starts) - 1), np.diff(codes.starts))
    stays = codes.latent >= truth.shape[1]
    rows = np.concatenate([rows[stays], token])
    latent = np.concatenate([codes.latent[stays], concept.astype(np.int32)])
    planted = np.full(len(token), strength, np.float32)
    value = np.concatenate([codes.value[stays], planted])
    order = np.lexsort((latent, rows))
    counts = np.bincount(rows, minlength=len(codes.starts) - 1)
    return SparseCodes(latent[order], value[order], compute_starts(counts))
