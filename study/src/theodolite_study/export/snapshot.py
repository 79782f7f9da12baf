"""Read a study in one transaction, and select the round that is exported."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from theodolite.errors import EvidenceError
from theodolite_study.model.instrument import Instrument

Moments = Literal["of the study", "of each person"]
"""How times are exported: in one order over all participants with microseconds; or, for
publication, in an order per participant with whole seconds."""
MIN_GROUP_PEOPLE = 3
"""Minimum group size; fewer people of one age band, gender and country might be recognized."""


@dataclass(frozen=True)
class StudySnapshot:
    """Study as one transaction sees it, without previews by staff."""

    connection: psycopg.Connection[Any]
    study: dict[str, Any]
    versions: Sequence[dict[str, Any]]
    """Versions of the round in order."""
    left_out: Sequence[dict[str, Any]]
    """Other rounds: round, versions, whether it was a pilot, votes."""
    round: int

    @property
    def instruments(self) -> list[Instrument]:
        """Instruments of all versions of the round, the newest first."""
        return [Instrument.model_validate(v["instrument"]) for v in reversed(self.versions)]

    @property
    def newest(self) -> dict[str, Any]:
        """Last version of the round."""
        return self.versions[-1]

    @property
    def wanted(self) -> int:
        """Number of votes wanted for each explanation."""
        by_condition = self.newest["settings"].get("votes_per") == "explanation_and_condition"
        return int(self.newest["n_votes"] * (self.newest["conditions"] if by_condition else 1))

    def filled(self, query: str) -> str:
        """Insert values into a query, since COPY takes no parameters."""
        values = {"study": self.study["id"], "round": self.round, "versions": self.ids(),
                  "fewest": MIN_GROUP_PEOPLE}  # fmt: skip
        return psycopg.ClientCursor(self.connection).mogrify(query, values)

    def ids(self) -> list[int]:
        """Return the ids of the versions of the round."""
        return [version["id"] for version in self.versions]

    def fetch(self, query: str) -> list[dict[str, Any]]:
        """Return all rows of a small query."""
        cursor = self.connection.cursor(row_factory=dict_row)
        return cursor.execute(self.filled(query)).fetchall()


VERSIONS_QUERY = """
    select v.*, (select count(*) from condition c where c.version_id = v.id) as conditions
      from version v where v.study_id = %s and v.state <> 'draft' order by v.no"""
OTHER_ROUNDS_QUERY = """
    select s.round, count(*) as votes from vote v join slot s on s.id = v.slot_id
     where s.study_id = %s and s.round <> %s group by s.round order by s.round"""


@contextmanager
def read_snapshot(
    connection: psycopg.Connection[Any], study: UUID | str, number: int | None = None
) -> Iterator[StudySnapshot]:
    """Yield a study as one transaction sees it, however many participants are at work.

    Args:
        connection: One that is in no transaction.
        study: Its id, or its slug.
        number: Which round; None: the last one.
    """
    with connection.transaction():
        connection.execute("set transaction isolation level repeatable read, read only")
        for setting in (
            "statement_timeout = 0",
            "work_mem = '64MB'",
            "timezone = 'UTC'",
            "jit = off",
        ):
            connection.execute(f"set local {setting}")
        cursor = connection.cursor(row_factory=dict_row)
        column = "id" if isinstance(study, UUID) else "slug"
        row = cursor.execute(f"select * from study where {column} = %s", [study]).fetchone()  # noqa: S608
        if row is None:
            raise EvidenceError("study", repr(str(study)), "one of this database")
        versions = cursor.execute(VERSIONS_QUERY, [row["id"]]).fetchall()
        rounds = {version["round"] for version in versions}
        last = max(rounds, default=0) if number is None else number
        if last not in rounds:
            raise EvidenceError("study", f"no votes of round {last}", "a study that was opened")
        votes = {
            o["round"]: o["votes"] for o in cursor.execute(OTHER_ROUNDS_QUERY, [row["id"], last])
        }
        others = [
            {"round": other, "votes": votes.get(other, 0),
             "versions": [v["no"] for v in versions if v["round"] == other],
             "pilot": any(v.get("pilot") for v in versions if v["round"] == other)}
            for other in sorted(rounds - {last})
        ]  # fmt: skip
        own = [version for version in versions if version["round"] == last]
        yield StudySnapshot(connection, row, own, others, last)
