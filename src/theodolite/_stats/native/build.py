"""Compile the library. Needs a C compiler and Python's standard library, nothing else: the build of
the wheel loads this file by itself."""

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
"""Part of the contract: no fused multiplication, nothing reordered, so that bits are the same. That
nobody reads errno changes no value: roots may then be taken side by side."""
SUFFIX = ".dll" if sys.platform == "win32" else ".so"


def sources() -> list[Path]:
    """The C files and what they include."""
    return sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.h")])


def is_checkout() -> bool:
    """Whether this is the project itself, and not what was installed."""
    return (FOLDER.parents[2] / "hatch_build.py").is_file()


def flags() -> tuple[str, ...]:
    """How it is compiled; `THEODOLITE_CFLAGS` adds to it, such as sanitizers."""
    return (*FLAGS, *shlex.split(os.environ.get("THEODOLITE_CFLAGS", "")))


def library_name() -> str:
    """By what the sources say and how they are compiled: an old library is not taken for a new."""
    digest = hashlib.sha256(repr(flags()).encode())
    for path in sources():
        digest.update(path.read_bytes())
    return f"kernels-{digest.hexdigest()[:16]}{SUFFIX}"


def compiler() -> list[str] | None:
    """The command of `CC`, else a compiler that is at hand, else None."""
    chosen = os.environ.get("CC")
    if chosen:
        return shlex.split(chosen)
    path = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    return None if path is None else [path]


def compiled_into(folder: Path) -> Path | None:
    """The library in a folder, compiled unless it is there; None where there is no compiler.

    Several processes may do so at once: each compiles beside it and then moves it into place.
    """
    target = folder / library_name()
    command = compiler()
    if target.exists() or command is None:
        return target if target.exists() else None
    files = [str(path) for path in sources() if path.suffix == ".c"]
    shared = ["-dynamiclib"] if sys.platform == "darwin" else ["-shared"]
    position = [] if sys.platform == "win32" else ["-fPIC"]
    handle, partial = tempfile.mkstemp(SUFFIX, "compiling-", folder)
    os.close(handle)
    try:
        arguments = [*command, *flags(), *position, *shared, *files, "-o", partial, "-lm"]
        subprocess.run(arguments, check=True, capture_output=True)  # noqa: S603  our own files
        os.replace(partial, target)
    except (OSError, subprocess.CalledProcessError):
        return None
    finally:
        Path(partial).unlink(missing_ok=True)
    return target
