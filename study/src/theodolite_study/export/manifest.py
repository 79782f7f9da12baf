"""Build the manifest of an export: its versions, counts, notes and file digests."""

import importlib.metadata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from theodolite_study.export.agreement import SEED
from theodolite_study.export.snapshot import MIN_GROUP_PEOPLE, StudySnapshot
from theodolite_study.export.vote_counts import VoteCounts
from theodolite_study.watch.progress import MAX_SURPLUS_SHARE

FORMAT = "theodolite study export 2"
MANIFEST = "manifest.json"
LEFT_OUT = "left out"
PACKAGES = ("theodolite", "numpy", "pyarrow")
SECRET_SETTINGS = ("audience", "codes")
"""Keys of `access` that are not exported: the platform's study id and completion codes."""
TextsHow = Literal["reviewed", "not reviewed", "left out"]
TEXTS: Mapping[TextsHow, str] = {
    "reviewed": "What people wrote was read by somebody: nothing in it is personal.",
    "not reviewed": "Nobody has read what people wrote. It may name somebody: do not publish this.",
    "left out": "What people wrote is left out: nobody has looked for personal things in it.",
}
TEXTS_QUERY = (
    "select version_id, key, language, body from wording where version_id = any (%(versions)s)"
)
FORMS_QUERY = """
    select version_id, language, encode(digest, 'hex') as sha256,
           convert_from(shown, 'UTF8') as shown
      from consent_text where version_id = any (%(versions)s) order by version_id, language"""
CONDITIONS = """
    select version_id, key, weight, overrides from condition
     where version_id = any (%(versions)s) order by version_id, id"""
OUTCOMES = """
    select version_id, key, redirect, pay from outcome
     where version_id = any (%(versions)s) order by version_id, key"""
STATES_QUERY = """
    select state, count(*) as n from participant p
     where p.version_id = any (%(versions)s) and not preview group by state order by state"""
CONSENTS_QUERY = """
    select encode(c.form_sha256, 'hex') as sha256, count(*) as people
      from consent c join participant p on p.id = c.participant_id
     where c.version_id = any (%(versions)s) and not p.preview group by 1 order by 1"""


@dataclass(frozen=True)
class Manifest:
    """Export that was written, with its manifest."""

    folder: Path
    sha256: str
    """Digest of manifest.json, which contains the digests of all other files."""
    content: Mapping[str, Any]

    @property
    def complete(self) -> bool:
        """Whether each explanation has all its votes."""
        return bool(self.content["votes"]["complete"])

    def summary(self) -> str:
        """Return what a reader must know, in sentences."""
        return "\n".join([f"{self.folder}: SHA-256 {self.sha256}", *self.content["notes"]])


def load_version_records(study: StudySnapshot) -> list[dict[str, Any]]:
    """Return the questions and texts of each version of the round, without secrets."""
    words, forms = study.fetch(TEXTS_QUERY), study.fetch(FORMS_QUERY)
    conditions, outcomes = study.fetch(CONDITIONS), study.fetch(OUTCOMES)
    return [
        {
            "version": v["no"], "round": v["round"], "digest": v["digest"].hex(),
            "pilot": bool(v.get("pilot")), "instrument": v["instrument"],
            "settings": _settings(v["settings"]), "votes": v["n_votes"], "quota": v["quota"],
            "lease_seconds": v["lease_seconds"], "languages": v["languages"],
            "default_language": v["default_language"],
            "texts": _by_key([w for w in words if w["version_id"] == v["id"]]),
            "consents": _select_version_rows(v, forms),
            "conditions": _select_version_rows(v, conditions),
            "outcomes": _select_version_rows(v, outcomes),
        }
        for v in study.versions
    ]  # fmt: skip


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    access = settings.get("access")
    if not isinstance(access, dict):
        return dict(settings)
    hidden = {name: LEFT_OUT for name in SECRET_SETTINGS if access.get(name)}
    return {**settings, "access": access | hidden}


def _by_key(words: list[dict[str, Any]]) -> dict[str, dict[str, str]]:
    texts: dict[str, dict[str, str]] = {}
    for word in sorted(words, key=lambda word: (word["key"], word["language"])):
        texts.setdefault(word["key"], {})[word["language"]] = word["body"]
    return texts


