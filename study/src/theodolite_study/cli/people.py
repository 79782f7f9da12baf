"""Define the commands about single participants: list payments, withdraw, invalidate."""

from pathlib import Path
from typing import Annotated

import typer

from theodolite.errors import printable
from theodolite_study.cli.study_folder import (
    Folder,
    StudyDatabase,
    create_private_file,
    open_study,
    report_errors,
)


def study_payments(
    folder: Folder,
    out: Annotated[Path, typer.Option(help="A new CSV file that you alone can read.")],
    database: StudyDatabase = None,
) -> None:
    """List participants to pay, by their platform ids.

    Do this before the study closes: then the ids are deleted.
    """
    from theodolite_study.keys import Keys
    from theodolite_study.money.csv_file import format_csv
    from theodolite_study.money.payment_table import list_payments

    with create_private_file(out) as stream, report_errors(), open_study(folder, database) as study:
        table = list_payments(study.connection, study.id, Keys.read(folder))
        stream.write(format_csv(table))
    typer.echo(f"{len(table['participant'])} people: {out}\nDelete it when they are paid.")


def study_withdraw(
    folder: Folder,
    code: Annotated[
        str,
        typer.Option(
            prompt="withdrawal code", help="The code that the person was given; else it is asked."
        ),
    ],
    database: StudyDatabase = None,
    paid: Annotated[
        bool, typer.Option("--paid", help="They want to be paid for what they did.")
    ] = False,
) -> None:
    """Delete all data of a participant.

    For a participant who writes instead of using the page.
    """
    from theodolite_study.keys import Keys
    from theodolite_study.refusals import NotHere

    with report_errors(), open_study(folder, database) as study:
        digest = Keys.read(folder).digest_code(code)
        row = study.connection.execute(
            "select from participant where study_id = %s and withdrawal_sha256 = %s",
            (study.id, digest),
        ).fetchone()
        if row is None:
            raise NotHere("There is no such code in this study.")
        study.connection.execute("select st_withdraw(%s, %s)", (digest, paid))
    typer.echo("withdrawn; exports and backups from before still hold it")


def study_invalidate(
    folder: Folder,
    pseudonym: Annotated[str, typer.Argument(help="As the staff pages and exports name them.")],
    reason: Annotated[str, typer.Option(help="For the log; disagreement is none.")],
    database: StudyDatabase = None,
) -> None:
    """Exclude a participant's ratings from the count.

    They are kept as surplus; their seats are free again.
    """
    from theodolite_study.refusals import NotHere

    with report_errors(), open_study(folder, database) as study:
        row = study.connection.execute(
            "select desk_take_out(id, null, %s) from participant"
            " where study_id = %s and pseudonym = %s", (reason, study.id, pseudonym),
        ).fetchone()  # fmt: skip
        if row is None:
            raise NotHere("There is nobody of that name in this study.")
        votes = row[0]
    typer.echo(f"{printable(pseudonym)}: {votes} votes no longer count")
