"""Define the commands that create, serve and manage a study: init, serve, demo, status, set,
invite."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from theodolite.ext.commands import Json, Quiet, check_there
from theodolite_study.cli.study_folder import (
    Folder,
    StudyDatabase,
    create_private_file,
    open_draft,
    open_study,
    report_errors,
)

if TYPE_CHECKING:
    from theodolite.ext.studies import Material

DEFAULT_CONTACT = "the person who gave you this link"


def study_init(
    source: Annotated[
        Path,
        typer.Argument(help="Run folder, or a folder with instances.json and images/"),
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


Part = Literal["pages", "desk", "jobs"]
Port = Annotated[int, typer.Option(help="Port of participants' pages.", min=1, max=65534)]
DeskPort = Annotated[
    int | None, typer.Option(help="Port of the desk. Default: the next one.", min=1, max=65535)
]


def study_serve(
    folder: Folder,
    database: StudyDatabase = None,
    port: Port = 8080,
    desk_port: DeskPort = None,
    origin: Annotated[
        str | None, typer.Option(help="Public address: https://study.example.org.")
    ] = None,
    desk_origin: Annotated[
        str | None, typer.Option(help="Address of the desk: https://desk.example.org.")
    ] = None,
    workers: Annotated[int, typer.Option(help="Processes.", min=1, max=64)] = 2,
    opened: Annotated[
        bool, typer.Option("--open/--no-open", help="Open the folder's study to people at once.")
    ] = True,
    host: Annotated[
        str, typer.Option(help="Address to listen on; others need --behind-proxy.")
    ] = "127.0.0.1",
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A proxy with limits of time is in front.")
    ] = False,
    metrics_port: Annotated[
        int | None, typer.Option(help="Port of GET /metrics, with --only pages.", min=1, max=65535)
    ] = None,
    only: Annotated[Part | None, typer.Option(help="Run one part, as a service does.")] = None,
) -> None:
    """Serve the pages and the jobs of a study.

    The study of the folder's study.yaml is put into the database first.
    """
    from theodolite.errors import EvidenceError
    from theodolite_study.cli.serving import Addresses, serve_part, serve_study
    from theodolite_study.serve.settings import is_loopback

    addresses = Addresses(
        host, port, desk_port or port + 1, origin or f"http://127.0.0.1:{port}",
        desk_origin or f"http://127.0.0.1:{desk_port or port + 1}",
        behind_proxy=behind_proxy,
    )  # fmt: skip
    if not behind_proxy and not is_loopback(host):
        raise EvidenceError(
            "--host", repr(host), "an address of this machine",
            "Put a proxy with https in front, and give --behind-proxy.",
        )  # fmt: skip
    with report_errors():
        if only is not None:
            serve_part(folder, database, only, addresses, workers, metrics_port)
        elif origin is not None and desk_origin is None:
            raise EvidenceError(
                "`--desk-origin` is required when `--origin` is given",
                hint="The desk has an address of its own: --desk-origin https://desk.example.org.",
            )
        else:
            serve_study(folder, database, addresses, workers, opened=opened)


def study_demo(
    folder: Annotated[Path, typer.Option(help="Folder of the study.")] = Path("theodolite-demo"),
    port: Port = 8080,
    people: Annotated[
        int, typer.Option(help="Scripted people who take part, up to the result.", min=0, max=60)
    ] = 0,
    check: Annotated[
        bool, typer.Option("--check", help="End when a page, or the result, has come.")
    ] = False,
) -> None:
    """Try a small study with drawn images in a browser."""
    from contextlib import nullcontext

    from theodolite_study.cli.server_check import stop_when_answered
    from theodolite_study.cli.serving import Addresses, serve_study
    from theodolite_study.demo.show_result import DemoPeople
    from theodolite_study.demo.study import write_demo_study

    if not (folder / "study.yaml").exists():
        write_demo_study(folder, people)
    here = "http://127.0.0.1"
    addresses = Addresses("127.0.0.1", port, port + 1, f"{here}:{port}", f"{here}:{port + 1}")
    played = DemoPeople(folder, addresses.origin, people, stop=check) if people else None
    look = check and not people
    with report_errors(), stop_when_answered(port, "/s/demo") if look else nullcontext():
        serve_study(
            folder,
            None,
            addresses,
            workers=1,
            opened=True,
            beside=None if played is None else played.take_part,
        )
    if played is not None:
        played.require_result()


def study_status(folder: Folder, database: StudyDatabase = None, as_json: Json = False) -> None:
    """Show the progress of a study and what it still needs."""
    import json
    from dataclasses import asdict

    from theodolite_study.cli.tables import print_progress
    from theodolite_study.local_postgres import list_unfinished
    from theodolite_study.supervisor import read_state
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
        parts = {"parts": read_state(folder)}
        typer.echo(json.dumps(asdict(now) | further | {"work": work} | parts, indent=1))
        return
    print_progress(now, techniques, page)
    for name, part in read_state(folder).items():
        typer.echo(f"{name}: {part['state']}" + (f", {part['cause']}" if part["cause"] else ""))
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
