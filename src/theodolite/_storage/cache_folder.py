"""The folder on this machine that keeps things from run to run."""

import os
from pathlib import Path


def get_default_cache() -> Path:
    """Return where things are kept if nothing else is said."""
    named = os.environ.get("THEODOLITE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "theodolite"
