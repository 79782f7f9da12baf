"""Train small top-k SAEs, fit the coordinate baseline, and measure what a dictionary rebuilds."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from theodolite._stats.intervals import quantile
from theodolite.errors import EvidenceError
from theodolite.language.dictionaries.common_form import Rows, SparseDictionary
from theodolite.language.dictionaries.objects import dictionary as as_dictionary
from theodolite.language.dictionaries.torch_codes import to_host
from theodolite.language.models.chance_draws import Spread
from theodolite.language.models.dictionaries import BLOCK_TOKENS, device_of

BATCH = 256
LEARNING_RATE = 1e-3
MAX_FITTED = 1 << 17
"""Tokens that thresholds of coordinates are fitted to; of more, evenly spread ones."""


def coordinate_dictionary(activations: Rows, share: float) -> SparseDictionary:
    """Return the baseline without an SAE: coordinates with either sign, each beyond a threshold
    that makes it active in this fraction of activations.
    """
    if not 0 < share < 1:
        raise EvidenceError("share", f"{share:g}", "between 0 and 1")
    own = Spread.of(activations)
    some = np.asarray(activations[:: max(len(activations) // MAX_FITTED, 1)], np.float64)
    # one by one: neurons are many, and both signs of all of them at once do not fit
    ends = np.stack([np.quantile(column, [1 - share, share]) for column in some.T])
    beyond = (ends - own.mean[:, None]) / own.scale[:, None]
    signs = np.concatenate([np.eye(len(own.mean)), -np.eye(len(own.mean))])
    return SparseDictionary(
        w_enc=signs.T / own.scale[:, None], w_dec=signs * own.scale, b_enc=np.zeros(len(signs)),
        b_dec=own.mean, subtracted=own.mean, activation="jumprelu",
        threshold=np.maximum(np.concatenate([beyond[:, 0], -beyond[:, 1]]), 0.0),
        form="coordinates",
    )  # fmt: skip


def train_dictionary(
    activations: Rows,
    latents: int,
    active: int,
    *,
    steps: int,
    seed: int,
    frozen: bool = False,
) -> SparseDictionary:
    """Train a small SAE with rows of length 1 in standardized activations. If ``frozen``, only the
    encoder learns: the baseline that finds no directions.
    """
    import torch  # noqa: PLC0415  an extra

    if not 1 <= active <= latents or steps < 1:
        got = f"{active} active of {latents}, {steps} steps"
        raise EvidenceError("dictionary", got, "1 or more active, no more than latents; steps")
    spread = Spread.of(activations)
    mean, scale = (
        torch.as_tensor(part, dtype=torch.float32) for part in (spread.mean, spread.scale)
    )
    random = torch.Generator().manual_seed(seed)
    rows = torch.nn.functional.normalize(
        torch.randn((latents, activations.shape[1]), generator=random), dim=1
    )
    decoder = torch.nn.Parameter(rows, requires_grad=not frozen)
    encoder = torch.nn.Parameter(rows.clone())
    bias = torch.nn.Parameter(torch.zeros(latents))
    optimizer = torch.optim.Adam([encoder, bias, *([] if frozen else [decoder])], lr=LEARNING_RATE)
    for _ in range(steps):
        which = to_host(torch.randint(len(activations), (BATCH,), generator=random))
        batch = (torch.as_tensor(np.asarray(activations[which], np.float32)) - mean) / scale
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
    written, read, constant = (to_host(part.double()) for part in (unit, encoder, bias))
    return SparseDictionary(
        w_enc=read.T / spread.scale[:, None], w_dec=written * spread.scale, b_enc=constant,
        b_dec=spread.mean, subtracted=spread.mean, activation="topk", active=active,
        form="trained here",
    )  # fmt: skip


@dataclass(frozen=True)
class Unexplained:
    """Share of variance that a dictionary does not rebuild: 0 is all rebuilt, 1 what the mean
    activation does."""

    value: float
    low: float
    high: float
    """Interval of 95 % over texts."""


def compute_unexplained_variance(
    dictionary: Any,
    activations: Rows,
    starts: Int[np.ndarray, " texts1"] | None = None,
    rebuilt_of: Rows = None,
) -> Unexplained:
    """Compare what a dictionary rebuilds with the mean activation.

    Args:
        dictionary: Any.
        activations: What it reads.
        starts: First token of each text, and the number of tokens; a token is a text if not given.
        rebuilt_of: What a transcoder rebuilds, if not what it reads.
    """
    import torch  # noqa: PLC0415

    own, targets = as_dictionary(dictionary), activations if rebuilt_of is None else rebuilt_of
    mean = Spread.of(targets).mean
    left, whole = np.zeros((2, len(activations)))
    for at in range(0, len(activations), BLOCK_TOKENS):
        some = np.array(activations[at : at + BLOCK_TOKENS], np.float32)
        with torch.inference_mode():
            hidden = torch.as_tensor(some).to(device_of(own))
            rebuilt = to_host(own.rebuild(hidden, own.largest(hidden)))
        target = np.asarray(targets[at : at + BLOCK_TOKENS], np.float64)
        left[at : at + len(some)] = ((target - rebuilt) ** 2).sum(axis=1)
        whole[at : at + len(some)] = ((target - mean) ** 2).sum(axis=1)
    if starts is not None:
        left, whole = (np.add.reduceat(part, starts[:-1]) for part in (left, whole))
    if not whole.sum() > 0:
        return Unexplained(*[float("nan")] * 3)
    value, n = float(left.sum() / whole.sum()), len(left)
    if n < 2:
        return Unexplained(value, float("nan"), float("nan"))
    rest = (left - value * whole) / whole.mean()  # the ratio's delta method, texts as units
    half = quantile(n - 1, 0.95) * float(rest.std(ddof=1)) / np.sqrt(n)
    return Unexplained(value, value - half, value + half)
