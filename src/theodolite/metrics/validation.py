"""Validation records in the package: the conditions that a metric was simulated in, and which held.

Verdicts and cards read them at every start, so the package holds a summary of each record, in
``validation.json``. The full records are in the folder ``validation`` of the repository.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from theodolite.errors import EvidenceError

FILE = "validation.json"
_outside: dict[str, "ValidationSummary"] = {}
"""Summaries of metrics that are declared outside the package."""


@dataclass(frozen=True)
class ValidationSummary:
    """Summary of the validation record of one version of a metric."""

    metric: str
    version: int
    digest: str
    """Digest of the code that was validated."""
    theodolite: str
    date: str
    size: str
    text: str
    """One line for people."""
    failures: tuple[str, ...]
    least_samples: int | None
    """Number of samples from which on all conditions held; none if they never did."""
    most_samples: int | None
    """Largest number of samples that was simulated. More samples are no worse."""
    holds_up_to: int | None
    """Number of samples up to which all conditions held, where they did not for more."""
    least_clusters: int | None
    most_labels: int | None
    least_per_label: int | None
    """Samples or clusters of the rarest label."""
    most_concepts: int | None
    representations: tuple[str, ...]
    powers: tuple[tuple[int, float | None], ...]
    """Samples, and the planted effect from which on 80 % of the draws make the claim."""

    @property
    def range_text(self) -> str:
        """Sizes of evidence that the validation covers, in words."""
        if self.least_samples is None:
            return "no number of samples"
        parts = [f"{self.least_samples:,} samples or more"]
        if self.holds_up_to is not None:
            parts = [f"{self.least_samples:,} to {self.holds_up_to:,} samples"]
        if self.least_clusters is not None:
            parts.append(f"{self.least_clusters} clusters or more")
        if self.most_concepts is not None:
            parts.append(f"up to {self.most_concepts} concepts")
        if self.most_labels is not None:
            parts.append(f"up to {self.most_labels} labels")
        if self.least_per_label is not None:
            parts.append(f"{self.least_per_label} samples or more of the rarest label")
        return ", ".join(parts)

    def outside(
        self,
        samples: int,
        clusters: int | None = None,
        labels: int | None = None,
        concepts: int | None = None,
        rarest: int | None = None,
    ) -> str:
        """Return why evidence of this size is outside; empty where it is inside.

        Args:
            samples: Number of rows.
            clusters: Number of clusters; none where each sample is its own.
            labels: Number of labels, where the metric reads them.
            concepts: Number of concepts, where the metric reads all together.
            rarest: Samples or clusters of the rarest label.
        """
        if self.least_samples is None:
            return "its validation holds for no number of samples"
        n = samples if clusters is None else clusters
        least = self.least_samples
        if clusters is not None and clusters < samples:
            if self.least_clusters is None:
                return "its validation does not hold for samples in clusters"
            least = self.least_clusters
        if n < least:
            word = "samples" if clusters is None else "clusters"
            return f"{n} {word}, validated from {least} on"
        if self.holds_up_to is not None and n > self.holds_up_to:
            return f"{n} samples or clusters, validated up to {self.holds_up_to}"
        if labels is not None and self.most_labels is not None and labels > self.most_labels:
            return f"{labels} labels, validated up to {self.most_labels}"
        if rarest is not None and self.least_per_label and rarest < self.least_per_label:
            each = f"{rarest} samples or clusters of the rarest label"
            return f"{each}, validated from {self.least_per_label} on"
        most = self.most_concepts
        if concepts is not None and most is not None and concepts > most:
            return f"{concepts} concepts, validated up to {most}"
        return ""


def get_validation(name: str, version: int, path: Path | None = None) -> ValidationSummary | None:
    """Return the validation of a version of a metric; none if it has none.

    Args:
        name: The metric.
        version: Its version.
        path: File of summaries. Defaults to the one in the package.
    """
    summary = _outside.get(name) if path is None else None
    summary = _read(path).get(name) if summary is None else summary
    return summary if summary is not None and summary.version == version else None


def register_validation(name: str, version: int, record: Path | str | None) -> None:
    """Use the full record in a file for a metric that is declared outside; None removes it.

    Raises:
        EvidenceError: The record is of another metric or version, or is no record.
    """
    _outside.pop(name, None)
    if record is None:
        return
    from theodolite._storage.text import read_json  # noqa: PLC0415  the build has no YAML reader

    content = read_json(Path(record))
    needed = f"a record of {name}, version {version}"
    do = "Write it with `theodolite metrics validate`."
    try:
        got = f"{content['metric']}, version {content['version']}"
        summary = _summary(name, summarize_record(content))
    except (KeyError, TypeError, IndexError) as error:
        raise EvidenceError(f"validation `{record}`", "no record", needed, do) from error
    if (content["metric"], content["version"]) != (name, version):
        raise EvidenceError(f"validation `{record}`", got, needed, do)
    _outside[name] = summary


@lru_cache(maxsize=8)
def _read(path: Path | None) -> Mapping[str, ValidationSummary]:
    file = files("theodolite.metrics") / FILE if path is None else path
    content = json.loads(file.read_text(encoding="utf-8"))
    return {name: _summary(name, entry) for name, entry in content.items()}


def _summary(name: str, entry: Mapping[str, Any]) -> ValidationSummary:
    lists = ("failures", "representations")
    values: dict[str, Any] = {k: tuple(v) if k in lists else v for k, v in entry.items()}
    values["powers"] = tuple((samples, effect) for samples, effect in entry["powers"])
    return ValidationSummary(metric=name, **values)


def summarize_record(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the package keeps of a full record."""
    within = record["range"]
    return {
        "version": record["version"],
        "digest": record["digest"],
        "theodolite": record["theodolite"],
        "date": record["date"],
        "size": record["size"],
        "text": record["summary"],
        "failures": record["failures"],
        "least_samples": within["samples"][0],
        "most_samples": within["samples"][1],
        "holds_up_to": within["holds_up_to"],
        "least_clusters": within["least_clusters"],
        "most_labels": within["most_labels"],
        "least_per_label": within.get("least_per_label"),
        "most_concepts": within["most_concepts"],
        "representations": within["representations"],
        "powers": [[power["samples"], power["dial"]] for power in record["power"]],
    }


def summaries_text(records: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the text of the file of summaries, one line per metric."""
    lines = (f"{json.dumps(name)}: {json.dumps(records[name])}" for name in sorted(records))
    return "{\n" + ",\n".join(lines) + "\n}\n"
