"""Identify participants from Mechanical Turk, and return them to it.

The study is a page of its own; the frame of Mechanical Turk contains a link to it. ``turkSubmitTo``
is not read, since a page that obeys its address sends people anywhere: the last form goes to one of
two fixed addresses.
"""

from collections.abc import Mapping

from theodolite_study.platforms.identity import Identity, Preview, named

PLATFORM = "mturk"
SUBMIT = "https://www.mturk.com/mturk/externalSubmit"
SANDBOX = "https://workersandbox.mturk.com/mturk/externalSubmit"
NOT_TAKEN = "ASSIGNMENT_ID_NOT_AVAILABLE"


def arrival(parameters: Mapping[str, str]) -> Identity | Preview:
    """Identify a worker by the address parameters, which Mechanical Turk does not sign."""
    if parameters.get("assignmentId") == NOT_TAKEN:
        return Preview(PLATFORM)
    return Identity(
        PLATFORM,
        named(parameters, "workerId", "Mechanical Turk"),
        study_id=_optional(parameters, "hitId"),
        session_id=_optional(parameters, "assignmentId"),
    )


def _optional(parameters: Mapping[str, str], name: str) -> str | None:
    return named(parameters, name, "Mechanical Turk") if parameters.get(name) else None


def submit_address(*, sandbox: bool) -> str:
    """Return the address where workers submit their work."""
    return SANDBOX if sandbox else SUBMIT
