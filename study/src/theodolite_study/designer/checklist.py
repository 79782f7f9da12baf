"""Check what must be complete before a version opens, with the page that fixes each entry."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

from theodolite.errors import EvidenceError
from theodolite.ext.studies import image_path
from theodolite_study.designer.pilot_report import load_median_minutes
from theodolite_study.designer.version_content import VersionContent
from theodolite_study.desk.site import Connection, fetch_rows
from theodolite_study.model.required_texts import find_missing_texts
from theodolite_study.planning.sample_size import compute_half_width, compute_people
from theodolite_study.refusals import WrongStage

MAX_BACKUP_AGE = timedelta(days=1)
SPREAD_BETWEEN, SPREAD_WITHIN = 0.6, 0.9
"""Standard deviations of ratings on five points in earlier studies, for the note on precision."""
MAX_CHECKED_FILES = 2000
OUTCOMES_WITHOUT_CODE = ("timed_out", "returned", "withdrawn")
"""Outcomes that need no code: a platform reports them itself, or nobody returns."""


@dataclass(frozen=True)
class CheckEntry:
    """Entry of the checklist."""

    name: str
    good: bool
    words: str
    page: str
    """Page about the entry, relative to the study's address."""


@dataclass(frozen=True)
class OpeningFacts:
    """Facts that the checklist is computed from."""

    content: VersionContent
    kinds: Mapping[str, int]
    """Number of explanations by kind: real, training, gold."""
    missing_files: int
    backup_at: datetime | None
    pilot_minutes: float | None
    currency: str


def load_opening_facts(
    connection: Connection, version: Mapping[str, Any], content: VersionContent, folder: Path,
    currency: str,
) -> OpeningFacts:  # fmt: skip
    """Read the facts for the checklist."""
    study = version["study_id"]
    kinds = fetch_rows(
        connection, "select kind, count(*) as n from instance where study_id = %s group by 1", study
    )
    files = fetch_rows(
        connection,
        "select distinct f.key as file from instance i, jsonb_each(i.shown -> 'sizes') f"
        " where i.study_id = %s limit %s", study, MAX_CHECKED_FILES,
    )  # fmt: skip
    backup = fetch_rows(connection, "select at from operation where what = 'backup'")
    return OpeningFacts(
        content=content,
        kinds={row["kind"]: row["n"] for row in kinds},
        missing_files=sum(not image_path(folder, row["file"]).is_file() for row in files),
        backup_at=backup[0]["at"] if backup else None,
        pilot_minutes=load_median_minutes(connection, study),
        currency=currency,
    )


def compute_checklist(
    facts: OpeningFacts, waiver: str = "", *, pilot: bool = False
) -> list[CheckEntry]:
    """Return all entries of the checklist.

    Args:
        facts: See `load_opening_facts`.
        waiver: Why a version opens without a fresh backup.
        pilot: Whether it opens as a pilot: then neither backup nor size matter.
    """
    entries = [
        _texts(facts.content), _consent(facts.content), _codes(facts.content), _pay(facts),
        _material(facts), *_checks(facts),
    ]  # fmt: skip
    return entries if pilot else [*entries, _size(facts), _backup(facts, waiver)]


def require_complete(entries: Sequence[CheckEntry]) -> None:
    """Refuse to open while an entry fails."""
    red = [entry.name for entry in entries if not entry.good]
    if red:
        raise WrongStage(f"The version cannot open yet: {', '.join(red)}.")


def _done(name: str, words: str, page: str) -> CheckEntry:
    return CheckEntry(name, good=True, words=words, page=page)


def _to_do(name: str, words: str, page: str) -> CheckEntry:
    return CheckEntry(name, good=False, words=words, page=page)


def _texts(content: VersionContent) -> CheckEntry:
    wording: dict[str, dict[str, str]] = {}
    for (key, language), body in content.texts.items():
        wording.setdefault(language, {})[key] = body
    languages = content.settings["languages"]
    missing = [
        pair
        for pair in find_missing_texts(content.instrument, languages, wording, content.outcomes)
        if pair[1] != "consent"
    ]
    message = (
        f"{len(missing)} texts are missing, such as {missing[0][1]} in {missing[0][0]}." if missing
        else f"All texts are there in {', '.join(languages)}."
    )  # fmt: skip
    return CheckEntry("Texts", not missing, message, "")


