"""Dissect activations that exceed memory, shard by shard on any number of workers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float

from theodolite.dissection.atoms import Atoms
from theodolite.dissection.quantiles import Method
from theodolite.dissection.search import Beam, FormulaSearch
from theodolite.dissection.shard_counts import counting_work
from theodolite.dissection.shard_limits import Thresholds, shard_limits
from theodolite.dissection.shard_marks import Marks, join_marks, mark_shard
from theodolite.dissection.shard_search import SearchResult, search_blocks
from theodolite.dissection.shards import MapShards, digest_of, shard_work
from theodolite.dissection.units import PAPER, UnitMasks
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples, Units
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.pipeline_output import Progress, silent
from theodolite.evidence.workers import Workers


@dataclass(frozen=True, eq=False)
class ShardedDissection:
    """Result of a sharded dissection; counts are computed shard by shard."""

    source: MapShards
    workers: Workers
    limits: Float[np.ndarray, " units"]
    marks: Marks
    search: SearchResult
    chance: SearchResult
    """Result of the same search for permuted masks: the null."""

    @property
    def atoms(self) -> Atoms:
        """Label maps of all images, without their pixels."""
        return self.marks.atoms

    @property
    def units(self) -> UnitMasks:
        """Masks of the units in all images."""
        return self.marks.own.units

    @property
    def searched(self) -> FormulaSearch:
        """Results of the beam search by length."""
        return self.search.searched

    def formulas(self) -> list[str]:
        """Return the best formula of each unit in words; empty if there is none."""
        names = self.atoms.concepts
        return ["" if formula is None else formula.text(names) for formula in self.search.formulas]

    def evidence(self, progress: Progress = silent) -> Iterator[UnitEvidence]:
        """Yield the counts of each shard; failed shards are skipped.

        Samples keep the numbers that their images have in the whole.
        """
        marks = self.marks
        work = counting_work(marks, self.search.formulas, self.chance.formulas)
        names = Units(tuple(f"unit {u}" for u in range(len(self.limits))))
        for at, counted in enumerate(self.workers.each(work)):
            progress("counts", at + 1, len(work.items))
            if counted is not None:
                first = marks.numbers[at] * self.source.shard_rows
                yield UnitEvidence(
                    **counted,
                    fires=marks.fires[at],
                    units=names,
                    samples=Samples(index=np.arange(first, first + len(marks.fires[at]))),
                )


def dissect_shards(
    source: MapShards,
    workers: Workers,
    *,
    quantile: float = PAPER,
    method: Method = "linear",
    thresholds: Thresholds = "exact",
    beam: Beam | None = None,
    length: int | None = None,
    exact: bool = False,
    min_images: int = 1,
    seed: int = 0,
    progress: Progress = silent,
) -> ShardedDissection:
    """Find the formula of each unit shard by shard, with the results of ``dissect``.

    Args:
        source: Where the shards are.
        workers: Who does the pieces.
        quantile: A unit is active above this quantile of its own values.
        method: How it lies between two values.
        thresholds: How they are found: ``exact``, ``binned`` or ``refined``.
        beam: How to search.
        length: The length of formula that units are scored with; as long as the beam if not given.
        exact: Score units with the best of all formulas of up to three concepts.
        min_images: Concepts in fewer images are left out.
        seed: Of the null, which deals masks out over other images of the same shard.
        progress: Told how far it is.
    """
    if source.shape[0] < 2:
        raise EvidenceError("images", "one", "at least two, to permute masks among them")
    beam = beam or Beam()
    limits, numbers = shard_limits(
        source, workers, quantile=quantile, method=method, how=thresholds
    )
    marks = _marked(source, workers, limits, numbers, seed, progress)
    marks = replace(marks, atoms=marks.atoms.without_rare(min_images))
    search = partial(search_blocks, workers, marks.atoms, length=length, exact=exact)
    search_result = search(marks.own.units, beam=beam, progress=progress)
    short = replace(beam, lengths=length or beam.lengths)
    chance = search(marks.dealt.units, beam=short, progress=progress)
    return ShardedDissection(source, workers, limits, marks, search_result, chance)


def _marked(
    source: MapShards,
    workers: Workers,
    limits: Float[np.ndarray, " units"],
    numbers: Sequence[int],
    seed: int,
    progress: Progress,
) -> Marks:
    do = partial(mark_shard, source=source, limits=limits, seed=seed)
    settings = {
        "limits": digest_of(limits), "seed": seed, "concepts": len(source.concepts),
        "grid": list(source.grid),
    }  # fmt: skip
    part_numbers, parts = [], []
    marked = workers.each(shard_work("marks", do, source, numbers, settings))
    for done, (number, part) in enumerate(zip(numbers, marked, strict=True), start=1):
        progress("marks", done, len(numbers))
        if part is not None:
            part_numbers.append(number)
            parts.append(part)
    return join_marks(source, part_numbers, parts)
