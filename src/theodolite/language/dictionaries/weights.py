"""Read the arrays of a dictionary's file: .safetensors (bfloat16 too), .npz, and restricted .pt."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.arrays import read_npz, read_safetensors
from theodolite._storage.checkpoints import read_checkpoint
from theodolite._storage.memory_limit import check_memory
from theodolite._storage.paths import size_within
from theodolite.errors import UnsafeInputError

MAX_BYTES = 1 << 34
"""Largest size of a file of weights, 16 GB."""
BFLOAT16 = b'"BF16"'
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
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(min(length, 10 << 20))
    return _read_bfloat(path, header) if BFLOAT16 in header else read_safetensors(path)


def _read_bfloat(path: Path, header: bytes) -> Arrays:
    """Read a .safetensors file with bfloat16, which NumPy does not have."""
    what = f"weights {path.name!r}"
    size = path.stat().st_size
    check_memory(2 * size, what, "Convert it to float32 in pieces, or allow more memory.")
    types = {"BF16": "<u2", "F16": "<f2", "F32": "<f4", "F64": "<f8", "I64": "<i8", "I32": "<i4"}
    begin, arrays = 8 + len(header), {}
    content = np.frombuffer(path.read_bytes(), np.uint8)
    try:
        entries = {n: e for n, e in json.loads(header).items() if n != "__metadata__"}
        for name, entry in entries.items():
            first, last = entry["data_offsets"]
            shape, dtype = tuple(entry["shape"]), np.dtype(types[entry["dtype"]])
            whole = math.prod(shape) * dtype.itemsize == last - first
            if not whole or not 0 <= first <= last <= size - begin:
                raise ValueError(name)
            array = content[begin + first : begin + last].copy().view(dtype).reshape(shape)
            if entry["dtype"] == "BF16":
                array = (array.astype(np.uint32) << 16).view(np.float32)
            arrays[name] = array
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        needed = "a .safetensors file that is whole"
        raise UnsafeInputError(what, f"a header that does not fit ({error})", needed) from error
    return arrays


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
