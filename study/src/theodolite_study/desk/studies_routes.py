"""Serve the list of an account's studies, and what needs attention in each."""

from collections.abc import Mapping
from typing import Any

from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from theodolite_study.desk.rights import RIGHTS, require_right
from theodolite_study.desk.site import DeskRequest, format_count, render_page
from theodolite_study.watch.progress import StudyProgress, load_progress

STUDIES = """
    select s.id, s.slug, s.title, s.state, m.role, v.no, v.state as version_state,
           case when v.state = 'draft' then (select count(*) from missing_texts(v.id)) else 0 end
             as missing,
           (select count(*) from payout p where p.study_id = s.id
               and p.state in ('owed', 'sending')) as unpaid,
           (select count(*) from payout p where p.study_id = s.id and p.state = 'failed') as failed
      from study s join member m on m.study_id = s.id
      left join lateral (select * from version v where v.study_id = s.id order by v.no desc limit 1)
           v on true
     where m.staff_id = %s order by s.created_at desc, s.slug"""


@require_right("account")
def studies(desk: DeskRequest) -> Response:
    """List the studies of the account."""
    mine = desk.rows(STUDIES, desk.staff.id)
    entries = [(study_row, _progress(desk, study_row), _waits(study_row)) for study_row in mine]
    return render_page(desk, "studies", {"entries": entries})


def _progress(desk: DeskRequest, study_row: Mapping[str, Any]) -> StudyProgress | None:
    if study_row["no"] is None or study_row["state"] == "draft":
        return None
    return load_progress(desk.connection, study_row["id"])


def _waits(study_row: Mapping[str, Any]) -> list[tuple[str, str]]:
    """List what this role has to attend to, and where."""
    rights, home = RIGHTS[study_row["role"]], f"/studies/{study_row['slug']}"
    waits = []
    if "design" in rights and study_row["missing"]:
        waits.append((f"{format_count(study_row['missing'], 'text')} missing", f"{home}/design"))
    if "pay" in rights and study_row["unpaid"]:
        waits.append(
            (f"{format_count(study_row['unpaid'], 'payment')} not made yet", f"{home}/pay")
        )
    if "pay" in rights and study_row["failed"]:
        waits.append(
            (f"{format_count(study_row['failed'], 'payment')} failed", f"{home}/pay?state=failed")
        )
    return waits


@require_right("counts")
def study(desk: DeskRequest) -> Response:
    """Show the first page of a study."""
    return RedirectResponse(f"/studies/{desk.slug}/live", 303)


ROUTES = [Route("/", studies), Route("/studies/{slug}", study)]
