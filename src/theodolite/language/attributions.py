"""Claims of what latents contribute, by gradient times activation, beside measured ablations."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, require_ragged
from theodolite.language.dictionaries.torch_codes import Tensor, TokenDictionary
from theodolite.language.models.hooked import HookedModel, Ids
from theodolite.language.models.residual_passes import Change, TargetReader

PAIRS, TEXTS = 200, 10
"""Pairs of a token and a latent that are ablated in a run, and texts of a concept."""
QUARTILES = 4


def attribution_arrays(
    network: HookedModel,
    ids: Ids,
    dictionary: TokenDictionary,
    evidence: TokenEvidence,
    targets: Mapping[int, Sequence[int]],
    seed: int,
) -> dict[str, Any]:
    """Return the arrays that ``attribution_effect`` needs: NaN but for the pairs that were drawn.

    Pairs are drawn alike from each quarter of the claims' sizes. A claim is of the log-probability
    of a concept's target tokens after a text with the concept; the effect is that of ablating the
    latent at this token alone.
    """
    codes, values = require_ragged(evidence.latent), require_ragged(evidence.value)
    claims, effects = np.full((2, len(codes.flat)), np.nan)
    random, reader = np.random.default_rng(seed), TargetReader(network, ids)
    truth = np.asarray(evidence.truth)
    known = truth if evidence.known is None else truth & np.asarray(evidence.known)
    rows, inner = np.asarray(dictionary.rows), np.asarray(codes.inner_starts)
    used = {concept: np.asarray(own, np.int64) for concept, own in targets.items() if len(own)}
    for concept, target in used.items():
        texts = _draw(known[:, concept], TEXTS, random)
        parts = []
        for text in texts:
            first, last = inner[codes.starts[text]], inner[codes.starts[text + 1]]
            token = codes.inner_row[first:last] - codes.starts[text]
            slope = reader.gradient(target, text)
            each = (rows[codes.flat[first:last]] * slope[token]).sum(axis=1)
            parts.append((np.arange(first, last), each * values.flat[first:last]))
        if not parts:
            continue
        place, claim = (np.concatenate(part) for part in zip(*parts, strict=True))
        for chosen in _draw_quarters(claim, max(PAIRS // len(used), QUARTILES), random):
            entry = int(place[chosen])
            text = int(codes.row[entry])
            token = int(codes.inner_row[entry] - codes.starts[text])
            row = float(values.flat[entry]) * rows[codes.flat[entry]]
            changed = reader.read(target, [text], _without_at(token, row))
            claims[entry] = claim[chosen]
            effects[entry] = reader.read(target, [text])[0] - changed[0]
    starts = (codes.starts, codes.inner_starts)
    return {"importance": Ragged(claims, *starts), "effect": Ragged(effects, *starts)}


def _draw(there: Bool[np.ndarray, " texts"], most: int, random: np.random.Generator) -> list[int]:
    rows = np.flatnonzero(there)
    return sorted(random.choice(rows, min(most, len(rows)), replace=False).tolist())


def _draw_quarters(
    claims: Float[np.ndarray, " pairs"], n: int, random: np.random.Generator
) -> Int[np.ndarray, " drawn"]:
    """Draw as many pairs from each quarter of the claims' sizes."""
    quarters = np.array_split(np.argsort(np.abs(claims), kind="stable"), QUARTILES)
    each = [random.choice(own, min(n // QUARTILES, len(own)), replace=False) for own in quarters]
    return np.concatenate(each)


def _without_at(token: int, row: Float[np.ndarray, " dimensions"]) -> Change:
    """Return activations of one text with a vector taken off at one token."""

    def change(hidden: Tensor) -> Tensor:
        import torch  # noqa: PLC0415  an extra

        there = torch.arange(len(hidden)).to(hidden.device) == 1 + token  # after the start token
        less = torch.as_tensor(row.astype(np.float32)).to(hidden.device)
        return hidden - there[:, None] * less

    return change
