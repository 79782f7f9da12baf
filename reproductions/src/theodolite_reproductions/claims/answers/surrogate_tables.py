"""Stored explanations of a run of surrogates, image by image and seed by seed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite._storage.records import read_record
from theodolite._verdicts.scores_file import ComparedFile, ComparedRecord, numbers, score_named
from theodolite.errors import UnsafeInputError
from theodolite.evidence.files import load
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.metrics.faithful.surrogates import (
    AttributeAgreement,
    LinearizationError,
    SurrogateAgreement,
    SurrogateDistance,
    SurrogateError,
    SurrogateRankCorrelation,
)
from theodolite_reproductions.claims.answers.resampled import Draws, UnitResamples

SCORES: dict[str, Any] = {
    "attribute_agreement": AttributeAgreement, "linearization_error": LinearizationError,
    "surrogate_agreement": SurrogateAgreement, "surrogate_distance": SurrogateDistance,
    "surrogate_error": SurrogateError, "surrogate_rank_correlation": SurrogateRankCorrelation,
}  # fmt: skip
Table = Float[np.ndarray, "seeds images"]


@dataclass(frozen=True, eq=False)
class CrossedResamples:
    """Images (or whole classes of them) and seeds, each drawn anew."""

    images: UnitResamples
    seeds: UnitResamples

    @classmethod
    def of(
        cls, images: int, seeds: int, clusters: Int[np.ndarray, " images"] | None = None
    ) -> "CrossedResamples":
        """Draw; with ``clusters``, images of a cluster are drawn together."""
        if clusters is None:
            rows = UnitResamples.draw(images, "images and seeds" if seeds > 1 else "images")
        else:
            of, n = np.unique(clusters, return_inverse=True)[1], len(np.unique(clusters))
            by_class = UnitResamples.draw(n, "classes and seeds")
            rows = UnitResamples(by_class.times[:, of], by_class.unit)
        return cls(rows, UnitResamples.draw(max(seeds, 2), "seeds", seed=1))

    def mean(self, values: Table) -> Draws:
        """Mean over images and seeds; what is undefined is left out."""
        known = (~np.isnan(values)).astype(float)
        part, whole = (self._sum(each) for each in (np.where(known > 0, values, 0.0), known))
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(part / whole)

    def _sum(self, values: Table) -> Draws:
        by_seed = np.einsum("rp,sp->rs", self.images.times, values, optimize=False)
        times = self.seeds.times[:, : len(values)]
        if len(values) == 1:  # a method without chance
            times = np.ones((len(times), 1))
        return np.asarray((by_seed * times).sum(axis=1))


@dataclass(frozen=True, eq=False)
class StoredExplanations:
    """The models of a run, by name, and their evidence."""

    folder: Path
    models: Sequence[ComparedRecord]
    clustered: bool = False
    """Whether images of a class are drawn together."""
    read: dict[str, list[SurrogateEvidence]] = field(default_factory=dict)
    means: dict[str, Draws] = field(default_factory=dict)
    """Scores that were resampled before: many answers ask for the same."""

    @classmethod
    def of(cls, folder: Path, *, clustered: bool = False) -> "StoredExplanations":
        """From a run folder."""
        models = read_record(folder / "compared.json", ComparedFile).models
        return cls(folder, models, clustered)

    @property
    def names(self) -> list[str]:
        """All models."""
        return [model.name for model in self.models]

    def evidence(self, name: str) -> list[SurrogateEvidence]:
        """Of each seed that the model was run with."""
        if name not in self.read:
            if name not in self.names:
                raise UnsafeInputError("models", f"no {name!r}", f"one of {self.names}")
            first = name == self.models[0].name
            root = self.folder / "evidence" if first else self.folder / "compared" / name
            seeds = sorted(root.glob("seed-*"), key=lambda path: int(path.name.split("-")[1]))
            loaded = [load(path / "surrogate") for path in seeds]
            self.read[name] = [each for each in loaded if isinstance(each, SurrogateEvidence)]
        return self.read[name]

    def each(self, name: str, metric: str, *, bias: bool = True, **options: Any) -> Table:
        """A score of each image and seed; NaN where undefined."""
        rows = []
        for evidence in self.evidence(name):
            used = evidence if bias else replace(evidence, bias=None)
            scored = SCORES[metric].each(used, **options)
            whole = np.asarray(scored.whole, float)
            part = np.asarray(scored.part, float)
            rows.append(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))
        return np.stack(rows)

    def mean(self, name: str, metric: str, **options: Any) -> Draws:
        """A score over images and seeds, resampled."""
        key = f"{name} {metric} {sorted(options.items())}"
        if key not in self.means:
            self.means[key] = self.resamples.mean(self.each(name, metric, **options))
        return self.means[key]

    def per_seed(self, name: str, metric: str, **options: Any) -> Float[np.ndarray, " seeds"]:
        """A score as the run has it."""
        model = next(model for model in self.models if model.name == name)
        score = score_named(model, metric, **options)
        return numbers([] if score is None else score.per_seed or [score.value])

    @cached_property
    def resamples(self) -> CrossedResamples:
        """The same for all statistics of the run."""
        return self.resampled(self.models[0].name)

    def resampled(self, name: str) -> CrossedResamples:
        """For models that look at other images than the first."""
        first = self.evidence(name)
        clusters = classes_of(first[0]) if self.clustered else None
        return CrossedResamples.of(len(first[0]), len(first), clusters)

    @property
    def n(self) -> int:
        """Units that were drawn, beside seeds."""
        evidence = self.evidence(self.models[0].name)[0]
        return len(np.unique(classes_of(evidence))) if self.clustered else len(evidence)


def classes_of(evidence: SurrogateEvidence) -> Int[np.ndarray, " images"]:
    """What images belong together by: their clusters, or else their labels."""
    clusters = evidence.samples.clusters
    return np.asarray(evidence.labels if clusters is None else clusters)
