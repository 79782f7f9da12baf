"""Choose contexts that show a latent, and read the tokens and values around each of them."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import require_ragged
from theodolite.evidence.shards import Shards
from theodolite.language.dashboard.peaks import Activity, list_token_shards

STRONGEST, JUDGED = 0, 11
"""Groups of contexts; 1 to 10 are tenths of the values, 1 the weakest."""
MIN_PLACES_FOR_TENTHS = 20
"""Smallest number of sampled places from which tenths are formed."""
FULL_SCALE = 32_767
"""Stored value of the latent's largest activation; values are fractions of it."""
MAX_WINDOW_BYTES = 1 << 28
"""Largest number of bytes of windows in memory; more need more passes over the texts."""


@dataclass(frozen=True, eq=False)
class Contexts:
    """Places to show, in the order of latents and, within each, of groups."""

    latent: Int[np.ndarray, " contexts"]
    group: Int[np.ndarray, " contexts"]
    row: Int[np.ndarray, " contexts"]
    at: Int[np.ndarray, " contexts"]
    """Token; -1 for the latent's strongest in the text, or the first if inactive."""

    def __len__(self) -> int:
        return len(self.latent)

    def take(self, some: slice) -> "Contexts":
        """Return a selection of the contexts."""
        return Contexts(self.latent[some], self.group[some], self.row[some], self.at[some])

    def of(self, first: int, last: int) -> slice:
        """Return the slice of contexts of consecutive latents."""
        return slice(*np.searchsorted(self.latent, (first, last)).tolist())


def choose_contexts(activity: Activity, per_tenth: int, judged: np.ndarray) -> Contexts:
    """Choose the strongest places, and ``per_tenth`` from each tenth of the sampled ones.

    Args:
        activity: Of all latents.
        per_tenth: From each tenth.
        judged: Pairs (latent, sequence) that judges were asked about, in order.
    """
    top, sampled = activity.strongest, activity.sampled
    latent, column = np.nonzero(top.row >= 0)
    parts = [(latent, np.zeros_like(latent), top.row[latent, column], top.at[latent, column])]
    for tenth, some in _tenths(activity, per_tenth):
        latent, column = np.nonzero(some)
        group = np.full(len(latent), tenth)
        parts.append((latent, group, sampled.row[latent, column], sampled.at[latent, column]))
    some_judged = np.asarray(judged, np.int64).reshape(-1, 2).T
    parts.append((some_judged[0], np.full(len(judged), JUDGED), some_judged[1],
                  np.full(len(judged), -1)))  # fmt: skip
    columns = [np.concatenate(values) for values in zip(*parts, strict=True)]
    order = np.argsort(columns[0], kind="stable")
    return Contexts(*(column[order] for column in columns))


