"""Count the pixels of units and formulas in one shard; a pass of :mod:`.sharded`."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxtyping import Integer

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.counts import annotated_images, count
from theodolite.dissection.formula import Formula, as_rows, from_rows
from theodolite.dissection.search import LONGEST
from theodolite.dissection.shard_marks import Marks
from theodolite.dissection.shards import digest_of
from theodolite.dissection.units import UnitMasks
from theodolite.evidence.workers import Arrays, Work


def counting_work(
    marks: Marks, formulas: Sequence[Formula | None], chance: Sequence[Formula | None]
) -> Work:
    """Return the work that counts every shard, without reading activations again."""
    own, other = as_rows(formulas, LONGEST), as_rows(chance, LONGEST)
    categories = marks.atoms.categories
    items = _Cut(marks)
    return Work(
        what="counts",
        do=partial(count_shard, categories=categories, formulas=own, chance=other),
        items=items,
        digests=[digest_of(*items[at].values()) for at in range(len(items))],
        about={
            "work": "dissection, counts",
            "version": 1,
            "categories": list(categories),
            "formulas": digest_of(own, other),
        },
        names=[f"shard {number}" for number in marks.numbers],
    )


class _Cut(Sequence[dict[str, np.ndarray]]):
    """What each shard's counts are made of, cut out of the whole when it is asked for."""

    def __init__(self, marks: Marks) -> None:
        self._marks = marks

    def __len__(self) -> int:
        return len(self._marks.numbers)

    def __getitem__(self, at: int) -> dict[str, np.ndarray]:  # type: ignore[override]
        if not 0 <= at < len(self):
            raise IndexError(at)
        atoms = self._marks.atoms_of(at)
        own, dealt = self._marks.units_of(at)
        return {
            "start": atoms.start, "weight": atoms.weight, "label_start": atoms.label_start,
            "label": atoms.label, "own_start": own.start, "own_atom": own.atom,
            "own_count": own.count, "dealt_start": dealt.start, "dealt_atom": dealt.atom,
            "dealt_count": dealt.count,
        }  # fmt: skip


def count_shard(
    marks: dict[str, np.ndarray],
    categories: tuple[str, ...],
    formulas: Integer[np.ndarray, "units numbers"],
    chance: Integer[np.ndarray, "units numbers"],
) -> Arrays:
    """Return pixels of each unit, its formula and both, per image of a shard."""
    n = len(marks["start"]) - 1
    names = tuple(map(str, range(len(categories))))
    atoms = Atoms(
        names, categories, (1, 1), marks["start"], marks["weight"], marks["label_start"],
        marks["label"], np.empty((n, 0), np.uint16),
    )  # fmt: skip
    arrays: dict[str, np.ndarray] = {}
    for before, which, rows in (("", "own", formulas), ("chance_", "dealt", chance)):
        units = UnitMasks(*(marks[f"{which}_{part}"] for part in ("start", "atom", "count")))
        # nothing to deal masks out over: such an image adds nothing to the null
        own = [None] * len(rows) if before and n == 1 else from_rows(rows)
        counted = count(atoms, units, own)
        arrays[f"{before}unit_pixels"] = counted.unit
        arrays[f"{before}formula_pixels"] = counted.formula
        arrays[f"{before}shared_pixels"] = counted.shared
        arrays[f"{before}annotated"] = annotated_images(atoms, own)
    return arrays
