"""Define the forms for settings, outcomes and conditions of a version."""

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from babel import Locale, UnknownLocaleError
from pydantic import Field, ValidationError, field_validator, model_validator

from theodolite.ext.studies import StrictRecord
from theodolite_study.designer.version_changes import VersionContent
from theodolite_study.model.admission import parse_screening
from theodolite_study.model.instrument import STAGES, Instrument
from theodolite_study.model.pasta import OUTCOMES
from theodolite_study.refusals import Invalid
from theodolite_study.store.drafts import StudyCondition, StudyOutcome

MAX_CONDITIONS = 12
PAY_KINDS = ("none", "reward", "part", "fee")
OUTCOMES_WITHOUT_CODE = ("timed_out", "returned")
"""Outcomes that a platform reports itself, so that nobody returns with a code."""
LABELS = {
    "votes": "Votes for each explanation", "quota": "Explanations for each person",
    "least_items": "Let nobody in for fewer explanations than",
    "patience_minutes": "Minutes without input after which a place is free for others",
    "minutes": "Minutes that it takes, as told to people",
    "languages": "Languages, one a line (en, de, pt-BR …)",
    "default_language": "Language of people whose browser asks for none of these",
    "access": "How people come in", "signed": "Prolific: only with its signed token",
    "audience": "Prolific: the study's id there", "sandbox": "MTurk: its place for trials",
    "smallest_width": "Windows must be so many pixels wide (0: any)",
    "screening": "Whom the door turns away: rules over answers of the door, as JSON",
    "same_image_gap": "Other explanations between two of one image, at least",
    "same_image_most": "How often one person meets one image, at most",
    "baseline": "What one sees oneself is asked",
    "votes_per": "Votes are counted for each",
    "design": "Who rates what", "panel": "Planned: people of the panel",
    "practice_pass": "Practice: share that has to be right (0 to 1)",
    "practice_attempts": "Practice: attempts", "checks_every": "Hidden check after so many",
    "checks_allowed": "Failed checks that are allowed", "checks_then": "After more failed checks",
    "reward": "Reward for the whole study", "floor": "Least pay of somebody who stops early",
    "screenout": "Fee of somebody whom the door turns away",
    "hourly": "Hourly pay must not be below",
    "sample_note": "Why so many votes and explanations",
}  # fmt: skip
Money = Annotated[float, Field(ge=0, le=10_000)]


class SettingsForm(StrictRecord):
    """Fields of the settings page, in the units that it displays."""

    votes: Annotated[int, Field(ge=1, le=50)] = 5
    quota: Annotated[int, Field(ge=1, le=100_000)] = 20
    least_items: Annotated[int, Field(ge=1, le=100_000)] = 1
    patience_minutes: Annotated[float, Field(gt=0, le=60)] = 10
    minutes: Annotated[float, Field(gt=0, le=600)] = 40
    languages: Annotated[list[str], Field(min_length=1, max_length=40)] = Field(["en"])
    default_language: str = "en"
    access: Literal["link", "invite", "prolific", "mturk"] = "link"
    signed: bool = True
    audience: Annotated[str, Field(max_length=100)] = ""
    sandbox: bool = False
    smallest_width: Annotated[int, Field(ge=0, le=4000)] = 0
    screening: Annotated[str, Field(max_length=10_000)] = ""
    same_image_gap: Annotated[int, Field(ge=0, le=1000)] = 0
    same_image_most: Annotated[int, Field(ge=1, le=1000)] | None = None
    baseline: Literal["per_instance", "once_per_image"] = "per_instance"
    votes_per: Literal["explanation", "explanation_and_condition"] = "explanation"
    design: Literal["dynamic", "planned"] = "dynamic"
    panel: Annotated[int, Field(ge=1, le=10_000)] | None = None
    practice_pass: Annotated[float, Field(ge=0, le=1)] = 0.5
    practice_attempts: Annotated[int, Field(ge=1, le=10)] = 3
    checks_every: Annotated[int, Field(ge=2, le=1000)] = 7
    checks_allowed: Annotated[int, Field(ge=0, le=1000)] = 1
    checks_then: Literal["flag", "screen_out"] = "flag"
    reward: Money = 0
    floor: Money = 0
    screenout: Money = 0
    hourly: Money = 9
    sample_note: Annotated[str, Field(max_length=2000)] = ""

    @field_validator("languages")
    @classmethod
    def _known_languages(cls, languages: list[str]) -> list[str]:
        for language in languages:
            try:
                Locale.parse(language, sep="-")
            except (UnknownLocaleError, ValueError) as error:
                raise ValueError(f"“{language}” is no language") from error
        if len(set(languages)) < len(languages):
            raise ValueError("a language is there twice")
        return languages

    @field_validator("screening")
    @classmethod
    def _rules(cls, written: str) -> str:
        try:
            parse_screening({"screening": json.loads(written or "[]")})
        except (ValidationError, RecursionError, json.JSONDecodeError) as error:
            raise ValueError(
                'a list such as [{"when": {"block": "age", "op": "lt", "value": 18}}] is needed'
            ) from error
        return written

    @model_validator(mode="after")
    def _fits_together(self) -> "SettingsForm":
        if self.default_language not in self.languages:
            raise ValueError(f"“{self.default_language}” is none of the languages")
        if self.design == "planned" and self.panel is None:
            raise ValueError("a planned design needs the number of people of the panel")
        if self.access == "prolific" and self.signed and not self.audience:
            raise ValueError("signed tokens need the study's id at Prolific")
        if self.least_items > self.quota:
            raise ValueError("nobody can be let in for more explanations than they are given")
        return self

    def columns(self) -> dict[str, Any]:
        """Return the settings that are columns of a version."""
        return {
            "n_votes": self.votes, "quota": self.quota, "least_items": self.least_items,
            "lease_seconds": self.patience_minutes * 60, "languages": self.languages,
            "default_language": self.default_language,
        }  # fmt: skip

    def settings(self, earlier: Mapping[str, Any]) -> dict[str, Any]:
        """Return the other settings as they are stored; unlisted ones are kept."""
        access: dict[str, Any] = {"kind": self.access}
        if self.access == "prolific":
            access |= {"signed": self.signed, "audience": self.audience or None}
        if self.access == "mturk":
            access["sandbox"] = self.sandbox
        new = {
            "minutes": self.minutes, "access": access, "smallest_width": self.smallest_width,
            "screening": json.loads(self.screening or "[]"),
            "same_image_gap": self.same_image_gap,
            "same_image_most": self.same_image_most, "baseline": self.baseline,
            "votes_per": self.votes_per, "design": self.design, "panel": self.panel,
            "training": {"pass_mark": self.practice_pass, "attempts": self.practice_attempts},
            "checks": {"every": self.checks_every, "allowed": self.checks_allowed,
                       "then": self.checks_then},
            "pay": {"reward": to_minor_units(self.reward), "floor": to_minor_units(self.floor),
                    "screenout": to_minor_units(self.screenout)},
            "hourly": to_minor_units(self.hourly), "sample_note": self.sample_note or None,
        }  # fmt: skip
        return {name: value for name, value in {**earlier, **new}.items() if value is not None}


