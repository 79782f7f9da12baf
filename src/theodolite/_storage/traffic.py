"""Count the bytes and requests of this process to stores, for cost estimates."""

from dataclasses import dataclass
from threading import Lock


@dataclass(frozen=True)
class Traffic:
    """Bytes that were read, and requests of any sort."""

    bytes: int = 0
    requests: int = 0

    def since(self, earlier: "Traffic") -> "Traffic":
        """What was added since then."""
        return Traffic(self.bytes - earlier.bytes, self.requests - earlier.requests)


class _Count:
    """Of this process, whose threads read side by side."""

    lock = Lock()
    bytes = requests = 0


def count_request(read_bytes: int = 0, requests: int = 1) -> None:
    """Count a request and the bytes of its answer."""
    with _Count.lock:
        _Count.bytes += read_bytes
        _Count.requests += requests


def get_traffic() -> Traffic:
    """Return the traffic of this process so far."""
    return Traffic(_Count.bytes, _Count.requests)
