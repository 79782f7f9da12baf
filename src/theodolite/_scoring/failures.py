"""Keep an error of one metric from ending other metrics: decide, encode, merge and describe it.

Used by the modules of `_scoring` that run code of metrics.
"""

import json
import re
import traceback
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from theodolite._scoring.request import MetricRequest
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError, printable
from theodolite.evidence.plugins import is_ours
from theodolite.evidence.workers import Arrays
from theodolite.metrics.base import Metric, added
from theodolite.results import Failed

RAISED = "!"
"""Name of the array that holds an encoded error in place of a state."""
MEMORY_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
MAX_CALLS = 6
"""Maximum number of calls to report from the traceback of an error."""


def is_limited_to_request(metric: Metric, error: Exception) -> bool:
    """Return True if an error ends one request only, False if it ends all of them.

    Errors of memory, and errors that theodolite's own checks of the evidence raise, end all.
    """
    if isinstance(error, MemoryError | UnsafeInputError | VerificationError):
        return False
    return not isinstance(error, EvidenceError) or not is_ours(metric.state)


def encode_error(error: BaseException) -> np.ndarray:
    """Encode an error as an array that can be stored; it is the same on every machine."""
    calls = traceback.extract_tb(error.__traceback__)[-MAX_CALLS:]
    places = [f"{PurePath(call.filename).name}:{call.lineno} {call.name}" for call in calls]
    text = MEMORY_ADDRESS.sub("", f"{type(error).__name__}: {error}".rstrip(": "))
    content = json.dumps([printable(text, 500), places])
    return np.frombuffer(content.encode(), np.uint8)


def describe_failure(request: MetricRequest, stage: str, content: np.ndarray) -> Failed:
    """Return the record of a failed request from the encoded error."""
    error, places = json.loads(content.tobytes())
    return Failed(request.metric.name, dict(request.options), stage, error, tuple(places))


def merge_arrays(left: Arrays, right: Arrays) -> Arrays:
    """Merge the arrays of two shards; an error in either replaces the state in both."""
    errors = {
        name: array for side in (right, left) for name, array in side.items() if _marks_error(name)
    }
    if not errors:
        return added(left, right)
    lost = {_get_state_name(name) for name in errors}
    sides = [
        {n: a for n, a in side.items() if _get_state_name(n) not in lost} for side in (left, right)
    ]
    return added(*sides) | errors


def get_errors(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the encoded errors by the name of their state."""
    return {_get_state_name(name): array for name, array in arrays.items() if _marks_error(name)}


def remove_failed(
    requests: Sequence[MetricRequest], failures: Sequence[Failed]
) -> list[MetricRequest]:
    """Return the requests that did not fail."""
    lost: list[tuple[str, Any]] = [(failure.metric, failure.options) for failure in failures]
    return [r for r in requests if (r.metric.name, r.options) not in lost]


def _marks_error(name: str) -> bool:
    return name.rpartition(":")[2] == RAISED


def _get_state_name(name: str) -> str:
    return name.rpartition(":")[0]
