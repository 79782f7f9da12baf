"""What happened in a study, the newest first; people by their pseudonyms, without answers."""

import re
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest, page

PAGE = 100
NEWEST = 2**62
BY_STAFF = 20
"""Kinds from here on are of staff and of platforms, those below of participants."""
LINES = """
    select l.id, l.at, k.name as kind, a.name as staff, p.pseudonym, l.detail
      from log l join log_kind k on k.id = l.kind
      left join staff a on a.id = l.staff_id
      left join participant p on p.id = l.participant_id and p.study_id = l.study_id
     where l.study_id = %s and l.id < %s {which}
     order by l.id desc limit %s"""


@needs("watch")
def log_page(desk: DeskRequest) -> Response:
    """A page of lines: of all, of one kind, or only of what staff did."""
    query = desk.request.query_params
    kinds = {row["name"]: row["id"] for row in desk.rows("select * from log_kind order by id")}
    kind, staff_only = query.get("kind", ""), bool(query.get("staff"))
    before = query.get("before", "")
    values: list[Any] = [int(before) if re.fullmatch(r"[0-9]{1,18}", before) else NEWEST]
    which = ""
    if kind in kinds:
        which = "and l.kind = %s"
        values.append(kinds[kind])
    elif staff_only:
        which = "and l.kind >= %s"
        values.append(BY_STAFF)
    records = desk.rows(LINES.format(which=which), desk.study_id, *values, PAGE)
    context = {
        "lines": [line | {"words": _words(line["detail"])} for line in records], "kinds": kinds,
        "kind": kind, "staff_only": staff_only,
        "older": records[-1]["id"] if len(records) == PAGE else None,
    }  # fmt: skip
    return page(desk, "log", context)


def _words(detail: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in detail.items())


ROUTES = [Route("/studies/{slug}/log", log_page)]
