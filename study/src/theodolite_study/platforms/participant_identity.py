"""Represent the identity of a participant at a recruitment platform such as Prolific.

Used by the modules of each platform and by the first page of a study.
"""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from theodolite.errors import UnsafeInputError

ID_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class ParticipantIdentity:
    """Ids of a participant at a recruitment platform. They are never printed or logged."""

    platform: str
    platform_id: str = field(repr=False)
    study_id: str | None = None
    """Id of the study at the platform."""
    session_id: str | None = field(default=None, repr=False)
    """Id of this visit at the platform."""
    signed: bool = False
    """Whether the platform signed the identity. If not, it comes from an address."""

    def __post_init__(self) -> None:
        for name in ("platform", "platform_id", "study_id", "session_id"):
            value = getattr(self, name)
            if value is not None and not ID_PATTERN.fullmatch(value):
                raise UnsafeInputError(
                    name.replace("_", " "), "something that is no id", "letters and digits",
                    "Open the study by the link on the platform's page.",
                )  # fmt: skip


@dataclass(frozen=True)
class PreviewVisitor:
    """Visitor who views the offer without accepting it, and sees the welcome page only."""

    platform: str


def make_anonymous_identity() -> ParticipantIdentity:
    """Return a random identity for a visitor of the open link, who is anonymous."""
    return ParticipantIdentity("link", secrets.token_hex(16))


def read_id(parameters: Mapping[str, str], name: str, platform: str) -> str:
    """Return an address parameter that the platform must have filled in."""
    value = parameters.get(name, "")
    if not ID_PATTERN.fullmatch(value):
        problem = (
            "a blank form" if "{" in value else "something that is no id" if value else "nothing"
        )
        raise UnsafeInputError(
            f"{name} in the address", problem, f"an id of {platform}",
            f"Open the study by the link on {platform}'s page.",
        )  # fmt: skip
    return value
