"""Pack named arrays into one block of bytes with a digest (safetensors format)."""

import hashlib
import json
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from theodolite._storage.arrays import MAX_SAFETENSORS_HEADER
from theodolite.errors import UnsafeInputError

Arrays = Mapping[str, np.ndarray]
"""What can be kept and sent without being pickled."""
METADATA = "__metadata__"
_TEXT = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


def digest_arrays(arrays: Arrays) -> str:
    """A digest of names, types, shapes and bytes.

    >>> digest_arrays({"a": np.zeros(2)}) == digest_arrays({"a": np.zeros((2, 1))})
    False
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        array = array.astype(array.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name}\0{array.dtype.str}\0{np.shape(arrays[name])}\0".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def pack_arrays(arrays: Arrays) -> bytes:
    """Arrays in the format of safetensors, with their digest.

    >>> unpack_arrays(pack_arrays({"a": np.arange(3), "b": np.array(0.5)}), "example")
    {'a': array([0, 1, 2]), 'b': array(0.5)}
    """
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    return bytes(save(plain, metadata={"sha256": digest_arrays(plain)}))


def pack_with_metadata(arrays: Arrays, metadata: Mapping[str, str]) -> bytes:
    """Arrays in the format of safetensors with metadata of the caller's; equal content is equal
    bytes, which the library's own order of metadata is not."""
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = memoryview(save(plain))
    (length,) = struct.unpack_from("<Q", content)
    header = _header_text(json.loads(bytes(content[8 : 8 + length])) | {METADATA: dict(metadata)})
    return b"".join((struct.pack("<Q", len(header)), header, content[8 + length :]))


def unpack_with_metadata(content: bytes, name: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays and the metadata that ``pack_with_metadata`` wrote.

    A header that it would not have written is refused; the caller checks the rest.
    """
    header, text = _header(content, f"arrays {name!r}")
    metadata = header.get(METADATA)
    if _header_text(header) != text or not isinstance(metadata, dict):
        raise UnsafeInputError(f"arrays {name!r}", "another header", "one that theodolite wrote")
    return _load(content, f"arrays {name!r}"), metadata


def unpack_arrays(content: bytes, name: str) -> dict[str, np.ndarray]:
    """The arrays again; refused if a single bit has changed."""
    what = f"arrays {name!r}"
    metadata = _header(content, what)[0].get(METADATA)
    known = metadata.get("sha256") if isinstance(metadata, dict) else None
    if known is None:
        raise UnsafeInputError(what, "something that does not unpack", "packed arrays")
    arrays = _load(content, what)
    if digest_arrays(arrays) != known:
        raise UnsafeInputError(what, "other content than its digest says", "what was written")
    return arrays


def _header_text(header: Mapping[str, Any]) -> bytes:
    text = _TEXT(header).encode()
    return text + b" " * (-len(text) % 8)


def _header(content: bytes, what: str) -> tuple[dict[str, Any], bytes]:
    try:
        (length,) = struct.unpack_from("<Q", content)
        if length > min(MAX_SAFETENSORS_HEADER, len(content)):
            raise UnsafeInputError(what, f"a header of {length:,} bytes", "less than the file")
        text = content[8 : 8 + length]
        header = json.loads(text)
    except (struct.error, ValueError, RecursionError) as error:
        if isinstance(error, UnsafeInputError):
            raise
        raise UnsafeInputError(what, "something that does not unpack", "packed arrays") from error
    if not isinstance(header, dict):
        raise UnsafeInputError(what, "something that does not unpack", "packed arrays")
    return header, text


def _load(content: bytes, what: str) -> dict[str, np.ndarray]:
    try:
        arrays: dict[str, np.ndarray] = load(content)
    except (SafetensorError, ValueError, KeyError, TypeError) as error:
        raise UnsafeInputError(what, "something that does not unpack", "packed arrays") from error
    return dict(sorted(arrays.items()))
