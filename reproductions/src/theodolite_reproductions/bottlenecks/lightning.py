"""What Lightning must not do to the process it runs in: talk, or end it."""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def lightning_quiet() -> Iterator[None]:
    """Lightning tells which devices there are, and advertises: not from this thread."""
    warnings.filterwarnings("ignore", r"`isinstance\(treespec, LeafSpec\)`", FutureWarning)
    log = logging.getLogger("lightning.pytorch.utilities.rank_zero")
    thread = threading.get_ident()

    def loud(record: logging.LogRecord) -> bool:
        return record.thread != thread or record.levelno > logging.INFO

    log.addFilter(loud)
    try:
        yield
    finally:
        log.removeFilter(loud)


@contextmanager
def interrupts_kept() -> Iterator[None]:
    """Ctrl-C stays what it is: Lightning would make an end of the process of it."""
    try:
        yield
    except SystemExit as stop:
        if isinstance(stop.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
