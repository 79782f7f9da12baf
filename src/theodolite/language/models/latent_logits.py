"""Tokens that a latent's direction makes more and less probable, read off the unembedding.

This is the direct path only: the direction is carried past all later layers. What a latent does
through them is measured by :mod:`theodolite.language.causal_effects`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite.errors import EvidenceError
from theodolite.language.dictionaries.torch_codes import MAX_DENSE_CODES, TokenDictionary, to_host
from theodolite.language.models.hooked import HookedModel
from theodolite.language.models.place_names import ATTENTION

EACH_SIDE = 10
"""Tokens with the largest logits of a latent that are kept, and as many with the smallest."""
NORMS = (
    "transformer.ln_f", "model.norm", "gpt_neox.final_layer_norm", "model.language_model.norm",
)  # fmt: skip
"""Last norm of GPT-2, GPT-NeoX, and Llama, Qwen, Mistral and Gemma."""
AFTER = ("post_attention_layernorm", "post_feedforward_layernorm")


@dataclass(frozen=True, eq=False)
class LatentLogits:
    """Tokens of each latent, from the one that it raises most to the one it lowers most."""

    tokens: Int[np.ndarray, "latents tokens"]
    values: Float[np.ndarray, "latents tokens"]
    """Change of the logit by one unit of the latent, before the last norm's scaling; the mean over
    the vocabulary is taken off."""

    def __post_init__(self) -> None:
        if self.tokens.ndim != 2 or self.tokens.shape != self.values.shape:
            got = f"{self.tokens.shape} tokens, {self.values.shape} values"
            raise EvidenceError("logits", got, "two arrays (latents, tokens)")

    def to_columns(self) -> dict[str, Any]:
        """Return a table with a row for each latent and token."""
        latents = np.repeat(np.arange(len(self.tokens)), self.tokens.shape[1])
        return {"latent": latents, "token": self.tokens.ravel(), "logit": self.values.ravel()}

    @classmethod
    def of_columns(cls, columns: Mapping[str, Sequence[Any]]) -> "LatentLogits":
        """Return what such a table holds."""
        latent = np.asarray(columns["latent"], np.int64)
        latents = int(latent.max(initial=-1)) + 1
        if not latents or not np.array_equal(
            latent, np.repeat(np.arange(latents), len(latent) // latents)
        ):
            raise EvidenceError("logits", f"{len(latent)} rows", "as many rows for each latent")
        shape = (latents, len(latent) // latents)
        return cls(
            np.asarray(columns["token"], np.int64).reshape(shape),
            np.asarray(columns["logit"], np.float32).reshape(shape),
        )


def read_latent_logits(
    network: HookedModel, dictionary: TokenDictionary, words: int
) -> LatentLogits | None:
    """Return the tokens of each latent among the first ``words``, since models have more outputs
    than tokenizers have tokens; None where its rows are not added to the residual stream, or the
    last norm is of no known kind."""
    import torch  # noqa: PLC0415  an extra

    unembedding = _find_unembedding(network, dictionary.rows.shape[1])
    if unembedding is None:
        return None
    unembedding = unembedding[:words]
    wide = unembedding.shape[0]
    most, parts = min(EACH_SIDE, wide // 2), []
    step = max(MAX_DENSE_CODES // wide, 1)
    with torch.inference_mode():
        for first in range(0, dictionary.latents, step):
            rows = np.asarray(dictionary.rows[first : first + step], np.float32)
            logits = torch.as_tensor(rows).to(unembedding.device) @ unembedding.T
            logits = logits - logits.mean(dim=1, keepdim=True)
            high, low = logits.topk(most, dim=1), logits.topk(most, dim=1, largest=False)
            parts.append([
                to_host(torch.cat([above, below.flip(1)], dim=1))
                for above, below in ((high.indices, low.indices), (high.values, low.values))
            ])  # fmt: skip
    tokens, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return LatentLogits(tokens, values.astype(np.float32))


def _find_unembedding(network: HookedModel, width: int) -> Any:
    """Return the unembedding in float32 with the last norm's weights in it, or None."""
    model, module = network.model, network.rebuilt or network.module
    own = getattr(model, "get_output_embeddings", lambda: None)()
    names = dict(model.named_modules())
    norm = next((names[name] for name in NORMS if name in names), None)
    if own is None or norm is None or own.weight.shape[1] != width:
        return None
    if not _is_residual(names, module, inputs=network.inputs and network.rebuilt is None):
        return None
    gemma = str(getattr(model.config, "model_type", "")).startswith("gemma")
    scale = norm.weight.detach().float() + (1 if gemma else 0)
    matrix = own.weight.detach().float() * scale
    # a norm that takes the mean off sees nothing of a constant direction
    centers = getattr(norm, "bias", None) is not None
    return matrix - matrix.mean(dim=1, keepdim=True) if centers else matrix


def _is_residual(names: Mapping[str, Any], module: str, *, inputs: bool) -> bool:
    block, _, last = module.rpartition(".")
    if re.fullmatch(r"\d+", last):
        return True
    normed = f"{block}.{AFTER[1]}" in names  # what is added went through a norm first
    return not inputs and last in (AFTER if normed else ("mlp", *ATTENTION))
