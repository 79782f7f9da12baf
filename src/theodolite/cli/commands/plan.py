"""The command that says how much a comparison needs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite._runs.comparison.compare_runs import compute_headlines
from theodolite._runs.comparison.loaded_runs import load_runs
from theodolite._runs.comparison.pilot import (
    Pilot,
    RequiredSize,
    build_pair_pilot,
    build_run_pilots,
    compute_required_sizes,
)
from theodolite._runs.comparison.sample_sizes import RecipeVariances
from theodolite.cli import options as opt
from theodolite.cli.options import argument, option
from theodolite.cli.progress import show_progress
from theodolite.cli.tables import print_json, print_table
from theodolite.errors import EvidenceError


def _spread(text: str) -> Any:
    return option(f"{text}, without a run", min=0.0)


def plan(
    run: Annotated[Path | None, argument("Pilot run")] = None,
    against: Annotated[Path | None, option("Second pilot run, for paired differences")] = None,
    points: Annotated[float, option("Difference to detect, in percentage points", min=1e-6)] = 2.0,
    power: Annotated[float, option("Power to detect it", min=0.01, max=0.999)] = 0.8,
    sd: Annotated[float | None, _spread("SD of a sample's paired difference")] = None,
    seed_sd: Annotated[float | None, _spread("SD over seeds, in points")] = None,
    concept_sd: Annotated[float | None, _spread("SD over concepts, in points")] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Compute how many samples, seeds and concepts detect a difference.

    From the spread in a pilot run, better in two, or from standard deviations alone.
    """
    numbers = (sd, seed_sd, concept_sd)
    pilots = _from_numbers(run, *numbers) or _from_runs(run, against, quiet=quiet)
    tables = [(pilot, list(compute_required_sizes(pilot, points / 100, power))) for pilot in pilots]
    if as_json:
        shared = {"points": points, "power": power}
        print_json(
            [
                {
                    "question": pilot.question_text,
                    "why": pilot.why,
                    **shared,
                    "needed": [*map(vars, needed)],
                }
                for pilot, needed in tables
            ]
        )
        return
    typer.echo(f"Sample size to detect a difference of {points:g} pp with {100 * power:g} % power:")
    _print(tables)
    if run is not None and against is None:
        typer.echo(
            "This assumes that errors of the two versions are unrelated. Runs with similar errors "
            "need fewer samples: pass a second run with --against."
        )


def _from_numbers(
    run: Path | None, sd: float | None, seed_sd: float | None, concept_sd: float | None
) -> list[Pilot]:
    numbers = any(number is not None for number in (sd, seed_sd, concept_sd))
    if numbers == (run is not None):
        what = "both" if numbers else "neither"
        raise EvidenceError("plan", what, "a pilot run, or --sd, --seed-sd, --concept-sd")
    if not numbers:
        return []
    recipe = None if seed_sd is None else RecipeVariances(seed_sd / 100)
    items = None if concept_sd is None else concept_sd / 100
    return [Pilot(sd=sd, recipe=recipe, item_sd=items)]


def _from_runs(run: Path | None, against: Path | None, *, quiet: bool) -> list[Pilot]:
    runs = load_runs([path for path in (run, against) if path is not None])
    if len(runs) > 1:
        with show_progress(quiet=quiet) as progress:
            pairs = compute_headlines(runs[0], runs[1], progress=progress)
        pilots = [build_pair_pilot(pair) for pair in pairs]
    else:
        pilots = build_run_pilots(runs[0])
    if not pilots:
        raise EvidenceError("plan", "no answered question", "a run with verdicts")
    return pilots


def _print(tables: Sequence[tuple[Pilot, Sequence[RequiredSize]]]) -> None:
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
    return "no sample size is enough" if n is None else f"{n:,}"
