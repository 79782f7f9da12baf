"""Dictionaries of random directions, one at a time, pooled over texts at once.

Nothing of a draw outlives it but the values, in each text, of the few latents that tell concepts
best on the texts that latents are chosen on. Directions are drawn on the host in blocks, so that a
draw is the same on every device and however it is cut.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.language.dictionaries.common_form import Rows, SparseDictionary
from theodolite.language.dictionaries.torch_codes import DeviceDictionary, Tensor, to_host
from theodolite.language.models.pooled_triples import PooledTriples, compute_triple_aurocs

DRAWN_TOGETHER = 512
"""Directions that one key of the random generator gives."""
BLOCK_LATENTS = 4_096
"""Directions that a block of tokens meets at once."""
BLOCK_TOKENS = 8_192
MAX_ROW_BYTES = 1 << 29
"""Directions of a draw that stay on the device, 512 MB; above that, tokens go by several times."""
KEPT = 10
"""Best latents of each concept that are kept of a draw, as many as scores look at."""
FITTED = 1_000
"""Activations on which the scale of what a draw rebuilds is fitted."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Mean and standard deviation of each dimension."""

    mean: Float[np.ndarray, " dimensions"]
    scale: Float[np.ndarray, " dimensions"]
    """1 where a dimension never changes."""

    @classmethod
    def of(cls, activations: Rows) -> "Spread":
        """Compute both in blocks, in float64."""
        n, mean, squares = 0, np.zeros(activations.shape[1]), np.zeros(activations.shape[1])
        for at in range(0, len(activations), BLOCK_TOKENS):
            some = np.asarray(activations[at : at + BLOCK_TOKENS], np.float64)
            own = some.mean(axis=0)  # Chan's merge: stable where means are large
            apart, together = own - mean, n + len(some)
            squares += ((some - own) ** 2).sum(axis=0) + apart**2 * n * len(some) / together
            mean, n = mean + apart * len(some) / together, together
        scale = np.sqrt(squares / max(n, 1))
        return cls(mean, np.where(scale > 0, scale, 1.0))


@dataclass(frozen=True)
class RandomRows:
    """Directions of one draw, all of length 1."""

    seed: int
    draw: int
    latents: int

    def block(self, first: int, last: int, dimensions: int) -> Float[np.ndarray, "some dimensions"]:
        """Return some directions; each depends on its number only."""
        parts = []
        for at in range(first - first % DRAWN_TOGETHER, last, DRAWN_TOGETHER):
            key = np.array([self.seed, (self.draw << 32) | at], np.uint64)
            random = np.random.Generator(np.random.Philox(key=key))
            rows = random.standard_normal((DRAWN_TOGETHER, dimensions), np.float32)
            parts.append(rows[max(first - at, 0) : last - at])
        rows = np.concatenate(parts)
        return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))

    def as_dictionary(self, activations: Rows, spread: Spread, active: int) -> SparseDictionary:
        """Return the draw in the common form, with one scale fitted to what it rebuilds."""
        rows = self.block(0, self.latents, activations.shape[1])
        mean, scale = (part.astype(np.float32) for part in (spread.mean, spread.scale))
        plain = SparseDictionary(
            w_enc=(rows / scale).T, w_dec=rows * scale, b_enc=np.zeros(len(rows)), b_dec=mean,
            subtracted=mean, activation="topk", active=active, form="random directions",
        )  # fmt: skip
        unit = _fit_scale(plain, activations, spread)
        object.__setattr__(plain, "w_dec", plain.w_dec * np.float32(unit))
        return plain


