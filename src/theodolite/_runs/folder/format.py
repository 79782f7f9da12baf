"""Names of the files of a run folder."""

from pathlib import Path

RUN, PRODUCED, FINDINGS = "run.json", "produced.json", "findings.json"
SHOWN = ("images", "concepts")
"""Folders of images for the report."""


def is_run(path: Path) -> bool:
    """Return whether a run was written there."""
    return (path / RUN).is_file()
