"""Define the commands that create, serve and manage a study: init, serve, demo, status, set,
invite."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite.ext.commands import Json, Quiet, check_there
from theodolite_study.cli.study_folder import (
    Folder,
    StudyDatabase,
    create_private_file,
    may_import,
    open_database,
    open_draft,
    open_study,
    report_errors,
    require_free_port,
)

if TYPE_CHECKING:
    from theodolite.ext.studies import Material
    from theodolite_study.serve.settings import Settings

DEFAULT_CONTACT = "the person who gave you this link"


def study_init(
    source: Annotated[
        Path,
        typer.Argument(
            help="A run folder (saliency or posthoc_cbm), or a folder with instances.json and "
            "images/ made from Python."
        ),
    ],
    out: Annotated[Path, typer.Option(help="The study folder to write.")],
    title: Annotated[str, typer.Option(help="As people read it.")] = "What do you see?",
    contact: Annotated[str, typer.Option(help="Shown on each page.")] = DEFAULT_CONTACT,
    data: Annotated[Path, typer.Option(help="The folder that the run's paths are in.")] = Path(),
    images: Annotated[int, typer.Option(help="Images of the run", min=1)] = 12,
    techniques: Annotated[
        str | None, typer.Option(help="Some methods of the run, with commas; else all.")
    ] = None,
    ratings: Annotated[int, typer.Option(help="Ratings per explanation", min=1, max=50)] = 5,
    quota: Annotated[int, typer.Option(help="Explanations for each person.", min=1)] = 20,
    slug: Annotated[
        str | None, typer.Option(help="Part of the address; else of the title.")
    ] = None,
    quiet: Quiet = False,
) -> None:
    """Make a study folder from a finished run.

    It holds images, explanations, practice items and study.yaml.
    """
    from theodolite_study.new_study import NewStudy, write_new_study
    from theodolite_study.planning.plan_description import describe_plan

    check_there(data)
    material = load_material(source, out, data, images, techniques, quiet=quiet)
    beginning = NewStudy(title=title, contact=contact, slug=slug, votes=ratings, quota=quota)
    protocol = write_new_study(out, material, beginning)
    real = material.of("real")
    typer.echo(
        describe_plan(
            instances=len(real), votes=protocol.votes, quota=protocol.quota,
            techniques=len({instance.technique for instance in real}),
        )
    )  # fmt: skip
    typer.echo(f"\nstudy: {out}\nread:  {out / 'study.yaml'}\nthen:  theodolite study serve {out}")


def load_material(
    source: Path, out: Path, data: Path, images: int, techniques: str | None, *, quiet: bool
) -> "Material":
    """Load the images and explanations of a run, or of a folder that already has them."""
    from theodolite.errors import EvidenceError
    from theodolite.ext.studies import INSTANCES, read_material

    if (source / INSTANCES).is_file():
        if source.resolve() != out.resolve():
            raise EvidenceError(
                "--out", f"{out}", f"{source}", "Material becomes a study in place."
            )
        return read_material(source)
    from theodolite.ext.commands import show_progress
    from theodolite.ext.studies import TwinSettings, material_of_run, seed_of_run

    chosen = tuple(name.strip() for name in techniques.split(",")) if techniques else ()
    settings = TwinSettings(images=images, techniques=chosen, seed=seed_of_run(source))
    with show_progress(quiet=quiet) as progress:
        return material_of_run(source, data, out, settings, progress)


def study_serve(
    folder: Folder,
    database: StudyDatabase = None,
    port: Annotated[int, typer.Option(help="On this machine only.", min=1, max=65535)] = 8080,
    origin: Annotated[
        str | None,
        typer.Option(help="How people reach it: https://study.example.org, behind a proxy."),
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes.", min=1, max=64)] = 2,
    opened: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the folder's study to people at once.")
    ] = True,
    host: Annotated[
        str, typer.Option(help="Where to listen; off this machine only --behind-proxy.")
    ] = "127.0.0.1",
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy with limits of time is in front.")
    ] = False,
    metrics_port: Annotated[
        int | None, typer.Option(help="For GET /metrics, on this machine only.", min=1, max=65535)
    ] = None,
) -> None:
    """Serve all studies of a database.

    If the folder has a study.yaml, it is put there first.

    The server reads the database, and images and keys of the folder; a proxy with TLS goes
    before it.
    """
    from theodolite_study.serve.run import serve

    with report_errors(), prepare_server(folder, database, port, origin, opened=opened) as settings:
        typer.echo("stop:   Ctrl-C; all answers are kept")
        serve(
            settings, host=host, port=port, workers=workers, behind_proxy=behind_proxy,
            metrics_port=metrics_port,
        )  # fmt: skip


@contextmanager
def prepare_server(
    folder: Path, database: str | None, port: int, origin: str | None, *, opened: bool
) -> "Iterator[Settings]":
    """Yield the settings of a server after its tables, keys and study were prepared."""
    from theodolite_study.keys import KEYS_FILE, Keys
    from theodolite_study.protocol import STUDY_FILE
    from theodolite_study.serve.settings import Settings

    require_free_port(port)
    seen = origin or f"http://127.0.0.1:{port}"
    if not (folder / KEYS_FILE).is_file() and not (folder / STUDY_FILE).is_file():
        folder.mkdir(parents=True, exist_ok=True)
        Keys.create(folder / KEYS_FILE)
    with open_database(folder, database, load=True) as url:
        if (folder / STUDY_FILE).is_file() and may_import(url):
            with open_study(folder, url, load=True) as study:
                if opened:
                    open_draft(study)
                typer.echo(f"study:  {seen}/s/{study.slug}")
        yield Settings(database_url=url, folder=folder, public_origin=seen)


def study_demo(
    folder: Annotated[Path, typer.Option(help="Where the study is kept.")] = Path(
        "theodolite-demo"
    ),
    port: Annotated[int, typer.Option(help="On this machine only.", min=1, max=65535)] = 8080,
    check: Annotated[
        bool, typer.Option("--check", help="Start it, see that its first page answers, and end.")
    ] = False,
) -> None:
    """Try a small study with drawn images in a browser."""
    from contextlib import nullcontext

    from theodolite_study.cli.server_check import stop_when_answered
    from theodolite_study.demo.material import write_demo_material
    from theodolite_study.new_study import NewStudy, write_new_study

    if not (folder / "study.yaml").exists():
        material = write_demo_material(folder, seed=0)
        title = "A study to try: drawn images"
        write_new_study(
            folder,
            material,
            NewStudy(title=title, contact=DEFAULT_CONTACT, slug="demo", languages=("de", "fr")),
        )
    with stop_when_answered(port, "/s/demo") if check else nullcontext():
        _demo(folder, port)


def _demo(folder: Path, port: int) -> None:
    from theodolite_study.cli.desk import run_desk
    from theodolite_study.serve.run import serve

    require_free_port(port + 1)
    with (
        report_errors(),
        prepare_server(folder, None, port, None, opened=True) as settings,
        run_desk(folder, settings.database_url, port + 1),
    ):
        typer.echo(f"stop:   Ctrl-C; all answers are kept\ndata:   {folder.resolve()}")
        serve(settings, port=port)


def study_status(folder: Folder, database: StudyDatabase = None, as_json: Json = False) -> None:
    """Show the progress of a study and what it still needs."""
    import json
    from dataclasses import asdict

    from theodolite_study.cli.tables import print_progress
    from theodolite_study.local_postgres import list_unfinished
    from theodolite_study.watch.participants import list_people
    from theodolite_study.watch.progress import count_by_technique, load_progress

    with report_errors(), open_study(folder, database) as study:
        now = load_progress(study.connection, study.id)
        techniques = list(count_by_technique(study.connection, study.id, now.version))
        page = list_people(study.connection, study.id).people
    if as_json:
        further = {"surplus_share": now.surplus_share, "new_people": now.new_people}
        work = [
            {"participant": person.pseudonym} | asdict(person.work) | {"signs": person.work.signs}
            for person in page
        ]
        typer.echo(json.dumps(asdict(now) | further | {"work": work}, indent=1))
        return
    print_progress(now, techniques, page)
    for path in list_unfinished(folder):
        typer.echo(f"{path}: left by a first start that was interrupted. It holds no votes.")


def study_set(
    folder: Folder,
    state: Annotated[str, typer.Argument(metavar="open|paused|closed|archived")],
    database: StudyDatabase = None,
    yes: Annotated[bool, typer.Option("--yes", help="To close: it is meant.")] = False,
) -> None:
    """Open, pause or close a study.

    When it closes, platform ids are deleted.
    """
    from theodolite.errors import EvidenceError
    from theodolite_study.store.opening import set_study_state

    if state == "closed" and not yes:
        raise EvidenceError(
            "study set", "closed", "to be sure",
            "It cannot be opened again, and platform ids are deleted for good: pay people first "
            "(theodolite study payments). Then say --yes.",
        )  # fmt: skip

    with report_errors(), open_study(folder, database) as study:
        if state != "open" or not open_draft(study):
            set_study_state(study.connection, study.id, state)
        typer.echo(f"{study.slug}: {state}")


def study_invite(
    folder: Folder,
    count: Annotated[int, typer.Argument(help="How many people.", min=1, max=10_000)],
    out: Annotated[Path, typer.Option(help="A new text file for the codes, one a line.")],
    database: StudyDatabase = None,
) -> None:
    """Make invitation codes for a study.

    The study has `access: invite`. Only digests of the codes are kept.
    """
    from theodolite_study.platforms.invitations import make_invitations

    with (
        create_private_file(out) as stream,
        report_errors(),
        open_study(folder, database, load=True) as study,
    ):
        invitations = make_invitations(count)
        # on the disk before they are valid: a digest whose code is lost lets nobody in
        stream.write("".join(f"{code}\n" for code in invitations.codes).encode())
        stream.flush()
        with study.connection.cursor() as cursor:
            cursor.executemany(
                "insert into invite (code_sha256, study_id) values (%s, %s)",
                [(digest, study.id) for digest in invitations.digests],
            )
    typer.echo(f"{count} codes: {out}")
