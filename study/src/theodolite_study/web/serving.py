"""Run the server: processes that are started again when they die, on this machine only."""

import ipaddress
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from alembic.config import Config as AlembicConfig
from alembic.script import ScriptDirectory
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from uvicorn import Config
from uvicorn.supervisors import Multiprocess

from theodolite.errors import EvidenceError, RefusedInput
from theodolite_study import tables
from theodolite_study.database import Database, revision
from theodolite_study.keys import Keys
from theodolite_study.protocol import read_protocol
from theodolite_study.web.settings import PARENT, Settings

APP = "theodolite_study.web.app:from_environment"
KEEP_ALIVE = 15
LAST_WORDS = 10
"""Seconds in which requests may end when the server is told to stop."""


def serve(
    settings: Settings,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    workers: int = 2,
    public: bool = False,
) -> None:
    """Serve until told to stop.

    Args:
        settings: The study and where it is.
        host: Where to listen. Off this machine only with ``public``: people are meant to come by a
            proxy that speaks https.
        port: The port; 0 for a free one.
        workers: Processes.
        public: Whether other machines may come directly.
    """
    if not public and not is_loopback(host):
        raise EvidenceError(
            "host", repr(host), "an address of this machine",
            "Put a proxy with https in front.",
        )  # fmt: skip
    if workers < 1:
        raise EvidenceError("workers", str(workers), "1 or more")
    need_ready(settings)
    config = Config(
        APP, factory=True, host=host, port=port, workers=workers,
        access_log=False, server_header=False, proxy_headers=False,
        log_level="warning", lifespan="off", ws="none",
        timeout_keep_alive=KEEP_ALIVE, timeout_graceful_shutdown=LAST_WORDS,
        h11_max_incomplete_event_size=32 << 10,
    )  # fmt: skip
    run_workers(config, settings)


def run_workers(config: Config, settings: Settings, more: dict[str, str] | None = None) -> None:
    """Processes that hear their settings from variables, until told to stop."""
    variables = settings.environment() | {PARENT: str(os.getpid())} | (more or {})
    with _environment(variables):
        sock = config.bind_socket()
        try:
            Multiprocess(config, sockets=[sock]).run()
        finally:
            sock.close()


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@contextmanager
def _environment(given: dict[str, str]) -> Iterator[None]:
    """Variables for the processes that are started, and for nothing else."""
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def need_ready(settings: Settings) -> None:
    """Refuse to start without strong keys, the newest tables, and the study in them."""
    keys, protocol = Keys.read(settings.folder), read_protocol(settings.folder)
    database = Database(settings.database_url, pool=1)
    try:
        _need_tables(database)
        with database.transaction() as connection:
            known = connection.execute(
                select(tables.study.c.keys_id).where(tables.study.c.slug == protocol.slug)
            ).scalar()
    except DBAPIError as error:
        raise EvidenceError(
            "database", "no connection", "a running PostgreSQL", "Start it, and check the address."
        ) from error
    finally:
        database.close()
    if known is None:
        raise EvidenceError(
            "study", f"{protocol.slug!r}, which the database does not have", "one that was loaded",
            "theodolite study serve puts it there.",
        )  # fmt: skip
    if known != keys.id:
        raise RefusedInput(
            "keys", f"those of {keys.id}", f"those of {known}", "Use the study's own key file."
        )


def _need_tables(database: Database) -> None:
    config = AlembicConfig()
    folder = Path(__file__).parents[1] / "migrations"
    config.set_main_option("script_location", str(folder))
    newest, found = ScriptDirectory.from_config(config).get_current_head(), revision(database)
    if found != newest:
        raise EvidenceError(
            "database", f"tables of version {found}", f"version {newest}",
            "theodolite study serve brings them up to date.",
        )  # fmt: skip
