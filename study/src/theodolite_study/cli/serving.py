"""Prepare a study and serve it. Used by `study serve` and `study demo`."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import typer

from theodolite_study.cli.study_folder import (
    get_database_address,
    may_import,
    open_draft,
    open_study,
    remember_desk,
)
from theodolite_study.database import address as check_address
from theodolite_study.database import migrate
from theodolite_study.keys import KEYS_FILE, Keys
from theodolite_study.local_postgres import LocalPostgres, use_cluster
from theodolite_study.operate.revision import get_newest_revision, load_database_revision
from theodolite_study.protocol import STUDY_FILE
from theodolite_study.serve.settings import Settings, is_loopback
from theodolite_study.supervisor import (
    Supervisor,
    bind_port,
    hold_folder,
    make_local_logins,
    make_part,
)

SHORTEST_PATIENCE = 60.0


@dataclass(frozen=True)
class Addresses:
    """Where participants' pages and the desk listen, and how they are reached."""

    host: str
    port: int
    desk_port: int
    origin: str
    desk_origin: str
    behind_proxy: bool = False

    @property
    def local(self) -> bool:
        """Whether the desk is reached from this machine only."""
        return is_loopback(urlsplit(self.desk_origin).hostname or "")


def serve_study(
    folder: Path, database: str | None, addresses: Addresses, workers: int, *, opened: bool,
    beside: Callable[[str], None] | None = None,
) -> None:  # fmt: skip
    """Serve all parts of a study until told to stop.

    Args:
        folder: The study.
        database: Address of a PostgreSQL, or None for the folder's own.
        addresses: Where pages and desk listen.
        workers: Processes for pages.
        opened: Whether the study opens.
        beside: Called in a thread with the database's address when everything is started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        stack.enter_context(hold_folder(folder, addresses.origin))
        pages = stack.enter_context(bind_port(addresses.host, addresses.port, "--port"))
        desk = stack.enter_context(bind_port(addresses.host, addresses.desk_port, "--desk-port"))
        cluster, url = stack.enter_context(_provide(folder, database))
        slug = prepare_study(folder, url, opened=opened)
        logins = make_local_logins(cluster) if cluster else dict.fromkeys(PARTS, url)
        public = _make_settings(folder, logins["pages"], addresses)
        staff = _make_settings(folder, logins["desk"], addresses, desk=True)
        remember_desk(folder, addresses.desk_origin)
        supervisor = Supervisor(folder, [
            make_part("pages", public, pages, workers), make_part("desk", staff, desk),
            make_part("jobs", _make_settings(folder, logins["jobs"], addresses), None),
        ], cluster)  # fmt: skip
        link = make_desk_link(folder, url, addresses)

        def tell() -> None:
            typer.echo(f"study:  {addresses.origin}/s/{slug}" if slug else "study:  none yet")
            typer.echo(f"desk:   {link}")
            typer.echo("stop:   Ctrl-C; all answers are kept")
            typer.echo(f"data:   {folder.resolve()}")
            if beside is not None:
                Thread(target=beside, args=(url,), daemon=True).start()

        supervisor.run(tell)


PARTS = ("pages", "desk", "jobs")


@contextmanager
def _provide(folder: Path, database: str | None) -> Iterator[tuple[LocalPostgres | None, str]]:
    url = get_database_address(database)
    if url is not None:
        check_address(url)  # refuses what is none
        yield None, url
        return
    with use_cluster(folder) as cluster:
        yield cluster, cluster.url


def prepare_study(folder: Path, url: str, *, opened: bool) -> str:
    """Migrate the tables, import the folder's study and open it; return its slug."""
    if load_database_revision(url) != get_newest_revision():
        migrate(url)  # as the owner of the tables: a part's login has no such right
    if not (folder / STUDY_FILE).is_file():
        if not (folder / KEYS_FILE).is_file():
            Keys.create(folder / KEYS_FILE)
        return ""
    if not may_import(url):
        return ""
    with open_study(folder, url, load=True) as study:
        _warn_of_short_patience(folder)
        if opened and not _tell_missing_facts(folder):
            open_draft(study)
        return study.slug


def _tell_missing_facts(folder: Path) -> list[str]:
    """Say what the consent form lacks; the study does not open before."""
    from theodolite_study.model.consent_facts import find_missing_facts
    from theodolite_study.protocol import read_protocol

    missing = find_missing_facts(read_protocol(folder))
    if missing:
        typer.echo("The study is not open. Fill in `study.yaml`, then serve it again:", err=True)
        for place in missing:
            typer.echo(f"  {place}", err=True)
    return missing


def _warn_of_short_patience(folder: Path) -> None:
    from theodolite_study.protocol import read_protocol

    patience = read_protocol(folder).patience
    if min(patience.before, patience.after) < SHORTEST_PATIENCE:
        typer.echo(
            f"`patience` is below {SHORTEST_PATIENCE:.0f} seconds: people who read for longer "
            "without input lose their item.", err=True,
        )  # fmt: skip


def make_desk_link(folder: Path, url: str, addresses: Addresses) -> str:
    """Return a link that signs in at once on this machine; elsewhere, the address of the desk."""
    import psycopg

    from theodolite_study.desk.accounts import make_local_link

    if not addresses.local or not may_import(url):
        return f"{addresses.desk_origin}   (accounts: theodolite study staff {folder} NAME)"
    with psycopg.connect(url) as connection:
        return make_local_link(connection, addresses.desk_origin)


def serve_part(
    folder: Path, database: str | None, part: str, addresses: Addresses, workers: int,
    metrics_port: int | None,
) -> None:  # fmt: skip
    """Serve one part with one login, for a service of the machine; start no PostgreSQL."""
    from theodolite.errors import EvidenceError
    from theodolite_study.cli.part import run_all_jobs
    from theodolite_study.desk.run import serve_desk
    from theodolite_study.serve.run import serve

    url = get_database_address(database)
    if url is None:
        raise EvidenceError(
            "`--database` or THEODOLITE_DATABASE is required with `--only`",
            hint="Without --only, `study serve` starts everything.",
        )
    if part == "pages":
        settings = _make_settings(folder, url, addresses)
        typer.echo(f"study:  {addresses.origin}")
        serve(settings, host=addresses.host, port=addresses.port, workers=workers,
              behind_proxy=addresses.behind_proxy, metrics_port=metrics_port)  # fmt: skip
    elif part == "desk":
        typer.echo(f"desk:   {addresses.desk_origin}")
        serve_desk(
            _make_settings(folder, url, addresses, desk=True), addresses.desk_port,
            host=addresses.host, behind_proxy=addresses.behind_proxy,
        )  # fmt: skip
    else:
        typer.echo("jobs:   at work\nstop:   Ctrl-C; a round is finished")
        run_all_jobs(url, folder)


def _make_settings(folder: Path, url: str, addresses: Addresses, *, desk: bool = False) -> Settings:
    return Settings(
        database_url=url, folder=folder, behind_proxy=addresses.behind_proxy,
        public_origin=addresses.desk_origin if desk else addresses.origin,
        participants_origin=addresses.origin,
    )  # fmt: skip
