"""From an address or a code to a person of the study, and to a session of theirs."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from starlette.responses import RedirectResponse, Response

from theodolite.errors import EvidenceError, RefusedInput
from theodolite_study import sessions
from theodolite_study.admission import by_invitation, first_time
from theodolite_study.participants import Arrival, arrive
from theodolite_study.people import Participant
from theodolite_study.platforms import mturk, prolific
from theodolite_study.platforms.identity import Identity, Preview, visitor
from theodolite_study.platforms.prolific_keys import KeysUnavailable
from theodolite_study.visits import is_person
from theodolite_study.web import cookies
from theodolite_study.web.asking import Refused
from theodolite_study.web.site import Site, Visitor

INVITATION = "code"
USED = "This link was used before. Open the study again from Prolific's page."
HARMLESS = ("landed", "declined")
"""States in which nothing was answered yet: nobody needs to prove that they are the same."""


class KnownElsewhere(Exception):
    """Somebody of that name began already, and nobody vouches that it is the same person."""


@dataclass(frozen=True)
class Platform:
    """What the parts of an address say."""

    identity: Identity
    token: prolific.SignedArrival | None = None


def names_somebody(site: Site, parameters: Mapping[str, str]) -> bool:
    """Whether an address says who comes."""
    asked = {
        "prolific": (prolific.TOKEN, prolific.PERSON),
        "mturk": ("assignmentId", "workerId"),
        "invite": (INVITATION,),
    }
    return any(name in parameters for name in asked.get(site.protocol.access.kind, ()))


def from_address(site: Site, parameters: Mapping[str, str]) -> Platform | Preview:
    """Who comes, as far as the platform says it."""
    kind = site.protocol.access.kind
    try:
        if kind == "mturk":
            found = mturk.arrival(parameters)
            return found if isinstance(found, Preview) else Platform(found)
        if kind == "invite":
            code = parameters.get(INVITATION, "")
            return Platform(by_invitation(site.database, site.protocol.slug, code))
        return _from_prolific(site, parameters)
    except KeysUnavailable as error:
        raise Refused(503, f"Prolific gives no answer now. {error.do}", 60) from error
    except RefusedInput as error:
        raise Refused(400, _sentence(error)) from error


def _from_prolific(site: Site, parameters: Mapping[str, str]) -> Platform:
    access = site.protocol.access
    if not access.signed:
        return Platform(prolific.unsigned_arrival(parameters))
    expected = prolific.Expected(f"{site.settings.public_origin}{site.home}", access.audience)
    token = parameters.get(prolific.TOKEN, "")
    signed = prolific.signed_arrival(token, expected, site.signing_keys, time.time())
    return Platform(signed.identity, signed)


def _sentence(error: EvidenceError) -> str:
    return f"This link cannot be used: {error.came}. {error.do}".strip()


def admitted(site: Site, asking: Visitor, found: Platform) -> Participant:
    """The person, new or known. Who only claims to be somebody known has to show a code."""
    arrival = arrive(site.database, site.protocol.slug, found.identity, site.keys)
    who = arrival.participant
    same = asking.participant is not None and asking.participant.id == who.id
    if found.token is not None:
        new = first_time(site.database, found.token.token_digest, found.token.expires)
        if not new and not same:
            raise Refused(
                403, "This link was used before. Open the study again from Prolific's page."
            )
    elif not same and _needs_code(found.identity, arrival):
        raise KnownElsewhere
    elif not same and not arrival.new and found.identity.platform != "invite":
        # somebody else may have come under this name before, to be there when the person agrees
        sessions.end_all(site.database, participant_id=who.id)
    return who


def somebody_else(site: Site, asking: Visitor, found: Platform) -> bool:
    """Whether an address names another person than the one whom this browser belongs to."""
    if asking.participant is None:
        return False
    named = site.keys.person(
        site.protocol.slug, found.identity.platform, found.identity.platform_id
    )
    return not is_person(site.database, asking.participant.id, named)


def _needs_code(identity: Identity, arrival: Arrival) -> bool:
    if identity.platform == "invite":
        return False  # the code itself is the secret
    return not arrival.new and arrival.participant.state not in HARMLESS


def begun(site: Site) -> Participant:
    """Somebody who begins by the open link."""
    return arrive(site.database, site.protocol.slug, visitor(), site.keys).participant


def welcome(site: Site, asking: Visitor, participant_id: UUID, address: str) -> Response:
    """A new session; what the browser had before holds no longer."""
    token = sessions.begin(site.database, participant_id=participant_id)
    if asking.token:
        sessions.end(site.database, asking.token)
    response = RedirectResponse(address, 303)
    cookies.keep_session(response, token)
    return response
