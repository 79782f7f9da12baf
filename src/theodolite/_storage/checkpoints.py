"""Read weights that torch saved (.pt, .pth) without running the code they may contain.

Such a file is a pickle, which is a program. It is read only if it lists tensors and nothing else.
Its text is checked before torch sees it; then torch's safe reader loads it."""

import pickletools
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.arrays import read_safetensors
from theodolite._storage.optional import require
from theodolite._storage.paths import sha256_of, size_within
from theodolite.errors import EvidenceError, UnsafeInputError

MAX_BYTES = 1 << 36
MAX_MEMBERS = 100_000
MAX_LISTING = 1 << 26
NEEDED_TORCH = (2, 10)
SUFFIXES = (".pt", ".pth")
PROGRAMS = (".pt2", ".mar", ".pkl", ".pickle", ".ckpt", ".bin", ".tar")
DO = "Save it again: safetensors.torch.save_file(network.state_dict(), 'weights.safetensors')."
STORAGES = {
    f"torch {kind}Storage"
    for kind in ("Float", "Double", "Half", "BFloat16", "Long", "Int", "Short", "Char", "Byte",
                 "Bool")
}  # fmt: skip
PLAIN = STORAGES | {
    "collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"
}  # fmt: skip


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """The tensors of a .safetensors, .pt or .pth file by name."""
    suffix = path.suffix.lower()
    if suffix in PROGRAMS:
        what = f"weights {path.name!r}"
        raise UnsafeInputError(what, f"a {suffix} file, which may be a program", ".safetensors", DO)
    return read_checkpoint(path) if suffix in SUFFIXES else read_safetensors(path)


def read_checkpoint(path: Path, *, known: str = "") -> dict[str, np.ndarray]:
    """The tensors that torch saved, by name: a dict of tensors, or one under ``state_dict``.

    Args:
        path: The file; its listing is checked before torch reads it.
        known: SHA-256 of a file that is known to hold tensors only. It may have the format that
            torch wrote before 1.6, which has no listing.
    """
    what = f"weights {path.name!r}"
    size_within(path, MAX_BYTES, "weights")
    if not known or sha256_of(path) != known:
        _check_archive(path, what)
    torch = _torch()
    try:
        checkpoint = torch.load(path, map_location="cpu", weights_only=True)
        if isinstance(checkpoint, dict) and set(checkpoint) == {"state_dict"}:
            checkpoint = checkpoint["state_dict"]
        if not isinstance(checkpoint, dict):
            raise UnsafeInputError(what, f"a {type(checkpoint).__name__}", "a dict of tensors", DO)
        return {_name(n, what): _array(t, f"tensor {n!r} of {what}") for n, t in checkpoint.items()}
    except UnsafeInputError:
        raise
    except Exception as error:  # torch has no end of kinds
        reason = " ".join(f"{type(error).__name__} {error}".split())[:150]
        raise UnsafeInputError(what, f"no plain tensors ({reason})", "tensors only", DO) from error


def _torch() -> Any:
    torch = require("torch", "weights of torch", "torch")
    version = tuple(int(n) for n in torch.__version__.split("+")[0].split(".")[:2])
    if version < NEEDED_TORCH:
        needed = ".".join(map(str, NEEDED_TORCH))
        do = "Older ones can be made to run what a file says. Or use .safetensors."
        raise EvidenceError("torch", torch.__version__, f"{needed} or newer", do)
    return torch


def _check_archive(path: Path, what: str) -> None:
    """Refuse what is not an archive of tensors, from its list of members and its listing."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            names = [member.filename.partition("/")[2] for member in members]
            got = _other_kind(names) or _odd_member(members, path.stat().st_size)
            if got:
                raise UnsafeInputError(what, got, "tensors only", DO)
            listing = archive.read(members[names.index("data.pkl")])
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        if isinstance(error, UnsafeInputError):
            raise
        got = "no archive as torch has saved since 1.6"
        raise UnsafeInputError(what, got, "tensors only", DO) from error
    foreign = _foreign(listing)
    if foreign:
        raise UnsafeInputError(what, f"{foreign}, which is no plain tensor", "tensors only", DO)


def _other_kind(names: list[str]) -> str:
    if "constants.pkl" in names or any(name.startswith("code/") for name in names):
        return "a program (TorchScript)"
    if names.count("data.pkl") != 1:
        return "another kind of archive"
    return ""


def _odd_member(members: list[zipfile.ZipInfo], size: int) -> str:
    """torch stores its members as they are: one that is packed may be a bomb."""
    if len(members) > MAX_MEMBERS:
        return f"{len(members):,} members"
    for member in members:
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            return f"a packed member {member.filename!r}"
        if member.file_size > (MAX_LISTING if member.filename.endswith(".pkl") else size):
            return f"a member {member.filename!r} of {member.file_size:,} bytes"
    return ""


def _foreign(listing: bytes) -> str:
    """The first thing that a listing would call and that is not needed for plain tensors."""
    try:
        for code, argument, _ in pickletools.genops(listing):
            if code.name == "GLOBAL" and argument not in PLAIN:
                return str(argument).replace(" ", ".")
            if code.name in ("STACK_GLOBAL", "INST", "OBJ", "NEWOBJ", "NEWOBJ_EX") or (
                code.name.startswith("EXT")
            ):
                return f"a call ({code.name})"
    except (ValueError, IndexError, KeyError, AttributeError, UnicodeDecodeError) as error:
        return f"a broken listing ({type(error).__name__})"
    return ""


def _name(name: Any, what: str) -> str:
    if not isinstance(name, str):
        raise UnsafeInputError(what, f"a tensor named {name!r}", "names", DO)
    return name


def _array(tensor: Any, what: str) -> np.ndarray:
    torch = _torch()
    if not isinstance(tensor, torch.Tensor):
        raise UnsafeInputError(what, f"a {type(tensor).__name__}", "a tensor", DO)
    if tensor.layout is not torch.strided or tensor.is_quantized or tensor.is_complex():
        raise UnsafeInputError(what, f"{tensor.layout}, {tensor.dtype}", "plain numbers", DO)
    if tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes():
        raise UnsafeInputError(what, f"shape {tuple(tensor.shape)}", "no more than is stored", DO)
    plain = tensor.detach()
    # numpy has no bfloat16; nothing is lost in float32
    return np.asarray((plain.float() if plain.dtype is torch.bfloat16 else plain).numpy())
