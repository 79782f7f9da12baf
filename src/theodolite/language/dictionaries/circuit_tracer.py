"""Read per-layer transcoders of ``circuit-tracer``: ``layer_N.safetensors``, ``config.yaml``."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.text import read_yaml
from theodolite.errors import UnsafeInputError
from theodolite.language.dictionaries.common_form import SparseDictionary, TrainingPlace
from theodolite.language.dictionaries.weights import need, read_weights

SETTINGS = "config.yaml"
THRESHOLD = "activation_function.threshold"
NEEDED = ("W_enc", "W_dec", "b_enc", "b_dec")
LAYER = re.compile(r"layer_(\d+)\.safetensors")


def read_circuit_tracer(file: Path) -> SparseDictionary:
    """Read one file ``layer_N.safetensors``; ``config.yaml`` beside it names model and hooks."""
    layer = LAYER.fullmatch(file.name)
    if layer is None:
        raise UnsafeInputError(f"dictionary {file.name!r}", "no layer", "layer_N.safetensors")
    arrays = read_weights(file)
    need(arrays, NEEDED, file.name)
    w_enc, w_dec = np.asarray(arrays["W_enc"]), np.asarray(arrays["W_dec"])
    latents, outputs = len(arrays["b_enc"]), len(arrays["b_dec"])
    if latents == outputs or w_enc.ndim != 2 or w_dec.ndim != 2:
        got = f"{latents} latents, {outputs} dimensions"
        raise UnsafeInputError(file.name, got, "two numbers that differ, to tell rows from columns")
    w_dec = w_dec if w_dec.shape == (latents, outputs) else w_dec.T
    threshold, settings = arrays.get(THRESHOLD), _settings(file.parent / SETTINGS)
    if threshold is not None and np.size(threshold) == 1:
        threshold = np.full(latents, np.asarray(threshold).item())
    block = f"blocks.{layer[1]}."
    hooks = [settings.get(f"feature_{side}_hook") for side in ("input", "output")]
    names = [block + hook if isinstance(hook, str) else None for hook in hooks]
    model = settings.get("model_name")
    model = model if isinstance(model, str) else None
    return SparseDictionary(
        w_enc=w_enc.T, w_dec=w_dec, b_enc=arrays["b_enc"], b_dec=arrays["b_dec"],
        activation="relu" if threshold is None else "jumprelu", threshold=threshold,
        w_skip=arrays.get("W_skip"), transcodes=True, form="circuit-tracer",
        place=TrainingPlace(hook=names[0], hook_out=names[1], model=model),
    )  # fmt: skip


def _settings(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    settings = read_yaml(file, "settings")
    return settings if isinstance(settings, dict) else {}