def to_minor_units(amount: float) -> int:
    """Convert an amount to pence or cents."""
    return round(amount * 100)


def to_settings_form(content: VersionContent) -> SettingsForm:
    """Return the form of an existing version; missing settings have the form's defaults."""
    stored = content.settings
    access, checks = stored.get("access", {}), stored.get("checks", {})
    training, pay = stored.get("training", {}), stored.get("pay", {})
    values = {
        "votes": stored["n_votes"], "quota": stored["quota"], "least_items": stored["least_items"],
        "patience_minutes": stored["lease_seconds"] / 60, "languages": stored["languages"],
        "default_language": stored["default_language"], "access": access.get("kind"),
        "signed": access.get("signed"), "audience": access.get("audience"),
        "sandbox": access.get("sandbox"), "smallest_width": stored.get("smallest_width"),
        "screening": json.dumps(stored["screening"]) if stored.get("screening") else None,
        "practice_pass": training.get("pass_mark"), "practice_attempts": training.get("attempts"),
        **{f"checks_{name}": checks.get(name) for name in ("every", "allowed", "then")},
        **{name: pay[name] / 100 for name in ("reward", "floor", "screenout") if name in pay},
        "hourly": stored["hourly"] / 100 if "hourly" in stored else None,
        **{name: stored.get(name) for name in (
            "minutes", "same_image_gap", "same_image_most", "baseline", "votes_per", "design",
            "panel", "sample_note")},
    }  # fmt: skip
    return SettingsForm.model_construct(
        **{**SettingsForm().model_dump(), **{n: v for n, v in values.items() if v is not None}}
    )


def parse_outcomes(text: Any) -> list[StudyOutcome]:
    """Parse the outcomes of a form; ``text`` returns the value of a field."""
    outcomes = []
    for key in OUTCOMES:
        if not text(f"on_{key}"):
            continue
        redirect = text(f"redirect_{key}") or None
        if redirect is not None and (
            not redirect.startswith("https://") or set(redirect) & set("{}")
        ):
            raise Invalid(f"{key}: the address begins with https:// and has no gaps.")
        pay = text(f"pay_{key}") or "none"
        if pay not in PAY_KINDS:
            raise Invalid(f"{key}: the pay is one of {', '.join(PAY_KINDS)}.")
        outcomes.append(StudyOutcome(key, pay, text(f"code_{key}") or None, redirect))
    if "finished" not in {outcome.key for outcome in outcomes}:
        raise Invalid("People can finish: this way out is needed.")
    return outcomes


def parse_conditions(text: Any, instrument: Instrument) -> list[StudyCondition]:
    """Parse the conditions of a form; rows without a key are skipped."""
    conditions: list[StudyCondition] = []
    for row in range(MAX_CONDITIONS):
        key = text(f"condition_{row}")
        if not key:
            continue
        weight = text(f"weight_{row}") or "1"
        if not weight.isascii() or not weight.isdigit() or not 1 <= int(weight) <= 100:
            raise Invalid(f"{key}: the weight is a whole number from 1 to 100.")
        letters = key.replace("_", "").replace("-", "")
        if not letters.isalnum() or key in {c.key for c in conditions}:
            raise Invalid(f"“{key}”: conditions have different names of letters and digits.")
        conditions.append(
            StudyCondition(key, int(weight), _overrides(text(f"overrides_{row}"), key))
        )
    if len(conditions) == 1:
        raise Invalid("One condition is none: name two or more, or leave all of them out.")
    names = {block.name for stage in STAGES for block in instrument.blocks(stage)}
    for condition in conditions:
        strange = set(condition.overrides.get("blocks", {})) - names
        if strange:
            raise Invalid(f"{condition.key}: there is no block “{min(strange)}”.")
    return conditions


def _overrides(written: str, key: str) -> dict[str, Any]:
    if not written:
        return {}
    try:
        value = json.loads(written)
    except (ValueError, RecursionError) as error:
        raise Invalid(f"{key}: what differs is no JSON.") from error
    if not isinstance(value, dict) or not all(isinstance(part, dict) for part in value.values()):
        raise Invalid(f"{key}: what differs is an object of “texts”, “blocks” or “instances”.")
    return value
