"""Define the settings of a server, and pass them to worker processes by environment variables."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from theodolite.errors import EvidenceError

DATABASE_VARIABLE = "THEODOLITE_STUDY_DATABASE"
FOLDER_VARIABLE = "THEODOLITE_STUDY_FOLDER"
ORIGIN_VARIABLE = "THEODOLITE_STUDY_ORIGIN"
PARTICIPANTS_VARIABLE = "THEODOLITE_STUDY_PARTICIPANTS"
WEBHOOK_VARIABLE = "THEODOLITE_STUDY_PROLIFIC_SECRET"
PROXY_VARIABLE = "THEODOLITE_STUDY_BEHIND_PROXY"
PARENT_VARIABLE = "THEODOLITE_STUDY_PARENT"
"""Variable with the id of the process that starts the workers."""


@dataclass(frozen=True)
class Limits:
    """Load limits of one process, for some hundred concurrent participants."""

    body_bytes: int = 1 << 20
    body_seconds: float = 15.0
    """Maximum seconds for sending a form."""
    readers: int = 400
    """Maximum number of forms that are being received."""
    fields: int = 300
    in_flight: int = 100
    """Maximum number of requests in progress; others are asked to retry."""
    pool: int = 10
    posts_rate: float = 5.0
    """Forms per second in one session."""
    posts_burst: int = 60
    looks_rate: float = 20.0
    """Pages and images per second in one session."""
    looks_burst: int = 200
    landings_rate: float = 50.0
    """First pages per second, of all visitors together."""
    landings_burst: int = 500
    newcomers_rate: float = 1.0
    """New participants per second from one network and kind of study, in all processes."""
    newcomers_burst: int = 120
    """Burst that admits a school class, or a university behind one address."""
    codes_rate: float = 0.1
    """Attempted codes per second from one network."""
    codes_burst: int = 30


@dataclass(frozen=True)
class Settings:
    """Settings of one server."""

    database_url: str = field(repr=False)
    folder: Path
    public_origin: str
    """Origin that participants see: https://study.example.org, without a path."""
    webhook_secret: str | None = field(default=None, repr=False)
    """Secret shared with Prolific; without it, webhooks are refused."""
    limits: Limits = Limits()
    behind_proxy: bool = False
    """Whether the last entry of X-Forwarded-For comes from a proxy of ours."""
    participants_origin: str = ""
    """Origin of participants' pages, for the desk, whose own one is ``public_origin``."""

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
        """Required value of the header Host."""
        return urlsplit(self.public_origin).netloc

    @property
    def https(self) -> bool:
        """Whether participants use https."""
        return self.public_origin.startswith("https://")

    def environment(self) -> dict[str, str]:
        """Return the settings as variables for worker processes, which use default limits."""
        variables = {
            DATABASE_VARIABLE: self.database_url,
            FOLDER_VARIABLE: str(self.folder.resolve()),
            ORIGIN_VARIABLE: self.public_origin,
        }
        variables |= {PROXY_VARIABLE: "1"} if self.behind_proxy else {}
        if self.participants_origin:
            variables[PARTICIPANTS_VARIABLE] = self.participants_origin
        return (
            variables
            if self.webhook_secret is None
            else variables | {WEBHOOK_VARIABLE: self.webhook_secret}
        )


def read_settings(environment: Mapping[str, str] | None = None) -> Settings:
    """Read the settings from environment variables."""
    variables = os.environ if environment is None else environment
    missing = [
        name
        for name in (DATABASE_VARIABLE, FOLDER_VARIABLE, ORIGIN_VARIABLE)
        if not variables.get(name)
    ]
    if missing:
        raise EvidenceError("environment", f"no {missing[0]}", "the settings of a study server")
    return Settings(
        database_url=variables[DATABASE_VARIABLE],
        folder=Path(variables[FOLDER_VARIABLE]),
        public_origin=variables[ORIGIN_VARIABLE],
        webhook_secret=variables.get(WEBHOOK_VARIABLE) or None,
        behind_proxy=variables.get(PROXY_VARIABLE) == "1",
        participants_origin=variables.get(PARTICIPANTS_VARIABLE, ""),
    )


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
