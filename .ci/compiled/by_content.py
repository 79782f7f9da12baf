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


class OnceInAll:
    """Several processes that need the same loop at the same time: one compiles it, others wait."""

    load = FunctionCache.load_overload
    save = FunctionCache.save_overload
    locks: dict[tuple[int, str], int] = {}  # noqa: RUF012  one for the process

    @classmethod
    def load_overload(cls, cache: FunctionCache, sig: Any, target_context: Any) -> Any:
        """What was compiled before; else what another process is compiling now, if it is."""
        loop = cls.load(cache, sig, target_context)
        if loop is not None:
            return loop
        base = f"{cache._cache_file._index_name} {sig}".encode()
        path = Path(cache.cache_path) / f"{hashlib.sha256(base).hexdigest()[:16]}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = os.open(path, os.O_CREAT | os.O_RDWR)
        cls.locks[id(cache), str(sig)] = lock
        until = time.monotonic() + LONGEST_WAIT
        while time.monotonic() < until:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(0.1)
            else:
                break
        loop = cls.load(cache, sig, target_context)
        if loop is not None:
            cls.release(cache, sig)
        return loop

    @classmethod
    def save_overload(cls, cache: FunctionCache, sig: Any, data: Any) -> None:
        """Keep it, and let the others have it."""
        cls.save(cache, sig, data)
        cls.release(cache, sig)

    @classmethod
    def release(cls, cache: FunctionCache, sig: Any) -> None:
        """Closing it gives the lock back; so does the end of the process."""
        lock = cls.locks.pop((id(cache), str(sig)), None)
        if lock is not None:
            os.close(lock)


FunctionCache.load_overload = lambda cache, *rest: OnceInAll.load_overload(cache, *rest)
FunctionCache.save_overload = lambda cache, *rest: OnceInAll.save_overload(cache, *rest)
