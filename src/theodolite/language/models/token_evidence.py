"""Compute token evidence of an SAE from a language model and texts. Used by the SAE pipeline."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Chances, Concepts, Latents, Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.language.models.dictionaries import (
    FeatureDictionary,
    RandomDictionary,
    SparseCodes,
    compute_largest_codes,
    compute_sparse_codes,
)
from theodolite.language.models.hooked import HookedModel, Ids
from theodolite.language.models.onnx_encoder import OnnxEncoder
from theodolite.language.models.splice import compute_spliced_losses

Side = Literal["left", "right"]
MAX_POOLED_CODES = 1 << 28
"""Largest number of pooled baseline activations: one per sequence, draw and latent."""


@dataclass(frozen=True, kw_only=True)
class TokenSettings:
    """Settings of what is computed in addition to the SAE activations."""

    random_dictionaries: int = 20
    """Number of random SAEs that scores are compared with."""
    splice: bool = True
    """Whether to predict next tokens from the SAE's reconstructions."""
    spliced_sequences: int = 32
    """Number of evenly spaced sequences to splice; each costs one run per replacement."""
    spliced_draws: int = 20
    """Number of random SAEs to splice; others are NaN. Fewer than 20 cannot give *yes*."""
    seed: int = 0

    def without_chance(self) -> "TokenSettings":
        """Return the settings without random SAEs."""
        return replace(self, random_dictionaries=0)


