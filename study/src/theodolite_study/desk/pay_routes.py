"""Serve the ledger of payouts: states, manual decisions, and the link to the platform."""

import re
from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from theodolite.errors import UnsafeInputError
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest, redirect, render_page
from theodolite_study.money.ledger import sum_by_state
from theodolite_study.money.platform_link import PlatformLink, link_study
from theodolite_study.refusals import Invalid, NotHere

STATES = ("failed", "owed", "sending", "sent", "confirmed", "void")
PAGE_SIZE = 50
LEDGER = """
    select y.id, y.kind, y.outcome, y.amount_minor, y.currency, y.state, y.tries, y.why, y.at,
           y.sealed_submission is not null as has_id, p.pseudonym
      from payout y left join participant p on p.id = y.participant_id
     where y.study_id = %s and y.state = any (%s) and (y.at, y.id) > (%s::timestamptz, %s::uuid)
     order by y.at, y.id limit %s"""
LINK = """
    select external_id, partial_codes, read_at, difference, paused_at,
           sealed_secret is not null as has_secret from platform_link where study_id = %s"""
FIRST_KEY = ("-infinity", "00000000-0000-0000-0000-000000000000")
DONE_MESSAGES = {
    "send": "Sent with the next round of the job.",
    "retry": "Owed again; the job tries it in its next round.",
    "void": "Will not be paid.",
    "paid": "Paid by hand.",
}


@require_right("pay")
def pay(desk: DeskRequest) -> Response:
    """Show sums by state, the payouts of one state, and differences from the platform."""
    query = desk.request.query_params
    state = query.get("state", "")
    chosen = [state] if state in STATES else list(STATES[:4])
    records = desk.rows(
        LEDGER, desk.study_id, chosen, *_after(query.get("after", "")), PAGE_SIZE + 1
    )
    more = records[PAGE_SIZE - 1] if len(records) > PAGE_SIZE else None
    context = {
        "sums": sum_by_state(desk.connection, desk.study_id), "states": STATES, "state": state,
        "payouts": records[:PAGE_SIZE], "link": desk.row(LINK, desk.study_id),
        "after": f"{more['at'].isoformat()}_{more['id']}" if more else "",
    }  # fmt: skip
    return render_page(desk, "pay", context)


def _after(key: str) -> tuple[str, str]:
    if re.fullmatch(r"[0-9T:.+-]{10,40}_[0-9a-f-]{36}", key):
        at, _, number = key.partition("_")
        return at, number
    return FIRST_KEY


@require_right("pay")
def settle(desk: DeskRequest) -> Response:
    """Settle one payout by hand: send, retry, void, or mark as paid elsewhere."""
    payout = _payout(desk)
    how, reason = desk.form.one_of("how", tuple(DONE_MESSAGES)), desk.form.text("reason", 200)
    if how in ("void", "paid") and len(reason) < 5:
        raise Invalid("Say in some words why.")
    number, state = payout["id"], payout["state"]
    if how == "send" and state == "owed":
        _update(desk, number, "due_at = clock_timestamp()")
    elif how == "retry" and state == "failed":
        _update(desk, number, "state = 'owed', tries = 0, batch = null, paying_at = null,"
                " due_at = clock_timestamp()")  # fmt: skip
    elif how == "void" and state in ("owed", "failed"):
        _update(desk, number, "state = 'void', why = %s", reason)
    elif how == "paid" and state in ("owed", "failed"):
        _update(desk, number, "state = 'sending'")
        _update(desk, number, "state = 'confirmed', why = %s", reason)
    else:
        raise Invalid(f"This payment is {state}.")
    detail = {"payout": str(number), "how": how, "from": state, "reason": reason}
    desk.log("paid", detail)
    return redirect(desk, f"/studies/{desk.slug}/pay", DONE_MESSAGES[how])


def _update(desk: DeskRequest, number: UUID, change: str, *values: Any) -> None:
    desk.connection.execute(
        f"update payout set {change} where id = %s and study_id = %s".encode(),  # noqa: S608  ours
        (*values, number, desk.study_id),
    )


@require_right("pay")
def show_id(desk: DeskRequest) -> Response:
    """Show the platform id of one payout, and log that it was viewed."""
    payout = _payout(desk)
    if payout["sealed_submission"] is None:
        raise NotHere("Nobody's id is kept for this payment.")
    try:
        identity = desk.site.keys.decrypt(payout["sealed_submission"], desk.slug)
    except UnsafeInputError as error:
        raise NotHere("These keys do not open the id of this payment.") from error
    desk.log("ids shown", {"payout": str(payout["id"])}, person=payout["participant_id"])
    return render_page(desk, "payout_id", {"payout": payout, "identity": identity})


def _payout(desk: DeskRequest) -> dict[str, Any]:
    record = desk.row(
        "select * from payout where id = %s and study_id = %s for update",
        desk.request.path_params["payout"], desk.study_id,
    )  # fmt: skip
    if record is None:
        raise NotHere
    return record


@require_right("pay")
def connect(desk: DeskRequest) -> Response:
    """Link the study to Prolific. Token and secret are encrypted and never shown again."""
    external = desk.form.text("external_id", 60)
    token, secret = desk.form.text("token", 500), desk.form.text("secret", 500)
    if not re.fullmatch(r"[0-9a-zA-Z]{8,60}", external) or len(token) < 8:
        raise Invalid("Prolific's study id and an API token are needed.")
    link = PlatformLink(
        desk.study_id, desk.slug, external, token, secret, desk.form.ticked("partial_codes")
    )
    link_study(desk.connection, desk.site.keys, link)
    desk.log("paid", {"how": "connected", "platform": "prolific", "external_id": external})
    return redirect(desk, f"/studies/{desk.slug}/pay", "The study is joined to Prolific.")


ROUTES = [
    Route("/studies/{slug}/pay", pay),
    Route("/studies/{slug}/pay/platform", connect, methods=["POST"]),
    Route("/studies/{slug}/pay/{payout:uuid}", settle, methods=["POST"]),
    Route("/studies/{slug}/pay/{payout:uuid}/id", show_id, methods=["POST"]),
]
