"""Read dictionaries of Gemma Scope: ``params.npz``, and ``params.safetensors`` of Gemma Scope 2."""

import re
from pathlib import Path

import numpy as np

from theodolite._storage.paths import confined
from theodolite._storage.text import read_json
from theodolite.errors import UnsafeInputError
from theodolite.language.dictionaries.common_form import SparseDictionary, TrainingPlace
from theodolite.language.dictionaries.weights import Arrays, need, read_weights

NUMBERS, TENSORS, SETTINGS = "params.npz", "params.safetensors", "config.json"
NAMES = ("W_enc", "W_dec", "b_enc", "b_dec", "threshold")


def read_gemma_scope(folder: Path) -> SparseDictionary:
    """Read a folder of Gemma Scope; its path says which layer and place it is of."""
    folder = Path(folder)
    file = NUMBERS if (folder / NUMBERS).is_file() else TENSORS
    arrays = {
        f"W_{name[2:]}" if name.startswith("w_") else name: array
        for name, array in read_weights(confined(folder, file)).items()
    }
    need(arrays, NAMES, file)
    if file == TENSORS and (folder / SETTINGS).is_file():
        settings = read_json(folder / SETTINGS, "settings", 1 << 20)
        kind = settings.get("architecture") if isinstance(settings, dict) else None
        if kind != "jump_relu":
            raise UnsafeInputError(SETTINGS, f"architecture {kind!r}"[:80], "jump_relu")
    if arrays["W_dec"].ndim == 3:
        needed = "a dictionary that writes to one layer"
        raise UnsafeInputError(file, "a cross-layer transcoder", needed)
    where = folder.resolve().as_posix()
    transcodes = "transcoder" in where or "affine_skip_connection" in arrays
    w_enc, w_dec = (np.asarray(arrays[name], np.float64) for name in NAMES[:2])
    if "embedding" in where and w_enc.ndim == 2:
        root = np.sqrt(len(w_enc))
        w_enc, w_dec = w_enc / root, w_dec * root
    return SparseDictionary(
        w_enc=w_enc, w_dec=w_dec, b_enc=arrays["b_enc"], b_dec=arrays["b_dec"],
        activation="jumprelu", threshold=arrays["threshold"], w_skip=_skip(arrays),
        transcodes=transcodes, place=_place(where, transcodes=transcodes, first=file == NUMBERS),
        form="Gemma Scope" if file == NUMBERS else "Gemma Scope 2",
    )  # fmt: skip


def _skip(arrays: Arrays) -> np.ndarray | None:
    """Stored as (dimensions, outputs)."""
    skip = arrays.get("affine_skip_connection")
    return None if skip is None else np.asarray(skip).T


def _place(where: str, *, transcodes: bool, first: bool) -> TrainingPlace:
    layer = re.search(r"layer_(\d+)", where)
    if layer is None:
        return TrainingPlace()
    block = f"blocks.{layer[1]}."
    if transcodes:
        hook = "ln2.hook_normalized" if first else "hook_mlp_in"
        return TrainingPlace(hook=block + hook, hook_out=block + "hook_mlp_out")
    if "att" in where:
        return TrainingPlace(hook=block + "attn.hook_z")
    return TrainingPlace(hook=block + ("hook_mlp_out" if "mlp" in where else "hook_resid_post"))
