"""Read dictionaries of ``dictionary_learning``: ``config.json`` and ``ae.pt``."""

from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_json
from theodolite.errors import UnsafeInputError
from theodolite.language.dictionaries.common_form import SparseDictionary, TrainingPlace
from theodolite.language.dictionaries.weights import Arrays, need, read_weights

SETTINGS, WEIGHTS = "config.json", "ae.pt"
THRESHOLDED = ("BatchTopKSAE", "MatryoshkaBatchTopKSAE")
CLASSES = ("AutoEncoder", "AutoEncoderTopK", "GatedAutoEncoder", "JumpReluAutoEncoder")


def read_dictionary_learning(folder: Path) -> SparseDictionary:
    """Read a folder with the settings of a trainer and a state dict."""
    settings = read_json(confined(Path(folder), SETTINGS), "settings", 1 << 20)
    trainer = settings.get("trainer") if isinstance(settings, dict) else None
    if not isinstance(trainer, dict):
        raise UnsafeInputError(SETTINGS, "no trainer", "the settings of a trainer")
    kind = trainer.get("dict_class")
    if kind not in (*CLASSES, *THRESHOLDED):
        needed = f"one of {', '.join((*CLASSES, *THRESHOLDED))}"
        raise UnsafeInputError(SETTINGS, f"dict_class {kind!r}"[:80], needed)
    arrays = read_weights(confined(Path(folder), WEIGHTS))
    parts = _read_jumprelu(arrays) if kind == "JumpReluAutoEncoder" else _read_plain(arrays, kind)
    parts["place"] = _place(trainer)
    return SparseDictionary(form=f"dictionary_learning {kind}", **parts)


def _read_jumprelu(arrays: Arrays) -> dict[str, Any]:
    """Its ``W_enc`` is (dimensions, latents), and it subtracts nothing."""
    need(arrays, ("W_enc", "W_dec", "b_enc", "b_dec", "threshold"), WEIGHTS)
    parts: dict[str, Any] = {n.lower(): arrays[n] for n in ("W_enc", "W_dec", "b_enc", "b_dec")}
    return parts | {"activation": "jumprelu", "threshold": arrays["threshold"]}


def _read_plain(arrays: Arrays, kind: str) -> dict[str, Any]:
    if kind == "MatryoshkaBatchTopKSAE":
        need(arrays, ("W_enc", "W_dec", "b_enc", "b_dec"), WEIGHTS)
        parts: dict[str, Any] = {n.lower(): arrays[n] for n in ("W_enc", "W_dec", "b_enc", "b_dec")}
        parts["subtracted"] = arrays["b_dec"]
    else:
        constant = "bias" if kind in ("AutoEncoder", "GatedAutoEncoder") else "b_dec"
        if constant not in arrays and "decoder_bias" in arrays:
            constant = "decoder_bias"
        need(arrays, ("encoder.weight", "decoder.weight", constant), WEIGHTS)
        latents = len(arrays["encoder.weight"])
        parts = {
            "w_enc": np.asarray(arrays["encoder.weight"]).T,
            "w_dec": np.asarray(arrays["decoder.weight"]).T,
            "b_enc": arrays.get("encoder.bias", np.zeros(latents)),
            "b_dec": arrays[constant], "subtracted": arrays[constant],
        }  # fmt: skip
    if kind == "GatedAutoEncoder":
        need(arrays, ("gate_bias", "mag_bias", "r_mag"), WEIGHTS)
        magnitude = (arrays["r_mag"], arrays["mag_bias"])
        return parts | {"activation": "gated", "b_enc": arrays["gate_bias"], "magnitude": magnitude}
    if kind == "AutoEncoderTopK":
        return parts | {"activation": "topk", "active": _single(arrays, "k", int)}
    if kind in THRESHOLDED:
        threshold = _single(arrays, "threshold", float)
        if threshold < 0:
            raise UnsafeInputError(
                "threshold", "none that was set in training",
                "one that tells active latents token by token",
                "Train on, or set it with the tokens of a batch.",
            )  # fmt: skip
        values = np.full(len(np.asarray(parts["b_enc"])), threshold)
        return parts | {"activation": "jumprelu", "threshold": values}
    return parts | {"activation": "relu"}


def _single(arrays: Arrays, name: str, kind: type) -> Any:
    need(arrays, (name,), WEIGHTS)
    if np.size(arrays[name]) != 1:
        raise UnsafeInputError(name, f"{np.size(arrays[name])} numbers", "one")
    return kind(np.asarray(arrays[name]).item())


def _place(trainer: dict[str, Any]) -> TrainingPlace:
    layer, model, module = (trainer.get(name) for name in ("layer", "lm_name", "submodule_name"))
    hook = module if isinstance(module, str) and module else None
    if isinstance(module, str) and isinstance(layer, int) and module.startswith("resid_post"):
        hook = f"blocks.{layer}.hook_resid_post"
    return TrainingPlace(hook=hook, model=model if isinstance(model, str) else None)
