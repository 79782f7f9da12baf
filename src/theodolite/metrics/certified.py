"""Certificates that come with the package: what a score was tried on, and where it holds.

Light on purpose: verdicts and cards read it at every start.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

FOLDER = "certificates"


@dataclass(frozen=True)
class CertificateSummary:
    """Of one version of one score."""

    metric: str
    version: int
    digest: str
    theodolite: str
    date: str
    size: str
    text: str
    """One line for people."""
    failures: tuple[str, ...]
    least_samples: int | None
    """From so many on all lines held; none if they never did."""
    most_samples: int | None
    """The most that were tried; more are no worse."""
    holds_up_to: int | None
    """Up to so many samples all lines held, where they did not for more."""
    least_clusters: int | None
    most_labels: int | None
    most_concepts: int | None
    representations: tuple[str, ...]
    powers: tuple[tuple[int, float | None], ...]
    """Samples, and the dial from which on four of five draws make the claim."""

    def outside(self, samples: int, clusters: int | None = None, labels: int | None = None) -> str:
        """Why evidence of this size is outside; empty where it is inside.

        Args:
            samples: How many rows, or clusters where these are declared.
            clusters: How many clusters; none where each sample is its own.
            labels: How many labels, where the score has to do with these.
        """
        if self.least_samples is None:
            return "its certificate holds for no number of samples"
        n = samples if clusters is None else clusters
        least = self.least_samples
        if clusters is not None and clusters < samples:
            if self.least_clusters is None:
                return "its certificate does not hold for samples in clusters"
            least = self.least_clusters
        if n < least:
            word = "samples" if clusters is None else "clusters"
            return f"{n} {word}, certified from {least} on"
        if self.holds_up_to is not None and n > self.holds_up_to:
            return f"{n} samples or clusters, certified up to {self.holds_up_to}"
        if labels is not None and self.most_labels is not None and labels > self.most_labels:
            return f"{labels} labels, certified up to {self.most_labels}"
        return ""


def certificate_of(
    name: str, version: int, folder: Path | None = None
) -> CertificateSummary | None:
    """The certificate of a version of a score; none if it has none.

    Args:
        name: The metric.
        version: Its version.
        folder: Where certificates are, if not those of the package.
    """
    return _read(name, version, folder)


@lru_cache(maxsize=512)
def _read(name: str, version: int, folder: Path | None) -> CertificateSummary | None:
    home = files("theodolite.metrics") / FOLDER if folder is None else folder
    file = home / f"{name}-{version}.json"
    if not name.isidentifier() or not file.is_file():
        return None
    return _summary(json.loads(file.read_text(encoding="utf-8")))


def _summary(content: dict[str, Any]) -> CertificateSummary:
    within = content["range"]
    return CertificateSummary(
        metric=content["metric"],
        version=content["version"],
        digest=content["digest"],
        theodolite=content["theodolite"],
        date=content["date"],
        size=content["size"],
        text=content["summary"],
        failures=tuple(content["failures"]),
        least_samples=within["samples"][0],
        most_samples=within["samples"][1],
        holds_up_to=within.get("holds_up_to"),
        least_clusters=within["least_clusters"],
        most_labels=within["most_labels"],
        most_concepts=within["most_concepts"],
        representations=tuple(within["representations"]),
        powers=tuple((power["samples"], power["dial"]) for power in content["power"]),
    )


def table_of(name: str, version: int, folder: Path | None = None) -> list[tuple[str, ...]]:
    """The certificate's cells as text: condition, truth, mean, covered, claims, what fails."""
    home = files("theodolite.metrics") / FOLDER if folder is None else folder
    content = json.loads((home / f"{name}-{version}.json").read_text(encoding="utf-8"))
    rows: list[tuple[str, ...]] = []
    for cell in content["cells"]:
        text = {key: "–" if v is None else v for key, v in cell.items()}
        covered = f"{text['covered']} of {text['intervals']}" if cell["intervals"] else "–"
        rows.append(
            (
                ", ".join(f"{key} {v}" for key, v in cell["condition"].items()) or "as usual",
                f"{text['truth']}", f"{text['mean']} ± {text['spread']}", covered,
                f"{text['alarms']} of {text['draws']}", "; ".join(cell["failures"]) or "holds",
            )
        )  # fmt: skip
    return rows
