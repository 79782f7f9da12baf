"""Build the addresses of the designer's pages and render its templates."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from theodolite_study.designer.draft_saving import get_version, is_draft
from theodolite_study.desk.site import DeskRequest, render_page

PAGES = (
    ("", "Blocks"), ("/texts", "Texts"), ("/material", "Material"), ("/consent", "Consent"),
    ("/settings", "Settings"), ("/outcomes", "Ways out"), ("/conditions", "Conditions"),
    ("/preview", "Preview"), ("/pilot", "Pilot"), ("/open", "Open"), ("/share", "Share"),
)  # fmt: skip
"""Pages of the designer, in the order in which a study is made."""


def get_design_address(desk: DeskRequest) -> str:
    """Return the address of a study's design."""
    return f"/studies/{desk.slug}/design"


def render_design_page(
    desk: DeskRequest, name: str, context: Mapping[str, Any], errors: Sequence[str] = ()
) -> Response:
    """Render a page of the designer; with errors, the form keeps what was sent."""
    sent = dict(desk.form.fields) if errors else None
    everywhere = {
        "base": get_design_address(desk), "design_pages": PAGES, "draft": is_draft(desk),
        "sent": sent, "edited_no": get_version(desk)["edited_no"],
    }  # fmt: skip
    status = 422 if errors else 200
    return render_page(desk, name, {**everywhere, **context}, status, errors)
