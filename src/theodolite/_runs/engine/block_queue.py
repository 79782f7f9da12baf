"""A queue of blocks of pieces, each large enough to be worth sending to a process."""

import math
from collections import deque
from dataclasses import dataclass

from theodolite._runs.engine.tasks import TaskOutcome

MIN_TASK_SECONDS = 1.0
"""Seconds that a task should take at least: sending it costs about a thousandth of that."""
MAX_PIECES = 64


@dataclass(frozen=True)
class PieceBlock:
    """Pieces in a row; a power of two of them, so that merging them is a part of the one tree."""

    first: int
    count: int
    crashes: int = 0
    """How often a process died over it."""
    losses: int = 0
    """How often it was lost with its machine."""

    def rows(self) -> range:
        return range(self.first, self.first + self.count)


class BlockQueue:
    """Which pieces to do next, and how many at a time."""

    def __init__(self, n: int, workers: int) -> None:
        self._n, self._at, self._size = n, 0, 1
        self._most = _round_down_to_power(min(MAX_PIECES, max(n // (4 * workers), 1)))
        self._again: deque[PieceBlock] = deque()

    def next(self) -> PieceBlock | None:
        if self._again:
            return self._again.popleft()
        if self._at == self._n:
            return None
        aligned = self._at & -self._at or self._most
        block = PieceBlock(
            self._at, _round_down_to_power(min(self._size, aligned, self._n - self._at))
        )
        self._at += block.count
        return block

    def again(self, block: PieceBlock, *, halves: bool = False) -> None:
        """A process died: piece by piece, so that the one to blame is found; or in halves, which
        need less memory."""
        count = block.count // 2 if halves and block.count > 1 else 1
        self._again.extend(
            PieceBlock(row, count, block.crashes + 1, block.losses) for row in block.rows()[::count]
        )

    def put_back(self, block: PieceBlock) -> None:
        """It was not begun, or lost by no fault of its own."""
        self._again.append(block)

    @property
    def begins_again(self) -> bool:
        """Whether pieces wait whose process died."""
        return bool(self._again)

    def learn(self, block: PieceBlock, done: TaskOutcome) -> None:
        """Longer tasks where pieces are quick."""
        if done.computed == block.count and done.seconds > 0:
            count = math.ceil(MIN_TASK_SECONDS * block.count / done.seconds)
            self._size = min(_round_down_to_power(count, up=True), self._most)


def _round_down_to_power(n: int, *, up: bool = False) -> int:
    """The nearest power of two below, or above."""
    return 1 << ((n - 1).bit_length() if up else n.bit_length() - 1)
