"""People come, agree, tell a little about themselves, and finish."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

from sqlalchemy import Connection, func, insert, select, text, update
from sqlalchemy.dialects.postgresql import insert as insert_or_not

from theodolite_study import tables
from theodolite_study.admission import barred
from theodolite_study.assignments import give_back
from theodolite_study.claims import live_item, something_left
from theodolite_study.database import Database
from theodolite_study.events import log
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import OVER, lift
from theodolite_study.people import Participant, Present, held, present
from theodolite_study.platforms.identity import Identity
from theodolite_study.refusals import Invalid, NotHere, NotOpen, WrongStage
from theodolite_study.rows import Found

AGE_BANDS = ("18–24", "25–34", "35–44", "45–54", "55–64", "65 or older")
GENDERS = ("woman", "man", "another")
PREVIEW = "preview"


@dataclass(frozen=True)
class Arrival:
    """Who came, and whether for the first time."""

    participant: Participant
    new: bool


def arrive(database: Database, slug: str, identity: Identity, keys: Keys) -> Arrival:
    """A person from a platform; the same id is the same person. Ids are kept sealed only."""
    with database.transaction() as connection:
        named = tables.study.c.slug == slug
        connection.execute(select(held(tables.study.c.id)).where(named))
        study = connection.execute(select(tables.study).where(named)).one_or_none()
        if study is None:
            raise NotHere
        preview = identity.platform == PREVIEW
        person = keys.person(slug, identity.platform, identity.platform_id)
        known = (
            tables.participant.c.study_id == study.id,
            tables.participant.c.platform == identity.platform,
            tables.participant.c.person == person,
        )
        found = connection.execute(select(tables.participant.c.id).where(*known)).scalar()
        if found is None and study.state != "open" and not preview:
            raise NotOpen("This study takes no new people now.")
        bar = keys.bar(slug, identity.platform, identity.platform_id)
        if found is None and barred(connection, study.id, bar):
            raise NotOpen("You have left this study, and cannot take part in it again.")
        new = found is None and _added(connection, study, identity, keys, person)
        found = found or connection.execute(select(tables.participant.c.id).where(*known)).scalar()
        assert found is not None  # noqa: S101  # added just now, or by a second click
        return Arrival(present(connection, found).participant, new)


def _added(
    connection: Connection, study: Found, identity: Identity, keys: Keys, person: bytes
) -> bool:
    preview = identity.platform == PREVIEW
    values = {
        "id": uuid4(),
        "study_id": study.id,
        "platform": identity.platform,
        "person": person,
        "sealed_id": None if preview else keys.sealed(identity.platform_id, study.slug),
        "pseudonym": f"p{secrets.token_hex(5)}",
        "quota": study.quota,
        "preview": preview,
        "bar_token": keys.bar(study.slug, identity.platform, identity.platform_id),
    }
    added = connection.execute(
        insert_or_not(tables.participant)
        .values(values)
        .on_conflict_do_nothing(constraint="participant_study_id_platform_person_key")
        .returning(tables.participant.c.id)
    ).scalar()
    if added is None:
        return False
    log(connection, values["study_id"], str(added), "arrived")
    return True


def participant(database: Database, participant_id: UUID) -> Participant:
    """One person."""
    return here(database, participant_id).participant


def here(database: Database, participant_id: UUID) -> Present:
    """One person and the study around them."""
    with database.transaction() as connection:
        return present(connection, participant_id)


def consent(database: Database, participant_id: UUID, keys: Keys) -> None:
    """The person agrees to the form as it is. Agreeing twice is agreeing once."""
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        if who.participant.state != "landed":
            _stop_if_gone(who)
            return
        who.need("open")
        connection.execute(
            insert(tables.consent).values(
                participant_id=participant_id, form_sha256=who.protocol.consent_digest()
            )
        )
        code = keys.withdrawal_code(participant_id)
        _become(connection, who, "consented", withdrawal_sha256=keys.code_digest(code))


def decline(database: Database, participant_id: UUID) -> None:
    """The person does not agree: nothing more is asked."""
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        if who.participant.state == "declined":
            return
        if who.participant.state != "landed":
            raise WrongStage("You have agreed already. You can withdraw at any time.")
        _become(connection, who, "declined", sealed_id=None)


def describe_oneself(
    database: Database, participant_id: UUID, about: Mapping[str, str | None]
) -> None:
    """Age group, gender, country: each may be left out. Then practice, or the study itself."""
    checked = {
        "age_band": _known(about.get("age_band"), AGE_BANDS),
        "gender": _known(about.get("gender"), GENDERS),
        "country": _country(about.get("country")),
    }
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        if who.participant.state != "consented":
            _stop_if_gone(who)
            if who.participant.state == "landed":
                raise WrongStage("Please read the form and agree first.")
            return
        who.need("open")
        if any(checked.values()):
            connection.execute(
                insert(tables.demographic).values(participant_id=participant_id, **checked)
            )
        practice = connection.execute(
            select(func.count()).where(
                tables.instance.c.study_id == who.participant.study_id,
                tables.instance.c.kind == "training",
            )
        ).scalar()
        if practice:
            _become(connection, who, "training")
        else:
            activate(connection, who)


def activate(connection: Connection, who: Present) -> None:
    """The person may now rate. In a planned study they get the next free place of the panel."""
    row = None
    if who.protocol.design == "planned" and not who.participant.preview:
        study_id = who.participant.study_id
        connection.execute(
            text("select pg_advisory_xact_lock(hashtextextended(:study, 0))"),
            {"study": str(study_id)},
        )
        taken = set(
            connection.execute(
                select(tables.participant.c.design_row).where(
                    tables.participant.c.study_id == study_id,
                    tables.participant.c.design_row.is_not(None),
                )
            ).scalars()
        )
        row = next((r for r in range(1, (who.protocol.panel or 0) + 1) if r not in taken), None)
        if row is None:
            raise NotOpen("All places of this study are taken. Thank you for your interest.")
    _become(connection, who, "active", design_row=row)


def finish(database: Database, participant_id: UUID) -> None:
    """The person is done: there is nothing that they could begin now, or the study is over.

    Pictures that others look at just now do not keep anybody waiting.
    """
    with database.transaction() as connection:
        who = present(connection, participant_id, lock=True)
        if who.participant.state == "finished":
            return
        if who.participant.state != "active":
            raise WrongStage("There is more to do before the end.")
        live = live_item(connection, who)
        if live is not None and who.study_state not in OVER:
            raise WrongStage("One picture is still waiting for your answers.")
        if live is not None:
            give_back(connection, who, live, "the study is over")
        elif who.study_state not in OVER and something_left(connection, who):
            who.need("open")
            raise WrongStage("There is more to do before the end.")
        if who.participant.design_row is not None:
            lift(connection, who.participant.study_id, who.participant.design_row)
        _become(connection, who, "finished", finished_at=func.clock_timestamp())


def screen_out(connection: Connection, who: Present, why: str) -> None:
    """The person does not go on. What they gave stays; whether it is used is decided later.

    In a planned study their place is free for somebody else.
    """
    _become(connection, who, "screened_out", design_row=None)
    log(connection, who.participant.study_id, str(who.participant.id), "screened out", why)


def by_withdrawal_code(database: Database, code: str, keys: Keys) -> UUID:
    """Whose code it is."""
    with database.transaction() as connection:
        found: UUID | None = connection.execute(
            select(tables.participant.c.id).where(
                tables.participant.c.withdrawal_sha256 == keys.code_digest(code)
            )
        ).scalar()
    if found is None:
        raise NotHere("There is no such code. Please check each letter.")
    return found


def by_pseudonym(database: Database, slug: str, pseudonym: str) -> UUID:
    """Whose pseudonym it is, in one study."""
    with database.transaction() as connection:
        found: UUID | None = connection.execute(
            select(tables.participant.c.id)
            .join(tables.study, tables.study.c.id == tables.participant.c.study_id)
            .where(tables.study.c.slug == slug, tables.participant.c.pseudonym == pseudonym)
        ).scalar()
    if found is None:
        raise NotHere("There is nobody of that name in this study.")
    return found


def _become(connection: Connection, who: Present, state: str, **further: object) -> None:
    connection.execute(
        update(tables.participant)
        .where(tables.participant.c.id == who.participant.id)
        .values(state=state, **further)
    )
    log(connection, who.participant.study_id, str(who.participant.id), "became", state)


def _stop_if_gone(who: Present) -> None:
    if who.participant.state in {"withdrawn", "declined", "screened_out"}:
        raise WrongStage("You are not taking part in this study any more.")


def _known(given: str | None, allowed: tuple[str, ...]) -> str | None:
    if given in (None, ""):
        return None
    if given not in allowed:
        raise Invalid("Please choose one of the answers, or none.")
    return given


def _country(given: str | None) -> str | None:
    if given in (None, ""):
        return None
    assert given is not None  # noqa: S101
    if len(given) != 2 or not given.isascii() or not given.isalpha():
        raise Invalid("Please choose a country from the list, or none.")
    return given.upper()
