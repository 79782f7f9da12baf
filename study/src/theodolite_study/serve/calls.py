"""Calls of the steps: one statement, one transaction, no connection kept between requests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from psycopg import AsyncConnection, DataError, sql
from psycopg.errors import CheckViolation
from psycopg.types.json import Jsonb
from psycopg_pool import AsyncConnectionPool

from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.operate.meter import note_word
from theodolite_study.refusals import Conflict as StoredOtherwise
from theodolite_study.refusals import Invalid, NotHere, NotOpen, StudyError, WrongStage

RECONNECT = 2.0
"""Seconds in which a connection is tried again, with growing pauses; then whoever asks next begins
anew. With the usual five minutes a database that was away for one is not seen for another."""
SERVER_ROLE = "theodolite_serve"
OPTIONS = (
    "-c statement_timeout=5000 -c lock_timeout=4000 -c idle_in_transaction_session_timeout=15000 "
    "-c jit=off -c timezone=UTC"
)


class NobodyHere(StudyError):
    """There is no session: the person has not begun, or it ended."""

    status = 401


class OldForm(StudyError):
    """The consent was changed while its page was open."""

    status = 409


@dataclass
class StepCalls:
    """Functions of the database, called as the role that may do nothing else."""

    url: str = field(repr=False)
    size: int = 8
    pooled: bool = False
    """Whether a transaction pooler stands before the database: then nothing is prepared or set on a
    connection, which others use too. Role and limits of time are those of the login."""

    def __post_init__(self) -> None:
        self._pool = AsyncConnectionPool(
            self.url, min_size=1, max_size=self.size, timeout=3.0, open=False,
            reconnect_timeout=RECONNECT,
            configure=None if self.pooled else self._configured,
            kwargs={
                "autocommit": True, "connect_timeout": 5,
                "prepare_threshold": None if self.pooled else 0,
                **({} if self.pooled else {"options": OPTIONS}),
            },
        )  # fmt: skip

    async def open(self) -> None:
        """Connect; does not wait for a database that is away."""
        await self._pool.open(wait=False)

    async def close(self) -> None:
        """Give all connections back."""
        await self._pool.close()

    def counts(self) -> dict[str, int]:
        """How many statements there were, and who waits for a connection now."""
        return self._pool.get_stats()

    @staticmethod
    async def _configured(connection: AsyncConnection[Any]) -> None:
        await connection.execute(sql.SQL("set role {}").format(sql.Identifier(SERVER_ROLE)))

    async def step(self, name: str, *values: Any, **named: Any) -> dict[str, Any]:
        """What a step returns, whatever its word is. Values in their order, or by name."""
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
        note_word(result.get("word", "") if isinstance(result, dict) else "")
        return result

    async def taken(self, name: str, *values: Any) -> dict[str, Any]:
        """What a step returns if it was taken; a refusal in words if not."""
        result = await self.step(name, *values)
        if result["word"] == "ok":
            return result
        raise refusal(result)

    async def rows(self, query: str, *values: Any) -> list[Mapping[str, Any]]:
        """Rows of a public view."""
        async with self._pool.connection() as connection:
            cursor = await connection.execute(query.encode(), values)
            names = [column.name for column in cursor.description or ()]
            return [dict(zip(names, row, strict=True)) for row in await cursor.fetchall()]


def refusal(result: Mapping[str, Any]) -> StudyError:
    """The words for a step that was not taken."""
    word = result["word"]
    kind = REFUSED.get(word, WrongStage)
    return kind(REFUSALS.get(word, REFUSALS["stage"]))


REFUSED: dict[str, type[StudyError]] = {
    "nobody": NobodyHere, "not here": NotHere, "conflict": StoredOtherwise, "not open": NotOpen,
    "old form": OldForm,
}  # fmt: skip
"""What a step's word is as a refusal; all others are steps out of order."""
