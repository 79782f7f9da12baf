"""Search formulas for blocks of units over the label maps of all images; a pass of
:mod:`.sharded`."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from theodolite._stats.threads import limit_to_one_thread
from theodolite.dissection.atoms import Atoms
from theodolite.dissection.dissect import best_formulas
from theodolite.dissection.exact import Optimum, optimum
from theodolite.dissection.formula import Formula, as_rows, from_rows
from theodolite.dissection.search import Beam, FormulaSearch, search
from theodolite.dissection.shards import digest_of
from theodolite.dissection.units import UnitMasks
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.evidence.workers import Arrays, Work, Workers

BLOCK = 16
EXACT_LENGTH = 3
Rows = dict[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class SearchResult:
    """Results of the search for every unit."""

    searched: FormulaSearch
    formulas: list[Formula | None]
    """Formulas that units are scored with."""
    proved: Optimum | None
    """Best of all formulas, if exact search was requested."""
    failed: int
    """Units whose search failed; they have no formula."""


def search_blocks(
    workers: Workers,
    atoms: Atoms,
    units: UnitMasks,
    *,
    beam: Beam,
    length: int | None = None,
    exact: bool = False,
    block: int = BLOCK,
    progress: Progress = silent,
) -> SearchResult:
    """Search for every unit in blocks; the block size does not affect results."""
    firsts = range(0, len(units), block)
    items = [_rows(units, first, min(first + block, len(units))) for first in firsts]
    work = Work(
        what="search",
        do=partial(search_block, beam=beam, exact=exact),
        items=items,
        digests=[digest_of(*item.values()) for item in items],
        about={
            "work": "dissection, search", "version": 1, "exact": exact,
            "beam": [beam.size, beam.lengths, beam.candidates, beam.distinct, beam.stop],
            "atoms": atoms.digest(),
        },
        names=[f"units from {first}" for first in firsts],
        tool=partial(_keep_atoms, atoms),
    )  # fmt: skip
    parts: list[Arrays] = []
    failed = 0
    for done, (item, part) in enumerate(zip(items, workers.each(work), strict=True), start=1):
        failed += 0 if part is not None else len(item["start"]) - 1
        parts.append(_nothing(len(item["start"]) - 1, beam, exact) if part is None else part)
        progress("search", done, len(items))
    whole = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    searched = FormulaSearch(
        beam, units.sizes(), whole["found"], whole["picked"], whole["searched"]
    )
    if not exact:
        return SearchResult(searched, best_formulas(searched, length), None, failed)
    formulas = from_rows(whole["formula"])
    proved = Optimum(tuple(formulas), whole["iou"], whole["beam_iou"], whole["counted"])
    return SearchResult(searched, formulas, proved, failed)


def _keep_atoms(atoms: Atoms) -> Atoms:
    """Once in each process: the tables that all units share are made from it and stay with it."""
    return atoms


def _rows(units: UnitMasks, first: int, last: int) -> Rows:
    rows = slice(units.start[first], units.start[last])
    return {
        "start": units.start[first : last + 1] - units.start[first],
        "atom": units.atom[rows],
        "count": units.count[rows],
    }


def search_block(rows: Rows, atoms: Atoms, beam: Beam, exact: bool) -> Arrays:  # noqa: FBT001
    """Return the formulas of some units as numbers."""
    units = UnitMasks(rows["start"], rows["atom"], rows["count"])
    with limit_to_one_thread():  # to use more cores, use more workers
        formula_search = search(atoms, units, beam)
        arrays: Rows = {
            "found": formula_search.by_overlap,
            "picked": formula_search.by_detection,
            "searched": formula_search.searched,
        }
        if exact:
            best = optimum(atoms, units, EXACT_LENGTH, beam)
            arrays |= {
                "formula": as_rows(best.formulas, EXACT_LENGTH),
                "iou": best.iou,
                "beam_iou": best.beam_iou,
                "counted": best.counted,
            }
    return arrays


def _nothing(n: int, beam: Beam, exact: bool) -> Arrays:  # noqa: FBT001
    """Of units that could not be searched."""
    fields = np.zeros((n, beam.lengths, 5 + 2 * beam.lengths), np.int64)
    arrays: Rows = {"found": fields, "picked": fields, "searched": np.zeros(n, np.int64)}
    if exact:
        arrays |= {
            "formula": as_rows([None] * n, EXACT_LENGTH), "iou": np.zeros(n),
            "beam_iou": np.zeros(n), "counted": np.zeros(n, np.int64),
        }  # fmt: skip
    return arrays
