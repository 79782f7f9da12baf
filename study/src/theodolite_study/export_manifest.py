"""What an export holds, in numbers and digests."""

import importlib.metadata
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any, Literal

from alembic.script import ScriptDirectory

from theodolite.ext.studies import Table
from theodolite_study.export_agreement import SEED
from theodolite_study.export_people import FEWEST, Bands
from theodolite_study.export_rows import Snapshot
from theodolite_study.progress import ALARM

FORMAT = "theodolite study export 1"
MANIFEST = "manifest.json"
LEFT_OUT = "left out"
PACKAGES = ("theodolite", "numpy", "pyarrow")
Texts = Literal["reviewed", "not reviewed", "left out"]
TEXTS: Mapping[Texts, str] = {
    "reviewed": "What people wrote was read by somebody: nothing in it is personal.",
    "not reviewed": "Nobody has read what people wrote. It may name somebody: do not publish this.",
    "left out": "What people wrote is left out: nobody has looked for personal things in it.",
}


@dataclass(frozen=True)
class Manifest:
    """An export that was written, and what it holds."""

    folder: Path
    sha256: str
    """Of manifest.json, which has the digests of all other files."""
    content: Mapping[str, Any]

    @property
    def complete(self) -> bool:
        """Whether each explanation has all its votes."""
        return bool(self.content["votes"]["complete"])

    def summary(self) -> str:
        """What a reader must know, in sentences."""
        return "\n".join([f"{self.folder}: SHA-256 {self.sha256}", *self.content["notes"]])


def tables_version() -> str:
    """The form of the tables that this version reads."""
    return str(ScriptDirectory(str(Path(__file__).parent / "migrations")).get_current_head())


def counts(study: Snapshot, votes: Table) -> dict[str, Any]:
    """How many votes were wanted and how many came."""
    wanted = study.study.n_votes
    each = Counter({row.key: 0 for row in study.of_kind("real").values()})
    each.update(
        key for key, counted in zip(votes["instance"], votes["counted"], strict=True) if counted
    )
    surplus = sum(not counted for counted in votes["counted"])
    having = Counter(each.values())
    given = sum(each.values())
    return {
        "wanted_each": wanted, "instances": len(each), "wanted": wanted * len(each),
        "counted": given, "surplus": surplus,
        "surplus_share": round(surplus / (given + surplus), 6) if given + surplus else 0.0,
        "instances_with": {str(n): having[n] for n in sorted(having, reverse=True)},
        "complete": set(having) == {wanted},
        "by_person": _spread(votes),
    }  # fmt: skip


def _spread(votes: Table) -> dict[str, float]:
    """How many counted votes a person gave."""
    each = Counter(
        who for who, counted in zip(votes["participant"], votes["counted"], strict=True) if counted
    )
    given = sorted(each.values()) or [0]
    return {"people": len(each), "fewest": given[0], "median": median(given), "most": given[-1]}


def about_study(study: Snapshot, bands: Bands, left_out: list[str]) -> dict[str, Any]:
    """What does not depend on the files."""
    return {
        "format": FORMAT,
        "study": {
            "slug": study.study.slug, "title": study.protocol.title, "state": study.study.state,
            "design": study.protocol.design, "baseline": study.protocol.baseline,
        },
        "protocol": {
            "sha256": study.study.protocol_sha256.hex(), "left_out": left_out,
            "consent_sha256": study.protocol.consent_digest().hex(),
        },
        "versions": {name: importlib.metadata.version(name) for name in PACKAGES}
        | {"tables": tables_version()},
        "seeds": {"design": study.protocol.seed, "agreement": SEED},
        "events": {"lines": study.events, "sha256": study.events_sha256},
        "people": {
            "by_state": dict(study.states), "taking_part": len(study.people),
            "withdrawn": study.states.get("withdrawn", 0),
            "bands_suppressed": bands.suppressed, "fewest_of_a_combination": FEWEST,
        },
    }  # fmt: skip


def notes(content: Mapping[str, Any]) -> list[str]:
    """What a reader must know before using the numbers, in sentences."""
    votes, people, texts = content["votes"], content["people"], content["texts"]
    wanted = votes["wanted_each"]
    said = []
    if votes["complete"]:
        said.append(
            f"Each of {votes['instances']:,} explanations has exactly {wanted} counted votes of "
            f"{wanted} different people."
        )
    else:
        fewer = ", ".join(
            f"{many:,} have {n}" for n, many in votes["instances_with"].items() if n != str(wanted)
        )
        said.append(
            f"Not all of {votes['instances']:,} explanations have {wanted} counted votes: {fewer}."
        )
    if content["study"]["state"] not in ("closed", "archived"):
        said.append(f"The study is {content['study']['state']}: more votes may come.")
    if people["withdrawn"]:
        said.append(
            f"{_many(people['withdrawn'])} withdrew. What they answered is not in here, and "
            "explanations whose seats were not filled again have fewer votes."
        )
    if votes["surplus_share"] > ALARM:
        said.append(
            f"{votes['surplus_share']:.1%} of all votes are surplus: people lost items while they "
            "were at work on them (the lease was too short), or votes were taken out."
        )
    if people["bands_suppressed"]:
        said.append(
            "Age band, gender and country are left out of "
            f"{_many(people['bands_suppressed']).lower()}: "
            f"fewer than {FEWEST} of those who voted share the same, or they did not vote."
        )
    return [*said, TEXTS[texts]]


def _many(people: int) -> str:
    return "One person" if people == 1 else f"{people:,} people"
