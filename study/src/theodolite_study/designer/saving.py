"""Changes of a draft: one at a time, each with a line in the log that says what changed."""

from collections.abc import Callable, Mapping
from typing import Any

from psycopg.types.json import Jsonb
from starlette.responses import Response

from theodolite_study.designer.changes import VersionContent, changes
from theodolite_study.designer.version_content import content_of
from theodolite_study.desk.site import DeskRequest, onward, page
from theodolite_study.model.instrument import Instrument
from theodolite_study.refusals import Invalid, NotHere, WrongStage

MOST_SENTENCES = 40
Again = Callable[[str], Response]
"""The page once more, with what does not fit."""


def version_of(desk: DeskRequest) -> Mapping[str, Any]:
    """The newest version of the study."""
    if desk.version is None:
        raise NotHere
    return desk.version


def is_draft(desk: DeskRequest) -> bool:
    """Whether the newest version can still be changed."""
    return bool(version_of(desk)["state"] == "draft")


def save(
    desk: DeskRequest, back: str, edit: Callable[[VersionContent], str], again: Again | None = None,
    theirs: Callable[[VersionContent], Mapping[str, str]] = lambda content: {},
) -> Response:  # fmt: skip
    """Change the draft by ``edit`` and go on, unless somebody else changed it meanwhile.

    Args:
        desk: Whose form has the number of the draft's last change in ``edited_no``.
        back: Where to go afterwards.
        edit: Changes the draft, and says what it did.
        again: Shows the form once more where the edit is refused; without, the refusal is a page.
        theirs: The fields of the form as they are stored now, for a conflict.
    """
    number = version_of(desk)["id"]
    version = desk.row("select * from version where id = %s for update", number)
    if version is None or version["state"] != "draft":
        raise WrongStage("This version was opened: it cannot be changed. Make a new draft.")
    before = content_of(desk.connection, version)
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
    sentences = changes(before, content_of(desk.connection, changed))
    if sentences:
        more = len(sentences) - MOST_SENTENCES
        rest = [f"and {more} more"] if more > 0 else []
        desk.log("draft changed", {"version": version["no"],
                                   "changes": [*sentences[:MOST_SENTENCES], *rest]})  # fmt: skip
    return onward(desk, back, message)


def put_instrument(desk: DeskRequest, instrument: Instrument) -> None:
    """The draft asks this from now on."""
    desk.connection.execute(
        "update version set instrument = %s where id = %s",
        (Jsonb(instrument.stored()), version_of(desk)["id"]),
    )


def _conflict(desk: DeskRequest, back: str, edited_no: int, theirs: Mapping[str, str]) -> Response:
    """Both texts, and the way to send one's own after all."""
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
    return page(desk, "design_conflict", context, 409)
