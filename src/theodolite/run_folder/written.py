"""Files of a run folder that are more than a record: samples, pictures, compared models."""

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.produced import ComparedModel, Produced
from theodolite.io.paths import all_or_nothing
from theodolite.metrics.base import SampleMean, ratio
from theodolite.run_folder.folder import SHOWN
from theodolite.run_folder.run_file import ExampleRecord, UnitCardRecord
from theodolite.run_folder.spec import RunSpec
from theodolite.scoring.evaluate import MetricRequest
from theodolite.verdicts.answers import by_kind


def save_compared(other: ComparedModel, spec: RunSpec, out: Path) -> None:
    """The evidence of a model that the run compares."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", other.name):
        raise EvidenceError("model", repr(other.name), "a name of letters, digits, '_', '.', '-'")
    for seed, bundles in zip(spec.seeds, other.evidence, strict=False):
        for bundle in bundles:
            save(bundle, out / "compared" / other.name / f"seed-{seed}" / bundle.kind)


def per_sample(
    requests: Sequence[MetricRequest], bundles: Sequence[Evidence]
) -> dict[str, list[Any]]:
    """What each sample gave to each score that is a mean over samples."""
    kinds = by_kind(bundles)
    columns = no_samples()
    for request in requests:
        evidence = kinds.get(request.metric.needs)
        if evidence is not None and is_of_samples(request):
            names = [evidence.samples.name(i) for i in range(len(evidence))]
            add_samples(columns, request, names, sample_values(request, evidence))
    return columns


def no_samples() -> dict[str, list[Any]]:
    """The columns of a table per sample, without rows."""
    return {name: [] for name in ("sample", "metric", "options", "value")}


def is_of_samples(request: MetricRequest) -> bool:
    """Whether a score is a mean over samples."""
    return not request.metric.detail and issubclass(request.metric.state, SampleMean)


def sample_values(request: MetricRequest, evidence: Evidence) -> np.ndarray:
    """What each sample gave to such a score, for every swept option; NaN where it was not asked."""
    each = request.metric.state.each(evidence, **request.options)
    value = ratio(each.part, each.whole)
    value[~each.asked] = np.nan
    return value


def add_samples(
    columns: dict[str, list[Any]], request: MetricRequest, names: list[str], value: np.ndarray
) -> None:
    """Rows of the table for what samples gave to a score."""
    plain = {k: v for k, v in request.options.items() if k not in request.metric.sweeps}
    sweeps = [request.all_options()[name] for name in request.metric.sweeps]
    for cell in np.ndindex(*value.shape[1:]):
        chosen = {n: s[i] for n, s, i in zip(request.metric.sweeps, sweeps, cell, strict=True)}
        label = ", ".join(f"{k}={v}" for k, v in {**plain, **chosen}.items())
        columns["sample"] += names
        columns["metric"] += [request.metric.name] * len(names)
        columns["options"] += [label] * len(names)
        column = np.moveaxis(value, 0, -1)[cell]
        columns["value"] += [None if np.isnan(v) else float(v) for v in column]


def write_examples(out: Path, produced: Produced, spec: RunSpec) -> list[ExampleRecord]:
    """Write the pictures for the report."""
    examples = example_pictures(produced, spec)
    for example, content in examples:
        with all_or_nothing(out / example.file) as stream:
            stream.write(content)
    return [example for example, _ in examples]


def example_pictures(produced: Produced, spec: RunSpec) -> list[tuple[ExampleRecord, bytes]]:
    """Pictures for the report: rightly and wrongly predicted ones in turn, drawn by the seed."""
    kinds = {type(bundle): bundle for bundle in produced.evidence[0]}
    evidence = kinds.get(LocationEvidence) or kinds.get(ConceptEvidence)
    if produced.picture is None or evidence is None or not spec.report.examples:
        return []
    concept_evidence: Any = by_kind([evidence])[ConceptEvidence]
    order = np.random.default_rng(spec.seeds[0]).permutation(len(evidence))
    right = np.asarray(concept_evidence.predicted == concept_evidence.labels)[order]
    in_turn = [rows for pair in zip(order[right], order[~right], strict=False) for rows in pair]
    rows = [*in_turn, *(row for row in order if row not in set(in_turn))][: spec.report.examples]
    examples = []
    for number, row in enumerate(rows):
        file = f"pictures/{number:02d}.jpg"
        name = evidence.samples.name(int(row))
        example = ExampleRecord(row=int(row), sample=name, file=file)
        examples.append((example, produced.picture(name)))
    return examples


def write_cards(out: Path, produced: Produced) -> list[UnitCardRecord]:
    """Pictures of units and concepts, and what the report says beside them."""
    for file, content in produced.pictures.items():
        if file.partition("/")[0] not in SHOWN:
            raise EvidenceError("picture", repr(file), f"a file in one of {', '.join(SHOWN)}")
        with all_or_nothing(out / file) as stream:
            stream.write(content)
    return [UnitCardRecord.model_validate(asdict(card)) for card in produced.cards]
