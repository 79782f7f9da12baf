"""Dictionaries that are fitted to activations here: of the largest codes, and of coordinates."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.language.models.dictionaries import (
    MOST_CODES,
    Activations,
    FeatureDictionary,
    largest_only,
)

BATCH = 256
LEARNING_RATE = 1e-3


@dataclass(frozen=True, eq=False)
class TopKDictionary:
    """An autoencoder of standardized activations that keeps the largest codes."""

    rows: Float[np.ndarray, "latents dimensions"]
    """What one unit of a latent adds to an activation, as it is."""
    encoder: Float[np.ndarray, "latents dimensions"]
    bias: Float[np.ndarray, " latents"]
    mean: Float[np.ndarray, " dimensions"]
    scale: Float[np.ndarray, " dimensions"]
    active: int

    def encode(self, activations: Activations) -> Float[np.ndarray, "n latents"]:
        """The largest codes, where above 0."""
        inside = (np.asarray(activations, float) - self.mean) / self.scale
        codes = inside @ self.encoder.T + self.bias
        return np.asarray(np.maximum(largest_only(codes, self.active), 0.0))

    def decode(self, codes: Float[np.ndarray, "n latents"]) -> Activations:
        """What the codes stand for."""
        return np.asarray(codes @ self.rows + self.mean)


@dataclass(frozen=True, eq=False)
class CoordinateDictionary:
    """No dictionary at all: the coordinates of activations with either sign, each as often active
    as a latent of the dictionary that they are held against."""

    rows: Float[np.ndarray, "latents dimensions"]
    mean: Float[np.ndarray, " dimensions"]
    scale: Float[np.ndarray, " dimensions"]
    thresholds: Float[np.ndarray, " latents"]

    @classmethod
    def fitted_to(cls, activations: Activations, share: float) -> "CoordinateDictionary":
        """So that each is active in this share of the activations."""
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
        """Coordinates beyond their thresholds."""
        inside = (np.asarray(activations, float) - self.mean) / self.scale
        both = np.concatenate([inside, -inside], axis=1)
        return np.asarray(np.where(both > self.thresholds, both, 0.0))

    def decode(self, codes: Float[np.ndarray, "n latents"]) -> Activations:
        """What the codes stand for."""
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
    """A small dictionary by gradient steps on batches drawn by the seed; rows have length 1 in
    standardized activations. If ``frozen``, rows stay as they were drawn and only the encoder
    learns: how far training goes that finds no direction."""
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


def unexplained(dictionary: FeatureDictionary, activations: Activations) -> float:
    """The share of the activations' variance that the dictionary does not rebuild, each dimension
    measured in its own spread."""
    mean, scale = activations.mean(axis=0), activations.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    left = whole = 0.0
    step = max(MOST_CODES // max(len(dictionary.rows), 1), 1)
    for at in range(0, len(activations), step):
        some = activations[at : at + step]
        rebuilt = dictionary.decode(dictionary.encode(some))
        left += float((((some - rebuilt) / scale) ** 2).sum())
        whole += float((((some - mean) / scale) ** 2).sum())
    return left / whole if whole > 0 else float("nan")
