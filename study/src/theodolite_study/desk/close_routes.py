"""Serve the page that closes a study: what is deleted, and what has to be settled before."""

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page
from theodolite_study.refusals import Invalid, WrongStage
from theodolite_study.store.opening import set_study_state

FACTS = """
    select (select count(*) from participant where study_id = %(s)s and outcome is null
               and not preview and state in ('consented', 'training', 'active')) as inside,
           (select count(*) from participant where study_id = %(s)s
               and (sealed_id is not null or submission is not null)) as ids,
           (select count(*) from declined where study_id = %(s)s) as declined,
           (select count(*) from payout where study_id = %(s)s
               and state in ('owed', 'sending', 'failed')) as unsettled,
           (select count(*) from payout where study_id = %(s)s
               and state in ('owed', 'failed')) as voidable"""


@require_right("open")
def close_page(desk: DeskRequest) -> Response:
    """Show what closing deletes and what prevents it."""
    return _page(desk)


def _page(desk: DeskRequest, *errors: str) -> Response:
    with desk.connection.cursor() as cursor:
        cursor.execute(FACTS, {"s": desk.study_id})
        names = [column.name for column in cursor.description or ()]
        facts = dict(zip(names, cursor.fetchone() or (), strict=True))
    return render_page(desk, "close", {"facts": facts}, 409 if errors else 200, errors)


@require_right("open")
def close(desk: DeskRequest) -> Response:
    """Close or archive the study, after its name was typed as confirmation."""
    state = desk.form.one_of("state", ("closed", "archived"))
    if desk.form.text("name", 100) != desk.slug:
        return _page(desk, f"Type {desk.slug} to say that you mean it.")
    void = []
    if desk.form.ticked("void"):
        if not desk.may("pay"):
            raise Invalid("Only owners void payments.")
        void = [payout["id"] for payout in desk.rows(
            "select id from payout where study_id = %s and state in ('owed', 'failed')",
            desk.study_id,
        )]  # fmt: skip
    try:
        with desk.connection.transaction():
            set_study_state(desk.connection, desk.study_id, state, desk.staff.id, void=void)
    except WrongStage as refusal:
        return _page(desk, refusal.message)
    return redirect(desk, f"/studies/{desk.slug}/close", f"The study is {state}.")


ROUTES = [
    Route("/studies/{slug}/close", close_page),
    Route("/studies/{slug}/close", close, methods=["POST"]),
]
