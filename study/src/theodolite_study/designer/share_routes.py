"""Serve the page that shares a study: address, QR code, invitations, open or paused."""

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer.design_pages import (
    get_design_address,
    get_version,
    render_design_page,
)
from theodolite_study.designer.study_links import (
    get_platform_link,
    get_study_link,
    make_invitations_csv,
    render_qr_svg,
)
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect
from theodolite_study.store.opening import set_study_state

MAX_INVITATIONS = 5000


@require_right("design")
def share_page(desk: DeskRequest) -> Response:
    """Show how participants reach the study."""
    link = get_study_link(desk)
    access = get_version(desk)["settings"].get("access", {}).get("kind", "link")
    invited = desk.row("select count(*) as n from invite where study_id = %s", desk.study_id)
    context = {
        "link": link, "full_link": get_platform_link(link, access), "access": access,
        "qr": Markup(render_qr_svg(link)),  # noqa: S704  paths made by segno
        "invited": invited["n"] if invited else 0, "most": MAX_INVITATIONS,
    }  # fmt: skip
    return render_design_page(desk, "design_share", context)


@require_right("design")
def invite(desk: DeskRequest) -> Response:
    """Return new invitations as a file; only their digests are stored."""
    count = desk.form.whole("count", 1, MAX_INVITATIONS)
    content = make_invitations_csv(desk, count)
    desk.log("draft changed", {"changes": [f"{count} invitations were made."]})
    name = f"{desk.slug}-invitations.csv"
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    return Response(content, headers=headers, media_type="text/csv")


@require_right("pause")
def set_state(desk: DeskRequest) -> Response:
    """Pause or resume the study."""
    state = desk.form.one_of("state", ("open", "paused"))
    set_study_state(desk.connection, desk.study_id, state, desk.staff.id)
    return redirect(desk, f"{get_design_address(desk)}/share", f"The study is {state}.")


ROUTES = [
    Route("/studies/{slug}/design/share", share_page),
    Route("/studies/{slug}/design/invitations", invite, methods=["POST"]),
    Route("/studies/{slug}/design/state", set_state, methods=["POST"]),
]
