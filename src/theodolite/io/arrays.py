"""Arrays from .npy, .npz and .safetensors: headers are checked before anything is allocated."""

import io
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as serialize

from theodolite.errors import RefusedInput
from theodolite.io.paths import _suspicious, all_or_nothing, existing

MAX_MEMBERS = 1_000
MAX_ARRAY_BYTES = 1 << 40
MAX_UNPACKED_BYTES = 1 << 34
MAX_RATIO = 200
FREE_BYTES = 1 << 30  # a smaller array may be packed as tightly as it likes: masks are
MAX_SAFETENSORS_HEADER = 10 << 20
MAX_TENSORS = 100_000
_HEADER_FAULTS = (ValueError, KeyError, EOFError, SyntaxError, TypeError, RecursionError)


def read_npy(path: Path, *, mapped: bool = False) -> np.ndarray:
    """One array. ``mapped`` leaves it on disk until it is touched."""
    with existing(path, "array").open("rb") as stream:
        shape, dtype, start = _npy_header(stream, path.name)
        needed = start + math.prod(shape) * dtype.itemsize
        size = path.stat().st_size
    if size != needed:
        got = f"{size:,} bytes"
        raise RefusedInput(f"array {path.name!r}", got, f"{needed:,}; it is cut off")
    array = np.load(path, mmap_mode="r" if mapped and size > start else None, allow_pickle=False)
    return np.asarray(array)


def _npy_header(stream: io.BufferedIOBase, name: str) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    try:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, _, dtype = read(stream, max_header_size=10_000)
    except (*_HEADER_FAULTS, tokenize.TokenError) as error:
        raise RefusedInput(f"array {name!r}", "no readable .npy header", "a .npy file") from error
    if dtype.hasobject:
        raise RefusedInput(
            f"array {name!r}",
            "Python objects, which could run code when read",
            "numbers, or strings",
            "Save it again: array.astype(float), or np.array(names, dtype=str) for names.",
        )
    if math.prod(shape) * dtype.itemsize > MAX_ARRAY_BYTES:
        raise RefusedInput(f"array {name!r}", f"shape {shape}", "a size that fits a machine")
    return shape, dtype, stream.tell()


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of a .npz file by name."""
    arrays = {}
    try:
        with zipfile.ZipFile(existing(path, "arrays")) as archive:
            members = archive.infolist()
            unpacked = sum(member.file_size for member in members)
            if len(members) > MAX_MEMBERS or unpacked > MAX_UNPACKED_BYTES:
                raise RefusedInput(
                    f"arrays {path.name!r}",
                    f"{len(members)} members, {unpacked:,} bytes unpacked",
                    f"at most {MAX_MEMBERS} members and {MAX_UNPACKED_BYTES:,} bytes",
                )
            for member in members:
                _check_member(member, f"array {member.filename!r} of {path.name!r}")
                with archive.open(member) as stream:  # its header, before the rest is unpacked
                    _npy_header(cast(io.BufferedIOBase, stream), member.filename)
                content = archive.read(member)
                arrays[member.filename.removesuffix(".npy")] = _npy_bytes(content, member.filename)
    except (
        zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError
    ) as error:  # fmt: skip
        raise RefusedInput(f"arrays {path.name!r}", "a broken archive", "a .npz file") from error
    return arrays


def _check_member(member: zipfile.ZipInfo, what: str) -> None:
    if reason := _suspicious(member.orig_filename):  # before zipfile cuts it at a NUL
        raise RefusedInput(what, reason, "a plain name")
    if member.file_size > max(MAX_RATIO * member.compress_size, FREE_BYTES):
        packed = f"{member.compress_size:,} bytes that unpack to {member.file_size:,}"
        raise RefusedInput(what, packed, f"at most {MAX_RATIO} times as many", "Save it as .npy.")


def _npy_bytes(content: bytes, name: str) -> np.ndarray:
    shape, dtype, start = _npy_header(io.BytesIO(content), name)
    if len(content) != start + math.prod(shape) * dtype.itemsize:
        raise RefusedInput(f"array {name!r}", f"{len(content):,} bytes", "all of it; it is cut off")
    return np.asarray(np.load(io.BytesIO(content), allow_pickle=False))


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a .safetensors file by name."""
    what = f"weights {path.name!r}"
    with existing(path, "weights").open("rb") as stream:
        lead = stream.read(8)
    header = struct.unpack("<Q", lead)[0] if len(lead) == 8 else 0
    if not 2 <= header <= min(MAX_SAFETENSORS_HEADER, path.stat().st_size):
        raise RefusedInput(what, f"a header of {header:,} bytes", "a .safetensors file")
    try:
        with safe_open(path, framework="numpy") as tensors:
            if len(tensors.keys()) > MAX_TENSORS:
                raise RefusedInput(what, f"{len(tensors.keys()):,} tensors", f"{MAX_TENSORS:,}")
            return {name: tensors.get_tensor(name) for name in tensors.keys()}  # noqa: SIM118
    except (SafetensorError, TypeError, OSError) as error:
        raise RefusedInput(
            what, f"{error}", "tensors in float16, float32 or integers", "Save it again so."
        ) from error


def write_npy(path: Path, array: np.ndarray) -> None:
    """Write one array, all or nothing."""
    with all_or_nothing(path) as stream:
        np.save(stream, np.asarray(array, order="C"), allow_pickle=False)


def write_safetensors(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays by name, all or nothing."""
    plain = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    with all_or_nothing(path) as stream:
        stream.write(serialize(plain))
