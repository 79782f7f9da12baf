"""Open a version for participants, and change the state of a study.

Opening freezes the version and creates its seats (votes to collect) and places (participants with a
condition). Each function works within the caller's transaction.
"""

import hashlib
from collections.abc import Collection, Iterator, Sequence
from random import Random
from typing import Any, Literal, TypeAlias
from uuid import UUID

from psycopg import Connection
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from theodolite_study.planning.rating_plan import PlannedExplanation, plan_ratings
from theodolite_study.refusals import Invalid, NotHere, WrongStage

Row: TypeAlias = dict[str, Any]
MAX_PLACES = 20_000
BLOCK_REPEATS = 2
"""Times that a block of places contains each condition per unit of its weight."""
PANEL_ROWS_PER_ROUND = 10_000
"""First panel row of each further round is a multiple of this; as in st_activate."""
ALLOWED_FROM = {
    "open": ("paused",),
    "paused": ("open",),
    "closed": ("open", "paused"),
    "archived": ("closed", "draft"),
}
STUDY_BECAME, VERSION_BECAME = 20, 21
UNSETTLED = ("owed", "sending", "failed")


def open_version(
    connection: Connection[Any], version: int, *, state: Literal["open", "pilot"] = "open",
    seats: Literal["continue", "new round"] = "continue", places: int | None = None,
    staff: int | None = None,
) -> None:  # fmt: skip
    """Open a version for participants, in place of any other of its study.

    A pilot that is kept is the same version, opened after it; one that is discarded is followed by
    another version with a new round, and its votes stay out of the export's tables.

    Args:
        connection: The caller's transaction.
        version: A draft, or the study's pilot.
        state: Open, or open as a pilot.
        seats: ``continue`` fills the seats that are still open in the study's last round, so that
            each explanation has exactly n votes across its versions; ``new round`` makes n new
            ones for each. A study's first version begins round 1 in both cases.
        places: How many people may give votes; None: as many as there are seats.
        staff: Whose deed it is, for the log.
    """
    row = _lock_version(connection, version)
    if row["state"] not in ("draft", "pilot") or (row["state"] == "pilot" and state == "pilot"):
        raise WrongStage(f"Version {row['no']} is {row['state']}.")
    if row["study_state"] in ("closed", "archived"):
        raise WrongStage(f"The study is {row['study_state']}.")
    unfilled = row["settings"].get("unfilled")
    if unfilled:
        raise WrongStage(f"The consent form is not complete. study.yaml: {', '.join(unfilled)}.")
    earlier = _finish_earlier(connection, row)
    again = row["state"] == "pilot"
    last = _get_last_round(connection, row["study_id"])
    if again and seats != "continue":
        raise WrongStage("A pilot that is discarded is followed by a copy of it.")
    round_ = row["round"] if again else max(last + (seats == "new round" or last == 0), 1)
    if not again:
        # nobody can be promised more explanations than there are
        connection.execute(
            "update version v set round = %s, quota = least(quota, greatest(1, (select count(*)"
            " from instance where study_id = v.study_id and kind = 'real'))) where id = %s",
            (round_, version),
        )
        connection.execute(
            "update version set digest = %s where id = %s",
            (digest_version(connection, version), version),
        )
    row |= {"round": round_, "conditions": _load_conditions(connection, version, round_, row)}
    _create_seats(connection, row)
    connection.execute(
        "update version set state = %s, pilot = %s, opened_at = coalesce(opened_at,"
        " clock_timestamp()) where id = %s",
        (state, state == "pilot", version),
    )
    _add_places(connection, row, places)
    _move_door(connection, row)
    connection.execute(
        "update study set state = case state when 'draft' then 'open' else state end,"
        " opened_at = coalesce(opened_at, clock_timestamp()) where id = %s",
        (row["study_id"],),
    )
    for number, became in [*((number, "finishing") for number in earlier), (version, state)]:
        _log(connection, row["study_id"], VERSION_BECAME, staff, {"state": became}, number)


