"""Pictures of explanations on which the questions disagree, kept for the report."""

import itertools
from collections.abc import Collection, Sequence
from pathlib import Path

from theodolite._runs.folder.run_file import ExampleRecord
from theodolite._storage.paths import all_or_nothing
from theodolite._verdicts.conflicts.record import ConflictRecord, ConflictsFile
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.produced import Produced

MOST_PICTURES = 6
SHOWN_CONFLICTS = 3
"""Conflicts that the report shows with examples."""


def shown_conflicts(conflicts_file: ConflictsFile) -> list[ConflictRecord]:
    """The strongest conflicts between explanations."""
    return [conflict for conflict in conflicts_file.strongest if conflict.of == "explanations"][
        :SHOWN_CONFLICTS
    ]


def write_conflict_pictures(
    out: Path, produced: Produced, conflicts_file: ConflictsFile
) -> list[ExampleRecord]:
    """Keep the pictures of the most extreme examples."""
    examples = conflict_pictures(produced, conflicts_file)
    for example, content in examples:
        with all_or_nothing(out / example.file) as stream:
            stream.write(content)
    return [example for example, _ in examples]


def conflict_pictures(
    produced: Produced, conflicts_file: ConflictsFile
) -> list[tuple[ExampleRecord, bytes]]:
    """The pictures of the most extreme examples, of each conflict in turn."""
    kinds = {type(bundle): bundle for bundle in produced.evidence[0]}
    known = kinds.get(LocationEvidence) or kinds.get(ConceptEvidence)
    if produced.picture is None or known is None:
        return []
    rows = {known.samples.name(row): row for row in range(len(known))}
    examples = []
    for number, name in enumerate(_in_turn(shown_conflicts(conflicts_file), rows.keys())):
        file = f"pictures/conflict-{number:02d}.jpg"
        example = ExampleRecord(row=rows[name], sample=name, file=file)
        examples.append((example, produced.picture(name)))
    return examples


def _in_turn(conflicts: Sequence[ConflictRecord], known: Collection[str]) -> list[str]:
    columns = [[example.name for example in conflict.examples] for conflict in conflicts]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*columns))
    names = dict.fromkeys(name for name in turns if name is not None)
    return [name for name in names if name in known][:MOST_PICTURES]
