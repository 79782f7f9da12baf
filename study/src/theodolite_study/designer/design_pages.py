"""Build the addresses of the designer's pages and render its templates."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from theodolite_study.desk.site import DeskRequest, render_page
from theodolite_study.refusals import NotHere

PAGES = (
    ("", "Material"), ("/preview", "Preview"), ("/pilot", "Pilot"), ("/open", "Open"),
    ("/share", "Share"),
)  # fmt: skip
"""Pages of the designer, in the order in which a study is prepared."""


def get_version(desk: DeskRequest) -> Mapping[str, Any]:
    """Return the newest version of the study."""
    if desk.version is None:
        raise NotHere
    return desk.version


def get_design_address(desk: DeskRequest) -> str:
    """Return the address of a study's design."""
    return f"/studies/{desk.slug}/design"


def render_design_page(
    desk: DeskRequest, name: str, context: Mapping[str, Any], errors: Sequence[str] = ()
) -> Response:
    """Render a page of the designer."""
    version = get_version(desk)
    everywhere = {
        "base": get_design_address(desk), "design_pages": PAGES,
        "draft": version["state"] == "draft", "edited_no": version["edited_no"],
    }  # fmt: skip
    status = 422 if errors else 200
    return render_page(desk, name, {**everywhere, **context}, status, errors)
