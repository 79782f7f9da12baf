"""Identify who opens the first page, and keep it encrypted in a cookie until they begin."""

import base64
import binascii
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_study.keys import Keys
from theodolite_study.model.admission import Access
from theodolite_study.money.platform_link import digest_submission
from theodolite_study.platforms import invitations, mturk, prolific
from theodolite_study.platforms.participant_identity import (
    ParticipantIdentity,
    PreviewVisitor,
    make_anonymous_identity,
)
from theodolite_study.platforms.prolific_keys import KeysUnavailableError, SigningKeys
from theodolite_study.readable_codes import digest_code
from theodolite_study.refusals import Refused

INVITATION = "code"
ID_PARAMETERS = {
    "prolific": (prolific.TOKEN, prolific.PERSON),
    "mturk": ("assignmentId", "workerId"),
    "invite": (INVITATION,),
}
"""Address parameters that identify a participant, by kind of access."""
MAX_ARRIVAL_SECONDS = 3600
"""Maximum seconds from opening a link to beginning the study."""
MAX_COOKIE_CHARACTERS = 2000


@dataclass(frozen=True)
class Arrival:
    """Person who opened the first page, as far as the link identifies them."""

    identity: ParticipantIdentity
    link: bytes | None = field(default=None, repr=False)
    """Digest of the signed token by which they came, so that a copy is refused."""
    until: float = 0.0
    """Time after which the digest may be forgotten."""

    @property
    def vouched(self) -> bool:
        """Whether somebody vouches for the identity, which an address alone does not."""
        return self.identity.signed or self.identity.platform in ("link", invitations.PLATFORM)

    def sealed(self, keys: Keys, slug: str) -> str:
        """Encrypt the arrival for a cookie."""
        who = self.identity
        parts = [who.platform, who.platform_id, who.study_id, who.session_id, who.signed,
                 self.link.hex() if self.link else None, self.until]  # fmt: skip
        plain = keys.encrypt(json.dumps(parts), _get_purpose(slug))
        return base64.urlsafe_b64encode(plain).decode()

    def values(self, keys: Keys, slug: str) -> dict[str, object]:
        """Return what the database stores: no id that it could read."""
        who = self.identity
        names = (slug, who.platform, who.platform_id)
        paid = who.platform in (prolific.PLATFORM, mturk.PLATFORM)
        session = who.session_id if paid else None
        return {
            "platform_": who.platform, "person_": keys.digest_person(*names),
            "bar": keys.digest_barred_person(*names),
            "sealed": keys.encrypt(who.platform_id, slug) if paid else None,
            "submission_": keys.encrypt(session, slug) if session else None,
            "submission_digest_": digest_submission(keys, session) if session else None,
            "link_": self.link,
            "link_until": datetime.fromtimestamp(self.until, timezone.utc) if self.link else None,
            "vouched_": self.vouched,
            "invite_": bytes.fromhex(who.platform_id)
            if who.platform == invitations.PLATFORM else None,
        }  # fmt: skip


def decrypt_arrival(keys: Keys, slug: str, cookie: str) -> Arrival | None:
    """Decrypt the arrival in a cookie; None if it is old, of another study or not ours."""
    try:
        sealed = base64.urlsafe_b64decode(cookie.encode())
        parts = json.loads(keys.decrypt(sealed, _get_purpose(slug)))
    except (EvidenceError, ValueError, binascii.Error):
        return None
    platform, person, study, session, signed, link, until = parts
    if until < time.time():
        return None
    identity = ParticipantIdentity(platform, person, study, session, signed)
    return Arrival(identity, bytes.fromhex(link) if link else None, until)


def _get_purpose(slug: str) -> str:
    return f"{slug}/arrival"


def has_identity(access: Access, parameters: Mapping[str, str]) -> bool:
    """Return whether an address identifies a participant."""
    return any(name in parameters for name in ID_PARAMETERS.get(access.kind, ()))


def arrive_by_link() -> Arrival:
    """Return the arrival of a person who used the open link."""
    return Arrival(make_anonymous_identity())


def arrive_by_invitation(code: str) -> Arrival:
    """Return the arrival of a person with an invitation code, which the database checks."""
    return Arrival(
        invitations.make_identity(digest_code(code[:200])), until=time.time() + MAX_ARRIVAL_SECONDS
    )


def arrive_from_address(
    access: Access, parameters: Mapping[str, str], address: str, keys: SigningKeys
) -> Arrival | PreviewVisitor:
    """Identify the person by the parameters that the platform added to the address."""
    until = time.time() + MAX_ARRIVAL_SECONDS
    try:
        if access.kind == "mturk":
            identity = mturk.identify_worker(parameters)
            return (
                identity if isinstance(identity, PreviewVisitor) else Arrival(identity, until=until)
            )
        if access.kind == "invite":
            return arrive_by_invitation(parameters.get(INVITATION, ""))
        if not access.signed:
            return Arrival(prolific.read_unsigned_arrival(parameters), until=until)
        signed = prolific.verify_arrival(
            parameters.get(prolific.TOKEN, ""), prolific.ExpectedAudience(address, access.audience),
            keys, time.time(),
        )  # fmt: skip
    except KeysUnavailableError as error:
        raise Refused(503, f"Prolific gives no answer now. {error.hint}", 60) from error
    except UnsafeInputError as error:
        raise Refused(
            400, f"This link cannot be used: {error.got}. {error.hint}".strip()
        ) from error
    # remembered as long as the cookie lasts: a copy that comes later is known
    return Arrival(signed.identity, signed.token_digest, max(until, signed.expires.timestamp()))
