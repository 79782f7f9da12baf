"""What a pilot tells: how long it takes, who failed checks, what people remarked."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any
from uuid import UUID

from theodolite_study.desk.site import Connection, rows
from theodolite_study.model.blocks import CommentBlock
from theodolite_study.model.instrument import STAGES, Instrument

MOST_COMMENTS = 200


@dataclass(frozen=True)
class PilotReport:
    """Of all people of one version."""

    people: Mapping[str, int]
    """By outcome; those who are still there are `inside`."""
    votes: int
    item_seconds: float | None
    """Median of an explanation, from when it was given to when it was rated."""
    total_minutes: float | None
    """Median of those who finished, from the first page to the last."""
    checks: int
    failed_checks: int
    comments: tuple[str, ...]


def pilot_report(connection: Connection, version: Mapping[str, Any]) -> PilotReport:
    """The figures of one version."""
    number = version["id"]
    people = rows(
        connection,
        "select coalesce(outcome, 'inside') as outcome, count(*) as n from participant"
        " where version_id = %s and not preview group by 1 order by 1", number,
    )  # fmt: skip
    items = rows(
        connection,
        "select extract(epoch from a.finished_at - a.leased_at)::float8 as seconds"
        " from assignment a join vote v on v.assignment_id = a.id where a.version_id = %s", number,
    )  # fmt: skip
    checks = rows(
        connection,
        "select count(*) as n, count(*) filter (where not passed) as failed from gold_result g"
        " join assignment a on a.id = g.assignment_id where a.version_id = %s", number,
    )[0]  # fmt: skip
    return PilotReport(
        people={row["outcome"]: row["n"] for row in people},
        votes=len(items),
        item_seconds=median(row["seconds"] for row in items) if items else None,
        total_minutes=median_minutes(connection, version["study_id"], number),
        checks=checks["n"],
        failed_checks=checks["failed"],
        comments=_comments(connection, version),
    )


def median_minutes(connection: Connection, study: UUID, version: int | None = None) -> float | None:
    """How long people took who finished, of one version or of the study's last pilot."""
    if version is None:
        pilots = rows(
            connection,
            "select id from version where study_id = %s and pilot order by no desc limit 1", study,
        )  # fmt: skip
        if not pilots:
            return None
        version = pilots[0]["id"]
    took = rows(
        connection,
        "select extract(epoch from outcome_at - created_at)::float8 / 60 as minutes"
        " from participant where version_id = %s and outcome = 'finished' and not preview", version,
    )  # fmt: skip
    return median(row["minutes"] for row in took) if took else None


def _comments(connection: Connection, version: Mapping[str, Any]) -> tuple[str, ...]:
    """Words in blocks of the kind `comment`, without who wrote them, in no order of people."""
    instrument = Instrument.model_validate(version["instrument"])
    names = [block.name for stage in STAGES for block in instrument.blocks(stage)
             if isinstance(block, CommentBlock)]  # fmt: skip
    comments = rows(
        connection,
        "select b.value from (select answers from vote where version_id = %s union all"
        " select answers from answer where version_id = %s) a, jsonb_each_text(a.answers) b"
        " where b.key = any(%s) order by b.value limit %s",
        version["id"], version["id"], names, MOST_COMMENTS,
    )  # fmt: skip
    return tuple(row["value"] for row in comments)
