"""Third pass of SAE dissection: exact overlap and detection counts of each unit with its
formula."""

from functools import partial
from itertools import pairwise

import numpy as np
from jaxtyping import Integer

from theodolite._stats.threads import run_in_threads
from theodolite._storage.packed_arrays import digest_arrays
from theodolite.evidence.workers import Arrays, Workers
from theodolite.language.sae.activation_shard import SparseActivationShard
from theodolite.language.sae.counting import apply_limits, block_shift, sort_values
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.passes import (
    Item,
    Pass,
    add_counts,
    plan_cut,
    run_by_range,
    stack_rows,
    writeable,
)
from theodolite.language.sae.singles import derive_shard_seed

FIELDS = ("unit", "formula", "shared", "documents", "met", "ss", "sn", "nn")
"""Columns: positions of the unit, of its formula, of both; documents with the formula, with both;
and sums of squares over documents for intervals.
"""
BITS_BYTES = 1 << 26
"""Largest size of concept bits in a part of a shard."""
TABLE_BYTES = 1 << 27


def count_formulas(
    evidence: SparseActivationEvidence,
    workers: Workers,
    units: Integer[np.ndarray, " chosen"],
    limits: np.ndarray,
    formulas: Integer[np.ndarray, "units numbers"],
    seed: int | None,
) -> Integer[np.ndarray, "units fields"]:
    """Return exact counts of each unit with its formula (``dissection.formula.as_rows``)."""
    do = partial(count_range, units=units, limits=limits, formulas=formulas, seed=seed)
    settings = {
        "limits": digest_arrays({"limits": limits}), "seed": seed,
        "formulas": digest_arrays({"formulas": formulas}),
    }  # fmt: skip
    cut = plan_cut(evidence, len(units), 8 * len(FIELDS), TABLE_BYTES)
    this = Pass("formulas", do, cut, units, settings)
    return stack_rows([part for _, part in run_by_range(evidence, workers, this, add_counts)])[
        "sums"
    ]


def count_range(
    item: Item,
    evidence: SparseActivationEvidence,
    units: np.ndarray,
    limits: np.ndarray,
    formulas: np.ndarray,
    seed: int | None,
) -> Arrays:
    """Return counts of some units in some shards; a task of :func:`count_formulas`."""
    rows = slice(*item[2:])
    sums = np.zeros((rows.stop - rows.start, len(FIELDS)), np.int64)
    for number in range(*item[:2]):
        piece = apply_limits(evidence.piece(number), limits, derive_shard_seed(seed, number))
        for part in _parts(piece, len(evidence.concepts)):
            _count(part, units[rows], formulas[rows], len(evidence.concepts), sums)
    return {"sums": sums}


def _parts(piece: SparseActivationShard, concepts: int) -> list[SparseActivationShard]:
    """Split a shard into documents whose bits fit into memory."""
    most = max(BITS_BYTES * 8 // concepts, 1)
    if len(piece) <= most:
        return [piece]
    group = (piece.place[1:].astype(np.int64) - 1) // most
    cuts = [*np.flatnonzero(np.diff(group, prepend=-1)), piece.documents]
    return [piece.part(int(a), int(b)) for a, b in pairwise(cuts)]


def _count(
    piece: SparseActivationShard,
    units: np.ndarray,
    formulas: np.ndarray,
    concepts: int,
    sums: np.ndarray,
) -> None:
    from theodolite.language.sae import _formula_kernels as kernels  # noqa: PLC0415

    # an atom: the positions of a document that carry one label set
    key = piece.document.astype(np.int64) << 32 | piece.atom
    atoms, atom_of, weight = np.unique(key, return_inverse=True, return_counts=True)
    bits = np.zeros((concepts, -(-len(atoms) // 64)), np.uint64)
    atom_set = (atoms & 0xFFFFFFFF).astype(np.uint32)
    kernels.bits_of_concepts(atom_set, piece.set_start, piece.set_label, bits)
    shift = block_shift(concepts)
    values = sort_values(piece, units, shift)
    places = (atom_of.astype(np.int32), weight.astype(np.int64), (atoms >> 32).astype(np.int32))

    def count(number: int) -> None:
        rows = values.units(number, len(units))
        kernels.count_formulas(
            values.block(number),
            shift,
            writeable(formulas[rows]),
            bits,
            *places,
            piece.documents,
            sums[rows],
        )

    run_in_threads(range(len(values)), count, small=len(values.entries) < 1 << 16)
