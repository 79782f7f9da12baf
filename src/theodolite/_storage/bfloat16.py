"""Read .safetensors files that may hold bfloat16, a type that NumPy does not have."""

import json
import math
from pathlib import Path

import numpy as np

from theodolite._storage.arrays import read_safetensors
from theodolite._storage.memory_limit import check_memory
from theodolite.errors import UnsafeInputError

BFLOAT16 = b'"BF16"'
MAX_HEADER = 10 << 20


def read_with_bfloat16(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of a .safetensors file by name; bfloat16 becomes float32."""
    with path.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        header = stream.read(min(length, MAX_HEADER))
    return _read_bfloat(path, header) if BFLOAT16 in header else read_safetensors(path)


def _read_bfloat(path: Path, header: bytes) -> dict[str, np.ndarray]:
    """Read a .safetensors file with bfloat16, which NumPy does not have."""
    what = f"weights {path.name!r}"
    size = path.stat().st_size
    check_memory(2 * size, what, "Convert it to float32 in parts, or allow more memory.")
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
