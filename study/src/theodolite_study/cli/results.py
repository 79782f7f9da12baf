"""Define the commands about results: plan the size, results, export, verify."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.errors import printable
from theodolite.ext.commands import Json
from theodolite_study.cli.study_folder import Folder, StudyDatabase, open_study, report_errors

MAX_LISTED_CHARACTERS = 1000


def study_plan(
    instances: Annotated[int, typer.Option(help="Explanations in all.", min=1)],
    ratings: Annotated[int, typer.Option(help="Ratings per explanation", min=1, max=50)] = 5,
    quota: Annotated[int, typer.Option(help="Explanations for each person.", min=1)] = 20,
    techniques: Annotated[int, typer.Option(help="On the same images.", min=1)] = 1,
    leave: Annotated[float, typer.Option(help="Share of people who leave.", min=0, max=0.9)] = 0.1,
    panel: Annotated[
        int | None, typer.Option(help="People, if they are known: is it enough?", min=1)
    ] = None,
    half_width: Annotated[
        float | None, typer.Option(help="How well a technique's mean rating is to be known: 0.2.")
    ] = None,
) -> None:
    """Compute how many participants a study needs.

    It also prints how precise the answers will be.
    """
    from theodolite.ext.studies import votes_needed
    from theodolite_study.planning.plan_description import describe_needs, describe_plan

    if panel is not None:
        typer.echo(f"{votes_needed(instances, ratings, panel, quota)}.")
    typer.echo(
        describe_plan(
            instances=instances, votes=ratings, quota=quota, techniques=techniques, dropout=leave
        )
    )
    if half_width is not None:
        typer.echo(
            describe_needs(half_width, instances=instances, votes=ratings, techniques=techniques)
        )


def study_export(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="A new folder for the tables.")],
    database: StudyDatabase = None,
    csv: Annotated[bool, typer.Option("--csv", help="Also as CSV.")] = False,
    public: Annotated[
        bool, typer.Option("--public", help="To be published: without texts unless --reviewed.")
    ] = False,
    reviewed: Annotated[
        bool,
        typer.Option("--reviewed", help="Somebody read all texts: nothing in them is personal."),
    ] = False,
) -> None:
    """Write ratings, answers and agreement as plain tables.

    The export includes the proof of order and count.
    """
    from theodolite_study.export.study_export import export_study

    with report_errors(), open_study(folder, database) as study:
        manifest = export_study(
            study.connection, study.id, out, images=folder, csv=csv, public=public,
            reviewed=reviewed,
        )  # fmt: skip
    for line in manifest.summary().splitlines():
        typer.echo(printable(line, MAX_LISTED_CHARACTERS))
    typer.echo(f"\nexport: {out}\ncheck:  theodolite study verify {out}")


def study_results(
    folder: Annotated[Path, typer.Argument(help="A study folder, or an export.")],
    database: StudyDatabase = None,
    as_json: Json = False,
    interim: Annotated[
        bool, typer.Option("--interim", help="Compare before all votes are there; recorded.")
    ] = False,
) -> None:
    """Compare the methods of a study, as it was planned."""
    import json

    from theodolite_study.results import RESULTS, load_results, read_export_lines

    if (folder / "manifest.json").is_file():
        text = (folder / RESULTS).read_text() if as_json else "\n".join(read_export_lines(folder))
    else:
        with report_errors(), open_study(folder, database) as study:
            results = load_results(study.connection, study.id, interim=interim)
        text = json.dumps(results.to_dict(), indent=1) if as_json else "\n".join(results.to_lines())
    for line in text.splitlines():
        typer.echo(printable(line, MAX_LISTED_CHARACTERS))


def study_verify(
    folder: Annotated[Path, typer.Argument(help="An export, or a study folder.")],
    database: StudyDatabase = None,
) -> None:
    """Verify the order and count of an export or a study."""
    from theodolite.errors import VerificationError

    if (folder / "manifest.json").is_file():
        from theodolite_study.export.export_check import verify_export

        messages = verify_export(folder)
        # a study that is not over is no fault: everything else about it is proved
        unfinished = [line for line in messages if line.startswith("Fewer than ")]
        faults = [line for line in messages if line not in unfinished]
        for line in unfinished:
            typer.echo(f"Not complete yet. {printable(line, MAX_LISTED_CHARACTERS)}")
    else:
        from theodolite_study.export.verify import verify
        from theodolite_study.operate.backup import record_operation

        with report_errors(), open_study(folder, database) as study:
            verification = verify(study.connection, study.id)
            record_operation(study.url, "verify", {"problems": len(verification.problems)})
        faults = list(verification.problems)
        for line in (*verification.facts, *verification.warnings):
            typer.echo(printable(line, MAX_LISTED_CHARACTERS))
    for fault in faults:
        typer.echo(printable(fault, MAX_LISTED_CHARACTERS), err=True)
    if faults:
        count = "1 thing" if len(faults) == 1 else f"{len(faults)} things"
        raise VerificationError(f"{folder.name}", f"{count} that must not be", "none")
    typer.echo("ok: order, count, digests and aggregates hold")
