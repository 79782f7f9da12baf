"""Files of a run folder that are more than a record: samples, pictures, compared models."""

import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.folder.folder import SHOWN
from theodolite._runs.folder.run_file import ExampleRecord, UnitCardRecord
from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.paths import all_or_nothing
from theodolite._verdicts.answers import by_kind
from theodolite.errors import EvidenceError
from theodolite.evidence.files import save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.produced import ComparedModel, Produced


def save_compared(other: ComparedModel, spec: RunSpec, out: Path) -> None:
    """The evidence of a model that the run compares."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", other.name):
        raise EvidenceError("model", repr(other.name), "a name of letters, digits, '_', '.', '-'")
    for seed, bundles in zip(spec.seeds, other.evidence, strict=False):
        for bundle in bundles:
            save(bundle, out / "compared" / other.name / f"seed-{seed}" / bundle.kind)


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
