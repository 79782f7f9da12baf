"""What a server has to be told, and how its processes hear it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from theodolite.errors import EvidenceError

DATABASE = "THEODOLITE_STUDY_DATABASE"
FOLDER = "THEODOLITE_STUDY_FOLDER"
ORIGIN = "THEODOLITE_STUDY_ORIGIN"
WEBHOOKS = "THEODOLITE_STUDY_PROLIFIC_SECRET"
PROXY = "THEODOLITE_STUDY_BEHIND_PROXY"
PARENT = "THEODOLITE_STUDY_PARENT"
"""The number of the process that starts the others."""


@dataclass(frozen=True)
class Limits:
    """How much one process takes at once. Meant for some hundred people at a time."""

    body_bytes: int = 1 << 20
    body_seconds: float = 15.0
    """How long somebody may take to send a form."""
    readers: int = 400
    """Forms that are being sent at once."""
    fields: int = 300
    in_flight: int = 100
    """Requests that are being answered at once; more are asked to come back."""
    pool: int = 10
    posts_rate: float = 5.0
    """A second, in one session."""
    posts_burst: int = 60
    looks_rate: float = 20.0
    """A second, in one session: pages and images."""
    looks_burst: int = 200
    landings_rate: float = 50.0
    """A second, of everybody together: people who are not known yet."""
    landings_burst: int = 500
    newcomers_rate: float = 1.0
    """A second, from one part of the network and to one kind of study; in all processes."""
    newcomers_burst: int = 120
    """A class of pupils, or a university behind one address."""
    codes_rate: float = 0.1
    """A second, from one part of the network: codes that are tried."""
    codes_burst: int = 30


@dataclass(frozen=True)
class Settings:
    """One server."""

    database_url: str = field(repr=False)
    folder: Path
    public_origin: str
    """As people see it: https://study.example.org, without a path."""
    webhook_secret: str | None = field(default=None, repr=False)
    """Shared with Prolific; without it nothing that calls itself Prolific is listened to."""
    limits: Limits = Limits()
    behind_proxy: bool = False
    """Whether a proxy of ours says who comes, as the last entry of X-Forwarded-For."""

    def __post_init__(self) -> None:
        url = urlsplit(self.public_origin)
        plain = f"{url.scheme}://{url.netloc}"
        if url.scheme not in {"http", "https"} or not url.hostname or "@" in url.netloc:
            raise EvidenceError(
                "origin", repr(self.public_origin), "https://host or https://host:port"
            )
        if self.public_origin != plain.lower():
            raise EvidenceError(
                "origin", repr(self.public_origin), "an origin alone", f"Write {plain.lower()!r}."
            )

    @property
    def host(self) -> str:
        """What the header Host has to say."""
        return urlsplit(self.public_origin).netloc

    @property
    def https(self) -> bool:
        """Whether people come by https."""
        return self.public_origin.startswith("https://")

    def environment(self) -> dict[str, str]:
        """The same as variables, for worker processes. Limits are the usual ones there."""
        variables = {
            DATABASE: self.database_url,
            FOLDER: str(self.folder.resolve()),
            ORIGIN: self.public_origin,
        }
        variables |= {PROXY: "1"} if self.behind_proxy else {}
        return (
            variables
            if self.webhook_secret is None
            else variables | {WEBHOOKS: self.webhook_secret}
        )


def settings_from(environment: Mapping[str, str] | None = None) -> Settings:
    """What the variables say."""
    variables = os.environ if environment is None else environment
    missing = [name for name in (DATABASE, FOLDER, ORIGIN) if not variables.get(name)]
    if missing:
        raise EvidenceError("environment", f"no {missing[0]}", "the settings of a study server")
    return Settings(
        database_url=variables[DATABASE],
        folder=Path(variables[FOLDER]),
        public_origin=variables[ORIGIN],
        webhook_secret=variables.get(WEBHOOKS) or None,
        behind_proxy=variables.get(PROXY) == "1",
    )
