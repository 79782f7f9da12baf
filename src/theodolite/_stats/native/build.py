"""Compile the C kernels into a shared library.

Used by `library` in a checkout, and by `hatch_build.py`, which loads this file alone: it may only
import the standard library.
"""

import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
FLAGS = (
    "-std=c99", "-O3", "-fno-fast-math", "-ffp-contract=off", "-fno-math-errno",
    "-fvisibility=hidden",
)  # fmt: skip
"""Flags that keep the bits equal everywhere: no fused multiplication, nothing reordered. Without
errno, roots may be vectorized, which changes no value."""
SUFFIX = ".dll" if sys.platform == "win32" else ".so"


def list_sources() -> list[Path]:
    """List the C files and their headers."""
    return sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")])


def is_checkout() -> bool:
    """Return True in a checkout of the repository, False in an installed package."""
    return (FOLDER.parents[2] / "hatch_build.py").is_file()


def get_flags() -> tuple[str, ...]:
    """Return the compiler flags; `THEODOLITE_CFLAGS` adds to them, such as sanitizers."""
    return (*FLAGS, *shlex.split(os.environ.get("THEODOLITE_CFLAGS", "")))


def get_library_name() -> str:
    """Return the file name of the library, with a digest of the sources and the flags."""
    digest = hashlib.sha256(repr(get_flags()).encode())
    for path in list_sources():
        digest.update(path.read_bytes())
    return f"kernels-{digest.hexdigest()[:16]}{SUFFIX}"


def find_compiler() -> list[str] | None:
    """Return the command of `CC` or of the first compiler on the path; None without one."""
    chosen = os.environ.get("CC")
    if chosen:
        return shlex.split(chosen)
    path = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    return None if path is None else [path]


def compile_into(folder: Path) -> Path | None:
    """Compile the library into a folder unless it exists; None without a compiler.

    Several processes may call this at once: each compiles to its own file and moves it into place.
    """
    target = folder / get_library_name()
    command = find_compiler()
    if target.exists() or command is None:
        return target if target.exists() else None
    files = [str(path) for path in list_sources() if path.suffix == ".c"]
    shared = ["-dynamiclib"] if sys.platform == "darwin" else ["-shared"]
    position = [] if sys.platform == "win32" else ["-fPIC"]
    handle, partial = tempfile.mkstemp(SUFFIX, "compiling-", folder)
    os.close(handle)
    try:
        arguments = [*command, *get_flags(), *position, *shared, *files, "-o", partial, "-lm"]
        subprocess.run(arguments, check=True, capture_output=True)  # noqa: S603  our own files
        os.replace(partial, target)
    except (OSError, subprocess.CalledProcessError):
        return None
    finally:
        Path(partial).unlink(missing_ok=True)
    return target
