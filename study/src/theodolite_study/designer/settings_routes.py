"""Serve the settings, outcomes and conditions of a version."""

import json
from typing import Any

from psycopg.types.json import Jsonb
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer.block_form import get_form_fields, parse_values, validate_record
from theodolite_study.designer.design_pages import get_design_address, render_design_page
from theodolite_study.designer.draft_saving import get_version, save_draft
from theodolite_study.designer.settings_form import (
    LABELS,
    MAX_CONDITIONS,
    OUTCOMES_WITHOUT_CODE,
    PAY_KINDS,
    SettingsForm,
    parse_conditions,
    parse_outcomes,
    to_settings_form,
)
from theodolite_study.designer.version_changes import VersionContent
from theodolite_study.designer.version_content import load_content
from theodolite_study.desk.rights import require_right
from theodolite_study.desk.site import DeskRequest
from theodolite_study.model.pasta import OUTCOMES
from theodolite_study.store.drafts import put_conditions, put_outcomes

GROUPS = {
    "Size": ("votes", "quota", "least_items", "patience_minutes", "minutes", "sample_note"),
    "Languages": ("languages", "default_language"),
    "Access": ("access", "signed", "audience", "sandbox", "smallest_width", "screening"),
    "Pay": ("reward", "floor", "screenout", "hourly"),
    "Order": ("same_image_gap", "same_image_most", "baseline", "votes_per", "design", "panel"),
    "Practice and checks": ("practice_pass", "practice_attempts", "checks_every", "checks_allowed",
                            "checks_then"),
}  # fmt: skip
OUTCOME_LABELS = {
    "finished": "did all that was promised", "ran_out": "was let in, and nothing was left",
    "stopped": "pressed “Stop now”", "declined": "did not agree",
    "screened_out": "was turned away at the door", "failed_practice": "failed the practice",
    "failed_checks": "failed too many checks", "full": "came when all places were taken",
    "wrong_device": "came with a device that does not fit", "timed_out": "went away",
    "returned": "gave the place back at the platform", "withdrawn": "withdrew",
}  # fmt: skip


@require_right("design")
def settings_page(desk: DeskRequest) -> Response:
    """Show the settings: numbers, duration, languages and pay."""
    return _settings_page(desk)


def _settings_page(desk: DeskRequest, error: str = "") -> Response:
    form = to_settings_form(load_content(desk.connection, get_version(desk)))
    fields = {field.name: field for field in get_form_fields(form, LABELS)}
    groups = [(name, [fields[setting] for setting in names]) for name, names in GROUPS.items()]
    return render_design_page(desk, "design_settings", {"groups": groups}, [error] if error else [])


@require_right("design")
def save_settings(desk: DeskRequest) -> Response:
    """Save all settings at once."""

    def edit(content: VersionContent) -> str:
        form = validate_record(SettingsForm, parse_values(SettingsForm, desk.form.fields))
        earlier = {k: v for k, v in content.settings.items() if k not in form.columns()}
        columns: dict[str, Any] = {**form.columns(), "settings": Jsonb(form.settings(earlier))}
        desk.connection.execute(
            "update version set n_votes = %(n_votes)s, quota = %(quota)s,"
            " least_items = %(least_items)s, lease_seconds = %(lease_seconds)s,"
            " languages = %(languages)s, default_language = %(default_language)s,"
            " settings = %(settings)s where id = %(id)s",
            columns | {"id": get_version(desk)["id"]},
        )
        return "The settings were saved."

    def theirs(content: VersionContent) -> dict[str, str]:
        return {field.name: "" if field.value in (None, False) else str(field.value)
                for field in get_form_fields(to_settings_form(content))}  # fmt: skip

    back = f"{get_design_address(desk)}/settings"
    return save_draft(desk, back, edit, lambda error: _settings_page(desk, error), theirs)


@require_right("design")
def outcomes_page(desk: DeskRequest) -> Response:
    """Show every outcome with its code, address and pay."""
    return _outcomes_page(desk)


def _outcomes_page(desk: DeskRequest, error: str = "") -> Response:
    content = load_content(desk.connection, get_version(desk))
    context = {"ways": content.outcomes, "keys": OUTCOMES, "pays": PAY_KINDS,
               "words": OUTCOME_LABELS, "no_code": OUTCOMES_WITHOUT_CODE,
               "access": content.settings.get("access", {}).get("kind", "link")}  # fmt: skip
    return render_design_page(desk, "design_outcomes", context, [error] if error else [])


@require_right("design")
def save_outcomes(desk: DeskRequest) -> Response:
    """Save all outcomes at once."""

    def edit(content: VersionContent) -> str:
        ways = parse_outcomes(lambda name: desk.form.text(name, 500))
        put_outcomes(desk.connection, get_version(desk)["id"], ways)
        return "The ways out were saved."

    def theirs(content: VersionContent) -> dict[str, str]:
        fields = {f"{part}_{key}": str(way.get(part, "")) for key, way in content.outcomes.items()
                  for part in ("code", "redirect", "pay")}  # fmt: skip
        return fields | {f"on_{key}": "yes" for key in content.outcomes}

    back = f"{get_design_address(desk)}/outcomes"
    return save_draft(desk, back, edit, lambda error: _outcomes_page(desk, error), theirs)


@require_right("design")
def conditions_page(desk: DeskRequest) -> Response:
    """Show the experimental conditions."""
    return _conditions_page(desk)


def _conditions_page(desk: DeskRequest, error: str = "") -> Response:
    content = load_content(desk.connection, get_version(desk))
    rows = _condition_rows(content)
    room = min(len(rows) + 2, MAX_CONDITIONS)
    rows += [("", "", "")] * (room - len(rows))
    return render_design_page(desk, "design_conditions", {"rows": rows}, [error] if error else [])


def _condition_rows(content: VersionContent) -> list[tuple[str, str, str]]:
    return [
        (key, str(condition["weight"]),
         json.dumps(condition["overrides"], ensure_ascii=False, indent=1)
         if condition["overrides"] else "")
        for key, condition in content.conditions.items()
    ]  # fmt: skip


@require_right("design")
def save_conditions(desk: DeskRequest) -> Response:
    """Save all conditions at once."""

    def edit(content: VersionContent) -> str:
        conditions = parse_conditions(desk.form.text, content.instrument)
        put_conditions(desk.connection, get_version(desk)["id"], conditions)
        return "The conditions were saved."

    def theirs(content: VersionContent) -> dict[str, str]:
        names = ("condition", "weight", "overrides")
        return {f"{name}_{row}": value for row, values in enumerate(_condition_rows(content))
                for name, value in zip(names, values, strict=True)}  # fmt: skip

    back = f"{get_design_address(desk)}/conditions"
    return save_draft(desk, back, edit, lambda error: _conditions_page(desk, error), theirs)


ROUTES = [
    Route("/studies/{slug}/design/settings", settings_page),
    Route("/studies/{slug}/design/settings", save_settings, methods=["POST"]),
    Route("/studies/{slug}/design/outcomes", outcomes_page),
    Route("/studies/{slug}/design/outcomes", save_outcomes, methods=["POST"]),
    Route("/studies/{slug}/design/conditions", conditions_page),
    Route("/studies/{slug}/design/conditions", save_conditions, methods=["POST"]),
]
