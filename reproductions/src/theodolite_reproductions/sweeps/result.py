"""What a sweep comes to, as a file."""

import math
from collections.abc import Mapping
from typing import Any, Literal

from theodolite._runs.engine.process_identity import check_unchanged, get_code_version
from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.run_inputs import RunPaths, check_paths_outside_folder
from theodolite._storage.records import Record, Strict, write_record
from theodolite.evidence.pipeline_output import Progress
from theodolite.metrics.catalogue import find_metric
from theodolite_reproductions.sweeps.cells import Cell, ContrastRows, cells_of, swept
from theodolite_reproductions.sweeps.moves import ContrastEstimate, estimate_of, moves
from theodolite_reproductions.sweeps.spec import OPTION, Choice, SweepSpec, spec_with


class ContrastRecord(Strict):
    """A contrast in one cell."""

    contrast: str
    score: float | None
    taken_off: float | None
    value: float | None
    low: float | None
    high: float | None
    draws: float
    """Samples or clusters that were drawn independently."""
    seeds: int


class CellRecord(Strict):
    """One combination of choices."""

    choices: dict[str, Choice]
    contrasts: list[ContrastRecord]


class MoveRecord(Strict):
    """What choosing otherwise does to a contrast."""

    setting: str
    before: Choice
    after: Choice
    contrast: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    """Corrected for all moves that were looked at."""


class SweepRecord(Record):
    """The file ``sweep.json``."""

    format: Literal["theodolite-sweep"] = "theodolite-sweep"
    format_version: Literal[1] = 1
    sweep: SweepSpec
    metrics: dict[str, int]
    """Versions of the scores."""
    code: str
    cells: list[CellRecord]
    moves: list[MoveRecord]


def run_sweep(
    sweep: SweepSpec, protocol: dict[str, Any], at: RunPaths, progress: Progress
) -> SweepRecord:
    """Measure all cells, and write what they come to."""
    changed = {n: v for n, v in cells_of(sweep)[0].items() if not n.startswith(OPTION)}
    first = spec_with(protocol, sweep.settings | changed)
    check_paths_outside_folder(first, at, Engine(workers=1))
    level = first.resampling.level
    measured = list(swept(sweep, protocol, at, progress))
    record = SweepRecord(
        sweep=sweep,
        metrics={c.metric.name: find_metric(c.metric.name).version for c in sweep.contrasts},
        code=get_code_version(),
        cells=[_cell(cell, contrasts, level) for cell, contrasts in measured],
        moves=[
            MoveRecord(
                setting=move.setting, before=move.before, after=move.after, contrast=move.contrast,
                p=_number(move.corrected), **_ends(move.estimate),
            )
            for move in moves(sweep, measured, level)
        ],
    )  # fmt: skip
    check_unchanged()
    write_record(at.out / "sweep.json", record)
    return record


def _cell(cell: Cell, contrasts: Mapping[str, ContrastRows], level: float) -> CellRecord:
    records = []
    for name, own in contrasts.items():
        estimate = estimate_of(own.rows, own.seeds, own.draws, level)
        score, taken_off = map(_number, own.figures)
        records.append(
            ContrastRecord(
                contrast=name, score=score, taken_off=taken_off, draws=own.draws,
                seeds=len(own.seeds), **_ends(estimate),
            )
        )  # fmt: skip
    return CellRecord(choices=dict(cell), contrasts=records)


def _ends(estimate: ContrastEstimate) -> dict[str, float | None]:
    return {name: _number(getattr(estimate, name)) for name in ("value", "low", "high")}


def _number(value: float) -> float | None:
    """JSON has no NaN."""
    return None if math.isnan(value) else float(value)