def _select_version_rows(
    version: Mapping[str, Any], rows: list[dict[str, Any]]
) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in row.items() if name != "version_id"}
        for row in rows
        if row["version_id"] == version["id"]
    ]


def count_votes(counts: VoteCounts, target: int) -> dict[str, Any]:
    """Return the numbers of wanted and collected votes."""
    having = Counter(counts.of_instances().tolist())
    each = counts.of_people()
    each = each[each > 0]
    total = counts.counted + counts.surplus
    return {
        "wanted_each": target, "instances": counts.instances, "wanted": target * counts.instances,
        "counted": counts.counted, "surplus": counts.surplus,
        "surplus_share": round(counts.surplus / total, 6) if total else 0.0,
        "instances_with": {str(n): having[n] for n in sorted(having, reverse=True)},
        "complete": set(having) == {target},
        "by_person": {
            "people": len(each), "fewest": int(each.min(initial=10**9) if len(each) else 0),
            "median": float(np.median(each)) if len(each) else 0.0,
            "most": int(each.max(initial=0)),
        },
    }  # fmt: skip


def load_study_facts(
    study: StudySnapshot, people: int, hidden: int, bands: list[str]
) -> dict[str, Any]:
    """Return the facts of a study that do not depend on the files."""
    states = {row["state"]: row["n"] for row in study.fetch(STATES_QUERY)}
    newest = study.newest
    return {
        "format": FORMAT,
        "study": {
            "slug": study.study["slug"], "title": study.study["title"] or study.study["slug"],
            "state": study.study["state"], "round": study.round,
            "design": newest["settings"].get("design", "open"),
            "baseline": newest["settings"].get("baseline", "per_instance"),
        },
        "versions": {str(v["no"]): v["digest"].hex() for v in study.versions},
        "left_out": list(study.left_out),
        "consents": study.fetch(CONSENTS_QUERY),
        "packages": {name: importlib.metadata.version(name) for name in PACKAGES},
        "seeds": {"design": newest["settings"].get("seed"), "agreement": SEED},
        "people": {
            "by_state": states, "taking_part": people, "withdrawn": states.get("withdrawn", 0),
            "bands": bands, "bands_suppressed": hidden, "fewest_of_a_combination": MIN_GROUP_PEOPLE,
        },
    }  # fmt: skip


def list_notes(content: Mapping[str, Any]) -> list[str]:
    """List what a reader must know before using the numbers, in sentences."""
    votes, people = content["votes"], content["people"]
    sentences = [_describe_completeness(votes)]
    for other in content["left_out"]:
        what = "the pilot" if other["pilot"] else "an earlier round"
        sentences.append(
            f"Not in here: {other['votes']:,} votes of {what}, round {other['round']}."
        )
    if content["study"]["state"] not in ("closed", "archived"):
        sentences.append(f"The study is {content['study']['state']}: more votes may come.")
    if people["withdrawn"]:
        sentences.append(
            f"{_format_people(people['withdrawn'])} withdrew. What they answered is not in here, "
            "and explanations whose seats were not filled again have fewer votes."
        )
    if votes["surplus_share"] > MAX_SURPLUS_SHARE:
        sentences.append(
            f"{votes['surplus_share']:.1%} of all votes are surplus: people lost items while they "
            "were at work on them (the lease was too short), or votes were taken out."
        )
    if people["bands_suppressed"]:
        sentences.append(
            "What people told about themselves is left out of "
            f"{_format_people(people['bands_suppressed']).lower()}: "
            f"fewer than {MIN_GROUP_PEOPLE} of those who voted share the same, or they did not "
            "vote."
        )
    return [*sentences, TEXTS[content["texts"]]]


def _describe_completeness(votes: Mapping[str, Any]) -> str:
    """Describe how many explanations lack counted votes."""
    each = votes["wanted_each"]
    if votes["complete"]:
        return (
            f"Each of {votes['instances']:,} explanations has exactly {each} counted votes of "
            f"{each} different people."
        )
    fewer = ", ".join(
        f"{many:,} have {n}" for n, many in votes["instances_with"].items() if n != str(each)
    )
    return f"Not all of {votes['instances']:,} explanations have {each} counted votes: {fewer}."


def _format_people(people: int) -> str:
    return "One person" if people == 1 else f"{people:,} people"
