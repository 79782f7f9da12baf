"""Cells of a sweep: what each changes, and its contrasts as they are and as resampled."""

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._runs.compared_models import group_samples as clustered
from theodolite._runs.comparison.paired_differences import ResampledRows, resample_rows
from theodolite._runs.engine.process_identity import get_code_version
from theodolite._runs.folder.spec import MetricSpec, RunSpec
from theodolite._runs.folder.spec_answers import build_requests
from theodolite._runs.run_inputs import RunPaths, load_inputs
from theodolite._scoring.intervals import DrawCounts
from theodolite._scoring.request import Resampling
from theodolite._scoring.values import average_defined
from theodolite._storage.packed_arrays import (
    digest_arrays,
    pack_with_metadata,
    unpack_with_metadata,
)
from theodolite._storage.paths import all_or_nothing, confined, sha256_of
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.base import Evidence
from theodolite.evidence.pipeline_output import Progress
from theodolite.evidence.workers import SerialWorkers
from theodolite.metrics.catalogue import find_metric
from theodolite_reproductions.sweeps.spec import (
    MOST_CELLS,
    OPTION,
    Choice,
    ContrastSpec,
    SweepSpec,
    spec_with,
)

MOST_BYTES = 1 << 28
FIELDS = ("rows", "seeds", "draws", "figures")


@dataclass(frozen=True, eq=False)
class ContrastRows:
    """A contrast in one cell."""

    rows: Float[np.ndarray, " rows"]
    """As it is, then in every resample."""
    seeds: Float[np.ndarray, " seeds"]
    """As it is, with each seed."""
    draws: float
    """How many samples or clusters were drawn independently."""
    figures: tuple[float, float]
    """The score, and what is taken off."""


Cell = Mapping[str, Choice]
"""What is chosen, by dotted name."""


def cells_of(sweep: SweepSpec) -> list[dict[str, Choice]]:
    """All combinations; the first has the first choice of everything."""
    n = int(np.prod([len(choices) for choices in sweep.vary.values()]))
    if n > MOST_CELLS:
        raise EvidenceError("vary", f"{n:,} cells", f"at most {MOST_CELLS:,}")
    names = list(sweep.vary)
    every = itertools.product(*sweep.vary.values())
    return [dict(zip(names, choices, strict=True)) for choices in every]


def swept(
    sweep: SweepSpec, protocol: dict[str, Any], at: RunPaths, progress: Progress
) -> Iterator[tuple[Cell, dict[str, ContrastRows]]]:
    """Cell by cell, what its contrasts are; cells that were done before are read."""
    cells = cells_of(sweep)
    by_evidence: dict[str, list[dict[str, Choice]]] = {}
    for cell in cells:
        changed = {name: value for name, value in cell.items() if not name.startswith(OPTION)}
        by_evidence.setdefault(json.dumps(changed), []).append(cell)
    inputs: Mapping[str, str] = {}
    for number, (text, own) in enumerate(by_evidence.items()):
        progress("cells", number, len(by_evidence))
        spec = spec_with(protocol, sweep.settings | json.loads(text))
        path = at.out / "cells" / f"{_key(spec, sweep, own, at)}.safetensors"
        known = _read(path, own, sweep.contrasts)
        if known is None:
            known = _measured(spec, sweep, own, at, progress)
            _write(path, known)
        if inputs and known.inputs != inputs:
            raise EvidenceError(
                "cells", "some made from other data than the first", "all from the same",
                f"Empty {path.parent.name!r} in the folder, or give another folder.",
            )  # fmt: skip
        inputs = known.inputs
        yield from zip(own, known.cells, strict=True)
    progress("cells", len(by_evidence), len(by_evidence))


def _key(spec: RunSpec, sweep: SweepSpec, cells: Sequence[Cell], at: RunPaths) -> str:
    """Of all that decides what is in a file of cells. What a data set read is known only when it
    was read: that is kept in the file and compared."""
    contrasts = [contrast.model_dump(mode="json") for contrast in sweep.contrasts]
    files = [path for name in spec.evidence for path in sorted(confined(at.data, name).rglob("*"))]
    digests = [sha256_of(path) for path in files if path.is_file()]
    spec_content = spec.model_dump(mode="json", exclude={"report", "title"})
    parts = [spec_content, contrasts, list(map(dict, cells)), get_code_version(), digests]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _measured(
    spec: RunSpec, sweep: SweepSpec, cells: Sequence[Cell], at: RunPaths, progress: Progress
) -> "_CellFile":
    produced = load_inputs(spec, at, progress)(SerialWorkers())
    evidence = [[clustered(bundle, spec) for bundle in seed] for seed in produced.evidence]
    every = _EvidenceRows(spec, evidence)
    measured = [
        {
            contrast.name: contrast_rows(contrast, options_of(cell), every)
            for contrast in sweep.contrasts
        }
        for cell in cells
    ]
    return _CellFile(measured, dict(produced.inputs))


def options_of(cell: Cell) -> dict[str, Choice]:
    """What a cell chooses among options of scores."""
    return {n.removeprefix(OPTION): v for n, v in cell.items() if n.startswith(OPTION)}


@dataclass(frozen=True, eq=False)
class _CellFile:
    """Cells that share their evidence, and digests of what it was made from."""

    cells: list[dict[str, ContrastRows]]
    inputs: Mapping[str, str]


