"""study.yaml: what is asked, of how many, and in which words."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, ValidationError, model_validator

from theodolite.errors import EvidenceError
from theodolite.ext.studies import StrictRecord, read_yaml
from theodolite_study.locale.default_texts import default_texts
from theodolite_study.model.pasta import RANKED

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=20_000)]
Line: TypeAlias = Annotated[str, Field(min_length=1, max_length=500)]
STUDY = "study.yaml"
QUESTIONS = ("q1", "q2", "q3", "q4", "q5", "q6")


class Question(StrictRecord):
    """A statement that is rated from 1 to 5."""

    text: Line
    low: Line = "not at all"
    """What 1 means."""
    high: Line = "completely"
    """What 5 means."""


class Ranking(StrictRecord):
    """Things that are put in order after the study."""

    text: Line
    items: Annotated[list[Line], Field(min_length=2, max_length=12)]


def _questions() -> dict[str, Question]:
    """Paper 004's, in our words."""
    texts = default_texts("en")
    parts = ("text", "low", "high")
    return {
        name: Question.model_validate({part: texts[f"{name}.{part}"] for part in parts})
        for name in QUESTIONS
    }


def _rankings() -> dict[str, Ranking]:
    texts = default_texts("en")
    return {
        name: Ranking(
            text=texts[f"{name}.text"], items=[texts[f"{name}.item.i{at}"] for at in range(many)]
        )
        for name, many in RANKED.items()
    }


def _our_text(key: str) -> Any:
    return Field(default_factory=lambda: default_texts("en")[key])


class Training(StrictRecord):
    """Practice before the study. Without practice items in the material there is none."""

    pass_mark: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Which share of the practice items has to be right."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    """How often the practice may be taken."""


class Checks(StrictRecord):
    """Hidden items with one right answer, from the material's gold instances."""

    every: Annotated[int, Field(ge=2, le=1000)] = 7
    """One after so many real items."""
    allowed: Annotated[int, Field(ge=0)] = 1
    """More than so many failures are a sign."""
    then: Literal["flag", "screen_out"] = "flag"
    """What a sign leads to; votes already given stay."""


class Codes(StrictRecord):
    """What a platform is told at the end. Made at random by `study init`."""

    finished: Line | None = None
    no_consent: Line | None = None
    screened_out: Line | None = None


class ProtocolAccess(StrictRecord):
    """How people come in."""

    kind: Literal["link", "invite", "prolific", "mturk"] = "link"
    signed: bool = True
    """Prolific: only with its signed token. Without, an id in the address is a mere claim."""
    audience: Line | None = None
    """Prolific: the study id that tokens have to name."""
    codes: Codes = Codes()


class Payment(StrictRecord):
    """What people are paid, in the smallest unit of the currency."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "GBP"
    reward: Annotated[int, Field(ge=0)]
    """For everything."""
    floor: Annotated[int, Field(ge=0)] = 0
    """At least, for whoever stops after some."""
    screenout: Annotated[int, Field(ge=0)] = 0
    """For whoever is turned away after the first questions or the practice."""


class Protocol(StrictRecord):
    """A study as a folder has it. The database keeps what people are asked and told."""

    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{1,60}$")]
    """Its part of the address: /s/slug."""
    title: Line
    language: Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] = "en"
    languages: list[Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")]] = Field(
        default_factory=list
    )
    """Further ones that people may choose: in texts of ours, or of `texts`."""
    texts: dict[str, dict[str, Text]] = Field(default_factory=dict)
    """By language and key, where neither the settings below nor our texts say it."""
    instrument: Annotated[str, Field(pattern=r"^[\w-]+\.(json|yaml)$")] | None = None
    """A file of the folder with blocks to ask, instead of `questions` and `rankings`."""
    payment: Payment | None = None
    pay: Line = "no money"
    """As the consent form says it."""
    until: Line | None = None
    """When the study closes at the latest, as the consent form says it."""
    votes: Annotated[int, Field(ge=1, le=50)] = 5
    """Of different people, for each explanation."""
    quota: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Explanations for each person."""
    least_items: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Nobody is let in for fewer."""
    lease_minutes: Annotated[float, Field(gt=0, le=24 * 60)] = 30.0
    """How long an item waits for somebody who went away."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    design: Literal["dynamic", "planned"] = "dynamic"
    panel: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Planned: how many people."""
    same_image_gap: Annotated[int, Field(ge=0)] = 0
    """At least so many other items between two explanations of one image."""
    same_image_most: Annotated[int, Field(ge=1)] | None = None
    """How often one person may meet one image."""
    baseline: Literal["per_instance", "once_per_image"] = "per_instance"
    questions: Annotated[dict[str, Question], Field(min_length=1)] = Field(
        default_factory=_questions
    )
    rankings: dict[str, Ranking] = Field(default_factory=_rankings)
    before_text: Line = _our_text("words.text")
    before_boxes: Line = _our_text("regions.text")
    welcome: Text | None = None
    consent: Text | None = None
    instructions: Text | None = None
    thanks: Text | None = None
    contact: Line
    """Whom to write to: shown on each page."""
    minutes: Annotated[int, Field(ge=1, le=600)] = 40
    """How long it takes, as told to people."""
    demographics: bool = True
    smallest_width: Annotated[int, Field(ge=0, le=4000)] = 0
    """Narrower windows are asked to come back with a larger one; 0: all are welcome."""
    training: Training = Training()
    checks: Checks = Checks()
    access: ProtocolAccess = ProtocolAccess()

    @model_validator(mode="after")
    def _fits_together(self) -> "Protocol":
        strange = [name for name in self.questions if name not in QUESTIONS]
        if strange:
            raise ValueError(
                f"questions: {strange[0]!r} came, some of {', '.join(QUESTIONS)} needed"
            )
        if not {"q1", "q2", "q3", "q4"} & set(self.questions):
            raise ValueError("questions: at least one of q1 to q4 is needed")
        if self.design == "planned" and self.panel is None:
            raise ValueError("a planned design needs `panel`: how many people there are")
        if self.access.kind == "prolific" and self.access.signed and not self.access.audience:
            raise ValueError("signed tokens need `access.audience`: the study's id at Prolific")
        return self


def need_unchanged(protocol: Protocol, stored: Mapping[str, Any]) -> None:
    """Refuse a study.yaml that says something else than when it was put into the database."""
    changed = _changed(protocol.model_dump(mode="json", exclude_unset=True), stored)
    if changed is not None:
        name, now, before = changed
        raise EvidenceError(
            f"{STUDY}, {name}", f"{now!r}", f"{before!r}, as when it was first served",
            "Give the changed study another `slug`, or open a new version of it in the desk.",
        )  # fmt: skip


def _changed(part: Any, whole: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """The first setting of a part that is another one in the whole."""
    if not (isinstance(part, dict) and isinstance(whole, dict)):
        return None if part == whole else (name or "the whole", part, whole)
    for key, value in part.items():
        difference = _changed(value, whole.get(key), f"{name}.{key}".strip("."))
        if difference is not None:
            return difference
    return None


def read_protocol(folder: Path) -> Protocol:
    """The study of a folder, as its study.yaml says."""
    content = read_yaml(folder / STUDY, "study")
    try:
        return Protocol.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        problem = "an unknown setting" if first["type"] == "extra_forbidden" else str(first["msg"])
        raise EvidenceError(
            f"{STUDY}, {place}", problem, "a study that can be held",
            "docs/study.md lists each setting.",
        ) from error  # fmt: skip
