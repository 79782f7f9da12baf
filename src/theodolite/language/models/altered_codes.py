"""Baselines made from an SAE: a permuted decoder, and activations with planted concepts."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.ragged import compute_starts
from theodolite.language.dictionaries.torch_codes import (
    Tensor,
    TokenDictionary,
    TopCodes,
)
from theodolite.language.models.dictionaries import SparseCodes


@dataclass(frozen=True, eq=False)
class PermutedDecoder:
    """SAE with unchanged activations and decoder rows permuted among latents: the loss if
    directions do not matter.
    """

    source: TokenDictionary
    order: Int[np.ndarray, " latents"]
    """Latent whose row each latent uses."""

    @classmethod
    def of(cls, dictionary: TokenDictionary, seed: int) -> "PermutedDecoder":
        """Permute the rows at random."""
        return cls(dictionary, np.random.default_rng(seed).permutation(dictionary.latents))

    @property
    def device(self) -> str:
        """Device of the dictionary."""
        return str(getattr(self.source, "device", "cpu"))

    @property
    def latents(self) -> int:
        """Number of latents."""
        return self.source.latents

    @property
    def dimensions(self) -> int:
        """Width of the activations that it reads."""
        return self.source.dimensions

    @property
    def rows(self) -> np.ndarray:
        """Decoder row of each latent."""
        return np.asarray(self.source.rows[self.order])

    def largest(self, hidden: Tensor) -> TopCodes:
        """Return the codes of the original SAE."""
        return self.source.largest(hidden)

    def rebuild(self, hidden: Tensor, codes: TopCodes) -> Tensor:
        """Decode with the permuted rows."""
        import torch  # noqa: PLC0415  an extra

        order = torch.as_tensor(self.order).to(codes.indices.device)
        return self.source.rebuild(hidden, TopCodes(codes.values, order[codes.indices]))


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
