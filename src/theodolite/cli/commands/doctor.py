"""The command that says what is installed, what is missing, and what it would bring."""

import typer

from theodolite.cli.options import Json


def doctor(as_json: Json = False) -> None:
    """Say what is installed and what is missing; exit code 2 if something installed is broken."""
    import json

    from theodolite.cli.checkup import checkup
    from theodolite.cli.tables import print_table

    result = checkup()
    if as_json:
        typer.echo(json.dumps(result.to_json(), indent=1))
    else:
        print_table(("", ""), result.facts)
        typer.echo()
        rows = [
            (extra.name, "yes" if not extra.missing else "no", extra.missing_text)
            for extra in result.extras
        ]
        print_table(("extra", "complete", "missing"), rows)
        typer.echo("\nTo add one: pip install 'theodolite[NAME]'")
        for package, why in result.broken:
            typer.echo(f"broken: {package}: {why}")
    if result.broken:
        raise typer.Exit(2)
