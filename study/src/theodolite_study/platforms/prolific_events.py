"""Verify the webhooks of Prolific, which are signed with a shared secret. Used by
`money.events`."""

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.ext.studies import json_from
from theodolite_study.platforms.participant_identity import ID_PATTERN

SIGNATURE, TIMESTAMP = "x-prolific-request-signature", "x-prolific-request-timestamp"
EVENT_ID = "x-event-id"
MAX_BYTES = 1 << 16
MAX_AGE_SECONDS = 300
MIN_SECRET_CHARACTERS = 16
TIMESTAMP_PATTERN = re.compile(r"[0-9]{9,11}(\.[0-9]{1,9})?")
EVENT_ID_PATTERN = re.compile(r"[\x21-\x7e]{1,200}")
KIND_PATTERN = re.compile(r"[a-z][a-z0-9_.]{0,99}")


@dataclass(frozen=True)
class Event:
    """Verified event of a webhook."""

    id: str
    """Id of the event, equal in each delivery; handle it once."""
    delivery: bytes = field(repr=False)
    """Digest of the signed content. The id is not signed, so a copy under a new id has the same
    digest: remember it too."""
    kind: str
    """Type of the event, such as submission.status.change."""
    resource_id: str
    content: Mapping[str, Any] = field(repr=False)


def compute_signature(secret: str, timestamp: str, body: bytes) -> str:
    """Compute Prolific's signature: base64 of HMAC-SHA256 over time and body as sent."""
    mac = hmac.new(secret.encode(), timestamp.encode() + body, hashlib.sha256).digest()
    return base64.b64encode(mac).decode()


def parse_event(headers: Mapping[str, str], body: bytes, secret: str, now: float) -> Event:
    """Verify a delivery that Prolific signed within the last minutes."""
    if len(secret) < MIN_SECRET_CHARACTERS:
        raise EvidenceError(
            "secret of Prolific's webhooks", "none, or a short one",
            f"{MIN_SECRET_CHARACTERS} letters",
            "Ask Prolific for a secret: POST /api/v1/hooks/secrets/.",
        )  # fmt: skip
    header_values = {name.lower(): value for name, value in headers.items()}
    if len(body) > MAX_BYTES:
        raise _make_refusal("a large one")
    moment = header_values.get(TIMESTAMP, "")
    if not TIMESTAMP_PATTERN.fullmatch(moment):
        raise _make_refusal("no time")
    right = compute_signature(secret, moment, body).encode()
    if not hmac.compare_digest(right, header_values.get(SIGNATURE, "").encode(errors="replace")):
        raise _make_refusal("a signature that is not Prolific's")
    if abs(now - float(moment)) > MAX_AGE_SECONDS:
        raise _make_refusal("an old one")
    return _parse_content(header_values.get(EVENT_ID, ""), hashlib.sha256(right).digest(), body)


def _parse_content(name: str, delivery: bytes, body: bytes) -> Event:
    if not EVENT_ID_PATTERN.fullmatch(name):
        raise _make_refusal("no id")
    content = json_from(body, "message of Prolific")
    content = content if isinstance(content, dict) else {}
    kind, resource = content.get("event_type"), content.get("resource_id")
    if not isinstance(kind, str) or not KIND_PATTERN.fullmatch(kind):
        raise _make_refusal("no kind of event")
    if not isinstance(resource, str) or not ID_PATTERN.fullmatch(resource):
        raise _make_refusal("no resource")
    return Event(name, delivery, kind, resource, content)


def _make_refusal(problem: str) -> UnsafeInputError:
    return UnsafeInputError("message of Prolific", problem, "one that Prolific signed just now")
