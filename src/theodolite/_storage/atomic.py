"""What takes long to make and is always the same, kept in the user's cache from run to run."""

import os
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

from theodolite._storage.paths import all_or_nothing


def default_cache() -> Path:
    """Where things are kept if nothing else is said."""
    named = os.environ.get("THEODOLITE_CACHE")
    if named:
        return Path(named)
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "theodolite"


def kept_text(name: str, make: Callable[[], str]) -> str:
    """What ``make`` gives, made once on this machine; ``name`` says all that it depends on.

    Its digest comes first in the file: half a file is made again. So is one that somebody else
    wrote, as a cache may be shared and this ends up in reports. Where nothing can be written, it is
    made each time.
    """
    path = default_cache() / "kept" / name
    try:
        digest, _, content = path.read_text("utf-8").partition("\n")
        if digest == _digest(content) and _is_own(path):
            return content
    except (OSError, UnicodeDecodeError):
        pass
    content = make()
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with all_or_nothing(path) as file:
            file.write(f"{_digest(content)}\n{content}".encode())
    except OSError:
        pass
    return content


def _is_own(path: Path) -> bool:
    return not hasattr(os, "getuid") or path.stat().st_uid == os.getuid()


def _digest(content: str) -> str:
    return sha256(content.encode()).hexdigest()
