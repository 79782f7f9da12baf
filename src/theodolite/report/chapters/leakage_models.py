"""The models that the leakage chapter shows: their scores and their stored evidence."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.report_material import RunMaterial
from theodolite._verdicts.scores_file import ComparedRecord, score_of
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.results import Detail, Items, Score

Kind = TypeVar("Kind", bound=Evidence)


@dataclass(frozen=True)
class ReportModel:
    """One model: how it is called and marked, where its evidence lies, what it scored."""

    name: str
    style: int
    seeds: tuple[int, ...]
    """The seeds that there is evidence of."""
    scores: tuple[Score, ...]
    material: RunMaterial
    compared: str = ""
    """Its name among the models of the run; empty for that of the verdicts."""

    def evidence(self, kind: type[Kind], seed: int = 0) -> Kind | None:
        """A seed's bundle of this kind; None if there is none."""
        bundle = self._stored_evidence(kind.kind, seed)
        return bundle if isinstance(bundle, kind) else None

    def concepts(self) -> ConceptEvidence | None:
        """What the first seed's concepts said, wherever it is kept; None without the truth."""
        for place in ("concept", "embedding/explained", "location/explained"):
            bundle = self._stored_evidence(place, 0)
            if isinstance(bundle, ConceptEvidence):
                return bundle if bundle.truth is not None and bundle.labels is not None else None
        return None

    def _stored_evidence(self, place: str, seed: int) -> Evidence | None:
        if seed >= len(self.seeds):
            return None
        return self.material.evidence(place, self.seeds[seed], self.compared)

    def score(self, metric: str, over: Items) -> Score | None:
        """The first score by this metric that has a value for each of these items."""
        return next(
            (s for s in self.scores if s.metric == metric and s.detail and s.detail.over == over),
            None,
        )

    def detail(self, metric: str, over: Items) -> Detail | None:
        """Return the values of this score over single items."""
        score = self.score(metric, over)
        return None if score is None else score.detail


def shown_models(
    material: RunMaterial, spec: RunSpec, scores: Sequence[Score], models: Sequence[ComparedRecord]
) -> tuple[list[ReportModel], list[str]]:
    """The model of the verdicts, then those that the spec names; and names it does not have."""

    def seeds(model: str = "") -> tuple[int, ...]:
        return tuple(seed for seed in spec.seeds if material.has_seed(seed, model))

    name = models[0].name if models else spec.title or spec.name
    report_models = [ReportModel(name, 0, seeds(), tuple(scores), material)]
    by_name = {model.name: model for model in models[1:]}
    others = [other for other in dict.fromkeys(spec.report.shown) if other != name]
    for other in others:
        if other in by_name:
            own = tuple(score_of(record) for record in by_name[other].scores)
            report_models.append(
                ReportModel(other, len(report_models), seeds(other), own, material, other)
            )
    return report_models, [other for other in others if other not in by_name]


def known_rows(evidence: ConceptEvidence, concept: int) -> np.ndarray:
    """The samples in which it is known whether the concept is there."""
    if evidence.known is None:
        return np.arange(len(evidence))
    return np.flatnonzero(evidence.known[:, concept])
