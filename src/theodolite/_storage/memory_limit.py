"""Limit the memory that packed data may take, before anything is unpacked."""

import functools
import os
import re
from pathlib import Path

from theodolite.errors import EvidenceError, UnsafeInputError

MOST_BY_DEFAULT = 1 << 32
VARIABLE = "THEODOLITE_MOST_MEMORY"
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_chosen: list[int] = []


def get_memory_limit() -> int:
    """Return the number of bytes that unpacked data may take.

    What was chosen, else what the environment says, else a quarter of the machine's memory, but
    not more than 4 GiB.
    """
    if _chosen:
        return _chosen[0]
    if text := os.environ.get(VARIABLE):
        return parse_bytes(text, VARIABLE)
    return min(_measure_machine_memory() // 4, MOST_BY_DEFAULT)


def set_memory_limit(limit: int | None) -> None:
    """Set the limit of this process; None restores the default."""
    _chosen[:] = [] if limit is None else [limit]


def parse_bytes(text: str, what: str) -> int:
    """Parse a number of bytes such as 8G.

    >>> parse_bytes("1.5GB", "--max-memory"), parse_bytes("300 MiB", "--max-memory")
    (1610612736, 314572800)
    """
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", text, re.IGNORECASE)
    size = int(float(match[1]) * _UNITS[match[2].upper()]) if match else 0
    if not size:
        raise EvidenceError(what, repr(text), "a size such as 800MB or 2GB")
    return size


def check_memory(size: int, what: str, do: str = "") -> None:
    """Raise if data would exceed the memory limit."""
    limit = get_memory_limit()
    if size > limit:
        raise UnsafeInputError(
            what, f"{size:,} bytes unpacked", f"at most {limit:,} (--max-memory)",
            do or f"Where the machine has more, set --max-memory or {VARIABLE}.",
        )  # fmt: skip


@functools.cache
def _measure_machine_memory() -> int:
    """The machine's memory, or what its container has of it."""
    try:
        total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 4 * MOST_BY_DEFAULT
    try:
        text = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return total
    return min(total, int(text)) if text.isdecimal() else total
