"""Who a platform says is coming."""

import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field

from theodolite.errors import UnsafeInputError

ID = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Identity:
    """A person as a platform names them. Ids are not shown: they would end up in logs."""

    platform: str
    platform_id: str = field(repr=False)
    study_id: str | None = None
    """The study, as the platform calls it."""
    session_id: str | None = field(default=None, repr=False)
    """This visit, as the platform calls it."""
    signed: bool = False
    """Whether the platform vouches for it. If not, it is what an address said."""

    def __post_init__(self) -> None:
        for name in ("platform", "platform_id", "study_id", "session_id"):
            value = getattr(self, name)
            if value is not None and not ID.fullmatch(value):
                raise UnsafeInputError(
                    name.replace("_", " "), "something that is no id", "letters and digits",
                    "Open the study by the link on the platform's page.",
                )  # fmt: skip


@dataclass(frozen=True)
class Preview:
    """Somebody who looks at the offer and has not taken it: they see the welcome page only."""

    platform: str


def visitor() -> Identity:
    """Somebody who came by the open link: nobody can say who they are, nor who they are not."""
    return Identity("link", secrets.token_hex(16))


def named(parameters: Mapping[str, str], name: str, platform: str) -> str:
    """A part of the address that has to be there, and filled in by the platform."""
    value = parameters.get(name, "")
    if not ID.fullmatch(value):
        problem = (
            "a blank form" if "{" in value else "something that is no id" if value else "nothing"
        )
        raise UnsafeInputError(
            f"{name} in the address", problem, f"an id of {platform}",
            f"Open the study by the link on {platform}'s page.",
        )  # fmt: skip
    return value
