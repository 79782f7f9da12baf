"""Run the server: processes that are started again when they die, on this machine only."""

from pathlib import Path

from alembic.config import Config as AlembicConfig
from alembic.script import ScriptDirectory
from sqlalchemy import select
from sqlalchemy.exc import DBAPIError
from uvicorn import Config

from theodolite.errors import EvidenceError, RefusedInput
from theodolite_study import tables
from theodolite_study.database import Database, revision
from theodolite_study.keys import Keys
from theodolite_study.protocol import read_protocol
from theodolite_study.serve.settings import Settings
from theodolite_study.serve.workers import KEEP_ALIVE, LAST_WORDS, is_loopback, run_workers

APP = "theodolite_study.web.app:from_environment"


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
