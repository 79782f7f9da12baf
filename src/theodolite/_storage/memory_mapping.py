"""Memory-map the tensors of a .safetensors file."""

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.arrays import MAX_SAFETENSORS_HEADER
from theodolite._storage.paths import existing
from theodolite.errors import UnsafeInputError

TYPES = {"U32": np.uint32, "F16": np.float16, "F32": np.float32}


def map_safetensors(path: Path) -> dict[str, np.ndarray]:
    """Tensors by name. What is written into them stays in this process."""
    what = f"arrays {path.name!r}"
    size = existing(path, "arrays").stat().st_size
    with path.open("rb") as stream:
        lead = stream.read(8)
        length = struct.unpack("<Q", lead)[0] if len(lead) == 8 else 0
        if not 2 <= length <= min(MAX_SAFETENSORS_HEADER, size - 8):
            raise UnsafeInputError(what, f"a header of {length:,} bytes", "a .safetensors file")
        try:
            header = json.loads(stream.read(length))
            places = {
                name: _locate_tensor(header[name]) for name in header if name != "__metadata__"
            }
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UnsafeInputError(
                what, "a header that cannot be read", "uint32 and floats"
            ) from error
    begin, arrays = 8 + length, {}
    content = np.memmap(path, np.uint8, "c")
    for name, (dtype, shape, first, last) in places.items():
        if not 0 <= first <= last <= size - begin:
            raise UnsafeInputError(what, f"{name} beyond the end", "all of it; it is cut off")
        row = np.asarray(content[begin + first : begin + last])
        if (begin + first) % dtype.itemsize:
            row = row.copy()  # loops are compiled for numbers that lie where a processor likes them
        arrays[name] = row.view(dtype).reshape(shape)
    return arrays


def _locate_tensor(entry: dict[str, Any]) -> tuple[np.dtype[Any], tuple[int, ...], int, int]:
    """Type, shape and where the bytes are."""
    dtype = np.dtype(TYPES[entry["dtype"]])
    shape = tuple(int(side) for side in entry["shape"])
    first, last = (int(offset) for offset in entry["data_offsets"])
    if min(shape, default=1) < 0 or math.prod(shape) * dtype.itemsize != last - first:
        raise ValueError(shape)
    return dtype, shape, first, last
