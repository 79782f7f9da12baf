"""Where numba looks for compiled loops: by what a module says, not by where and when it lies.

numba's own caches go by path and time of a file, so that every clone and every copy of one
compiles everything again: minutes of CPU. It loads this by `NUMBA_CACHE_LOCATOR_CLASSES`. A loop
may call one of another module, which numba does not look at: so `gate.py` has a folder for each
state of all modules with loops together.
"""

import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba.core import config
from numba.core.caching import FunctionCache, UserProvidedCacheLocator

LONGEST_WAIT = 90.0
"""Seconds: longer than the longest loop takes to compile."""


class ByContent(UserProvidedCacheLocator):
    """One folder for a room's loops, wherever the room lies."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(config.CACHE_DIR, Path(py_file).parent.name)

    def get_source_stamp(self) -> str:
        """What the file says."""
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()


load_compiled, save_compiled = FunctionCache.load_overload, FunctionCache.save_overload
locks: dict[tuple[int, str], int] = {}
"""Of loops that this process compiles: files that others wait for."""


def load_or_wait(cache: FunctionCache, sig: Any, target_context: Any) -> Any:
    """What was compiled before; else what another process is compiling now, if it is."""
    loop = load_compiled(cache, sig, target_context)
    if loop is not None:
        return loop
    base = f"{cache._cache_file._index_name} {sig}".encode()
    path = Path(cache.cache_path) / f"{hashlib.sha256(base).hexdigest()[:16]}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    release(cache, sig)  # of an earlier try that could not be compiled: it would wait for itself
    lock = locks[id(cache), str(sig)] = os.open(path, os.O_CREAT | os.O_RDWR)
    until = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < until:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.1)
        else:
            break
    loop = load_compiled(cache, sig, target_context)
    if loop is not None:
        release(cache, sig)
    return loop


def save_and_release(cache: FunctionCache, sig: Any, data: Any) -> None:
    """Keep it, and let the others have it."""
    save_compiled(cache, sig, data)
    release(cache, sig)


def release(cache: FunctionCache, sig: Any) -> None:
    """Closing the file gives the lock back; so does the end of the process."""
    lock = locks.pop((id(cache), str(sig)), None)
    if lock is not None:
        os.close(lock)


# several processes that need the same loop at the same time: one compiles it, the others wait
FunctionCache.load_overload = load_or_wait
FunctionCache.save_overload = save_and_release
