"""Sparse codes of a dictionary at every token, and a baseline of random directions."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.ragged import compute_starts
from theodolite.language.dictionaries.common_form import Rows, SparseDictionary
from theodolite.language.dictionaries.objects import dictionary as as_dictionary
from theodolite.language.dictionaries.torch_codes import TokenDictionary, TopCodes, to_host

BLOCK_TOKENS = 8_192
"""Number of tokens whose activations are on the device at once."""


@dataclass(frozen=True, eq=False)
class SparseCodes:
    """SAE activations without their zeros."""

    latent: Int[np.ndarray, " values"]
    """Active latents, rising within a token."""
    value: Float[np.ndarray, " values"]
    starts: Int[np.ndarray, " activations1"]
    """Start of each token's entries, and the end of the last."""


def compute_sparse_codes(dictionary: Any, activations: Rows) -> SparseCodes:
    """Compute the codes of all tokens in blocks; dense ones exist for one block only."""
    import torch  # noqa: PLC0415  an extra

    own = as_dictionary(dictionary)
    latents, values, counts = [], [], []
    for at in range(0, len(activations), BLOCK_TOKENS):
        some = np.array(activations[at : at + BLOCK_TOKENS], np.float32)
        with torch.inference_mode():
            codes = own.largest(torch.as_tensor(some).to(device_of(own)))
        latent, value, active = _active(codes)
        latents.append(latent)
        values.append(value)
        counts.append(active)
    if not latents:
        return SparseCodes(np.zeros(0, np.int32), np.zeros(0, np.float32), np.zeros(1, np.int64))
    starts = compute_starts(np.concatenate(counts))
    return SparseCodes(np.concatenate(latents), np.concatenate(values), starts)


def device_of(dictionary: TokenDictionary) -> str:
    """Return the device of a dictionary."""
    return str(getattr(dictionary, "device", "cpu"))


def _active(codes: TopCodes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return latents rising within each token, their values, and how many each token has."""
    values, latents = to_host(codes.values), to_host(codes.indices).astype(np.int32)
    latents = np.where(values > 0, latents, np.iinfo(np.int32).max)
    order = np.argsort(latents, axis=1)
    latents, values = np.take_along_axis(latents, order, 1), np.take_along_axis(values, order, 1)
    active = values > 0
    return latents[active], values[active].astype(np.float32), active.sum(axis=1)


def random_dictionary(activations: Rows, latents: int, active: int, seed: int) -> SparseDictionary:
    """Draw a dictionary of random directions, using only the spread of each dimension.

    Whatever a dictionary is said to show, directions drawn at random must be asked as well, with
    as many latents of which as many are active. What codes rebuild has one fitted scale.
    """
    from theodolite.language.models.chance_draws import RandomRows, Spread  # noqa: PLC0415

    if not 1 <= active <= latents:
        raise EvidenceError("active", f"{active} of {latents}", "1 or more, and no more")
    if len(activations) < 2:
        raise EvidenceError("activations", f"{len(activations)}", "two or more")
    spread = Spread.of(activations)
    return RandomRows(seed, 0, latents).as_dictionary(activations, spread, active)
