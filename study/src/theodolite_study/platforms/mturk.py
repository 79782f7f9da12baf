"""Identify participants from Mechanical Turk, and return them to it.

The study is a page of its own; the frame of Mechanical Turk contains a link to it. ``turkSubmitTo``
is not read, since a page that obeys its address sends people anywhere: the last form goes to one of
two fixed addresses.
"""

from collections.abc import Mapping

from theodolite_study.platforms.participant_identity import (
    ParticipantIdentity,
    PreviewVisitor,
    read_id,
)

PLATFORM = "mturk"
SUBMIT = "https://www.mturk.com/mturk/externalSubmit"
SANDBOX = "https://workersandbox.mturk.com/mturk/externalSubmit"
NOT_TAKEN = "ASSIGNMENT_ID_NOT_AVAILABLE"


def identify_worker(parameters: Mapping[str, str]) -> ParticipantIdentity | PreviewVisitor:
    """Identify a worker by the address parameters, which Mechanical Turk does not sign."""
    if parameters.get("assignmentId") == NOT_TAKEN:
        return PreviewVisitor(PLATFORM)
    return ParticipantIdentity(
        PLATFORM,
        read_id(parameters, "workerId", "Mechanical Turk"),
        study_id=_read_optional(parameters, "hitId"),
        session_id=_read_optional(parameters, "assignmentId"),
    )


def _read_optional(parameters: Mapping[str, str], name: str) -> str | None:
    return read_id(parameters, name, "Mechanical Turk") if parameters.get(name) else None


def get_submit_address(*, sandbox: bool) -> str:
    """Return the address where workers submit their work."""
    return SANDBOX if sandbox else SUBMIT