class _EvidenceRows:
    """Rows of scores on one cell's evidence, each computed once."""

    def __init__(self, spec: RunSpec, evidence: Sequence[Sequence[Evidence]]) -> None:
        self.resampling = spec.resampling.draws()
        self.evidence = evidence
        self._known: dict[str, ResampledRows] = {}

    def of(self, metric: MetricSpec) -> ResampledRows:
        """Of one score."""
        key = json.dumps(metric.model_dump(mode="json"), sort_keys=True)
        if key not in self._known:
            requests = build_requests([metric])
            if len(requests) != 1:
                raise EvidenceError("contrast", f"{len(requests)} scores", "one: no lists")
            kind = requests[0].metric.needs
            bundles = [b for seed in self.evidence for b in seed if type(b) is kind]
            if not bundles:
                raise EvidenceError(metric.name, f"no {kind.kind} evidence", "some")
            self._known[key] = resample_rows(requests[0], bundles, self.resampling)
        return self._known[key]


def contrast_rows(
    contrast: ContrastSpec, options: Mapping[str, Choice], every: _EvidenceRows
) -> ContrastRows:
    """Of one contrast, with the options of a cell where its score has them."""
    metric = contrast.metric
    rows = every.of(_with_options(metric, options))
    mine = _heads(rows, contrast)
    yours = tuple(np.zeros_like(part) for part in mine)
    if contrast.minus is not None:
        other = metric.model_copy(update={"options": metric.options | contrast.minus})
        yours = _heads(every.of(_with_options(other, options)), contrast)
    sign = -1.0 if contrast.below else 1.0
    heads, seeds = (sign * (a - b - contrast.line) for a, b in zip(mine, yours, strict=True))
    of_items = contrast.unit == "items"
    draws = np.prod(rows.values.shape[1:]) if of_items else _draws(rows)
    return ContrastRows(
        heads,
        seeds,
        float(draws),
        (float(mine[0][0]), float(yours[0][0]) + contrast.line),
    )


def _with_options(metric: MetricSpec, options: Mapping[str, Choice]) -> MetricSpec:
    """What the contrast itself says goes before what the cell chooses."""
    known = find_metric(metric.name).options()
    chosen = {name: value for name, value in options.items() if name in known}
    return metric.model_copy(update={"options": chosen | metric.options})


def _heads(rows: ResampledRows, contrast: ContrastSpec) -> tuple[np.ndarray, np.ndarray]:
    """The score as it is and in every resample, and with each seed. Where it has items, their mean
    or the share of them below a number. Swept options are axes of length 1."""
    line, plan = contrast.share_below, rows.plan
    seeds = _items(rows.seeds[:, 0], line)
    if contrast.unit == "items":
        heads = _item_means(average_defined(seeds), plan.resampling)
    else:
        block = np.r_[0, plan.block.start : plan.block.stop]
        every = rows.values[block] if line is None else rows.seeds[:, block]
        values = _items(every, None) if line is None else _over_seeds(every, line)
        heads = average_defined(values.T)
    return heads, average_defined(seeds.T)


def _over_seeds(seeds: np.ndarray, line: float) -> Float[np.ndarray, "rows items"]:
    """Return how many of the seeds have an item below the line."""
    return average_defined(np.stack([_items(rows, line) for rows in seeds]))


def _item_means(
    items: Float[np.ndarray, " items"], resampling: Resampling
) -> Float[np.ndarray, " rows"]:
    """The mean of the defined items, then of items drawn with replacement: the same ones for every
    score with as many."""
    n, random = len(items), np.random.default_rng(resampling.seed)
    times = random.multinomial(n, np.full(n, 1 / n), size=resampling.resamples)
    times = np.vstack([np.ones(n), times])
    known = ~np.isnan(items)
    total = np.einsum("ri,i->r", times, np.where(known, items, 0.0))
    count = np.einsum("ri,i->r", times, known.astype(float))
    means = np.divide(total, count, out=np.full(len(times), np.nan), where=count > 0)
    return np.asarray(means)


def _items(values: np.ndarray, line: float | None) -> Float[np.ndarray, "rows items"]:
    """Rows of items, or of 1 where an item is below the line; NaN where it is undefined."""
    items = values.reshape(len(values), -1)
    return items if line is None else np.where(np.isnan(items), np.nan, items < line)


def _draws(rows: ResampledRows) -> float:
    """Samples or clusters that were drawn independently."""
    return DrawCounts.from_plan(rows.plan, rows.plan.n).bootstrap


def _write(path: Path, file: _CellFile) -> None:
    arrays = {
        f"{number}.{name}.{field}": np.atleast_1d(np.asarray(getattr(own, field), float))
        for number, contrasts in enumerate(file.cells)
        for name, own in contrasts.items()
        for field in FIELDS
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with all_or_nothing(path) as stream:
        inputs = json.dumps(dict(file.inputs), sort_keys=True)
        stream.write(
            pack_with_metadata(arrays, {"digest": digest_arrays(arrays), "inputs": inputs})
        )


def _read(path: Path, cells: Sequence[Cell], contrasts: Sequence[ContrastSpec]) -> _CellFile | None:
    """What was measured before; nothing if it was not, or is damaged: then it is done again."""
    if not path.is_file() or path.stat().st_size > MOST_BYTES:
        return None
    try:
        arrays, metadata = unpack_with_metadata(path.read_bytes(), path.name)
        if digest_arrays(arrays) != metadata.get("digest"):
            return None
        measured = [
            {
                contrast.name: _row_of({f: arrays[f"{n}.{contrast.name}.{f}"] for f in FIELDS})
                for contrast in contrasts
            }
            for n in range(len(cells))
        ]
        return _CellFile(measured, json.loads(metadata["inputs"]))
    except (UnsafeInputError, KeyError, ValueError):
        return None


def _row_of(arrays: Mapping[str, np.ndarray]) -> ContrastRows:
    score, taken_off = arrays["figures"].tolist()
    return ContrastRows(
        arrays["rows"], arrays["seeds"], float(arrays["draws"][0]), (score, taken_off)
    )
