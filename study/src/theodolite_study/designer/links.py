"""Addresses of the designer's pages, and what each of its templates needs."""

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.responses import Response

from theodolite_study.designer.saving import is_draft, version_of
from theodolite_study.desk.site import DeskRequest, page

PAGES = (
    ("", "Blocks"), ("/texts", "Texts"), ("/material", "Material"), ("/consent", "Consent"),
    ("/settings", "Settings"), ("/outcomes", "Ways out"), ("/conditions", "Conditions"),
    ("/preview", "Preview"), ("/pilot", "Pilot"), ("/open", "Open"), ("/share", "Share"),
)  # fmt: skip
"""In the order in which a study is made."""


def base(desk: DeskRequest) -> str:
    """Where the design of a study is."""
    return f"/studies/{desk.slug}/design"


def design_page(
    desk: DeskRequest, name: str, context: Mapping[str, Any], errors: Sequence[str] = ()
) -> Response:
    """A page of the design of a study; with errors, the form shows what was sent."""
    sent = dict(desk.form.fields) if errors else None
    everywhere = {
        "base": base(desk), "design_pages": PAGES, "draft": is_draft(desk), "sent": sent,
        "edited_no": version_of(desk)["edited_no"],
    }  # fmt: skip
    status = 422 if errors else 200
    return page(desk, name, {**everywhere, **context}, status, errors)
