"""Read the arrays of a dictionary's file: .safetensors (bfloat16 too), .npz, and restricted .pt."""

from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.arrays import read_npz
from theodolite._storage.bfloat16 import read_with_bfloat16
from theodolite._storage.checkpoints import read_checkpoint
from theodolite._storage.paths import size_within
from theodolite.errors import UnsafeInputError

MAX_BYTES = 1 << 34
"""Largest size of a file of weights, 16 GB."""
Arrays = dict[str, np.ndarray]


def read_weights(path: Path) -> Arrays:
    """Return the arrays of a file by name; bfloat16 becomes float32."""
    size_within(path, MAX_BYTES, "dictionary")
    if path.suffix == ".npz":
        return read_npz(path)
    if path.suffix == ".pt":
        return {
            name: np.asarray(array, np.float32) for name, array in read_checkpoint(path).items()
        }
    return read_with_bfloat16(path)


def need(arrays: Arrays, names: tuple[str, ...], file: str) -> None:
    """Raise unless all names are there, as arrays of numbers."""
    missing = [name for name in names if name not in arrays]
    if missing:
        raise UnsafeInputError(file, f"no {', '.join(missing)}", "all of them")
    for name in names:
        if arrays[name].dtype.kind not in "fiu":
            raise UnsafeInputError(name, f"type {arrays[name].dtype}", "numbers")


def settings_number(settings: dict[str, Any], name: str, file: str) -> int:
    """Return a whole number of settings."""
    value = settings.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise UnsafeInputError(file, f"{name} = {value!r}"[:80], "a whole number")
    return value
