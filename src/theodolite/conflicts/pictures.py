"""Pictures of explanations on which the questions disagree, kept for the report."""

import itertools
from collections.abc import Collection, Sequence
from pathlib import Path

from theodolite.conflicts.record import ConflictRecord, ConflictsFile
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.produced import Produced
from theodolite.io.paths import all_or_nothing
from theodolite.run_folder.run_file import ExampleRecord

MOST_PICTURES = 6
SHOWN_CONFLICTS = 3
"""Conflicts that the report shows with examples."""


def shown_conflicts(found: ConflictsFile) -> list[ConflictRecord]:
    """The strongest conflicts between explanations."""
    return [one for one in found.strongest if one.of == "explanations"][:SHOWN_CONFLICTS]


def write_conflict_pictures(out: Path, made: Produced, found: ConflictsFile) -> list[ExampleRecord]:
    """Keep the pictures of the most extreme examples, of each conflict in turn."""
    kinds = {type(bundle): bundle for bundle in made.evidence[0]}
    known = kinds.get(LocationEvidence) or kinds.get(ConceptEvidence)
    if made.picture is None or known is None:
        return []
    rows = {known.samples.name(row): row for row in range(len(known))}
    kept = []
    for number, name in enumerate(_in_turn(shown_conflicts(found), rows.keys())):
        file = f"pictures/conflict-{number:02d}.jpg"
        with all_or_nothing(out / file) as stream:
            stream.write(made.picture(name))
        kept.append(ExampleRecord(row=rows[name], sample=name, file=file))
    return kept


def _in_turn(conflicts: Sequence[ConflictRecord], known: Collection[str]) -> list[str]:
    columns = [[one.name for one in conflict.examples] for conflict in conflicts]
    turns = itertools.chain.from_iterable(itertools.zip_longest(*columns))
    names = dict.fromkeys(name for name in turns if name is not None)
    return [name for name in names if name in known][:MOST_PICTURES]
