"""Refuse to overwrite files that theodolite did not write."""

from pathlib import Path

from theodolite.errors import EvidenceError

LOOKED_AT = 1 << 20


def check_written_by_theodolite(path: Path, begins: str, ends: str = "") -> None:
    """Refuse to replace a file that does not begin, and end, as those that we write."""
    if path.is_dir():
        raise EvidenceError(f"file {path.name!r}", "a folder", "a file")
    if not path.exists():
        return
    with path.open("rb") as stream:
        content = stream.read(LOOKED_AT).strip()
    if not content.startswith(begins.encode()) or not content.endswith(ends.encode()):
        raise EvidenceError(
            f"file {path.name!r}", "an existing file of another program",
            "a new one", "Choose another name, or say --overwrite.",
        )  # fmt: skip
