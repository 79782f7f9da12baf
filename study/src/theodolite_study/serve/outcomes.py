"""Describe the outcome of a participation: data that are kept, pay, and the way back."""

from collections.abc import Mapping
from typing import Any

from theodolite_study.keys import Keys
from theodolite_study.model.admission import get_access
from theodolite_study.platforms import mturk, prolific
from theodolite_study.serve.versions import StudyVersion

PLATFORMS = (prolific.PLATFORM, "mturk")
RATED = ("finished", "ran_out", "stopped", "failed_checks", "timed_out")
"""Outcomes of participants who rated something."""


def get_way_out(version: StudyVersion, outcome: str) -> dict[str, Any]:
    """Return the platform code of an outcome and the address to return to."""
    stored = version.outcomes.get(outcome, {})
    code, address = stored.get("code"), stored.get("redirect")
    kind = get_access(version.settings).kind
    if kind not in PLATFORMS:
        code = None  # only a platform knows what it means
    if code and not address and kind == prolific.PLATFORM:
        address = prolific.get_completion_url(code)
    return {"code": code, "redirect": address}


def build_final_context(
    version: StudyVersion, here: Mapping[str, Any], keys: Keys
) -> dict[str, Any]:
    """Return the template context of a participant's final page."""
    outcome, way = here["outcome"], get_way_out(version, here["outcome"])
    access = get_access(version.settings)
    own = (
        access.kind != prolific.PLATFORM and version.settings.get("paid", True)
        and outcome in RATED and here["done"] > 0
    )  # fmt: skip
    if own:  # one's own code: it can be handed in only once
        way["code"] = keys.make_completion_code(here["slug"], here["person"])
    context: dict[str, Any] = {
        "outcome": outcome, "away": here["away"],
        "platform": access.kind == prolific.PLATFORM, "amount": here["amount"],
        "currency": here["currency"], "way": way,
        "rated": outcome in RATED,
        "code": keys.make_withdrawal_code(here["person"]), "kept": "answers",
    }  # fmt: skip
    if here.get("submission"):
        context["turk"] = {
            "address": mturk.get_submit_address(sandbox=access.sandbox),
            "assignment": keys.decrypt(bytes.fromhex(here["submission"]), here["slug"]),
        }
    return context
