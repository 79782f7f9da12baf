"""Concept bottlenecks of many kinds, trained on one data set and compared."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Policies, Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.evidence.subject import Claim, Subject
from theodolite.pipelines.parallel import report_progress
from theodolite_reproductions.bottlenecks.jobs import (
    Job,
    ModelOutputs,
    PolicyName,
    run_jobs,
    store_arrays,
)
from theodolite_reproductions.bottlenecks.settings import BottleneckSettings, published_settings
from theodolite_reproductions.bottlenecks.true_information import true_information_table
from theodolite_reproductions.datasets.bottleneck_data import BottleneckData
from theodolite_reproductions.datasets.bottleneck_family import BottleneckFamily

Plain = float | int | str


@dataclass(frozen=True)
class _Model:
    name: str
    form: str
    settings: BottleneckSettings
    description: dict[str, Plain]


@dataclass(frozen=True, kw_only=True)
class BottleneckPipeline:
    """Which models are trained, how often, and what is asked of each."""

    models: Sequence[dict[str, Any]]
    """Settings of models; a list of choices stands for one model each. ``data`` names a form of the
    data set, ``published`` a data set of the leakage paper, whose settings are then those not
    said. The first is the one that the verdicts are about."""
    common: dict[str, Any] = field(default_factory=dict)
    """Settings of all models."""
    folds: int = 5
    """Each seed holds out another of so many parts of the training samples, to stop training by."""
    policies: Sequence[PolicyName] = ("random",)
    workers: int = 0
    """Trainings at a time: as many as there are cores if 0."""

    def make(self, data: BottleneckData | BottleneckFamily, context: WorkContext) -> Produced:
        """Train every model for every seed, and ask each about the test samples."""
        forms = data.members if isinstance(data, BottleneckFamily) else {"complete": data}
        models = list(self._models(forms))
        jobs = self._jobs(models, forms, context)
        all_outputs = list(
            report_progress(run_jobs(jobs, self.workers), "models", len(jobs), context)
        )
        n_seeds = len(context.seeds)
        evidence = {
            model.name: [
                _bundles(forms[model.form], outputs, self.policies)
                for outputs in all_outputs[at * n_seeds : (at + 1) * n_seeds]
            ]
            for at, model in enumerate(models)
        }
        main, *others = models
        right = [np.mean(s.predicted == s.labels) for s in map(_concepts, evidence[main.name])]
        return Produced(
            evidence=evidence[main.name],
            compared=[ComparedModel(m.name, m.description, evidence[m.name]) for m in others],
            about=main.description,
            tables={"true_information": true_information_table(forms)},
            notes=tuple(dict.fromkeys(note for form in forms.values() for note in form.notes)),
            facts=(
                ("test accuracy", float(np.mean(right))),
                ("test samples", len(forms[main.form].test)),
                ("trained models", len(jobs)),
                ("model of the verdicts", main.name),
            ),
            inputs={
                name: digest for form in forms.values() for name, digest in form.digests.items()
            },
            claim=Claim("This answer, because of these concepts", samples="test samples"),
            subject=Subject(
                f"the {len(forms[main.form].concepts)} concepts of the bottleneck {main.name}",
                outputs="concept_model",
                data=forms[main.form].name,
            ),
        )

    def _jobs(
        self, models: Sequence[_Model], forms: Mapping[str, BottleneckData], context: WorkContext
    ) -> list[Job]:
        """A training for every model and seed, those of a model next to each other."""
        files = {name: store_arrays(form, context.cache) for name, form in forms.items()}
        return [
            Job(
                data=files[model.form],
                settings=model.settings,
                fold=number % self.folds,
                folds=self.folds,
                seed=seed,
                policies=tuple(self.policies),
                cache=context.cache,
            )
            for model in models
            for number, seed in enumerate(context.seeds)
        ]

    def _models(self, forms: Mapping[str, BottleneckData]) -> Iterator[_Model]:
        known = {f.name for f in fields(BottleneckSettings)}
        seen: set[str] = set()
        for options in self.models:
            unknown = sorted((set(options) | set(self.common)) - known - {"data", "published"})
            if unknown:
                raise EvidenceError("models", f"unknown {unknown}", f"some of {sorted(known)}")
            listed = {k: v if isinstance(v, list) else [v] for k, v in options.items()}
            for choice in itertools.product(*listed.values()):
                chosen = self.common | dict(zip(listed, choice, strict=True))
                form = str(chosen.pop("data", next(iter(forms))))
                if published := chosen.pop("published", None):
                    chosen = published_settings(published) | chosen
                if form not in forms:
                    raise EvidenceError("data", repr(form), f"one of {sorted(forms)}")
                settings = BottleneckSettings(**chosen)
                model = _make_model(form, settings, heads=isinstance(options.get("head"), list))
                if model.name in seen:
                    raise EvidenceError("models", f"{model.name!r} twice", "each once")
                seen.add(model.name)
                yield model


def _make_model(form: str, settings: BottleneckSettings, *, heads: bool = False) -> _Model:
    """A model and its name, which tells the head where several are compared."""
    if settings.kind == "head":
        return _make_head(form, settings)
    cem = settings.kind == "cem"
    parts = [form, "cem" if cem else settings.encoding, *([settings.head] if heads else [])]
    if settings.training != "joint" and settings.encoding != "hard":
        parts.append(settings.training)
    if settings.training == "joint":
        parts.append(f"{settings.concept_weight:g}")
    if cem:
        parts.append(f"{settings.intervention_rate:g}")
    name = "-".join(parts)
    description: dict[str, Plain] = {
        "name": name,
        "data": form,
        "kind": settings.kind,
        "encoding": "embedding" if cem else settings.encoding,
        "training": settings.training,
        "concept_weight": settings.concept_weight,
        "intervention_rate": settings.intervention_rate,
        "head": settings.head,
    }
    return _Model(name, form, settings, description)


def _make_head(form: str, settings: BottleneckSettings) -> _Model:
    converged = settings.head_optimizer == "lbfgs"
    epochs = "converged" if converged else f"{settings.head_epochs}"
    name = f"{form}-{settings.head}-{epochs}"
    description: dict[str, Plain] = {
        "name": name, "data": form, "kind": "head", "encoding": "true",
        "training": settings.training, "head": settings.head, "head_epochs": epochs,
    }  # fmt: skip
    return _Model(name, form, settings, description)


def _bundles(
    data: BottleneckData, outputs: ModelOutputs, policies: Sequence[PolicyName]
) -> list[Evidence]:
    rows = data.test
    concept_evidence = ConceptEvidence(
        values=outputs.values,
        truth=data.truth[rows],
        labels=data.labels[rows],
        predicted=outputs.predicted,
        concepts=data.concepts,
        classes=data.classes,
        samples=Samples(index=rows, clusters=None if data.groups is None else data.groups[rows]),
    )
    corrected = InterventionEvidence(
        right_after=outputs.right_after,
        right_reference=outputs.right_reference,
        policies=Policies(tuple(policies)),
        samples=concept_evidence.samples,
    )
    if outputs.weighted is None:
        return [concept_evidence, corrected]
    vectors = EmbeddingEvidence(
        explained=concept_evidence,
        vectors=outputs.weighted,
        positive=outputs.positive,
        negative=outputs.negative,
    )
    return [vectors, corrected]


def _concepts(bundles: Sequence[Evidence]) -> ConceptEvidence:
    first = bundles[0]
    evidence = first.explained if isinstance(first, EmbeddingEvidence) else first
    assert isinstance(evidence, ConceptEvidence)  # noqa: S101  made so above
    return evidence
