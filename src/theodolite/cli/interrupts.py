"""Commands that end early: by Ctrl-C or a kill, or with a part of the work missing."""

from collections.abc import Iterator
from contextlib import contextmanager

PARTIAL = 4
"""Exit code of a run that is usable, but not whole."""


class Interrupted(BaseException):
    """Ctrl-C or a polite kill."""

    resumable = False
    """Whether finished work is on disk, so that the same command can resume."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


@contextmanager
def resumable() -> Iterator[None]:
    """Mark work that resumes after an interruption."""
    try:
        yield
    except Interrupted as interrupted:
        interrupted.resumable = True
        raise