def digest_version(connection: Connection[Any], version: int) -> bytes:
    """Return the SHA-256 of everything that a version asks, tells, pays and shows."""
    parts = " union all ".join(
        f"select '{table}' || jsonb_agg(to_jsonb(t) - array['id', 'version_id'] order by"  # noqa: S608  names of ours
        f" {order})::text from {table} t where version_id = %(v)s"
        for table, order in [
            ("wording", "key, language"), ("consent_text", "language"), ("condition", "key"),
            ("outcome", "key"),
        ]
    )  # fmt: skip
    own = (
        "select (to_jsonb(v) - array['id', 'study_id', 'state', 'digest', 'edited_no', 'opened_at',"
        " 'closed_at', 'least_items', 'pilot'])::text from version v where id = %(v)s"
    )
    digest = hashlib.sha256()
    for (text,) in connection.execute(f"{own} union all {parts}", {"v": version}).fetchall():
        digest.update((text or "").encode() + b"\0")
    return digest.digest()


def start_last_call(
    connection: Connection[Any], version: int, least_items: int, *, staff: int | None = None
) -> None:
    """Admit participants for fewer items, so that the last seats are filled."""
    row = _lock_version(connection, version)
    if not 1 <= least_items < row["least_items"]:
        raise Invalid(f"A last call is below {row['least_items']} items, and at least 1.")
    connection.execute("update version set least_items = %s where id = %s", (least_items, version))
    _log(connection, row["study_id"], VERSION_BECAME, staff, {"least_items": least_items}, version)


def set_study_state(
    connection: Connection[Any], study: UUID, state: str, staff: int | None = None, *,
    void: Collection[UUID] = (),
) -> None:  # fmt: skip
    """Resume, pause, close or archive a study.

    Closing deletes the platform's ids and the fingerprints of who declined, for good. Payments
    must be settled before.

    Args:
        connection: The caller's transaction.
        study: Which one.
        state: What it becomes.
        staff: Whose deed it is, for the log.
        void: On closing: payments that will not be made.
    """
    if state not in ALLOWED_FROM:
        raise Invalid(f"{state!r} is not one of {', '.join(ALLOWED_FROM)}.")
    _lock_study(connection, study)
    row = connection.execute("select state from study where id = %s", (study,)).fetchone()
    if row is None:
        raise NotHere("There is no such study.")
    if row[0] == state:
        return
    if row[0] not in ALLOWED_FROM[state]:
        raise WrongStage(f"The study is {row[0]}: it cannot become {state}.")
    if state == "closed":
        _close(connection, study, void)
    connection.execute(
        "update study set state = %s, closed_at = case %s when 'closed' then clock_timestamp()"
        " else closed_at end where id = %s",
        (state, state, study),
    )
    _log(connection, study, STUDY_BECAME, staff, {"state": state, "void": len(void)}, None)


def _close(connection: Connection[Any], study: UUID, void: Collection[UUID]) -> None:
    # what people inside are owed is owed before the study closes
    connection.execute("select desk_let_go(%s)", (study,))
    connection.execute(
        "update payout set state = 'void' where study_id = %s and id = any(%s)"
        " and state in ('owed', 'failed')",
        (study, list(void)),
    )
    (unsettled,) = connection.execute(
        "select count(*) from payout where study_id = %s and state = any(%s)",
        (study, list(UNSETTLED)),
    ).fetchone() or (0,)
    if unsettled:
        raise WrongStage(
            f"{unsettled} payments are not settled, those to people who are still inside among"
            " them: pause the study, let people finish, pay, or void payments by name."
        )
    for statement in (
        "update participant set sealed_id = null, submission = null, submission_digest = null"
        " where study_id = %s",
        "update payout set sealed_submission = null where study_id = %s",
        "delete from declined where study_id = %s",
        "update version set state = 'closed', closed_at = clock_timestamp() where study_id = %s"
        " and state <> 'draft'",
    ):
        connection.execute(statement, (study,))


