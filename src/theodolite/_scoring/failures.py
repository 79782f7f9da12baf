"""A metric that raises ends its own request, and no other."""

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
"""Marks, among the arrays of a state, what was raised instead of one."""
ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
DEEPEST = 6
"""Of the calls that led to an error, so many are told."""


def is_limited_to_request(metric: Metric, error: Exception) -> bool:
    """Whether an error ends one request; else it ends all of them.

    What lacks memory would lack it again, and what our own checks refuse is wrong with the
    evidence. Other packages' code may raise our errors as well: then it is theirs.
    """
    if isinstance(error, MemoryError | UnsafeInputError | VerificationError):
        return False
    return not isinstance(error, EvidenceError) or not is_ours(metric.state)


def encode_error(error: BaseException) -> np.ndarray:
    """An error as an array, which can be kept and sent: the same on every machine."""
    calls = traceback.extract_tb(error.__traceback__)[-DEEPEST:]
    places = [f"{PurePath(call.filename).name}:{call.lineno} {call.name}" for call in calls]
    text = ADDRESS.sub("", f"{type(error).__name__}: {error}".rstrip(": "))
    content = json.dumps([printable(text, 500), places])
    return np.frombuffer(content.encode(), np.uint8)


def describe_failure(request: MetricRequest, stage: str, content: np.ndarray) -> Failed:
    """What is told of a request that failed."""
    error, places = json.loads(content.tobytes())
    return Failed(request.metric.name, dict(request.options), stage, error, tuple(places))


def merge_arrays(left: Arrays, right: Arrays) -> Arrays:
    """Two pieces' arrays merged; a state that failed in one of them is lost in both."""
    errors = {
        name: array for side in (right, left) for name, array in side.items() if _marks_error(name)
    }
    if not errors:
        return added(left, right)
    lost = {_get_owner(name) for name in errors}
    sides = [{n: a for n, a in side.items() if _get_owner(n) not in lost} for side in (left, right)]
    return added(*sides) | errors


def get_errors(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """By owner, what was raised."""
    return {_get_owner(name): array for name, array in arrays.items() if _marks_error(name)}


def remove_failed(
    requests: Sequence[MetricRequest], failures: Sequence[Failed]
) -> list[MetricRequest]:
    """The requests that did not fail."""
    lost: list[tuple[str, Any]] = [(failure.metric, failure.options) for failure in failures]
    return [r for r in requests if (r.metric.name, r.options) not in lost]


def _marks_error(name: str) -> bool:
    return name.rpartition(":")[2] == RAISED


def _get_owner(name: str) -> str:
    return name.rpartition(":")[0]
