"""What units and their formulas have in common, document by document: overlap and detection."""

from functools import partial
from itertools import pairwise

import numpy as np
from jaxtyping import Integer

from theodolite._stats.threads import run_in_threads
from theodolite._storage.packed import digest_of
from theodolite.evidence.workers import Arrays, Workers
from theodolite.language.sae.counting import block_shift, limited, sort_values
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.passes import Item, Pass, added, by_range, cut_for, stacked, writeable
from theodolite.language.sae.pieces import SparseActivationShard
from theodolite.language.sae.singles import seed_of

FIELDS = ("unit", "formula", "shared", "documents", "met", "ss", "sn", "nn")
"""Positions of the unit, of its formula, of both; documents with the formula, with both; and over
documents the sums of squares that intervals are made of."""
BITS_BYTES = 1 << 26
"""Of concepts' bits in a part of a piece."""
TABLE_BYTES = 1 << 27


def count_formulas(
    evidence: SparseActivationEvidence,
    workers: Workers,
    units: Integer[np.ndarray, " chosen"],
    limits: np.ndarray,
    formulas: Integer[np.ndarray, "units numbers"],
    seed: int | None,
) -> Integer[np.ndarray, "units fields"]:
    """Exact counts of each unit with its formula (``dissection.formula.as_rows``)."""
    do = partial(count_range, units=units, limits=limits, formulas=formulas, seed=seed)
    settings = {
        "limits": digest_of({"limits": limits}), "seed": seed,
        "formulas": digest_of({"formulas": formulas}),
    }  # fmt: skip
    cut = cut_for(evidence, len(units), 8 * len(FIELDS), TABLE_BYTES)
    this = Pass("formulas", do, cut, units, settings)
    return stacked([part for _, part in by_range(evidence, workers, this, added)])["sums"]


def count_range(
    item: Item,
    evidence: SparseActivationEvidence,
    units: np.ndarray,
    limits: np.ndarray,
    formulas: np.ndarray,
    seed: int | None,
) -> Arrays:
    """Counts of some units in some pieces."""
    rows = slice(*item[2:])
    sums = np.zeros((rows.stop - rows.start, len(FIELDS)), np.int64)
    for number in range(*item[:2]):
        piece = limited(evidence.piece(number), limits, seed_of(seed, number))
        for part in _parts(piece, len(evidence.concepts)):
            _count(part, units[rows], formulas[rows], len(evidence.concepts), sums)
    return {"sums": sums}


def _parts(piece: SparseActivationShard, concepts: int) -> list[SparseActivationShard]:
    """Documents whose bits take a bounded part of memory."""
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
