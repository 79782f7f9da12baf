"""Train small top-k SAEs, and fit the coordinate baseline."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.language.models.dictionaries import (
    MAX_CODES,
    Activations,
    FeatureDictionary,
    keep_largest,
)

BATCH = 256
LEARNING_RATE = 1e-3


@dataclass(frozen=True, eq=False)
class TopKDictionary:
    """Top-k SAE of standardized activations."""

    rows: Float[np.ndarray, "latents dimensions"]
    """Decoder row of each latent, in the original scale."""
    encoder: Float[np.ndarray, "latents dimensions"]
    bias: Float[np.ndarray, " latents"]
    mean: Float[np.ndarray, " dimensions"]
    scale: Float[np.ndarray, " dimensions"]
    active: int

    def encode(self, activations: Activations) -> Float[np.ndarray, "n latents"]:
        """Return the largest positive activations."""
        inside = (np.asarray(activations, float) - self.mean) / self.scale
        codes = inside @ self.encoder.T + self.bias
        return np.asarray(np.maximum(keep_largest(codes, self.active), 0.0))

    def decode(self, codes: Float[np.ndarray, "n latents"]) -> Activations:
        """Return the reconstruction of SAE activations."""
        return np.asarray(codes @ self.rows + self.mean)


@dataclass(frozen=True, eq=False)
class CoordinateDictionary:
    """Baseline without an SAE: coordinates with either sign, each active as often as a latent."""

    rows: Float[np.ndarray, "latents dimensions"]
    mean: Float[np.ndarray, " dimensions"]
    scale: Float[np.ndarray, " dimensions"]
    thresholds: Float[np.ndarray, " latents"]

    @classmethod
    def fitted_to(cls, activations: Activations, share: float) -> "CoordinateDictionary":
        """Fit thresholds so that each is active in this fraction of activations."""
        if not 0 < share < 1:
            raise EvidenceError("share", f"{share:g}", "between 0 and 1")
        mean, scale = activations.mean(axis=0), activations.std(axis=0)
        scale = np.where(scale > 0, scale, 1.0)
        signs = np.concatenate([np.eye(len(mean)), -np.eye(len(mean))])
        # one by one: neurons are many, and both signs of all of them at once do not fit
        ends = np.stack([np.quantile(column, [1 - share, share]) for column in activations.T])
        beyond = (ends - mean[:, None]) / scale[:, None]
        thresholds = np.maximum(np.concatenate([beyond[:, 0], -beyond[:, 1]]), 0.0)
        return cls(signs * scale, mean, scale, thresholds)

    def encode(self, activations: Activations) -> Float[np.ndarray, "n latents"]:
        """Return coordinates beyond their thresholds."""
        inside = (np.asarray(activations, float) - self.mean) / self.scale
        both = np.concatenate([inside, -inside], axis=1)
        return np.asarray(np.where(both > self.thresholds, both, 0.0))

    def decode(self, codes: Float[np.ndarray, "n latents"]) -> Activations:
        """Return the reconstruction from coordinates."""
        return np.asarray(codes @ self.rows + self.mean)


def train_dictionary(
    activations: Activations,
    latents: int,
    active: int,
    *,
    steps: int,
    seed: int,
    frozen: bool = False,
) -> TopKDictionary:
    """Train a small SAE with rows of length 1 in standardized activations. If ``frozen``, only the
    encoder learns: the baseline that finds no directions.
    """
    import torch  # noqa: PLC0415  an extra

    if not 1 <= active <= latents or steps < 1:
        got = f"{active} active of {latents}, {steps} steps"
        raise EvidenceError("dictionary", got, "1 or more active, no more than latents; steps")
    mean, scale = activations.mean(axis=0), activations.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    inside = torch.as_tensor((activations - mean) / scale, dtype=torch.float32)
    random = torch.Generator().manual_seed(seed)
    rows = torch.nn.functional.normalize(
        torch.randn((latents, inside.shape[1]), generator=random), dim=1
    )
    decoder = torch.nn.Parameter(rows, requires_grad=not frozen)
    encoder = torch.nn.Parameter(rows.clone())
    bias = torch.nn.Parameter(torch.zeros(latents))
    optimizer = torch.optim.Adam([encoder, bias, *([] if frozen else [decoder])], lr=LEARNING_RATE)
    for _ in range(steps):
        batch = inside[torch.randint(len(inside), (BATCH,), generator=random)]
        codes = batch @ encoder.T + bias
        largest = codes.topk(active, dim=1)
        sparse = torch.zeros_like(codes).scatter(1, largest.indices, largest.values.relu())
        unit = torch.nn.functional.normalize(decoder, dim=1)
        loss = ((sparse @ unit - batch) ** 2).sum(dim=1).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
    with torch.no_grad():
        unit = torch.nn.functional.normalize(decoder, dim=1)
    arrays = [part.detach().double().numpy() for part in (unit, encoder, bias)]
    return TopKDictionary(arrays[0] * scale, arrays[1], arrays[2], mean, scale, active)


def compute_unexplained_variance(dictionary: FeatureDictionary, activations: Activations) -> float:
    """Return the fraction of variance that the SAE does not reconstruct, with dimensions
    standardized.
    """
    mean, scale = activations.mean(axis=0), activations.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    left = whole = 0.0
    step = max(MAX_CODES // max(len(dictionary.rows), 1), 1)
    for at in range(0, len(activations), step):
        some = activations[at : at + step]
        rebuilt = dictionary.decode(dictionary.encode(some))
        left += float((((some - rebuilt) / scale) ** 2).sum())
        whole += float((((some - mean) / scale) ** 2).sum())
    return left / whole if whole > 0 else float("nan")
