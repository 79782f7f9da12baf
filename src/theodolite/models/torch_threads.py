"""Limit torch to one thread while a small network trains. Used by the learned surrogate and the
bottleneck training of the reproductions."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_threads = threading.Lock()
_alone = [0, 0]  # how many trainings want one thread; how many threads there were before


@contextmanager
def limit_to_one_thread(*, when: bool = True) -> Iterator[None]:
    """Limit torch to one thread in the block: small networks train faster, and equally
    everywhere.
    """
    if not when:
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
