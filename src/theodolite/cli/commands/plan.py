"""The command that says how much a comparison needs."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.cli.options import Json, Quiet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from theodolite._runs.comparison.pilot import Pilot, SizeNeeded


def plan(
    run: Annotated[Path | None, typer.Argument(help="A pilot run, if there is one.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="A second pilot run: its differences are paired.")
    ] = None,
    points: Annotated[
        float, typer.Option(help="The difference to see, in points (hundredths).", min=1e-6)
    ] = 2.0,
    power: Annotated[
        float, typer.Option(help="How often it is to be seen.", min=0.01, max=0.999)
    ] = 0.8,
    sd: Annotated[
        float | None,
        typer.Option(help="Without a run: of the paired difference of one sample.", min=0.0),
    ] = None,
    seed_sd: Annotated[
        float | None, typer.Option(help="Without a run: over seeds, in points.", min=0.0)
    ] = None,
    concept_sd: Annotated[
        float | None,
        typer.Option(help="Without a run: of differences of concepts, in points.", min=0.0),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """How many samples, seeds and concepts tell two versions apart?

    From the spread in a pilot run, better in two, or from numbers alone.
    """
    from theodolite._runs.comparison.pilot import sizes

    numbers = (sd, seed_sd, concept_sd)
    pilots = _from_numbers(run, *numbers) or _from_runs(run, against, quiet=quiet)
    tables = [(pilot, list(sizes(pilot, points / 100, power))) for pilot in pilots]
    if as_json:
        content = [_pilot_json(pilot, needed, points, power) for pilot, needed in tables]
        typer.echo(json.dumps(content, indent=1))
        return
    typer.echo(f"To see {points:g} points in {100 * power:g} of 100 comparisons:")
    _print(tables)
    if run is not None and against is None:
        typer.echo(
            "As if the other version erred on unrelated samples and concepts: pairs that err alike "
            "need fewer. Give a second run --against."
        )


def _from_numbers(
    run: Path | None, sd: float | None, seed_sd: float | None, concept_sd: float | None
) -> "list[Pilot]":
    from theodolite._runs.comparison.pilot import Pilot
    from theodolite._runs.comparison.planning import RecipeVariances
    from theodolite.errors import EvidenceError

    numbers = any(number is not None for number in (sd, seed_sd, concept_sd))
    if numbers == (run is not None):
        what = "both" if numbers else "neither"
        raise EvidenceError("plan", what, "a pilot run, or --sd, --seed-sd, --concept-sd")
    if not numbers:
        return []
    recipe = None if seed_sd is None else RecipeVariances(seed_sd / 100)
    items = None if concept_sd is None else concept_sd / 100
    return [Pilot(sd=sd, recipe=recipe, item_sd=items)]


def _from_runs(run: Path | None, against: Path | None, *, quiet: bool) -> "list[Pilot]":
    from theodolite._runs.comparison.compare_runs import headlines
    from theodolite._runs.comparison.pilot import pilot_of_pair, pilot_of_run
    from theodolite._runs.comparison.runs import read_runs
    from theodolite.cli.progress import show_progress
    from theodolite.errors import EvidenceError

    runs = read_runs([path for path in (run, against) if path is not None])
    if len(runs) > 1:
        with show_progress(quiet=quiet) as progress:
            pairs = headlines(runs[0], runs[1], progress=progress)
        pilots = [pilot_of_pair(pair) for pair in pairs]
    else:
        pilots = pilot_of_run(runs[0])
    if not pilots:
        raise EvidenceError("plan", "no question that was answered", "a run with verdicts")
    return pilots


def _print(tables: "Sequence[tuple[Pilot, Sequence[SizeNeeded]]]") -> None:
    from theodolite.cli.tables import print_table

    rows: list[tuple[str, ...]] = []
    for pilot, needed in tables:
        if pilot.why:
            rows.append((pilot.question_text, f"cannot be planned: {pilot.why}", "", "", ""))
        for size in needed:
            spread = f"{100 * size.sd:.3g} points"
            rows.append(
                (
                    pilot.question_text,
                    size.what,
                    spread,
                    _number(size.alone),
                    _number(size.strictest),
                )
            )
    heads: tuple[str, ...] = ("question", "what", "standard deviation", "at .05", "at .05/6")
    if not any(pilot.question_text for pilot, _ in tables):
        heads, rows = heads[1:], [row[1:] for row in rows]
    right = range(len(heads) - 2, len(heads))
    print_table(heads, rows, right=tuple(right))


def _number(n: int | None) -> str:
    return "no number would do" if n is None else f"{n:,}"


def _pilot_json(
    pilot: "Pilot", needed: "Sequence[SizeNeeded]", points: float, power: float
) -> dict[str, Any]:
    return {
        "question": pilot.question_text,
        "why": pilot.why,
        "points": points,
        "power": power,
        "needed": [vars(size) for size in needed],
    }
