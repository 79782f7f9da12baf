"""How people get to a study: its address, a QR code, invitations; open or paused."""

from markupsafe import Markup
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer.links import base, design_page
from theodolite_study.designer.saving import version_of
from theodolite_study.designer.share import invitations_csv, platform_link, qr_svg, study_link
from theodolite_study.designer.text_routes import download
from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest, onward
from theodolite_study.store.opening import set_study_state

MOST_INVITATIONS = 5000


@needs("design")
def share_page(desk: DeskRequest) -> Response:
    """The share sheet."""
    link = study_link(desk)
    access = version_of(desk)["settings"].get("access", {}).get("kind", "link")
    invited = desk.row("select count(*) as n from invite where study_id = %s", desk.study_id)
    context = {
        "link": link, "full_link": platform_link(link, access), "access": access,
        "qr": Markup(qr_svg(link)),  # noqa: S704  paths made by segno
        "invited": invited["n"] if invited else 0, "most": MOST_INVITATIONS,
    }  # fmt: skip
    return design_page(desk, "design_share", context)


@needs("design")
def invite(desk: DeskRequest) -> Response:
    """New invitations as a file; only their digests are kept."""
    count = desk.form.whole("count", 1, MOST_INVITATIONS)
    content = invitations_csv(desk, count)
    desk.log("draft changed", {"changes": [f"{count} invitations were made."]})
    return download(content, f"{desk.slug}-invitations.csv", "text/csv")


@needs("pause")
def set_state(desk: DeskRequest) -> Response:
    """Pause the study, or go on."""
    state = desk.form.one_of("state", ("open", "paused"))
    set_study_state(desk.connection, desk.study_id, state, desk.staff.id)
    return onward(desk, f"{base(desk)}/share", f"The study is {state}.")


ROUTES = [
    Route("/studies/{slug}/design/share", share_page),
    Route("/studies/{slug}/design/invitations", invite, methods=["POST"]),
    Route("/studies/{slug}/design/state", set_state, methods=["POST"]),
]
