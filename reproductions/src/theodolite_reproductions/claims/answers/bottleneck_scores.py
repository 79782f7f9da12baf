"""Scores of bottlenecks fold by fold: as a run wrote them, and anew from its stored evidence."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Float

from theodolite._runs.folder.run_records import RunRecord
from theodolite._stats.intervals import quantile, two_sided_p
from theodolite._storage.records import read_record
from theodolite._verdicts.scores_file import (
    ComparedFile,
    ComparedRecord,
    Filter,
    matches,
    numbers,
    score_named,
)
from theodolite.errors import UnsafeInputError
from theodolite.evidence.base import Evidence, find_bundle
from theodolite.evidence.files import load
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.metrics.catalogue import catalogue
from theodolite_reproductions.claims.answers.resampled import LEVEL
from theodolite_reproductions.claims.power import detectable_effect
from theodolite_reproductions.claims.results import EntryAnswer, Figure

COMPARED = "compared.json"
CTL, ICL, OIS, NIS = (
    "concept_task_leakage", "interconcept_leakage", "oracle_impurity", "niche_impurity",
)  # fmt: skip
S_INT = "intervention_score"
Folds = Float[np.ndarray, " folds"]
Kind = TypeVar("Kind", bound=Evidence)


@dataclass(frozen=True, eq=False)
class BottleneckRun:
    """The models of a finished run, with what each said of the test samples."""

    folder: Path
    models: tuple[ComparedRecord, ...]
    """The first is that of the verdicts."""
    seeds: tuple[int, ...]

    @classmethod
    def read(cls, folder: Path) -> "BottleneckRun":
        """From a run folder."""
        models = read_record(folder / COMPARED, ComparedFile).models
        seeds = read_record(folder / "run.json", RunRecord).spec.seeds
        return cls(folder, tuple(models), tuple(seeds))

    def the(self, conditions: Filter) -> ComparedRecord:
        """The one model that a filter names."""
        return the_model(self.models, conditions)

    def such(self, conditions: Filter) -> list[ComparedRecord]:
        """All models that a filter names."""
        return [model for model in self.models if matches(model, conditions)]

    def concepts(self, model: ComparedRecord) -> list[ConceptEvidence]:
        """Values and truth of the concepts, a bundle a fold."""
        return [self._stored(model, seed, ConceptEvidence, "concept") for seed in self.seeds]

    def corrected(self, model: ComparedRecord) -> list[InterventionEvidence]:
        """Return whether the class is right after corrections, a bundle a fold."""
        kind = InterventionEvidence
        return [self._stored(model, seed, kind, kind.kind) for seed in self.seeds]

    def recomputed(self, model: ComparedRecord, metric: str, **options: Any) -> Folds:
        """A score under other options, as the mean over concepts, fold by fold."""
        return np.array(
            [np.mean(score_value(metric, bundle, **options)) for bundle in self.concepts(model)]
        )

    def _stored(self, model: ComparedRecord, seed: int, kind: type[Kind], place: str) -> Kind:
        first = model.name == self.models[0].name
        root = self.folder / ("evidence" if first else f"compared/{model.name}") / f"seed-{seed}"
        bundle = find_bundle(kind, [load(root / place)])
        if bundle is None:
            raise UnsafeInputError(f"evidence of {model.name}", "another kind", kind.kind)
        return bundle


def score_value(metric: str, evidence: Evidence, **options: Any) -> np.ndarray:
    """A score of stored evidence, as the run computes it: swept options first, then concepts."""
    entry = catalogue()[metric]
    checked, counting = entry.check(options), entry.counting_options()
    counted = entry.state.of(evidence, **{n: v for n, v in checked.items() if n in counting})
    rest = {n: v for n, v in checked.items() if n not in counting}
    return np.asarray(counted.value(**rest), np.float64)


def the_model(models: Sequence[ComparedRecord], conditions: Filter) -> ComparedRecord:
    """The one model that a filter names."""
    chosen = [model for model in models if matches(model, conditions)]
    if len(chosen) != 1:
        raise UnsafeInputError("models", f"{len(chosen)} with {dict(conditions)}", "just one")
    return chosen[0]


def per_fold(models: Sequence[ComparedRecord], conditions: Filter, metric: str) -> Folds:
    """The score of the one model that a filter names, fold by fold."""
    return fold_values(the_model(models, conditions), metric)


def fold_values(model: ComparedRecord, metric: str, **options: Any) -> Folds:
    """A model's score as the run wrote it, fold by fold."""
    score = score_named(model, metric, **options)
    values = numbers([] if score is None else score.per_seed)
    if len(values) < 2 or np.isnan(values).any():
        raise UnsafeInputError(f"{metric} of {model.name}", f"{values.tolist()}", "a value a fold")
    return values


def table_of(
    models: Sequence[ComparedRecord], metric: str, **options: Any
) -> Float[np.ndarray, "models folds"]:
    """A score of several models, a row each."""
    return np.stack([fold_values(model, metric, **options) for model in models])


def folds_answer(
    entry: str, values: Folds, cell: Mapping[str, Any], ours: Mapping[str, Figure], *, nearest: bool
) -> EntryAnswer:
    """Student's interval over folds."""
    value, low, high, error = folds_interval(values)
    n = len(values)
    return EntryAnswer(
        entry=entry, settings=dict(cell), nearest=nearest, effect=value, low=low, high=high,
        p=two_sided_p(value, error, n - 1), unit="folds", n=n,
        min_detectable_effect=detectable_effect(error),
        ours=dict(ours),
    )  # fmt: skip


def folds_interval(values: Folds) -> tuple[float, float, float, float]:
    """Mean, both ends of Student's interval, and the standard error."""
    n = len(values)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    half, value = quantile(n - 1, LEVEL) * error, float(values.mean())
    return value, value - half, value + half, error
