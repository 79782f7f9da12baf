"""Studies that other packages add to runs, and show in reports.

A package joins through the entry point group ``theodolite.chapters``. Its object computes the
studies that a spec lists, and renders sections of the report from them.
"""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from theodolite._runs.folder.spec import RunSpec
from theodolite._verdicts.scores_file import ComparedRecord
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.plugins import load_plugins

GROUP = "chapters"
Tables = Mapping[str, Mapping[str, Sequence[Any]]]


@runtime_checkable
class Chapters(Protocol):
    """Studies of one package."""

    kinds: frozenset[str]
    """Kinds of study that it computes."""

    def check(self, spec: RunSpec) -> None:
        """Raise an error if the spec has a study with wrong settings."""

    def write(
        self,
        path: Path,
        spec: RunSpec,
        models: Sequence[ComparedRecord],
        evidence: Sequence[Sequence[Evidence]],
        tables: Tables,
    ) -> None:
        """Compute the studies of a spec and write them to a file."""

    def open(self, material: Any) -> str:
        """Return the results of the studies for the top of a report, as safe HTML; or nothing."""

    def render(self, material: Any, models: Sequence[ComparedRecord]) -> list[str]:
        """Return sections of the report of a run, as HTML that is safe to include."""


@cache
def installed_chapters() -> tuple[Chapters, ...]:
    """Return the studies of all installed packages."""
    return tuple(chapters for _, _, chapters in load_plugins(GROUP, nullcontext))


def check_studies(spec: RunSpec) -> None:
    """Refuse a spec with studies that no installed package computes."""
    known = {kind for chapters in installed_chapters() for kind in chapters.kinds}
    for study in spec.studies:
        kind = str(study.get("kind"))
        if kind not in known:
            raise EvidenceError(
                f"study {kind!r}", "no package that computes it",
                f"one of {sorted(known)}" if known else "theodolite-reproductions",
                "Install it: pip install theodolite-reproductions.",
            )  # fmt: skip
    for chapters in installed_chapters():
        chapters.check(spec)
