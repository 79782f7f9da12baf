"""Compare maps of a network with those of the same network with random weights (sanity check)."""

import copy
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from theodolite._stats.ranks import average_ranks
from theodolite.explainers.probing.pixel_removal import Maps

if TYPE_CHECKING:
    import torch


def randomize_weights(network: "torch.nn.Module", *, seed: int) -> "torch.nn.Module":
    """Return a copy of a network with random weights; the network is not modified.

    Each tensor of weights is drawn from a normal distribution of its own mean and spread. A layer's
    usual first values would not do: beside the running statistics of batch normalization they let
    the signal die out on the way through deep networks, all maps come out constant, and the check
    would be passed by anything. Running statistics and single numbers are kept.
    """
    import torch  # noqa: PLC0415

    other = copy.deepcopy(network)
    random = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in other.parameters():
            if weights.numel() > 1 and weights.is_floating_point():
                spread, mean = torch.std_mean(weights.double())
                noise = torch.randn(weights.shape, generator=random, dtype=torch.float64)
                weights.copy_(mean + spread * noise.to(weights.device))
    return other


def compute_map_similarity(maps: Maps, others: Maps) -> Float[np.ndarray, " samples"]:
    """Return the Spearman correlation of the magnitudes of two maps, per image.

    Signs are left out: a network with other weights may well turn them. NaN where a map is
    constant or not finite.
    """

    similarities = np.full(len(maps), np.nan)
    for i, pair in enumerate(zip(maps, others, strict=True)):
        flat = np.abs(np.stack(pair).reshape(2, -1))
        if np.isfinite(flat).all() and (np.ptp(flat, axis=1) > 0).all():
            places = average_ranks(flat)
            places -= places.mean(axis=1, keepdims=True)
            lengths = np.linalg.norm(places, axis=1)
            similarities[i] = np.clip(places[0] @ places[1] / (lengths[0] * lengths[1]), -1, 1)
    return similarities
