"""Report the results of a pilot: duration, failed checks and comments."""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any
from uuid import UUID

from theodolite_study.desk.site import Connection, fetch_rows
from theodolite_study.model.blocks import CommentBlock
from theodolite_study.model.instrument import STAGES, Instrument

MAX_COMMENTS = 200


@dataclass(frozen=True)
class PilotReport:
    """Figures about all participants of one version."""

    people: Mapping[str, int]
    """Number of participants by outcome; `inside` for active ones."""
    votes: int
    item_seconds: float | None
    """Median seconds of an explanation, from its assignment to its rating."""
    total_minutes: float | None
    """Median minutes of finished participants, from the first page to the last."""
    checks: int
    failed_checks: int
    comments: tuple[str, ...]


def load_pilot_report(connection: Connection, version: Mapping[str, Any]) -> PilotReport:
    """Compute the figures of one version."""
    number = version["id"]
    people = fetch_rows(
        connection,
        "select coalesce(outcome, 'inside') as outcome, count(*) as n from participant"
        " where version_id = %s and not preview group by 1 order by 1", number,
    )  # fmt: skip
    items = fetch_rows(
        connection,
        "select extract(epoch from a.finished_at - a.leased_at)::float8 as seconds"
        " from assignment a join vote v on v.assignment_id = a.id where a.version_id = %s", number,
    )  # fmt: skip
    checks = fetch_rows(
        connection,
        "select count(*) as n, count(*) filter (where not passed) as failed from gold_result g"
        " join assignment a on a.id = g.assignment_id where a.version_id = %s", number,
    )[0]  # fmt: skip
    return PilotReport(
        people={row["outcome"]: row["n"] for row in people},
        votes=len(items),
        item_seconds=median(row["seconds"] for row in items) if items else None,
        total_minutes=load_median_minutes(connection, version["study_id"], number),
        checks=checks["n"],
        failed_checks=checks["failed"],
        comments=_comments(connection, version),
    )


def load_median_minutes(
    connection: Connection, study: UUID, version: int | None = None
) -> float | None:
    """Return the median duration of finished participants, of a version or the last pilot."""
    if version is None:
        pilots = fetch_rows(
            connection,
            "select id from version where study_id = %s and pilot order by no desc limit 1", study,
        )  # fmt: skip
        if not pilots:
            return None
        version = pilots[0]["id"]
    took = fetch_rows(
        connection,
        "select extract(epoch from outcome_at - created_at)::float8 / 60 as minutes"
        " from participant where version_id = %s and outcome = 'finished' and not preview", version,
    )  # fmt: skip
    return median(row["minutes"] for row in took) if took else None


def _comments(connection: Connection, version: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the comments without authors, in no order of participants."""
    instrument = Instrument.model_validate(version["instrument"])
    names = [block.name for stage in STAGES for block in instrument.blocks(stage)
             if isinstance(block, CommentBlock)]  # fmt: skip
    comments = fetch_rows(
        connection,
        "select b.value from (select answers from vote where version_id = %s union all"
        " select answers from answer where version_id = %s) a, jsonb_each_text(a.answers) b"
        " where b.key = any(%s) order by b.value limit %s",
        version["id"], version["id"], names, MAX_COMMENTS,
    )  # fmt: skip
    return tuple(row["value"] for row in comments)
