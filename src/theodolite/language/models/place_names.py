"""Names of places in a network: modules of transformers, and hooks of TransformerLens."""

import re
from dataclasses import dataclass
from typing import Any

from theodolite.errors import EvidenceError
from theodolite.language.models.neurons import find_neuron_reader

BLOCKS = (
    "model.layers", "transformer.h", "gpt_neox.layers", "model.language_model.layers",
    "h", "layers",
)  # fmt: skip
"""Lists of blocks in GPT-2, GPT-NeoX, and Llama, Qwen, Mistral and Gemma."""
ATTENTION = ("self_attn", "attn", "attention")
MIXERS = ("self_attn.o_proj", "attn.c_proj", "attention.dense")
HOOK = re.compile(r"blocks\.(\d+)\.([\w.]+)")
KNOWN = (
    "hook_resid_pre", "hook_resid_post", "hook_mlp_out", "hook_attn_out", "attn.hook_z",
    "mlp.hook_post", "mlp.hook_in",
)  # fmt: skip


@dataclass(frozen=True)
class NamedPlace:
    """A module of a network, and whether its input is meant instead of its output."""

    module: str
    inputs: bool = False

    def __str__(self) -> str:
        return f"the input of {self.module}" if self.inputs else self.module


def find_place(model: Any, name: str) -> NamedPlace:
    """Return the place that is meant by a module's name or by ``blocks.N.HOOK``."""
    hook = HOOK.fullmatch(name)
    if hook is None:
        return NamedPlace(name)
    modules = {own for own, _ in model.named_modules()}
    blocks = next((own for own in BLOCKS if f"{own}.{hook[1]}" in modules), None)
    if blocks is None:
        raise EvidenceError("module", repr(name), f"a block of {type(model).__name__}")
    place = _find_in_block(model, modules, f"{blocks}.{hook[1]}", hook[2])
    if place is None:
        why = (
            "it is what the norm puts out before its weight; name a module of the network"
            if hook[2] == "ln2.hook_normalized" else "no such place is known here"
        )  # fmt: skip
        raise EvidenceError("module", f"{name!r}: {why}", f"blocks.N. and {', '.join(KNOWN)}")
    return place


def _find_in_block(model: Any, modules: set[str], block: str, hook: str) -> NamedPlace | None:
    def first(*names: str) -> str | None:
        return next((f"{block}.{n}" for n in names if f"{block}.{n}" in modules), None)

    normed = str(getattr(model.config, "model_type", "")).startswith("gemma")
    if hook in ("hook_resid_pre", "hook_resid_post"):
        return NamedPlace(block, inputs=hook.endswith("pre"))
    if hook == "hook_mlp_out":
        module = (first("post_feedforward_layernorm") if normed else None) or first("mlp")
    elif hook == "hook_attn_out":
        after = first("post_feedforward_layernorm") and first("post_attention_layernorm")
        module = (after if normed else None) or first(*ATTENTION)
    else:
        module = {
            "attn.hook_z": first(*MIXERS),
            "mlp.hook_post": find_neuron_reader(model, block),
            "mlp.hook_in": first("mlp"),
        }.get(hook)
        return None if module is None else NamedPlace(module, inputs=True)
    return None if module is None else NamedPlace(module)


def is_same_place(model: Any, name: str, place: NamedPlace) -> bool | None:
    """Return whether a file's name of a place is the one asked about; None if it is not known."""
    try:
        other = find_place(model, name)
    except EvidenceError:
        return None
    modules = {own for own, _ in model.named_modules()}
    if other.module in modules:
        return other == place
    if any(own.endswith(f".{other.module}") for own in modules):
        return place.module.endswith(f".{other.module}") and not place.inputs
    return None
