"""Serve the operator's page: health, backups, versions, accounts. No answers and no ids."""

from importlib.metadata import version as installed

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.accounts import end_all_sessions, make_enroll_link
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page
from theodolite_study.operate.revision import get_newest_revision
from theodolite_study.refusals import Invalid, NotHere

OPERATIONS = ("backup", "restore", "verify", "jobs")
DAY = 24 * 3600
FACTS = """
    select op_revision() as revision, current_setting('server_version') as postgresql,
           pg_database_size(current_database()) as bytes,
           (select count(*) from platform_event where applied_at is null) as events,
           (select count(*) from export_request where state in ('waiting', 'running')) as exports,
           (select count(*) from log where study_id is null and kind = 28
               and at > clock_timestamp() - interval '1 day') as failures,
           (select count(*) from pg_stat_activity where datname = current_database())
             as connections"""
STUDIES = "select slug, title, state, created_at from study order by created_at desc"
ACCOUNTS = """
    select id, name, operator, disabled, password_hash is not null as enrolled, last_success
      from staff order by name"""


@require_right("server")
def server(desk: DeskRequest) -> Response:
    """Show the state of the server."""
    return _page(desk)


def _page(desk: DeskRequest, link: str = "") -> Response:
    ages = {operation["what"]: operation for operation in desk.rows(
        "select what, at, extract(epoch from clock_timestamp() - at)::bigint as age"
        " from operation"
    )}  # fmt: skip
    context = {
        "facts": desk.row(FACTS), "ages": ages, "operations": OPERATIONS, "day": DAY,
        "studies": desk.rows(STUDIES), "accounts": desk.rows(ACCOUNTS), "link": link,
        "release": installed("theodolite-study"), "newest": get_newest_revision(),
        "keys_id": desk.site.keys.id,
        "own_keys": desk.row("select count(*) filter (where keys_id <> %s) as n from study",
                             desk.site.keys.id),
    }  # fmt: skip
    return render_page(desk, "server", context)


@require_right("server")
def link(desk: DeskRequest) -> Response:
    """Create a link for a new account, or for one without studies.

    Operators see no answers, so they cannot take over an account of a study from here.
    """
    origin = desk.site.settings.public_origin
    name = desk.form.text("name", 60)
    if desk.row(
        "select from staff a where a.name = %s and (a.operator or exists"
        " (select from member m where m.staff_id = a.id))", name,
    ) is not None:  # fmt: skip
        raise Invalid(
            "This account belongs to a study or runs the server: the command theodolite study staff"
            " makes a new link for it."
        )
    address = make_enroll_link(desk.connection, desk.site.keys, origin, name)
    desk.log("member", {"name": name, "became": "linked"})
    return _page(desk, address)


@require_right("server")
def disable(desk: DeskRequest) -> Response:
    """Disable an account immediately."""
    staff_id = desk.request.path_params["staff_id"]
    if staff_id == desk.staff.id:
        raise Invalid("Somebody else closes your own account.")
    done = desk.rows("update staff set disabled = true where id = %s returning name", staff_id)
    if not done:
        raise NotHere
    end_all_sessions(desk.connection, staff_id)
    desk.log("member", {"name": done[0]["name"], "became": "disabled"})
    return redirect(desk, "/server", f"The account {done[0]['name']} is closed.")


ROUTES = [
    Route("/server", server),
    Route("/server/links", link, methods=["POST"]),
    Route("/server/accounts/{staff_id:int}/disable", disable, methods=["POST"]),
]
