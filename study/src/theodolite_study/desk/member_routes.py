"""Serve the members of a study and their roles. There is always an owner."""

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.accounts import make_enroll_link
from theodolite_study.desk.rights import RIGHTS, require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page
from theodolite_study.refusals import Invalid, NotHere

ROLES = tuple(RIGHTS)
MEMBERS = """
    select a.id, a.name, m.role, a.password_hash is not null as enrolled, a.last_success
      from member m join staff a on a.id = m.staff_id where m.study_id = %s order by a.name"""

ACCOUNT = """
    select a.disabled, a.password_hash is null and a.last_success is null and not a.operator
           and exists (select from member m where m.staff_id = a.id and m.study_id = %s)
           and not exists (select from member m where m.staff_id = a.id and m.study_id <> %s
               and m.study_id not in (select study_id from member
                                       where staff_id = %s and role = 'owner')) as unused
      from staff a where a.name = %s"""


@require_right("members")
def members(desk: DeskRequest) -> Response:
    """List the members of the study."""
    return _page(desk)


def _page(desk: DeskRequest, link: str = "") -> Response:
    context = {"members": desk.rows(MEMBERS, desk.study_id), "roles": ROLES, "link": link}
    return render_page(desk, "members", context)


@require_right("members")
def add(desk: DeskRequest) -> Response:
    """Add a member: an existing account, or a link that creates one.

    A link for an account that is there would take it over. So there is a second one only for who
    never used the first, and belongs to nobody else's study.
    """
    name, role = desk.form.text("name", 60), desk.form.one_of("role", ROLES)
    known = desk.row(ACCOUNT, desk.study_id, desk.study_id, desk.staff.id, name)
    if known is not None and known["disabled"]:
        raise Invalid("The account of this name is closed.")
    link = ""
    if known is None or known["unused"]:
        origin = desk.site.settings.public_origin
        link = make_enroll_link(desk.connection, desk.site.keys, origin, name)
    desk.connection.execute(
        "insert into member (study_id, staff_id, role) select %s, id, %s from staff where name = %s"
        " on conflict (study_id, staff_id) do nothing",
        (desk.study_id, role, name),
    )
    desk.log("member", {"name": name, "became": "linked again" if known and link else role})
    if link:
        return _page(desk, link)
    return redirect(desk, f"/studies/{desk.slug}/members", f"{name} is a member.")


@require_right("members")
def change(desk: DeskRequest) -> Response:
    """Change the role of a member, or remove them."""
    staff_id = desk.request.path_params["staff_id"]
    role = desk.form.one_of("role", (*ROLES, "none"))
    # all owners are locked, so that two who remove each other do not leave a study without any
    owners = desk.rows(
        "select staff_id from member where study_id = %s and role = 'owner' for update",
        desk.study_id,
    )
    member = desk.row(
        "select a.name, m.role from member m join staff a on a.id = m.staff_id"
        " where m.study_id = %s and m.staff_id = %s", desk.study_id, staff_id,
    )  # fmt: skip
    if member is None:
        raise NotHere
    if member["role"] == "owner" and role != "owner" and len(owners) == 1:
        raise Invalid("A study has an owner: name another one first.")
    if role == "none":
        desk.connection.execute(
            "delete from member where study_id = %s and staff_id = %s", (desk.study_id, staff_id)
        )
    else:
        desk.connection.execute(
            "update member set role = %s where study_id = %s and staff_id = %s",
            (role, desk.study_id, staff_id),
        )
    desk.log("member", {"name": member["name"], "was": member["role"], "became": role})
    own = staff_id == desk.staff.id and role != "owner"
    notice = f"{member['name']}: {role if role != 'none' else 'no member any more'}."
    return redirect(desk, "/" if own else f"/studies/{desk.slug}/members", notice)


ROUTES = [
    Route("/studies/{slug}/members", members),
    Route("/studies/{slug}/members", add, methods=["POST"]),
    Route("/studies/{slug}/members/{staff_id:int}", change, methods=["POST"]),
]