def _lock_study(connection: Connection[Any], study: UUID) -> None:
    """Wait until running requests of participants end: their steps hold the same lock, shared."""
    connection.execute(
        "select pg_advisory_xact_lock(hashtextextended(%s::text, 7203003))", (study,)
    )


def _lock_version(connection: Connection[Any], version: int) -> Row:
    with connection.cursor(row_factory=dict_row) as cursor:
        study = cursor.execute("select study_id from version where id = %s", (version,)).fetchone()
        if study is None:
            raise NotHere("There is no such version.")
        _lock_study(connection, study["study_id"])
        row = cursor.execute(
            "select v.*, s.state as study_state from version v join study s on s.id = v.study_id"
            " where v.id = %s for update of v",
            (version,),
        ).fetchone()
    return row or {}


def _finish_earlier(connection: Connection[Any], row: Row) -> list[int]:
    """Stop earlier versions from admitting people, and return their ids; participants inside
    continue."""
    return [
        number
        for (number,) in connection.execute(
            "update version set state = 'finishing' where study_id = %s and id <> %s"
            " and state in ('pilot', 'open') returning id",
            (row["study_id"], row["id"]),
        ).fetchall()
    ]


def _get_last_round(connection: Connection[Any], study: UUID) -> int:
    (last,) = connection.execute(
        "select coalesce(max(round), 0) from version where study_id = %s and state <> 'draft'",
        (study,),
    ).fetchone() or (0,)
    return int(last)


def _load_conditions(
    connection: Connection[Any], version: int, round_: int, row: Row
) -> list[tuple[int, int]]:
    """Return ids and weights of the conditions. If votes are counted per condition, a round that
    continues keeps the rows of its first version, which its seats refer to."""
    own = connection.execute(
        "select key, weight, id from condition where version_id = %s order by key", (version,)
    ).fetchall()
    if not _counts_by_condition(row):
        return [(number, weight) for _, weight, number in own]
    if not own:
        raise Invalid("Votes for each condition need conditions.")
    first = connection.execute(
        "select key, weight, id from condition where version_id = (select id from version"
        " where study_id = %s and round = %s and (state <> 'draft' or id = %s)"
        " order by no limit 1) order by key",
        (row["study_id"], round_, version),
    ).fetchall()
    if [condition[:2] for condition in first] != [condition[:2] for condition in own]:
        raise WrongStage("Other conditions need a new round: seats of this one name the old ones.")
    return [(number, weight) for _, weight, number in first]


def _counts_by_condition(row: Row) -> bool:
    return bool(row["settings"].get("votes_per") == "explanation_and_condition")


def _create_seats(connection: Connection[Any], row: Row) -> None:
    """Create n seats for each rated explanation, including those that exist."""
    study, round_, votes = row["study_id"], row["round"], row["n_votes"]
    (most,) = connection.execute(
        "select coalesce(max(slot_no), 0) from slot where study_id = %s and round = %s",
        (study, round_),
    ).fetchone() or (0,)
    if most > votes:
        raise WrongStage(f"This round has {most} votes an explanation: fewer need a new round.")
    conditions = (
        [number for number, _ in row["conditions"]] if _counts_by_condition(row) else [None]
    )
    for condition in conditions:
        connection.execute(
            "insert into slot (study_id, instance_id, round, condition_id, slot_no, rnd)"
            " select study_id, id, %s, %s, n, random() from instance, generate_series(1, %s) n"
            " where study_id = %s and kind = 'real' on conflict on constraint slot_seat_key"
            " do nothing",
            (round_, condition, votes, study),
        )
    if row["settings"].get("design") == "planned" and most == 0:
        _reserve_seats(connection, row)


