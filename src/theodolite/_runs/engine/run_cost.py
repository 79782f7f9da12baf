"""Estimate the cost of a run from a few timed tasks."""

from collections.abc import Sequence
from dataclasses import dataclass

from theodolite._storage.traffic import Traffic

MINUTE = 60.0
"""Runs that take longer say so first."""


@dataclass(frozen=True)
class PassCost:
    """One pass over the pieces, or one step that cannot be cut."""

    what: str
    pieces: int
    left: int
    """Pieces that are not in the checkpoint store yet."""
    seconds: tuple[float, ...]
    """Of the pieces that were timed, each."""
    traffic: Traffic = Traffic()
    """What one piece reads."""
    checkpoint_bytes: int = 0
    """What one piece leaves."""
    in_driver: bool = False
    """Whether it is done by one process, whatever the number of workers."""

    def core_seconds(self, piece: float | None = None) -> float:
        """All that is left of it, if every piece takes so long; else as the timed ones do."""
        if piece is None:
            piece = sum(self.seconds) / max(len(self.seconds), 1)
        return self.left * piece

    def wall(self, workers: int, piece: float | None = None) -> float:
        """Return the seconds of this pass on this number of workers."""
        at_once = 1 if self.in_driver else max(min(workers, self.left), 1)
        return self.core_seconds(piece) / at_once


@dataclass(frozen=True)
class RunCost:
    """A run as it was rehearsed."""

    passes: Sequence[PassCost]
    workers: int
    driver_seconds: float
    """What the driver does beside the passes."""
    peak_bytes: int
    """Of the largest process."""
    notes: Sequence[str] = ()
    """Which scores are computed from a draw, what was not counted."""
    start_seconds: float = 0.0
    """Until processes are there and loops are compiled."""

    def wall(self) -> float:
        """Seconds until it is done."""
        alone = self.start_seconds + self.driver_seconds
        return alone + sum(step.wall(self.workers) for step in self.passes)

    def wall_range(self) -> tuple[float, float]:
        """Return the times if all tasks took as long as the fastest, or the slowest, timed one."""
        fast, slow = (
            sum(step.wall(self.workers, of(step.seconds, default=0.0)) for step in self.passes)
            for of in (min, max)
        )
        alone = self.start_seconds + self.driver_seconds
        return alone + fast, alone + slow

    def core_seconds(self) -> float:
        """Return the processor time of all processes together."""
        return self.driver_seconds + sum(step.core_seconds() for step in self.passes)

    def traffic(self) -> Traffic:
        """Return the bytes and requests of all passes."""
        return Traffic(
            sum(step.left * step.traffic.bytes for step in self.passes),
            sum(step.left * step.traffic.requests for step in self.passes),
        )

    def checkpoint_bytes(self) -> int:
        """Return the size of all checkpoints that the run will leave."""
        return sum(step.pieces * step.checkpoint_bytes for step in self.passes)

    def line(self) -> str:
        """Describe the cost in one line."""
        fast, slow = self.wall_range()
        n = len(self.passes)
        which, longest = max(
            ((k, step) for k, step in enumerate(self.passes, start=1)),
            key=lambda both: both[1].wall(self.workers),
            default=(0, None),
        )
        inside = [] if slow < 1.2 * fast else [f"{format_time(fast)} to {format_time(slow)}"]
        inside.append(format_time(self.core_seconds(), "core-"))
        if longest is not None and n > 1:
            inside.append(f"pass {which} of {n}: {format_time(longest.wall(self.workers))}")
        read = self.traffic()
        return (
            f"about {format_time(self.wall())} on {self.workers} worker{'s' * (self.workers > 1)} "
            f"({'; '.join(inside)}), {format_bytes(read.bytes)} read "
            f"in {read.requests:,} requests, at most {format_bytes(self.peak_bytes)} a process, "
            f"{format_bytes(self.checkpoint_bytes())} of checkpoints"
        )

    def table(self) -> list[str]:
        """Return a line for each pass."""
        width = max((len(step.what) for step in self.passes), default=0)
        return [
            f"  {step.what:{width}}  {step.left:,} of {step.pieces:,} tasks left, "
            + (f"{_format_range(step.seconds)} each, " if step.seconds else "")
            + f"{format_time(step.wall(self.workers))}"
            for step in self.passes
        ]


def _format_range(seconds: Sequence[float]) -> str:
    low, high = format_time(min(seconds)), format_time(max(seconds))
    return low if low == high else f"{low} to {high}"


def format_time(seconds: float, of: str = "") -> str:
    """Format a duration in words.

    >>> format_time(0.031), format_time(42), format_time(1500), format_time(82_000, "core-")
    ('31 ms', '42 s', '25 min', '23 core-hours')
    """
    if seconds < 1:
        return f"{1000 * seconds:.0f} {of}ms"
    if seconds < 2 * MINUTE:
        return f"{seconds:.0f} {f'{of}seconds' if of else 's'}"
    if seconds < 120 * MINUTE:
        return f"{seconds / MINUTE:.0f} {f'{of}minutes' if of else 'min'}"
    hours = seconds / MINUTE / MINUTE
    return f"{hours:.{1 if hours < 10 else 0}f} {f'{of}hours' if of else 'h'}"


def format_bytes(count: int) -> str:
    """Bytes as people say them.

    >>> format_bytes(700), format_bytes(54_000), format_bytes(49 * 10**12)
    ('700 B', '54 kB', '49 TB')
    """
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(max(len(str(int(count))) - 1, 0) // 3, len(units) - 1)
    amount = count / 1000**power
    return f"{amount:.{1 if amount < 10 and power else 0}f} {units[power]}"
