"""Limit how often a session may send requests, by token buckets. Used by server middleware."""

import math
import time
from collections import OrderedDict
from threading import Lock

from theodolite.errors import EvidenceError

MAX_KEYS = 20_000


class Limiter:
    """Token bucket per key: ``burst`` requests at once, then ``rate`` per second.

    It remembers the keys that were used last, up to ``most_keys``; a forgotten key starts full, so
    memory is bounded. Each process has its own.
    """

    def __init__(self, rate: float, burst: int, most_keys: int = MAX_KEYS) -> None:
        if not (0 < rate < math.inf and burst >= 1 and most_keys >= 1):
            raise EvidenceError(
                "limit", f"rate {rate}, burst {burst}, {most_keys} keys", "all above 0"
            )
        self.rate, self.burst, self.most_keys = float(rate), burst, most_keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def allow(self, key: str, now: float | None = None) -> float:
        """Return 0 and count the request if it may be made now, else the seconds to wait.

        ``now`` is a clock that never goes back, such as ``time.monotonic()``.
        """
        with self._lock:
            moment = time.monotonic() if now is None else now
            level, since = self._buckets.pop(key, (float(self.burst), moment))
            level = min(self.burst, level + self.rate * max(0.0, moment - since))
            # who waits exactly as long as told must not fail by the last digit of a float
            allowed = level >= 1 - 1e-9
            level = max(0.0, level - 1) if allowed else level
            self._buckets[key] = (level, max(moment, since))
            while len(self._buckets) > self.most_keys:
                self._buckets.popitem(last=False)
            return 0.0 if allowed else (1 - level) / self.rate

    def __len__(self) -> int:
        """Return the number of remembered keys."""
        return len(self._buckets)