def token_ids(
    tokenizer: Any, texts: Sequence[str], most: int = 128, cut: Side = "right"
) -> list[list[int]]:
    """Return token ids of texts without special tokens; ``cut`` is the side on which long texts
    lose tokens.
    """
    if most < 1:
        raise EvidenceError("most", f"{most}", "1 or more")
    if cut not in ("left", "right"):
        raise EvidenceError("cut", repr(cut), "left or right")
    ids = [list(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
    return [own[:most] if cut == "right" else own[-most:] for own in ids]


@dataclass(frozen=True, eq=False, kw_only=True)
class SequenceLabels:
    """Labels of sequences: concepts, where these are known, and documents."""

    truth: Bool[np.ndarray, "sequences concepts"] | None = None
    """Whether each concept is present in each sequence."""
    known: Bool[np.ndarray, "sequences concepts"] | None = None
    """Where the truth is known; everywhere if not given."""
    concepts: Sequence[str] = ()
    """Names of the concepts."""
    documents: Int[np.ndarray, " sequences"] | None = None
    """Document that each sequence was cut from."""


def token_evidence(
    model: HookedModel | OnnxEncoder,
    ids: Ids,
    dictionary: FeatureDictionary,
    labels: SequenceLabels | None = None,
    settings: TokenSettings | None = None,
    activations: Float[np.ndarray, "tokens dimensions"] | None = None,
) -> TokenEvidence:
    """Return evidence of an SAE: its activations, those of random SAEs of equal width and sparsity,
    and next-token losses with reconstructions.

    Args:
        model: The network and the module whose activations the dictionary is of.
        ids: Tokens of each sequence, without a start token.
        dictionary: Of ``theodolite.bridges.sae_lens``, or alike.
        labels: Concepts and documents of the sequences.
        settings: Random dictionaries and splicing.
        activations: Those of the module at all tokens, where they were computed before.
    """
    by_name = compared_evidence(
        model, ids, {"dictionary": dictionary}, labels, settings, activations
    )
    return by_name["dictionary"]


def compared_evidence(
    model: HookedModel | OnnxEncoder,
    ids: Ids,
    dictionaries: Mapping[str, FeatureDictionary],
    labels: SequenceLabels | None = None,
    settings: TokenSettings | None = None,
    activations: Float[np.ndarray, "tokens dimensions"] | None = None,
) -> dict[str, TokenEvidence]:
    """Return evidence of several SAEs of one layer; only the first gets random SAEs. The model's
    own run is shared.
    """
    labels, settings = labels or SequenceLabels(), settings or TokenSettings()
    if settings.splice and isinstance(model, OnnxEncoder):
        do = "Pass TokenSettings(splice=False)."
        raise EvidenceError("splice", "an ONNX encoder", "a model with a next token", do)
    if activations is None:
        activations = np.asarray(model.activations(ids), np.float64)
    for dictionary in dictionaries.values():
        if activations.shape[1] != dictionary.rows.shape[1]:
            got = f"{activations.shape[1]} dimensions at {model.module}"
            raise EvidenceError("dictionary", got, f"{dictionary.rows.shape[1]}, as its rows have")
    starts = compute_starts([len(own) for own in ids])
    codes = {name: compute_sparse_codes(own, activations) for name, own in dictionaries.items()}
    first = next(iter(dictionaries))
    draws = _random_draws(codes[first], len(dictionaries[first].rows), activations, settings, ids)
    losses = {}
    if settings.splice and isinstance(model, HookedModel):
        run = {f"by_{name}": own for name, own in dictionaries.items()}
        run |= {f"draw{n}": draw for n, draw in enumerate(draws[: settings.spliced_draws])}
        mean = activations.mean(axis=0)
        losses = compute_spliced_losses(model, ids, run, mean, settings.spliced_sequences)
    evidence = {}
    for name, dictionary in dictionaries.items():
        own_draws = draws if name == first else []
        arrays = _losses_of(losses, f"by_{name}", len(own_draws), settings) if losses else {}
        extra: dict[str, Any] = {part: Ragged(own, starts) for part, own in arrays.items()}
        if own_draws:
            pooled = [compute_largest_codes(draw, activations, starts) for draw in own_draws]
            extra["chance_pooled"] = np.stack(pooled, axis=1)
            extra["chances"] = Chances(tuple(f"random {n}" for n in range(len(own_draws))))
        extra["decoder"] = np.asarray(dictionary.rows, np.float32)
        evidence[name] = coded_evidence(ids, codes[name], len(dictionary.rows), labels, **extra)
    return evidence


def coded_evidence(
    ids: Ids, codes: SparseCodes, latents: int, labels: SequenceLabels | None = None, **arrays: Any
) -> TokenEvidence:
    """Return evidence of SAE activations at every token, with further arrays."""
    labels = labels or SequenceLabels()
    starts = compute_starts([len(own) for own in ids])
    return TokenEvidence(
        tokens=to_ragged_tokens(ids),
        latent=Ragged(codes.latent, starts, codes.starts),
        value=Ragged(codes.value, starts, codes.starts),
        signed=np.array([(codes.value < 0).any()]),
        truth=labels.truth,
        known=labels.known,
        concepts=Concepts(tuple(labels.concepts)),
        latents=Latents.numbered(latents),
        samples=Samples(np.arange(len(ids)), clusters=labels.documents),
        **arrays,
    )


def to_ragged_tokens(ids: Ids) -> Ragged:
    """Return tokens of sequences as ``Ragged``."""
    flat = np.concatenate([np.asarray(own, np.int32) for own in ids])
    return Ragged(flat, compute_starts([len(own) for own in ids]))


def _random_draws(
    codes: SparseCodes,
    latents: int,
    activations: Float[np.ndarray, "tokens dimensions"],
    settings: TokenSettings,
    ids: Ids,
) -> list[RandomDictionary]:
    """Draw random SAEs that are as wide and as sparse."""
    active = max(round(len(codes.value) / max(len(activations), 1)), 1)
    return [
        RandomDictionary.drawn_for(activations, latents, active, settings.seed + 1 + number)
        for number in range(_draws(settings, len(ids), latents))
    ]


def _draws(settings: TokenSettings, sequences: int, latents: int) -> int:
    n = settings.random_dictionaries
    if n < 0:
        raise EvidenceError("random_dictionaries", f"{n}", "0 or more")
    if n * sequences * latents > MAX_POOLED_CODES:
        fit = MAX_POOLED_CODES // max(sequences * latents, 1)
        do = f"Take {fit} draws, or fewer sequences."
        raise EvidenceError("random_dictionaries", f"{n}", f"at most {fit} of this size", do)
    return n


def _losses_of(
    losses: Mapping[str, np.ndarray], name: str, draws: int, settings: TokenSettings
) -> dict[str, np.ndarray]:
    """Return losses and divergences of one SAE and of some random ones; NaN for others."""
    own = {"loss": losses["loss"]}
    tried = min(draws, settings.spliced_draws)
    for what in ("loss", "divergence"):
        own[f"{what}_spliced"] = losses[f"{what}_{name}"]
        own |= {f"{what}_{how}": losses[f"{what}_{how}"] for how in ("ablated", "zeroed")}
        if tried:
            columns = [losses[f"{what}_draw{n}"] for n in range(tried)]
            columns += [np.full(len(columns[0]), np.nan)] * (draws - tried)
            own[f"chance_{what}_spliced"] = np.stack(columns, axis=1)
    return own