def _tenths(activity: Activity, per_tenth: int) -> Iterator[tuple[int, np.ndarray]]:
    """Yield which sampled places are shown, from the strongest tenth to the weakest."""
    sampled = activity.sampled
    there = sampled.row >= 0
    n = there.sum(axis=1, keepdims=True)
    size = np.where(there, np.abs(sampled.value), np.inf)
    place = np.argsort(np.argsort(size, axis=1, kind="stable"), axis=1, kind="stable")
    tenth = np.where(there & (n >= MIN_PLACES_FOR_TENTHS), 1 + 10 * place // np.maximum(n, 1), 0)
    for number in range(10, 0, -1):
        inside = tenth == number
        yield number, inside & (np.cumsum(inside, axis=1) <= per_tenth)


@dataclass(frozen=True, eq=False)
class Windows:
    """Tokens around each context; -1 beyond the ends of the text."""

    tokens: Int[np.ndarray, "contexts width"]
    parts: Int[np.ndarray, "contexts width"]
    """Value of the latent at each token, relative to its largest: ``FULL_SCALE`` is 1."""
    peak: Int[np.ndarray, " contexts"]
    """Column of the strongest token."""
    first: Int[np.ndarray, " contexts"]
    """Position of the first column's token in its text."""
    length: Int[np.ndarray, " contexts"]
    """Number of tokens of the whole text."""


def read_windows(
    shards: Shards, contexts: Contexts, largest: Float[np.ndarray, " latents"], width: int
) -> Windows:
    """Read the tokens and values around each context, in a second pass over the shards.

    Args:
        shards: Token evidence in pieces.
        contexts: The places.
        largest: Of each latent, its largest value.
        width: Tokens of a window: two thirds of them come before the place.
    """
    n = len(contexts)
    peak, first, length = np.zeros((3, n), np.int64)
    tokens, parts = np.zeros((n, width), np.int32), np.zeros((n, width), np.int16)
    windows = Windows(tokens, parts, peak, first, length)
    order = np.argsort(contexts.row, kind="stable")
    rows = contexts.row[order]
    before = 0
    for evidence in list_token_shards(shards):
        low, high = np.searchsorted(rows, (before, before + len(evidence)))
        some = order[low:high]
        if len(some):
            _fill(windows, some, contexts, evidence, (before, largest))
        before += len(evidence)
    return windows


def split_into_batches(
    contexts: Contexts, latents: int, width: int, step: int
) -> Iterator[tuple[int, int, Contexts]]:
    """Yield consecutive latents whose windows fit into memory, in multiples of ``step``."""
    most = MAX_WINDOW_BYTES // (width * 6)
    first = 0
    while first < latents:
        start = contexts.of(first, first).start
        fit = int(contexts.latent[start + most]) if start + most < len(contexts) else latents
        last = min(max(fit // step * step, first + step), latents)
        yield first, last, contexts.take(contexts.of(first, last))
        first = last


def _fill(
    windows: Windows,
    some: np.ndarray,
    contexts: Contexts,
    evidence: TokenEvidence,
    beyond: tuple[int, np.ndarray],
) -> None:
    rows_before, largest = beyond
    tokens = require_ragged(evidence.tokens)
    latent, row = contexts.latent[some], contexts.row[some] - rows_before
    at = contexts.at[some].copy()
    for number in np.flatnonzero(at < 0).tolist():
        at[number] = _strongest(evidence, int(row[number]), int(latent[number]))
    width = windows.tokens.shape[1]
    length = tokens.lengths[row]
    before = 2 * width // 3
    first = np.clip(at - before, 0, np.maximum(length - width, 0))
    place = first[:, None] + np.arange(width)
    inside = place < length[:, None]
    flat = np.where(inside, tokens.starts[row][:, None] + place, 0)
    windows.tokens[some] = np.where(inside, tokens.flat[flat], -1)
    value = _values_at(evidence, flat, latent)
    scale = np.where(largest[latent] > 0, largest[latent], 1)[:, None]
    part = np.clip(np.rint(FULL_SCALE * (value / scale)), -FULL_SCALE, FULL_SCALE)
    # what is active is never rounded to nothing
    part = np.where((part == 0) & (value != 0), np.sign(value), part)
    windows.parts[some] = np.where(inside, part, 0)
    windows.peak[some], windows.first[some], windows.length[some] = at - first, first, length


def _strongest(evidence: TokenEvidence, row: int, latent: int) -> int:
    """Return where in a text a latent is strongest; 0 if it is not active."""
    codes, values = require_ragged(evidence.latent), require_ragged(evidence.value)
    inner = np.asarray(codes.inner_starts)
    first, last = inner[codes.starts[row]], inner[codes.starts[row + 1]]
    own = first + np.flatnonzero(codes.flat[first:last] == latent)
    if not len(own):
        return 0
    entry = own[np.abs(values.flat[own].astype(float)).argmax()]
    token = np.searchsorted(inner, entry, side="right") - 1
    return int(token - codes.starts[row])


def _values_at(evidence: TokenEvidence, token: np.ndarray, latent: np.ndarray) -> np.ndarray:
    """Return values of latents at tokens; 0 where they are not active."""
    codes, values = require_ragged(evidence.latent), require_ragged(evidence.value).flat
    latents = len(evidence.latents)
    known = codes.inner_row * latents + codes.flat  # in order: latents rise within each token
    if not len(known):
        return np.zeros(token.shape)
    key = token.astype(np.int64) * latents + latent[:, None]
    entry = np.minimum(np.searchsorted(known, key), len(known) - 1)
    return np.where(known[entry] == key, values[entry].astype(np.float64), 0.0)
