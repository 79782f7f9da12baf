"""Threads of a training, which must not change those of its process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

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
