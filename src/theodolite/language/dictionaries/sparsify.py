"""Read dictionaries of EleutherAI's ``sparsify``: ``cfg.json`` and ``sae.safetensors``."""

from pathlib import Path

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_json
from theodolite.errors import UnsafeInputError
from theodolite.language.dictionaries.common_form import SparseDictionary, TrainingPlace
from theodolite.language.dictionaries.weights import need, read_weights, settings_number

SETTINGS, WEIGHTS = "cfg.json", "sae.safetensors"
NEEDED = ("encoder.weight", "encoder.bias", "W_dec", "b_dec")


def read_sparsify(folder: Path) -> SparseDictionary:
    """Read a sparse coder; its folder is named after the module it is of, as sparsify does."""
    settings = read_json(confined(Path(folder), SETTINGS), "sparsify settings", 1 << 20)
    if not isinstance(settings, dict):
        raise UnsafeInputError(SETTINGS, type(settings).__name__, "settings by name")
    kind = settings.get("activation", "topk")
    if kind != "topk":
        raise UnsafeInputError(SETTINGS, f"activation {kind!r}"[:80], "topk")
    arrays = read_weights(confined(Path(folder), WEIGHTS))
    need(arrays, NEEDED, WEIGHTS)
    transcodes = settings.get("transcode", False) is True
    active = settings_number(settings, "k", SETTINGS)
    return SparseDictionary(
        w_enc=np.asarray(arrays["encoder.weight"]).T, w_dec=arrays["W_dec"],
        b_enc=arrays["encoder.bias"], b_dec=arrays["b_dec"], activation="topk", active=active,
        subtracted=None if transcodes else arrays["b_dec"], w_skip=arrays.get("W_skip"),
        transcodes=transcodes, form="sparsify",
        place=TrainingPlace(hook=Path(folder).resolve().name),
    )  # fmt: skip
