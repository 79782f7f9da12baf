"""Store the events that Prolific sends by webhook, and apply them later in the job."""

import re
from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Literal, TypeAlias

from theodolite.errors import UnsafeInputError
from theodolite_study.keys import Keys
from theodolite_study.money.platform_link import Connection, digest_submission
from theodolite_study.platforms.prolific_events import (
    TIMESTAMP,
    TIMESTAMP_PATTERN,
    Event,
    parse_event,
)

MAX_AGE_SECONDS = 25 * 3600
"""Seconds for which a delivery is accepted. Prolific retries for 24 hours; repeats are found by id
and by signed content."""
MAX_AHEAD_SECONDS = 300
EVENT_TIME = "x-timestamp"
STATUS_EVENT = "submission.status.change"
STATUS = re.compile(r"[A-Z][A-Z _-]{1,40}")
EventResult: TypeAlias = Literal["stored", "known", "not ours"]


def verify_event(
    headers: Mapping[str, str], body: bytes, secret: str, now: float
) -> tuple[Event, datetime]:
    """Verify a delivery that Prolific signed within 25 hours, and return it with its time.

    The time is the one that the delivery names, unless it is later than the signature or missing.
    Then it is the time of the signature.
    """
    header_values = {name.lower(): value for name, value in headers.items()}
    moment = header_values.get(TIMESTAMP, "")
    signed = float(moment) if TIMESTAMP_PATTERN.fullmatch(moment) else now
    verified = parse_event(headers, body, secret, signed)
    if not now - MAX_AGE_SECONDS <= signed <= now + MAX_AHEAD_SECONDS:
        raise UnsafeInputError("message of Prolific", "an old one", "one of the last 25 hours")
    when = header_values.get(EVENT_TIME, "")
    if TIMESTAMP_PATTERN.fullmatch(when) and float(when) <= signed + MAX_AHEAD_SECONDS:
        signed = float(when)
    return verified, datetime.fromtimestamp(signed, timezone.utc)


def get_stored_values(
    keys: Keys, verified: Event, when: datetime
) -> tuple[str, bytes, bytes, str, datetime] | None:
    """Return what is stored of an event; None if it is not about a submission's status."""
    status = verified.content.get("status")
    if verified.kind != STATUS_EVENT or not isinstance(status, str):
        return None
    status = status.upper().replace("_", " ")
    status = "TIMED-OUT" if status == "TIMED OUT" else status
    if not STATUS.fullmatch(status):
        return None
    digest = digest_submission(keys, verified.resource_id)
    return verified.id, verified.delivery, digest, status, when


def store_event(connection: Connection, keys: Keys, verified: Event, when: datetime) -> EventResult:
    """Store a delivery once. Prolific gets the same response in every case."""
    values = get_stored_values(keys, verified, when)
    if values is None:
        return "not ours"
    row = connection.execute("select hook_event(%s, %s, %s, %s, %s)", values).fetchone()
    taken: EventResult = "not ours" if row is None else row[0]
    return taken


def apply_events(connection: Connection, most: int = 500) -> dict[str, int]:
    """Apply waiting events, each in its own transaction and in order; count them by result."""
    rows = connection.execute(
        "select event_id from platform_event where applied_at is null"
        " order by event_at, event_id limit %s", (most,),
    ).fetchall()  # fmt: skip
    went: dict[str, int] = {}
    for (name,) in rows:
        row = connection.execute("select job_event(%s)", (name,)).fetchone()
        word = "known" if row is None else str(row[0])
        went[word] = went.get(word, 0) + 1
    return went
