"""Names of the files of a run folder."""

from pathlib import Path

RUN, SCORES, PRODUCED, FINDINGS = "run.json", "scores.json", "produced.json", "findings.json"
CONFLICTS, PER_SAMPLE = "conflicts.json", "per_sample.parquet"
IMAGE_FOLDERS = ("images", "concepts")
"""Folders of images for the report."""


def is_run(path: Path) -> bool:
    """Return whether a run was written there."""
    return (path / RUN).is_file()
