"""What a training must not do to the process it runs in: talk, end it, or change its threads."""

import logging
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import torch


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


_threads = threading.Lock()
_alone = [0, 0]  # how many trainings want one thread; how many threads there were before


@contextmanager
def one_thread_if(small: bool) -> Iterator[None]:  # noqa: FBT001  reads as a sentence
    """Small networks are several times faster on one thread, and then equal on any machine."""
    if not small:
        yield
        return
    with _threads:
        if not _alone[0]:
            _alone[1] = torch.get_num_threads()
        _alone[0] += 1
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _threads:
            _alone[0] -= 1
            if not _alone[0]:
                torch.set_num_threads(_alone[1])
