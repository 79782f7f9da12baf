"""Compare the methods of a study as it was planned. Used by `study results`, the desk and exports.

The numbers are those of `theodolite.compare_ratings`. While votes are missing, comparisons are
shown on request only, and every such look is counted: five looks at 5 % find a false difference in
14 % of studies.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
from psycopg import sql
from psycopg.types.json import Jsonb

from theodolite.ext.studies import (
    ComparisonPlan,
    RatingComparison,
    compare_ratings,
    read_columns,
    read_json,
)
from theodolite_study.model.blocks import LikertBlock
from theodolite_study.model.instrument import Instrument
from theodolite_study.watch.progress import load_progress

RESULTS = "results.json"
LOOKED = "results looked at"
VOTES = """
    select p.pseudonym as participant, i.image_key, i.technique, v.answers
      from vote v join slot s on s.id = v.slot_id join instance i on i.id = v.instance_id
      join participant p on p.id = v.participant_id
     where s.study_id = %s and s.round = %s and v.counted"""
LOOKS = """
    select count(*) from log l join log_kind k on k.id = l.kind
     where l.study_id = %s and k.name = %s"""
FACTS = "select instrument, settings, opened_at from version where id = %s"


@dataclass(frozen=True)
class StudyResults:
    """Result of a study, or how far it is while votes are missing."""

    filled: int
    seats: int
    looks: int
    """How often somebody looked at comparisons before the last vote."""
    plan_sha256: str
    opened: str
    comparison: RatingComparison | None

    def to_dict(self) -> dict[str, Any]:
        """Return the content of ``results.json``."""
        return {
            "votes": self.filled, "wanted": self.seats, "looks_before_the_end": self.looks,
            "plan_sha256": self.plan_sha256, "opened": self.opened,
            "comparison": None if self.comparison is None else self.comparison.to_dict(),
        }  # fmt: skip

    def to_lines(self) -> list[str]:
        """Return the result as text."""
        if self.comparison is None:
            return [
                f"{self.filled:,} of {self.seats:,} votes. Comparisons are shown when all votes "
                "are there. --interim shows them now, and is recorded."
            ]
        return [
            *self.comparison.to_lines(),
            f"{self.filled:,} of {self.seats:,} votes; plan {self.plan_sha256[:8]}, opened "
            f"{self.opened or 'never'}; looked at {self.looks} times before the end",
        ]


def load_results(
    connection: psycopg.Connection[Any], study: UUID, *, interim: bool = False,
    staff: int | None = None,
) -> StudyResults:  # fmt: skip
    """Load the result of a study's newest round.

    Args:
        connection: Connection of the owner or of the desk.
        study: Id of the study.
        interim: Compare although votes are missing, and record that somebody looked.
        staff: Account that looks.
    """
    now = load_progress(connection, study)
    row = connection.execute(FACTS, (now.version,)).fetchone()
    assert row is not None  # noqa: S101
    instrument, settings, opened = row
    complete = now.filled >= now.seats > 0
    if interim and not complete:
        connection.execute(
            sql.SQL("insert into log (study_id, staff_id, kind, detail)"
                    " select %s, %s, id, %s from log_kind where name = %s"),
            (study, staff, Jsonb({"votes": now.filled}), LOOKED),
        )  # fmt: skip
    looks = connection.execute(LOOKS, (study, LOOKED)).fetchone()
    questions = list_questions([Instrument.model_validate(instrument)])
    comparison = None
    if now.filled and (complete or interim) and questions:
        columns: dict[str, list[Any]] = {
            name: [] for name in ("participant", "image_key", "technique", *questions)
        }
        for participant, image, technique, answers in connection.execute(VOTES, (study, now.round)):
            columns["participant"].append(participant)
            columns["image_key"].append(image)
            columns["technique"].append(technique)
            for question in questions:
                columns[question].append((answers or {}).get(question))
        comparison = compare_ratings(columns, questions, read_plan(settings, questions))
    return StudyResults(
        now.filled, now.seats, int(looks[0]) if looks else 0, digest_plan(settings),
        "" if opened is None else opened.date().isoformat(), comparison,
    )  # fmt: skip


def compare_export(
    folder: Path, questions: Sequence[str], settings: Mapping[str, Any]
) -> RatingComparison:
    """Compare the methods of an export from its table of votes."""
    names = ("participant", "image_key", "technique", "counted", *questions)
    columns = read_columns(folder / "votes.parquet", names, "table votes")
    votes = {name: column.to_pylist() for name, column in columns.items()}
    return compare_ratings(votes, questions, read_plan(settings, questions))


def list_questions(instruments: Sequence[Instrument]) -> list[str]:
    """Return the questions on a scale that are asked about each explanation."""
    names = [
        block.name for instrument in instruments for block in instrument.blocks("after")
        if isinstance(block, LikertBlock)
    ]  # fmt: skip
    return sorted(set(names))


def read_plan(settings: Mapping[str, Any], questions: Sequence[str]) -> ComparisonPlan:
    """Return the planned comparisons of a version; by default all pairs on the first question."""
    plan = settings.get("plan") or {}
    pairs = plan.get("compare", "all")
    return ComparisonPlan(
        tuple(plan.get("primary") or questions[:1]),
        None if pairs == "all" else tuple((first, second) for first, second in pairs),
        float(plan.get("smallest", 0.3)),
    )


def digest_plan(settings: Mapping[str, Any]) -> str:
    """Return the digest of the plan, which is frozen with its version."""
    text = json.dumps(settings.get("plan") or {}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read_export_lines(folder: Path) -> list[str]:
    """Return the result of an export as text, computed again from its votes."""
    manifest, versions, stored = (
        read_json(folder / name, name) for name in ("manifest.json", "versions.json", RESULTS)
    )
    comparison = None
    if stored["comparison"] is not None:
        settings = versions[-1]["settings"]
        comparison = compare_export(folder, list(manifest["questions"]), settings)
    return StudyResults(
        stored["votes"], stored["wanted"], stored["looks_before_the_end"], stored["plan_sha256"],
        stored["opened"], comparison,
    ).to_lines()  # fmt: skip
