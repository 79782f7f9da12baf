"""The people of a study by pseudonym: how they work and what they did, never what they answered."""

from typing import Any
from uuid import UUID

from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest, onward, page
from theodolite_study.refusals import Invalid, NotHere
from theodolite_study.watch.people import INSIDE, people, timeline

LONGEST = 100
OUTCOMES = (
    INSIDE, "finished", "ran_out", "stopped", "screened_out", "failed_practice", "failed_checks",
    "full", "wrong_device", "timed_out", "returned",
)  # fmt: skip
PERSON = """
    select p.id, p.pseudonym, p.state, p.outcome, p.language, v.no as version, c.key as condition,
           coalesce(p.promised, p.quota) as promised,
           (select count(*) from vote where participant_id = p.id) as votes,
           (select count(*) from vote where participant_id = p.id and counted) as counted
      from participant p left join version v on v.id = p.version_id
      left join condition c on c.id = p.condition_id
     where p.study_id = %s and p.pseudonym = %s and not p.preview and p.state <> 'withdrawn'"""


@needs("watch")
def people_page(desk: DeskRequest) -> Response:
    """Some people after a pseudonym, of one way out or of all."""
    query = desk.request.query_params
    outcome = query.get("outcome", "")
    listed = people(
        desk.connection, desk.study_id, after=query.get("after", "")[:LONGEST],
        outcome=outcome if outcome in OUTCOMES else None,
    )  # fmt: skip
    context = {"listed": listed, "outcomes": OUTCOMES, "outcome": outcome}
    return page(desk, "people", context)


@needs("watch")
def person_page(desk: DeskRequest) -> Response:
    """What one of them did when."""
    person = _person(desk)
    entries = timeline(desk.connection, desk.study_id, person["pseudonym"])
    return page(desk, "person", {"person": person, "entries": entries})


@needs("watch")
def take_out(desk: DeskRequest) -> Response:
    """Their votes no longer count; their seats are open again."""
    person = _person(desk)
    reason = desk.form.text("reason", 200)
    if len(reason) < 5:
        raise Invalid("Say in some words why the votes are taken out.")
    identity: UUID = person["id"]
    row = desk.row("select desk_take_out(%s, %s, %s) as n", identity, desk.staff.id, reason)
    taken = 0 if row is None else row["n"]
    return onward(desk, _home(desk, person), f"{taken} votes no longer count.")


@needs("watch")
def quota(desk: DeskRequest) -> Response:
    """How many items they are asked for."""
    person = _person(desk)
    items = desk.form.whole("items", 0, 100_000)
    row = desk.row("select desk_promise(%s, %s) as done", person["id"], items)
    if row is None or not row["done"]:
        raise Invalid("They have left, or so many items are not free.")
    desk.log("items changed", {"items": items, "were": person["promised"]}, person=person["id"])
    return onward(desk, _home(desk, person), f"They are asked for {items} items.")


def _person(desk: DeskRequest) -> dict[str, Any]:
    record = desk.row(PERSON, desk.study_id, str(desk.request.path_params["pseudonym"])[:LONGEST])
    if record is None:
        raise NotHere
    return record


def _home(desk: DeskRequest, person: dict[str, Any]) -> str:
    return f"/studies/{desk.slug}/people/{person['pseudonym']}"


ROUTES = [
    Route("/studies/{slug}/people", people_page),
    Route("/studies/{slug}/people/{pseudonym}", person_page),
    Route("/studies/{slug}/people/{pseudonym}/take-out", take_out, methods=["POST"]),
    Route("/studies/{slug}/people/{pseudonym}/quota", quota, methods=["POST"]),
]
