"""Arrays by name as one block of bytes that knows whether it is whole."""

import hashlib
import json
import struct
from collections.abc import Mapping

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from theodolite.errors import RefusedInput
from theodolite.io.arrays import MAX_SAFETENSORS_HEADER

Arrays = Mapping[str, np.ndarray]
"""What can be kept and sent without being pickled."""


def digest_of(arrays: Arrays) -> str:
    """A digest of names, types, shapes and bytes.

    >>> digest_of({"a": np.zeros(2)}) == digest_of({"a": np.zeros((2, 1))})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name}\0{array.dtype.str}\0{np.shape(arrays[name])}\0".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def packed(arrays: Arrays) -> bytes:
    """Arrays in the format of safetensors, with their digest.

    >>> unpacked(packed({"a": np.arange(3), "b": np.array(0.5)}), "example")
    {'a': array([0, 1, 2]), 'b': array(0.5)}
    """
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return bytes(save(plain, metadata={"sha256": digest_of(plain)}))


def unpacked(content: bytes, name: str) -> dict[str, np.ndarray]:
    """The arrays again; refused if a single bit has changed."""
    what = f"arrays {name!r}"
    try:
        (length,) = struct.unpack_from("<Q", content)
        if length > min(MAX_SAFETENSORS_HEADER, len(content)):
            raise RefusedInput(what, f"a header of {length:,} bytes", "less than the file")
        known = json.loads(content[8 : 8 + length])["__metadata__"]["sha256"]
        arrays: dict[str, np.ndarray] = load(content)
    except (SafetensorError, struct.error, ValueError, KeyError, TypeError) as error:
        if isinstance(error, RefusedInput):
            raise
        raise RefusedInput(what, "something that does not unpack", "packed arrays") from error
    if digest_of(arrays) != known:
        raise RefusedInput(what, "other content than its digest says", "what was written")
    return dict(sorted(arrays.items()))
