"""Ways out as pages tell them: what is kept, what is paid, and the way back."""

from collections.abc import Mapping
from typing import Any

from theodolite_study.keys import Keys
from theodolite_study.model.door import access_of
from theodolite_study.platforms import mturk, prolific
from theodolite_study.serve.versions import StudyVersion

RATED = ("finished", "ran_out", "stopped", "failed_checks", "timed_out")
"""Ways out of people who rated something."""


def way_out(version: StudyVersion, outcome: str) -> dict[str, Any]:
    """The platform's code of an outcome, and the address that people go back to."""
    stored = version.outcomes.get(outcome, {})
    code, address = stored.get("code"), stored.get("redirect")
    if code and not address and access_of(version.settings).kind == prolific.PLATFORM:
        address = prolific.completion_url(code)
    return {"code": code, "redirect": address}


def ended(version: StudyVersion, here: Mapping[str, Any], keys: Keys) -> dict[str, Any]:
    """What the last page of somebody says, from where they are."""
    outcome, way = here["outcome"], way_out(version, here["outcome"])
    access = access_of(version.settings)
    own = access.kind != prolific.PLATFORM and outcome in RATED and here["done"] > 0
    if own:  # one's own code: it can be handed in only once
        way["code"] = keys.completion_code(here["slug"], here["person"])
    context: dict[str, Any] = {
        "outcome": outcome, "amount": here["amount"], "currency": here["currency"], "way": way,
        "code": keys.withdrawal_code(here["person"]), "kept": "answers",
    }  # fmt: skip
    if here.get("submission"):
        context["turk"] = {
            "address": mturk.submit_address(sandbox=access.sandbox),
            "assignment": keys.opened(bytes.fromhex(here["submission"]), here["slug"]),
        }
    return context
