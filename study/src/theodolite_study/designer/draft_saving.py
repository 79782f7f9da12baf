"""Save changes of a draft one at a time, detect conflicts, and log what changed."""

from collections.abc import Callable, Mapping
from typing import Any

from psycopg.types.json import Jsonb
from starlette.responses import Response

from theodolite_study.designer.version_changes import VersionContent, describe_changes
from theodolite_study.designer.version_content import load_content
from theodolite_study.desk.site import DeskRequest, redirect, render_page
from theodolite_study.model.instrument import Instrument
from theodolite_study.refusals import Invalid, NotHere, WrongStage

MAX_LOGGED_SENTENCES = 40
RenderAgain = Callable[[str], Response]
"""Function that renders the form again with an error message."""


def get_version(desk: DeskRequest) -> Mapping[str, Any]:
    """Return the newest version of the study."""
    if desk.version is None:
        raise NotHere
    return desk.version


def is_draft(desk: DeskRequest) -> bool:
    """Return whether the newest version can still be changed."""
    return bool(get_version(desk)["state"] == "draft")


def save_draft(
    desk: DeskRequest, back: str, edit: Callable[[VersionContent], str],
    again: RenderAgain | None = None,
    theirs: Callable[[VersionContent], Mapping[str, str]] = lambda content: {},
) -> Response:  # fmt: skip
    """Change the draft and redirect, unless somebody else changed it meanwhile.

    Args:
        desk: Whose form has the number of the draft's last change in ``edited_no``.
        back: Where to go afterwards.
        edit: Changes the draft, and says what it did.
        again: Shows the form once more where the edit is refused; without, the refusal is a page.
        theirs: The fields of the form as they are stored now, for a conflict.
    """
    number = get_version(desk)["id"]
    version = desk.row("select * from version where id = %s for update", number)
    if version is None or version["state"] != "draft":
        raise WrongStage("This version was opened: it cannot be changed. Make a new draft.")
    before = load_content(desk.connection, version)
    if desk.form.text("edited_no") != str(version["edited_no"]):
        return _conflict(desk, back, version["edited_no"], theirs(before))
    try:
        message = edit(before)
        desk.connection.execute(
            "update version set edited_no = edited_no + 1 where id = %s", (number,)
        )
    except (Invalid, ValueError) as error:
        desk.connection.rollback()
        if again is None:
            raise Invalid(str(error)) from error
        return again(str(error))
    changed = desk.row("select * from version where id = %s", number) or version
    sentences = describe_changes(before, load_content(desk.connection, changed))
    if sentences:
        more = len(sentences) - MAX_LOGGED_SENTENCES
        rest = [f"and {more} more"] if more > 0 else []
        sentences = [*sentences[:MAX_LOGGED_SENTENCES], *rest]
        desk.log("draft changed", {"version": version["no"], "changes": sentences})
    return redirect(desk, back, message)


def put_instrument(desk: DeskRequest, instrument: Instrument) -> None:
    """Store the instrument of the draft."""
    desk.connection.execute(
        "update version set instrument = %s where id = %s",
        (Jsonb(instrument.stored()), get_version(desk)["id"]),
    )


def _conflict(desk: DeskRequest, back: str, edited_no: int, theirs: Mapping[str, str]) -> Response:
    """Show both texts, and let the user send theirs again."""
    last = desk.row(
        "select l.at, s.name, l.detail -> 'changes' as changes from log l"
        " join log_kind k on k.id = l.kind left join staff s on s.id = l.staff_id"
        " where l.study_id = %s and k.name = 'draft changed' order by l.id desc limit 1",
        desk.study_id,
    )  # fmt: skip
    mine = {name: "\n".join(values) for name, values in desk.form.fields.items()
            if name not in ("csrf", "edited_no")}  # fmt: skip
    differing = [
        (name, theirs.get(name, ""), value)
        for name, value in mine.items()
        if theirs.get(name, "").strip() != value.replace("\r\n", "\n").strip()
    ]
    context = {
        "back": back, "action": desk.request.url.path, "differing": differing, "last": last,
        "fields": [(n, v) for n, vs in desk.form.fields.items() for v in vs
                   if n not in ("csrf", "edited_no")], "edited_no": edited_no,
    }  # fmt: skip
    return render_page(desk, "design_conflict", context, 409)
