"""Store and change payouts in the ledger. Each is marked before any call and never sent twice."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypeAlias
from uuid import UUID

from theodolite_study.money.platform_link import Connection

PayState: TypeAlias = Literal["owed", "sending", "sent", "confirmed", "failed", "void"]
MAX_TRIES = 8


@dataclass(frozen=True)
class Payout:
    """Amount that is owed for one submission."""

    id: UUID
    sealed: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    kind: Literal["reward", "partial", "screenout", "bonus"]
    outcome: str
    amount: int
    """Amount in minor units of the currency."""
    currency: str
    state: PayState
    batch: str | None
    paying_at: datetime | None
    tries: int


@dataclass(frozen=True)
class StateSum:
    """Number of payouts in a state, and their total amount."""

    count: int
    amount: int


def take_due_payouts(connection: Connection, study: UUID, most: int = 100) -> list[Payout]:
    """Mark due payouts as being sent, commit, and return them.

    From then on they are read back before anything is sent. Those that another process takes are
    left.
    """
    with connection.transaction():
        rows = connection.execute(
            "with due as (select id from payout where study_id = %s and state = 'owed'"
            " and sealed_submission is not null and due_at <= clock_timestamp()"
            " order by at limit %s for update skip locked)"
            " update payout p set state = 'sending', tries = p.tries + 1 from due"
            " where p.id = due.id returning"
            " p.id, p.sealed_submission, p.submission_digest, p.kind, p.outcome, p.amount_minor,"
            " p.currency, p.state, p.batch, p.paying_at, p.tries",
            (study, most),
        ).fetchall()
    return [Payout(*row) for row in rows]


def fetch_unsettled(connection: Connection, study: UUID) -> list[Payout]:
    """Return due payouts that were being sent, or were sent and not yet confirmed."""
    rows = connection.execute(
        "select p.id, p.sealed_submission, p.submission_digest, p.kind, p.outcome, p.amount_minor,"
        " p.currency, p.state, p.batch, p.paying_at, p.tries"
        " from payout p where study_id = %s and state in ('sending', 'sent')"
        " and sealed_submission is not null and due_at <= clock_timestamp() order by at",
        (study,),
    ).fetchall()
    return [Payout(*row) for row in rows]


def set_state(
    connection: Connection, payout: Payout, state: PayState, why: str | None = None
) -> bool:
    """Set a new state, if the payout is still in the state in which it was read."""
    done = connection.execute(
        "update payout set state = %s, why = %s where id = %s and state = %s",
        (state, why, payout.id, payout.state),
    )
    return done.rowcount == 1


def postpone(connection: Connection, payout: Payout, state: PayState, seconds: float) -> bool:
    """Check a payout again later. One that is owed again loses its unpaid batch."""
    done = connection.execute(
        "update payout set state = %s, due_at = clock_timestamp() + make_interval(secs => %s),"
        " batch = case when %s = 'owed' then null else batch end,"
        " paying_at = case when %s = 'owed' then null else paying_at end"
        " where id = %s and state = %s",
        (state, seconds, state, state, payout.id, payout.state),
    )
    return done.rowcount == 1


def store_batch(connection: Connection, payouts: Sequence[Payout], batch: str) -> None:
    """Store the batch in which payouts were set up. It is not paid yet."""
    connection.execute(
        "update payout set batch = %s where id = any (%s) and state = 'sending' and batch is null",
        (batch, [payout.id for payout in payouts]),
    )


def begin_paying(connection: Connection, batch: str) -> bool:
    """Commit that a batch will be paid, before the one call that pays it."""
    done = connection.execute(
        "update payout set paying_at = clock_timestamp()"
        " where batch = %s and state = 'sending' and paying_at is null",
        (batch,),
    )
    return done.rowcount > 0


def set_batch_state(connection: Connection, batch: str, state: PayState, seconds: float) -> None:
    """Set the state of a whole batch, which is checked again later."""
    connection.execute(
        "update payout set state = %s, due_at = clock_timestamp() + make_interval(secs => %s)"
        " where batch = %s and state = 'sending'",
        (state, seconds, batch),
    )


def refuse_batch(connection: Connection, batch: str, why: str, seconds: float) -> None:
    """Return a refused batch to owed; after several tries, mark it for a person to check."""
    connection.execute(
        "update payout set state = case when tries < %s then 'owed' else 'failed' end, why = %s,"
        " batch = null, paying_at = null, due_at = clock_timestamp() + make_interval(secs => %s)"
        " where batch = %s and state = 'sending'",
        (MAX_TRIES, why, seconds, batch),
    )


def sum_confirmed_bonuses(connection: Connection, payout: Payout) -> int:
    """Return the confirmed bonuses of the same submission, without this payout."""
    row = connection.execute(
        "select coalesce(sum(amount_minor), 0) from payout where submission_digest = %s"
        " and batch is not null and state = 'confirmed' and id <> %s",
        (payout.digest, payout.id),
    ).fetchone()
    return 0 if row is None else int(row[0])


def sum_possible_bonuses(connection: Connection, payout: Payout) -> int:
    """Return the bonuses that the same submission may have got, without this payout."""
    row = connection.execute(
        "select coalesce(sum(amount_minor), 0) from payout where submission_digest = %s"
        " and paying_at is not null and id <> %s",
        (payout.digest, payout.id),
    ).fetchone()
    return 0 if row is None else int(row[0])


def sum_by_state(connection: Connection, study: UUID) -> dict[PayState, StateSum]:
    """Return number and amount of payouts by state."""
    rows = connection.execute(
        "select state, count(*), sum(amount_minor) from payout where study_id = %s group by state",
        (study,),
    ).fetchall()
    return {state: StateSum(count, int(amount)) for state, count, amount in rows}
