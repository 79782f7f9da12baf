"""Counts of the first pass by torch (sorting and counting keys), for GPUs."""

from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Integer

from theodolite._storage.optional import require
from theodolite.language.sae.activation_shard import SparseActivationShard
from theodolite.language.sae.counting import Counter, UnitCounts

MAX_KEYS = 1 << 24
"""Largest number of keys at a time: 128 MB, and as much again for sorting."""


def make_counter(device: str) -> Counter:
    """Return a counter that runs on a device."""
    torch = require("torch", "counting on a device", "torch")

    def count(
        piece: SparseActivationShard, units: Integer[np.ndarray, " chosen"], counts: UnitCounts
    ) -> None:
        per_position = np.diff(piece.start) * (1 + np.diff(piece.set_start)[piece.atom])
        per_document = np.add.reduceat(per_position.astype(np.int64), piece.place[:-1])
        batch = (np.cumsum(per_document) - 1) // MAX_KEYS
        cuts = [*np.flatnonzero(np.diff(batch, prepend=-1)), piece.documents]
        for first, last in pairwise(cuts):
            _count(torch, device, piece.part(int(first), int(last)), units, counts)

    return count


def _count(
    torch: Any, device: str, piece: SparseActivationShard, units: np.ndarray, counts: UnitCounts
) -> None:
    def sent(array: np.ndarray) -> Any:
        return torch.from_numpy(array.astype(np.int64)).to(device)

    slot_of = np.full(int(max(units[-1], piece.unit.max(initial=0))) + 1, -1, np.int64)
    slot_of[units] = np.arange(len(units))
    slot = sent(slot_of)[sent(piece.unit)]
    position = torch.repeat_interleave(sent(np.diff(piece.start)))
    chosen = slot >= 0
    slot, position = slot[chosen], position[chosen]
    document = sent(piece.document)[position]
    atom = sent(piece.atom)[position]
    set_start = sent(piece.set_start)
    sizes = set_start[atom + 1] - set_start[atom]
    owner = torch.repeat_interleave(sizes)
    within = torch.arange(len(owner), device=device) - (torch.cumsum(sizes, 0) - sizes)[owner]
    label = sent(piece.set_label)[set_start[atom][owner] + within]
    k = counts.table.shape[1]
    for table, keys, groups in (
        (counts.table.reshape(-1, 2), slot[owner] * k + label, document[owner]),
        (counts.active, slot, document),
    ):
        both = torch.sort(groups * len(table) + keys).values
        first = torch.ones(len(both), dtype=torch.bool, device=device)
        first[1:] = both[1:] != both[:-1]
        for column, cells in ((0, keys), (1, both[first] % len(table))):
            sums = torch.bincount(cells, minlength=len(table))
            table[:, column] += sums.cpu().numpy().astype(np.uint32)
