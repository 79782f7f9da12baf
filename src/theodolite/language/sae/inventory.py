"""Check all shards before counting: firing rates, label sets and thresholds."""

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
from jaxtyping import Float, Integer

from theodolite.dissection.atoms import Atoms
from theodolite.errors import EvidenceError
from theodolite.evidence.workers import Arrays, Workers
from theodolite.language.sae.activation_shard import (
    SparseActivationShard,
    concatenate_starts,
    distinct_sets,
)
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.passes import Cut, Item, Pass, add_counts, run_by_range

LEVEL_BITS = 11
"""Number of bits of a value that each pass over the thresholds resolves."""
TABLE_BYTES = 1 << 28
PIECES_A_BLOCK = 4


@dataclass(frozen=True, eq=False)
class Inventory:
    """Totals over all shards."""

    active: Integer[np.ndarray, " units"]
    """Number of positions at which each unit is active at all."""
    sets: Atoms
    """Label sets of all shards, weighted by their positions, without the empty one."""
    documents: Integer[np.ndarray, " concepts"]
    """Number of documents with each concept."""

    @cached_property
    def met(self) -> Integer[np.ndarray, "concepts concepts"]:
        """Concepts ordered by co-occurrence with each concept, most frequent first."""
        pairs = self.sets.pairs
        met = np.empty(pairs.shape, np.uint16)
        for concept, row in enumerate(pairs):
            met[concept] = np.argsort(-row, kind="stable")
        return met


def take_inventory(
    evidence: SparseActivationEvidence, workers: Workers, least: int = 1
) -> Inventory:
    """Check and count all shards; concepts in fewer than ``least`` documents are dropped."""
    whole_range = np.arange(1)
    this = Pass("inventory", _inventory, Cut(PIECES_A_BLOCK, 1), whole_range, {})
    ((_, whole),) = run_by_range(evidence, workers, this, _merge)
    sets = _atoms(evidence, whole)
    documents = whole["documents"]
    rare = documents < least
    if rare.all():
        raise EvidenceError("concepts", f"none in {least} documents", "some", "Lower the minimum.")
    return Inventory(whole["active"], _without(sets, rare), documents)


def _inventory(item: Item, evidence: SparseActivationEvidence) -> Arrays:
    parts = [_of_piece(evidence.piece(n, check=True), evidence) for n in range(*item[:2])]
    return _merge(*parts)


def _of_piece(
    piece: SparseActivationShard, evidence: SparseActivationEvidence
) -> dict[str, np.ndarray]:
    return {
        "active": np.bincount(piece.unit, minlength=evidence.units),
        "documents": documents_with(piece, len(evidence.concepts)),
        "weight": np.bincount(piece.atom, minlength=len(piece.set_start) - 1),
        "start": piece.set_start,
        "label": piece.set_label,
    }


def documents_with(piece: SparseActivationShard, concepts: int) -> Integer[np.ndarray, " concepts"]:
    """Return the number of documents with each concept."""
    pairs = np.unique(piece.document.astype(np.int64) << 32 | piece.atom)
    document, atom = pairs >> 32, pairs & 0xFFFFFFFF
    sizes = np.diff(piece.set_start).astype(np.int64)[atom]
    owner = np.repeat(np.arange(len(atom)), sizes)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    label = piece.set_label[piece.set_start[atom].astype(np.int64)[owner] + within]
    both = np.unique(document[owner] * concepts + label)
    return np.bincount(both % concepts, minlength=concepts)


def _merge(*parts: Arrays) -> dict[str, np.ndarray]:
    """Add counts and merge label sets, independently of the order of shards."""
    start = concatenate_starts([part["start"] for part in parts])
    label = np.concatenate([part["label"] for part in parts])
    number, set_start, set_label = distinct_sets(start, label)
    weight = np.zeros(len(set_start) - 1, np.int64)
    np.add.at(weight, number, np.concatenate([part["weight"] for part in parts]))
    sums = {name: sum(part[name] for part in parts) for name in ("active", "documents")}
    return {**sums, "weight": weight, "start": set_start, "label": set_label}  # type: ignore[dict-item]