def _consent(content: VersionContent) -> CheckEntry:
    unfilled = content.settings.get("unfilled")
    if unfilled:
        return _to_do("Consent", f"Fill in study.yaml: {', '.join(unfilled)}.", "")
    return _done("Consent", "All facts of the consent form are filled in.", "/preview")


def _codes(content: VersionContent) -> CheckEntry:
    access = content.settings.get("access", {}).get("kind", "link")
    lacking = [
        key
        for key, way in content.outcomes.items()
        if key not in OUTCOMES_WITHOUT_CODE and not way.get("code") and not way.get("redirect")
    ]
    if access != "prolific":
        return _done("Codes", "No platform needs codes.", "")
    message = (
        f"Prolific needs codes for {', '.join(lacking)}." if lacking else "All codes are entered."
    )
    return CheckEntry("Codes", not lacking, message, "")


def _pay(facts: OpeningFacts) -> CheckEntry:
    settings = facts.content.settings
    reward, floor = settings.get("pay", {}).get("reward", 0), settings.get("hourly", 0)
    access = settings.get("access", {}).get("kind", "link")
    if not reward and access in ("link", "invite"):
        return _done("Pay", "Nobody is paid, as study.yaml says.", "")
    minutes = facts.pilot_minutes or settings.get("minutes") or 0
    source = "as the pilot's median" if facts.pilot_minutes else "as study.yaml says"
    hourly = reward * 60 / minutes if minutes else 0
    message = (
        f"{reward / 100:.2f} for {minutes:.0f} minutes ({source}) are {hourly / 100:.2f}"
        f" {facts.currency} an hour; the floor is {floor / 100:.2f}."
    )
    return CheckEntry("Pay", hourly >= floor and reward > 0, message, "")


def _material(facts: OpeningFacts) -> CheckEntry:
    real = facts.kinds.get("real", 0)
    if not real:
        return _to_do("Material", "There are no explanations yet.", "")
    if facts.missing_files:
        message = f"{facts.missing_files} images are not on this server."
        return _to_do("Material", message, "")
    words = {"training": "for practice", "gold": "hidden checks"}
    others = "".join(
        f", {facts.kinds[kind]} {words[kind]}" for kind in words if kind in facts.kinds
    )
    message = f"{real} explanations{others}; every image is there."
    return _done("Material", message, "")


def _checks(facts: OpeningFacts) -> Iterator[CheckEntry]:
    """Check that the material fits the settings."""
    settings, real = facts.content.settings, facts.kinds.get("real", 0)
    if real and settings["quota"] > real:
        message = f"{settings['quota']} explanations for each person, but there are {real}."
        yield _to_do("Number of explanations", message, "")


def _size(facts: OpeningFacts) -> CheckEntry:
    return _done("Sample size", describe_size(facts), "")


def describe_size(facts: OpeningFacts) -> str:
    """Describe how precise the study will be, and how many participants it needs."""
    settings, real = facts.content.settings, facts.kinds.get("real", 0)
    votes, quota = settings["n_votes"], settings["quota"]
    if real < 2:
        return "Too few explanations for an interval."
    try:
        width = compute_half_width(
            votes, real, spread_between=SPREAD_BETWEEN, spread_within=SPREAD_WITHIN
        )
        people = compute_people(real, votes, min(quota, real), 0.1)
    except EvidenceError as error:
        return str(error)
    return (
        f"{votes} votes for each of {real} explanations: the mean rating of all is known to"
        f" ± {width:.2f} (95 %, if ratings spread by {SPREAD_BETWEEN} between explanations and"
        f" {SPREAD_WITHIN} within). {people.finishing} people who finish,"
        f" {people.invited} with one in ten who leave."
    )


def _backup(facts: OpeningFacts, waiver: str) -> CheckEntry:
    age = None if facts.backup_at is None else datetime.now(timezone.utc) - facts.backup_at
    if age is not None and age < MAX_BACKUP_AGE:
        hours = age.total_seconds() / 3600
        return _done("Backup", f"The last one is {hours:.0f} hours old.", "/open#waiver")
    message = "There is no backup." if age is None else f"The last backup is {age.days} days old."
    if len(waiver) >= 10:
        return _done("Backup", f"{message} Opened anyway: {waiver}", "/open#waiver")
    message += " Ask whoever runs the server for one, or say below why you open without."
    return _to_do("Backup", message, "/open#waiver")
