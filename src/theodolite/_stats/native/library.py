"""Find and load the native library, or choose numpy without it.

Used by `_stats`, metrics and the records of runs.
"""

import ctypes
import os
import warnings
from functools import cache
from pathlib import Path
from typing import Literal

from theodolite._stats.native import build
from theodolite.errors import EngineFallback, EvidenceError

KERNELS_VARIABLE = "THEODOLITE_KERNELS"
Kind = Literal["native", "numpy"]


def get_kernels() -> Kind:
    """Return `native` or `numpy`, which gives the same bits more slowly.

    `THEODOLITE_KERNELS` chooses; by default the library is used wherever it can be loaded.
    """
    chosen = os.environ.get(KERNELS_VARIABLE) or None
    if chosen not in (None, "native", "numpy"):
        raise EvidenceError(KERNELS_VARIABLE, chosen, "native or numpy")
    if chosen == "numpy":
        return "numpy"
    if load_library() is not None:
        return "native"
    if chosen == "native":
        raise EvidenceError(
            KERNELS_VARIABLE, "native", "the compiled library, which is not here",
            "Install a wheel for this platform, or a C compiler before `pip install theodolite`.",
        )  # fmt: skip
    return "numpy"


def has_native() -> bool:
    """Return True if the native library is used."""
    return get_kernels() == "native"


def kernels_version() -> str:
    """Return the kernels in use and the digest of the library, as runs record them."""
    path = find_library()
    return f"native {path.stem[8:]}" if has_native() and path is not None else "numpy"


@cache
def load_library() -> ctypes.CDLL | None:
    """Load the library once; None, with one warning if it does not load, without it."""
    path = find_library()
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


def find_library() -> Path | None:
    """Return the library next to this file; in a checkout it is compiled if missing."""
    if build.is_checkout():
        return build.compile_into(build.FOLDER)
    return next(iter(sorted(build.FOLDER.glob(f"kernels-*{build.SUFFIX}"))), None)
