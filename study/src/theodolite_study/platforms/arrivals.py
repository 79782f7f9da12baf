"""Identify who opens the first page, and keep it encrypted in a cookie until they begin."""

import base64
import binascii
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_study.codes import code_digest
from theodolite_study.keys import Keys
from theodolite_study.model.door import Access
from theodolite_study.money.submission import submission_digest
from theodolite_study.platforms import invites, mturk, prolific
from theodolite_study.platforms.identity import Identity, Preview, visitor
from theodolite_study.platforms.prolific_keys import KeysUnavailableError, SigningKeys
from theodolite_study.refusals import Refused

INVITATION = "code"
NAMES = {
    "prolific": (prolific.TOKEN, prolific.PERSON),
    "mturk": ("assignmentId", "workerId"),
    "invite": (INVITATION,),
}
"""Address parameters that identify a participant, by kind of access."""
LONGEST = 3600
"""Maximum seconds from opening a link to beginning the study."""
MOST_LETTERS = 2000


@dataclass(frozen=True)
class Arrival:
    """Person who opened the first page, as far as the link identifies them."""

    identity: Identity
    link: bytes | None = field(default=None, repr=False)
    """Digest of the signed token by which they came, so that a copy is refused."""
    until: float = 0.0
    """Time after which the digest may be forgotten."""

    @property
    def vouched(self) -> bool:
        """Whether somebody vouches for the identity, which an address alone does not."""
        return self.identity.signed or self.identity.platform in ("link", invites.PLATFORM)

    def sealed(self, keys: Keys, slug: str) -> str:
        """Encrypt the arrival for a cookie."""
        who = self.identity
        parts = [who.platform, who.platform_id, who.study_id, who.session_id, who.signed,
                 self.link.hex() if self.link else None, self.until]  # fmt: skip
        plain = keys.sealed(json.dumps(parts), _bound(slug))
        return base64.urlsafe_b64encode(plain).decode()

    def values(self, keys: Keys, slug: str) -> dict[str, object]:
        """Return what the database stores: no id that it could read."""
        who = self.identity
        names = (slug, who.platform, who.platform_id)
        paid = who.platform in (prolific.PLATFORM, mturk.PLATFORM)
        session = who.session_id if paid else None
        return {
            "platform_": who.platform, "person_": keys.person(*names), "bar": keys.bar(*names),
            "sealed": keys.sealed(who.platform_id, slug) if paid else None,
            "submission_": keys.sealed(session, slug) if session else None,
            "submission_digest_": submission_digest(keys, session) if session else None,
            "link_": self.link,
            "link_until": datetime.fromtimestamp(self.until, timezone.utc) if self.link else None,
            "vouched_": self.vouched,
            "invite_": bytes.fromhex(who.platform_id)
            if who.platform == invites.PLATFORM else None,
        }  # fmt: skip


def opened(keys: Keys, slug: str, cookie: str) -> Arrival | None:
    """Decrypt the arrival in a cookie; None if it is old, of another study or not ours."""
    try:
        sealed = base64.urlsafe_b64decode(cookie.encode())
        parts = json.loads(keys.opened(sealed, _bound(slug)))
    except (EvidenceError, ValueError, binascii.Error):
        return None
    platform, person, study, session, signed, link, until = parts
    if until < time.time():
        return None
    identity = Identity(platform, person, study, session, signed)
    return Arrival(identity, bytes.fromhex(link) if link else None, until)


def _bound(slug: str) -> str:
    return f"{slug}/arrival"


def names_somebody(access: Access, parameters: Mapping[str, str]) -> bool:
    """Return whether an address identifies a participant."""
    return any(name in parameters for name in NAMES.get(access.kind, ()))


def by_link() -> Arrival:
    """Return the arrival of a person who used the open link."""
    return Arrival(visitor())


def by_invitation(code: str) -> Arrival:
    """Return the arrival of a person with an invitation code, which the database checks."""
    return Arrival(invites.identity(code_digest(code[:200])), until=time.time() + LONGEST)


def from_address(
    access: Access, parameters: Mapping[str, str], address: str, keys: SigningKeys
) -> Arrival | Preview:
    """Identify the person by the parameters that the platform added to the address."""
    until = time.time() + LONGEST
    try:
        if access.kind == "mturk":
            identity = mturk.arrival(parameters)
            return identity if isinstance(identity, Preview) else Arrival(identity, until=until)
        if access.kind == "invite":
            return by_invitation(parameters.get(INVITATION, ""))
        if not access.signed:
            return Arrival(prolific.unsigned_arrival(parameters), until=until)
        signed = prolific.signed_arrival(
            parameters.get(prolific.TOKEN, ""), prolific.Expected(address, access.audience),
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
