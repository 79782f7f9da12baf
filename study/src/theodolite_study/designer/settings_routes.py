"""Settings of a version, its ways out and its conditions."""

import json
from typing import Any

from psycopg.types.json import Jsonb
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.designer.block_form import form_fields, validated, values_from
from theodolite_study.designer.changes import VersionContent
from theodolite_study.designer.links import base, design_page
from theodolite_study.designer.saving import save, version_of
from theodolite_study.designer.settings_form import (
    LABELS,
    MOST_CONDITIONS,
    NO_CODE,
    PAYS,
    SettingsForm,
    conditions_from,
    form_of,
    outcomes_from,
)
from theodolite_study.designer.version_content import content_of
from theodolite_study.desk.rights import needs
from theodolite_study.desk.site import DeskRequest
from theodolite_study.model.pasta import OUTCOMES
from theodolite_study.store.drafts import put_conditions, put_outcomes

GROUPS = {
    "Size": ("votes", "quota", "least_items", "lease_minutes", "minutes", "sample_note"),
    "Languages": ("languages", "default_language"),
    "Access": ("access", "signed", "audience", "sandbox", "smallest_width", "screening"),
    "Pay": ("reward", "floor", "screenout", "hourly"),
    "Order": ("same_image_gap", "same_image_most", "baseline", "votes_per", "design", "panel"),
    "Practice and checks": ("practice_pass", "practice_attempts", "checks_every", "checks_allowed",
                            "checks_then"),
}  # fmt: skip
WAY_WORDS = {
    "finished": "did all that was promised", "ran_out": "was let in, and nothing was left",
    "stopped": "pressed “Stop now”", "declined": "did not agree",
    "screened_out": "was turned away at the door", "failed_practice": "failed the practice",
    "failed_checks": "failed too many checks", "full": "came when all places were taken",
    "wrong_device": "came with a device that does not fit", "timed_out": "went away",
    "returned": "gave the place back at the platform", "withdrawn": "withdrew",
}  # fmt: skip


@needs("design")
def settings_page(desk: DeskRequest) -> Response:
    """How many, how long, in which languages, for what pay."""
    return _settings_page(desk)


def _settings_page(desk: DeskRequest, error: str = "") -> Response:
    form = form_of(content_of(desk.connection, version_of(desk)))
    fields = {field.name: field for field in form_fields(form, LABELS)}
    groups = [(name, [fields[setting] for setting in names]) for name, names in GROUPS.items()]
    return design_page(desk, "design_settings", {"groups": groups}, [error] if error else [])


@needs("design")
def save_settings(desk: DeskRequest) -> Response:
    """All settings at once."""

    def edit(content: VersionContent) -> str:
        form = validated(SettingsForm, values_from(SettingsForm, desk.form.fields))
        earlier = {k: v for k, v in content.settings.items() if k not in form.columns()}
        columns: dict[str, Any] = {**form.columns(), "settings": Jsonb(form.settings(earlier))}
        desk.connection.execute(
            "update version set n_votes = %(n_votes)s, quota = %(quota)s,"
            " least_items = %(least_items)s, lease_seconds = %(lease_seconds)s,"
            " languages = %(languages)s, default_language = %(default_language)s,"
            " settings = %(settings)s where id = %(id)s",
            columns | {"id": version_of(desk)["id"]},
        )
        return "The settings were saved."

    def theirs(content: VersionContent) -> dict[str, str]:
        return {field.name: "" if field.value in (None, False) else str(field.value)
                for field in form_fields(form_of(content))}  # fmt: skip

    back = f"{base(desk)}/settings"
    return save(desk, back, edit, lambda error: _settings_page(desk, error), theirs)


@needs("design")
def outcomes_page(desk: DeskRequest) -> Response:
    """Every way out, with its code, address and pay."""
    return _outcomes_page(desk)


def _outcomes_page(desk: DeskRequest, error: str = "") -> Response:
    content = content_of(desk.connection, version_of(desk))
    context = {"ways": content.outcomes, "keys": OUTCOMES, "pays": PAYS, "words": WAY_WORDS,
               "no_code": NO_CODE,
               "access": content.settings.get("access", {}).get("kind", "link")}  # fmt: skip
    return design_page(desk, "design_outcomes", context, [error] if error else [])


@needs("design")
def save_outcomes(desk: DeskRequest) -> Response:
    """All ways out at once."""

    def edit(content: VersionContent) -> str:
        ways = outcomes_from(lambda name: desk.form.text(name, 500))
        put_outcomes(desk.connection, version_of(desk)["id"], ways)
        return "The ways out were saved."

    def theirs(content: VersionContent) -> dict[str, str]:
        fields = {f"{part}_{key}": str(way.get(part, "")) for key, way in content.outcomes.items()
                  for part in ("code", "redirect", "pay")}  # fmt: skip
        return fields | {f"on_{key}": "yes" for key in content.outcomes}

    back = f"{base(desk)}/outcomes"
    return save(desk, back, edit, lambda error: _outcomes_page(desk, error), theirs)


@needs("design")
def conditions_page(desk: DeskRequest) -> Response:
    """Groups of people who are shown or asked something else."""
    return _conditions_page(desk)


def _conditions_page(desk: DeskRequest, error: str = "") -> Response:
    content = content_of(desk.connection, version_of(desk))
    rows = _condition_rows(content)
    room = min(len(rows) + 2, MOST_CONDITIONS)
    rows += [("", "", "")] * (room - len(rows))
    return design_page(desk, "design_conditions", {"rows": rows}, [error] if error else [])


def _condition_rows(content: VersionContent) -> list[tuple[str, str, str]]:
    return [
        (key, str(condition["weight"]),
         json.dumps(condition["overrides"], ensure_ascii=False, indent=1)
         if condition["overrides"] else "")
        for key, condition in content.conditions.items()
    ]  # fmt: skip


@needs("design")
def save_conditions(desk: DeskRequest) -> Response:
    """All conditions at once."""

    def edit(content: VersionContent) -> str:
        conditions = conditions_from(desk.form.text, content.instrument)
        put_conditions(desk.connection, version_of(desk)["id"], conditions)
        return "The conditions were saved."

    def theirs(content: VersionContent) -> dict[str, str]:
        names = ("condition", "weight", "overrides")
        return {f"{name}_{row}": value for row, values in enumerate(_condition_rows(content))
                for name, value in zip(names, values, strict=True)}  # fmt: skip

    back = f"{base(desk)}/conditions"
    return save(desk, back, edit, lambda error: _conditions_page(desk, error), theirs)


ROUTES = [
    Route("/studies/{slug}/design/settings", settings_page),
    Route("/studies/{slug}/design/settings", save_settings, methods=["POST"]),
    Route("/studies/{slug}/design/outcomes", outcomes_page),
    Route("/studies/{slug}/design/outcomes", save_outcomes, methods=["POST"]),
    Route("/studies/{slug}/design/conditions", conditions_page),
    Route("/studies/{slug}/design/conditions", save_conditions, methods=["POST"]),
]