def _atoms(evidence: SparseActivationEvidence, whole: Arrays) -> Atoms:
    """Return label sets in the form of image dissection, as places of one image."""
    weight, start, label = whole["weight"], whole["start"], whole["label"]
    empty = int(len(start) > 1 and start[1] == 0)  # the shortest comes first
    weight = weight[empty:]
    small = weight.max(initial=0) < 1 << 31  # the type that loops are compiled for already
    kinds = ("concept",) * len(evidence.concepts)
    return Atoms(
        evidence.concepts, kinds, (1, 1), np.array([0, len(weight)]),
        weight.astype(np.int32 if small else np.int64), start[empty:].astype(np.int64),
        label.astype(np.int32), np.zeros((1, 0), np.uint16),
    )  # fmt: skip


def _without(sets: Atoms, rare: np.ndarray) -> Atoms:
    if not rare.any():
        return sets
    stays = ~rare[sets.label]
    before = np.concatenate([[0], np.cumsum(stays)])
    return replace(sets, label_start=before[sets.label_start], label=sets.label[stays])


def compute_thresholds(
    evidence: SparseActivationEvidence, workers: Workers, active: np.ndarray, quantile: float
) -> Float[np.ndarray, " units"]:
    """Return the value that a unit exceeds at a fraction ``1 - quantile`` of all positions; 0 for
    units that are active less often.

    The value at that rank itself, so that the mask is that of a quantile between two values.
    """
    if not 0 < quantile < 1:
        raise EvidenceError("quantile", f"{quantile}", "a share between 0 and 1, such as 0.995")
    limits = np.zeros(evidence.units, np.float32)
    n = evidence.positions
    rank = int(quantile * (n - 1)) - (n - active.astype(np.int64))
    dense = np.flatnonzero(rank >= 0)
    value = evidence.piece(0).value
    if value is None or not len(dense):
        return limits
    bits = 8 * value.itemsize
    prefix, rank = np.zeros(len(dense), np.int64), rank[dense]
    for low in range(bits - LEVEL_BITS, -LEVEL_BITS, -LEVEL_BITS):
        shift = max(low, 0)
        width = min(LEVEL_BITS, low + LEVEL_BITS)
        do = partial(_histogram, chosen=dense, prefix=prefix, shift=shift, width=width)
        settings = {"shift": shift, "prefix": prefix.tolist()}
        cut = Cut(PIECES_A_BLOCK, max(TABLE_BYTES // (8 << width), 1))
        counts = [part["count"] for _, part in run_by_range(
            evidence, workers, Pass("thresholds", do, cut, dense, settings), add_counts
        )]  # fmt: skip
        below = np.cumsum(np.concatenate(counts), axis=1)
        digit = (below <= rank[:, None]).sum(axis=1)
        rank = rank - np.where(digit > 0, below[np.arange(len(dense)), digit - 1], 0)
        prefix = prefix << width | digit
    kind = np.uint16 if bits == 16 else np.uint32
    limits[dense] = prefix.astype(kind).view(value.dtype)
    return limits


def _histogram(
    item: Item,
    evidence: SparseActivationEvidence,
    chosen: np.ndarray,
    prefix: np.ndarray,
    shift: int,
    width: int,
) -> Arrays:
    """Count the next bits of values whose upper bits match the threshold's."""
    rows = slice(*item[2:])
    slot = np.full(evidence.units, -1, np.int64)
    slot[chosen[rows]] = np.arange(rows.stop - rows.start)
    count = np.zeros((rows.stop - rows.start) << width, np.int64)
    for number in range(*item[:2]):
        piece = evidence.piece(number)
        assert piece.value is not None  # noqa: S101  else there are no thresholds
        owner = slot[piece.unit]
        inside = owner >= 0
        owner = owner[inside]
        kind = np.uint16 if piece.value.itemsize == 2 else np.uint32
        key = piece.value[inside].view(kind).astype(np.int64) >> shift
        same = key >> width == prefix[rows][owner]
        key = (key & ((1 << width) - 1))[same]
        count += np.bincount((owner[same] << width) + key, minlength=len(count))
    return {"count": count.reshape(-1, 1 << width)}
