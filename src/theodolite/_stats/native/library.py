"""The compiled library: found, loaded once, or done without."""

import ctypes
import os
import warnings
from functools import cache
from pathlib import Path
from typing import Literal

from theodolite._stats.native import build
from theodolite.errors import EngineFallback, EvidenceError

CHOICE = "THEODOLITE_KERNELS"
Kind = Literal["native", "numpy"]


def kernels() -> Kind:
    """What computes: `native`, the compiled library, or `numpy`, which gives the same more slowly.

    `THEODOLITE_KERNELS` chooses; else the library is taken wherever it can be loaded.
    """
    chosen = os.environ.get(CHOICE) or None
    if chosen not in (None, "native", "numpy"):
        raise EvidenceError(CHOICE, chosen, "native or numpy")
    if chosen == "numpy":
        return "numpy"
    if library() is not None:
        return "native"
    if chosen == "native":
        raise EvidenceError(
            CHOICE, "native", "the compiled library, which is not here",
            "Install a wheel for this platform, or a C compiler before `pip install theodolite`.",
        )  # fmt: skip
    return "numpy"


def has_native() -> bool:
    """Whether the compiled library computes."""
    return kernels() == "native"


def kernels_version() -> str:
    """What computes, as runs record it: of the library, also which."""
    path = library_path()
    return f"native {path.stem[8:]}" if has_native() and path is not None else "numpy"


@cache
def library() -> ctypes.CDLL | None:
    """The library, loaded; None where there is none. One that does not load is reported once."""
    path = library_path()
    if path is None:
        return None
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        warnings.warn(
            f"the compiled kernels do not load ({error}); numpy is used instead, more slowly",
            EngineFallback,
            stacklevel=2,
        )
        return None


def library_path() -> Path | None:
    """Beside this file, as the wheel brings it; in a checkout compiled there if it is not."""
    if build.is_checkout():
        return build.compiled_into(build.FOLDER)
    return next(iter(sorted(build.FOLDER.glob(f"kernels-*{build.SUFFIX}"))), None)
