"""Where numba looks for compiled loops: by what a module says, not by where and when it lies.

numba's own caches go by path and time of a file, so that every clone and every copy of one
compiles everything again: minutes of CPU. It loads this by `NUMBA_CACHE_LOCATOR_CLASSES`. A loop
may call one of another module, which numba does not look at: so `gate.py` has a folder for each
state of all modules with loops together.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from numba.core import config
from numba.core.caching import UserProvidedCacheLocator


class ByContent(UserProvidedCacheLocator):
    """One folder for a room's loops, wherever the room lies."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        super().__init__(py_func, py_file)
        self._cache_path = os.path.join(config.CACHE_DIR, Path(py_file).parent.name)

    def get_source_stamp(self) -> str:
        """What the file says."""
        return hashlib.sha256(Path(self._py_file).read_bytes()).hexdigest()