def _fit_scale(plain: SparseDictionary, activations: Rows, spread: Spread) -> float:
    import torch  # noqa: PLC0415  an extra

    some = np.array(activations[:: max(len(activations) // FITTED, 1)], np.float32)
    own, hidden = DeviceDictionary(plain), torch.as_tensor(some)
    rebuilt = to_host(own.rebuild(hidden, own.largest(hidden)))
    rebuilt, inside = ((part - spread.mean) / spread.scale for part in (rebuilt, some))
    norm = float((rebuilt**2).sum())
    return float((rebuilt * inside).sum()) / norm if norm > 0 else 1.0


@dataclass(frozen=True, eq=False)
class Choosing:
    """Concepts, and the texts that latents are chosen on."""

    truth: Bool[np.ndarray, "texts concepts"]
    known: Bool[np.ndarray, "texts concepts"]
    first: Bool[np.ndarray, " texts"]
    """Whether a text is of the half that latents are chosen on."""
    n_best: int = KEPT

    @property
    def columns(self) -> int:
        """Latents that are kept of a draw."""
        return self.n_best * int(self.truth.shape[1])


def pooled_draw(  # noqa: PLR0913  a draw, what it is drawn for, and where
    rows: RandomRows,
    activations: Rows,
    starts: Int[np.ndarray, " texts1"],
    spread: Spread,
    active: int,
    *,
    device: str = "cpu",
    block: int = BLOCK_LATENTS,
) -> PooledTriples:
    """Return each latent's largest code in each text, where it is above 0."""
    import torch  # noqa: PLC0415  an extra

    wide = activations.shape[1]
    resident = max(MAX_ROW_BYTES // (4 * wide) // block * block, block)
    groups = [(at, min(at + resident, rows.latents)) for at in range(0, rows.latents, resident)]
    mean, scale = (
        torch.as_tensor(part.astype(np.float32)).to(device) for part in (spread.mean, spread.scale)
    )
    blocks = list(_text_blocks(starts))
    best: list[Any] = [None] * len(blocks)
    pooled = []
    with torch.inference_mode():
        for number, (first, last) in enumerate(groups):
            parts = [
                (at, torch.as_tensor(rows.block(at, min(at + block, last), wide)).to(device).T)
                for at in range(first, last, block)
            ]
            for place, (text, end) in enumerate(blocks):
                some = np.array(activations[starts[text] : starts[end]], np.float32)
                inside = (torch.as_tensor(some).to(device) - mean) / scale
                best[place] = _largest(inside, parts, active, best[place])
                if number == len(groups) - 1:
                    values, latents = map(to_host, best[place])
                    best[place] = None
                    texts = np.repeat(np.arange(text, end), np.diff(starts[text : end + 1]))
                    pooled.append(PooledTriples.of(texts, latents, values, rows.latents))
    return PooledTriples.joined(pooled, rows.latents, len(starts) - 1)


def _largest(inside: Tensor, parts: Sequence[tuple[int, Tensor]], active: int, best: Any) -> Any:
    """Return the largest codes of each token among these directions and the best before."""
    import torch  # noqa: PLC0415

    tops = [] if best is None else [best]
    for first, directions in parts:
        own = (inside @ directions).topk(min(active, directions.shape[1]), dim=1)
        tops.append((own.values, own.indices + first))
    values, latents = (torch.cat(each, dim=1) for each in zip(*tops, strict=True))
    top = values.topk(min(active, values.shape[1]), dim=1)
    return top.values, latents.gather(1, top.indices)


def _text_blocks(starts: Int[np.ndarray, " texts1"]) -> Iterator[tuple[int, int]]:
    """Yield ranges of whole texts of about BLOCK_TOKENS tokens."""
    first = 0
    while first < len(starts) - 1:
        last = int(np.searchsorted(starts, starts[first] + BLOCK_TOKENS, "right")) - 1
        last = max(last, first + 1)
        yield first, last
        first = last


def chosen_values(
    pooled: PooledTriples, choosing: Choosing
) -> tuple[Float[np.ndarray, "texts chosen"], Int[np.ndarray, " chosen"]]:
    """Return the values, in all texts, of the latents that tell each concept best where latents
    are chosen; their numbers rise."""
    best: set[int] = set()
    masks = choosing.known & choosing.first[:, None]
    for concepts, mask in same_masks(masks):
        aurocs = compute_triple_aurocs(pooled, choosing.truth[:, concepts], mask)
        for column in aurocs.T:
            if not np.isnan(column).all():
                best |= set(np.argsort(-column, kind="stable")[: choosing.n_best].tolist())
    latents = np.array(sorted(best), np.int64)
    return pooled.dense(latents), latents


def same_masks(
    masks: Bool[np.ndarray, "texts concepts"],
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield concepts that are known of the same texts, and these texts."""
    by_mask: dict[bytes, list[int]] = {}
    for concept in range(masks.shape[1]):
        by_mask.setdefault(np.packbits(masks[:, concept]).tobytes(), []).append(concept)
    for concepts in by_mask.values():
        yield np.array(concepts), masks[:, concepts[0]]


def compute_chance_values(
    draws: Sequence[int],
    draw: Callable[[int], PooledTriples],
    choosing: Choosing,
    texts: int,
    done: Callable[[int], None] = lambda number: None,
) -> Float[np.ndarray, "texts draws columns"]:
    """Return the values of the latents that are kept of each draw, with columns of 0 behind."""
    values = np.zeros((texts, len(draws), choosing.columns), np.float32)
    for place, number in enumerate(draws):
        own, latents = chosen_values(draw(number), choosing)
        values[:, place, : len(latents)] = own
        done(place + 1)
    return values