def _reserve_seats(connection: Connection[Any], row: Row) -> None:
    """Reserve the seats of a planned design for the participants of a panel, in order."""
    settings = row["settings"]
    if _counts_by_condition(row):
        raise Invalid("A planned design has no votes for each condition.")
    real = connection.execute(
        "select key, image_key, technique from instance where study_id = %s and kind = 'real'"
        " order by place",
        (row["study_id"],),
    ).fetchall()
    plan = plan_ratings(
        [PlannedExplanation(*instance) for instance in real], votes=row["n_votes"],
        panel=settings.get("panel") or 0, quota=row["quota"],
        gap=settings.get("same_image_gap") or 0, most=settings.get("same_image_most"),
        seed=settings.get("seed") or 0,
    ).table()  # fmt: skip
    taken: dict[str, int] = {}
    cells = []
    for person, position, key in zip(plan["row"], plan["position"], plan["instance"], strict=True):
        taken[key] = taken.get(key, 0) + 1
        number = int(person) + (row["round"] - 1) * PANEL_ROWS_PER_ROUND
        cells.append((number, int(position), row["study_id"], key, row["round"], taken[key]))
    with connection.cursor() as cursor:
        cursor.executemany(
            "update slot s set reserved_for = %s, planned_position = %s from instance i"
            " where i.id = s.instance_id and i.study_id = %s and i.key = %s and s.round = %s"
            " and s.slot_no = %s",
            cells,
        )


def _add_places(connection: Connection[Any], row: Row, places: int | None) -> None:
    """Create places in blocks, so that conditions stay balanced at every moment."""
    there, open_seats = connection.execute(
        "select (select count(*) from place where version_id = %s), (select count(*) from slot"
        " where study_id = %s and round = %s and state <> 'filled')",
        (row["id"], row["study_id"], row["round"]),
    ).fetchone() or (0, 0)
    target = min(there + open_seats, MAX_PLACES) if places is None else places
    order = iterate_condition_order(row["conditions"], _digest(connection, row["id"]), target)
    with (
        connection.cursor() as cursor,
        cursor.copy("copy place (version_id, no, condition_id) from stdin") as copy,
    ):
        for number, condition in enumerate(order, start=1):
            if number > there:
                copy.write_row((row["id"], number, condition))


def iterate_condition_order(
    conditions: Sequence[tuple[int, int]], seed: bytes, places: int
) -> Iterator[int | None]:
    """Yield the condition of each place: permuted blocks with every condition by weight.

    Args:
        conditions: Ids and weights.
        seed: Another one gives another order.
        places: How many.
    """
    block: list[int | None] = [
        number for number, weight in conditions for _ in range(weight * BLOCK_REPEATS)
    ] or [None]
    for first in range(0, places, len(block)):
        shuffled = list(block)
        Random(seed + first.to_bytes(8, "big")).shuffle(shuffled)  # noqa: S311  balance, no secret
        yield from shuffled[: places - first]


def _digest(connection: Connection[Any], version: int) -> bytes:
    (digest,) = connection.execute(
        "select digest from version where id = %s", (version,)
    ).fetchone() or (b"",)
    return bytes(digest)


def _move_door(connection: Connection[Any], row: Row) -> None:
    """Let the round admit people only to the version that is open."""
    connection.execute(
        "delete from door where version_id in (select id from version where study_id = %s"
        " and round = %s)",
        (row["study_id"], row["round"]),
    )
    connection.execute(
        "insert into door (version_id, available) values (%s, st_available(%s))",
        (row["id"], row["id"]),
    )


def _log(
    connection: Connection[Any], study: UUID, kind: int, staff: int | None, detail: Row,
    thing: int | None,
) -> None:  # fmt: skip
    connection.execute(
        "insert into log (study_id, staff_id, kind, object, detail) values (%s, %s, %s, %s, %s)",
        (study, staff, kind, thing, Jsonb(detail)),
    )
