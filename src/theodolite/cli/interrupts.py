"""Commands that end early: by Ctrl-C or a kill, or with a part of the work missing."""

from collections.abc import Iterator
from contextlib import contextmanager

PARTIAL = 4
"""Exit code of a run that is usable, but not whole."""


class Interrupted(BaseException):
    """Ctrl-C or a polite kill."""

    goes_on = False
    """Whether what was finished is on disk, for the same command to go on with."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.exit_code = 128 + number


@contextmanager
def goes_on() -> Iterator[None]:
    """Work that goes on where it was if it is interrupted and begun again."""
    try:
        yield
    except Interrupted as interrupted:
        interrupted.goes_on = True
        raise
