"""Serve the log of a study, the newest first, with pseudonyms and without answers."""

import re
from typing import Any

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, render_page

PAGE_SIZE = 100
MAX_LOG_ID = 2**62
FIRST_STAFF_KIND = 20
"""First log kind of staff and platforms; those below are of participants."""
LINES = """
    select l.id, l.at, k.name as kind, a.name as staff, p.pseudonym, l.detail
      from log l join log_kind k on k.id = l.kind
      left join staff a on a.id = l.staff_id
      left join participant p on p.id = l.participant_id and p.study_id = l.study_id
     where l.study_id = %s and l.id < %s {which}
     order by l.id desc limit %s"""


@require_right("watch")
def log_page(desk: DeskRequest) -> Response:
    """Show a page of the log: of all entries, of one kind, or of staff."""
    query = desk.request.query_params
    kinds = {row["name"]: row["id"] for row in desk.rows("select * from log_kind order by id")}
    kind, staff_only = query.get("kind", ""), bool(query.get("staff"))
    before = query.get("before", "")
    values: list[Any] = [int(before) if re.fullmatch(r"[0-9]{1,18}", before) else MAX_LOG_ID]
    which = ""
    if kind in kinds:
        which = "and l.kind = %s"
        values.append(kinds[kind])
    elif staff_only:
        which = "and l.kind >= %s"
        values.append(FIRST_STAFF_KIND)
    records = desk.rows(LINES.format(which=which), desk.study_id, *values, PAGE_SIZE)
    context = {
        "lines": [line | {"words": _words(line["detail"])} for line in records], "kinds": kinds,
        "kind": kind, "staff_only": staff_only,
        "older": records[-1]["id"] if len(records) == PAGE_SIZE else None,
    }  # fmt: skip
    return render_page(desk, "log", context)


def _words(detail: dict[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in detail.items())


ROUTES = [Route("/studies/{slug}/log", log_page)]
