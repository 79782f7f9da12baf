"""The log of a study: what happened, added to and never changed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Connection, func, insert

from theodolite_study import tables


def log(  # noqa: PLR0913  each is a column
    connection: Connection,
    study_id: UUID | None,
    actor: str,
    kind: str,
    about: object = "",
    detail: Mapping[str, Any] | None = None,
    *,
    not_before: datetime | None = None,
) -> None:
    """Add a line. No names, no addresses, no answers: the log may be read by all staff."""
    connection.execute(
        insert(tables.event).values(
            study_id=study_id, actor=actor, kind=kind, object=str(about),
            detail=dict(detail or {}), at=moment(not_before),
        )
    )  # fmt: skip


def moment(not_before: datetime | ColumnElement[Any] | None = None) -> Any:
    """The database's clock; what follows something stays after it if that clock is set back."""
    now = func.clock_timestamp()
    return now if not_before is None else func.greatest(now, not_before)
