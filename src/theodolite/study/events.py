"""The log of a study: what happened, added to and never changed."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, insert

from theodolite.study import tables


def log(
    connection: Connection,
    study_id: UUID | None,
    actor: str,
    kind: str,
    about: object = "",
    detail: Mapping[str, Any] | None = None,
) -> None:
    """Add a line. No names, no addresses, no answers: the log may be read by all staff."""
    connection.execute(
        insert(tables.event).values(
            study_id=study_id, actor=actor, kind=kind, object=str(about), detail=dict(detail or {})
        )
    )
