"""Call the database functions of participants' steps: one statement and transaction each."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection, DataError, sql
from psycopg.errors import CheckViolation
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.operate.request_meter import note_result_code
from theodolite_study.refusals import Conflict as StoredOtherwise
from theodolite_study.refusals import Invalid, NotHere, NotOpen, StudyError, WrongStage

RECONNECT_SECONDS = 2.0
"""Seconds for which a connection is retried, with growing pauses; the next request starts again.
With the usual five minutes, a database that returned after one would not be noticed."""
SERVER_ROLE = "theodolite_serve"
OPTIONS = (
    "-c statement_timeout=5000 -c lock_timeout=4000 -c idle_in_transaction_session_timeout=15000 "
    "-c jit=off -c timezone=UTC"
)


class NoSession(StudyError):
    """Request without a session: the participant has not begun, or the session ended."""

    status = 401


class OutdatedConsent(StudyError):
    """Consent to a form that changed while its page was open."""

    status = 409


@dataclass
class StepCalls:
    """Connection pool whose role may only call the functions of participants' steps."""

    url: str = field(repr=False)
    size: int = 8
    pooled: bool = False
    """Whether a transaction pooler is in front of the database. Then nothing is prepared or set on
    a connection, which others use too; role and time limits are those of the login."""

    def __post_init__(self) -> None:
        self._pool = AsyncConnectionPool(
            self.url, min_size=1, max_size=self.size, timeout=3.0, open=False,
            reconnect_timeout=RECONNECT_SECONDS,
            configure=None if self.pooled else self._configured,
            kwargs={
                "autocommit": True, "connect_timeout": 5,
                "prepare_threshold": None if self.pooled else 0,
                **({} if self.pooled else {"options": OPTIONS}),
            },
        )  # fmt: skip

    async def open(self) -> None:
        """Open the pool without waiting for an unavailable database."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.close()

    def counts(self) -> dict[str, int]:
        """Return the number of statements, and of requests that wait for a connection."""
        return self._pool.get_stats()

    @staticmethod
    async def _configured(connection: AsyncConnection[Any]) -> None:
        await connection.execute(sql.SQL("set role {}").format(sql.Identifier(SERVER_ROLE)))

    async def step(self, name: str, *values: Any, **named: Any) -> dict[str, Any]:
        """Call a step and return its result, whatever its code; arguments by position or name."""
        marks: list[sql.Composable] = [sql.Placeholder()] * len(values)
        marks += [sql.SQL("{} => %s").format(sql.Identifier(key)) for key in named]
        query = sql.SQL("select {}({})").format(sql.Identifier(name), sql.SQL(", ").join(marks))
        packed = [
            Jsonb(value) if isinstance(value, dict) else value
            for value in (*values, *named.values())
        ]
        async with self._pool.connection() as connection:
            try:
                row = await (await connection.execute(query, packed)).fetchone()
            except (CheckViolation, DataError) as error:  # what routes did not see
                raise Invalid(REFUSALS["form"]) from error
        assert row is not None  # noqa: S101
        result: dict[str, Any] = row[0]
        note_result_code(result.get("word", "") if isinstance(result, dict) else "")
        return result

    async def taken(self, name: str, *values: Any) -> dict[str, Any]:
        """Call a step and return its result; raise the refusal if it was not done."""
        result = await self.step(name, *values)
        if result["word"] == "ok":
            return result
        raise make_refusal(result)

    async def rows(self, query: str, *values: Any) -> list[Mapping[str, Any]]:
        """Return the rows of a public view."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query.encode(), values)
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]


def make_refusal(result: Mapping[str, Any]) -> StudyError:
    """Return the error for the result code of a step that was not done."""
    word = result["word"]
    kind = REFUSAL_CLASSES.get(word, WrongStage)
    return kind(REFUSALS.get(word, REFUSALS["stage"]))


REFUSAL_CLASSES: dict[str, type[StudyError]] = {
    "nobody": NoSession, "not here": NotHere, "conflict": StoredOtherwise, "not open": NotOpen,
    "old form": OutdatedConsent,
}  # fmt: skip
"""Error class by result code; all other codes are steps out of order."""
