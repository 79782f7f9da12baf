"""Amazon Mechanical Turk: the study is a page of its own; in their frame there is a link to it.

``turkSubmitTo`` is not read: a page that sends people where its address says sends them anywhere.
At the end a form goes to one of two fixed addresses.
"""

from collections.abc import Mapping

from theodolite_study.platforms.identity import Identity, Preview, named

PLATFORM = "mturk"
SUBMIT = "https://www.mturk.com/mturk/externalSubmit"
SANDBOX = "https://workersandbox.mturk.com/mturk/externalSubmit"
NOT_TAKEN = "ASSIGNMENT_ID_NOT_AVAILABLE"


def arrival(parameters: Mapping[str, str]) -> Identity | Preview:
    """Who comes with these parts of the address. MTurk signs nothing: it is a claim."""
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
    """Where people hand in what they did."""
    return SANDBOX if sandbox else SUBMIT
