"""Define study.yaml: questions, numbers of raters, pay and texts of a study in a folder."""

from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import Field, ValidationError, model_validator

from theodolite.errors import EvidenceError
from theodolite.ext.studies import StrictRecord, read_yaml
from theodolite_study.locale.default_texts import load_default_texts
from theodolite_study.model.admission import Screening
from theodolite_study.model.pasta import RANKED

Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=20_000)]
Line: TypeAlias = Annotated[str, Field(min_length=1, max_length=500)]
STUDY_FILE = "study.yaml"
QUESTIONS = ("q1", "q2", "q3", "q4", "q5", "q6")


class Question(StrictRecord):
    """Statement that participants rate from 1 to 5."""

    text: Line
    low: Line = "not at all"
    """Label of the lowest point of the scale."""
    high: Line = "completely"
    """Label of the highest point of the scale."""


class Ranking(StrictRecord):
    """Items that participants put in order after the study."""

    text: Line
    items: Annotated[list[Line], Field(min_length=2, max_length=12)]


def _questions() -> dict[str, Question]:
    """Return the questions of PASTA (Kazmierczak et al., 2024) in our words."""
    texts = load_default_texts("en")
    parts = ("text", "low", "high")
    return {
        name: Question.model_validate({part: texts[f"{name}.{part}"] for part in parts})
        for name in QUESTIONS
    }


def _rankings() -> dict[str, Ranking]:
    texts = load_default_texts("en")
    return {
        name: Ranking(
            text=texts[f"{name}.text"], items=[texts[f"{name}.item.i{at}"] for at in range(many)]
        )
        for name, many in RANKED.items()
    }


def _our_text(key: str) -> Any:
    return Field(default_factory=lambda: load_default_texts("en")[key])


class Training(StrictRecord):
    """Practice before the study. It is skipped if the material has no practice items."""

    pass_mark: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Fraction of the practice items that must be correct."""
    attempts: Annotated[int, Field(ge=1, le=10)] = 3
    """Number of times that the practice may be taken."""


class Checks(StrictRecord):
    """Hidden items with one correct answer, from the material's gold instances."""

    every: Annotated[int, Field(ge=2, le=1000)] = 7
    """Number of rated items after which a check follows."""
    allowed: Annotated[int, Field(ge=0)] = 1
    """Number of failed checks that have no consequence."""
    then: Literal["flag", "screen_out"] = "flag"
    """Consequence of more failed checks; votes that were already given stay."""


class Codes(StrictRecord):
    """Codes that participants return to the platform. Made at random by `study init`."""

    finished: Line | None = None
    no_consent: Line | None = None
    screened_out: Line | None = None


class ProtocolAccess(StrictRecord):
    """How participants reach the study: open link, invitation or platform."""

    kind: Literal["link", "invite", "prolific", "mturk"] = "link"
    signed: bool = True
    """Prolific: require its signed token. Without it, the id in the address is unverified."""
    audience: Line | None = None
    """Prolific: study id that tokens must name."""
    codes: Codes = Codes()


class AnalysisPlan(StrictRecord):
    """Comparisons of methods that are fixed before the study opens."""

    primary: Annotated[list[Line], Field(min_length=1, max_length=3)] | None = None
    """Questions that the study is planned for; the first one by default."""
    compare: Literal["all"] | list[tuple[Line, Line]] = "all"
    """Pairs of methods."""
    smallest: Annotated[float, Field(gt=0, le=100)] = 0.3
    """Smallest relevant difference, in points of the scale."""


class Patience(StrictRecord):
    """Seconds without a sign of life after which a place is free for somebody else."""

    before: Annotated[float, Field(gt=0, le=3600)] = 300
    """Before consent."""
    after: Annotated[float, Field(gt=0, le=3600)] = 600
    """After consent; three times as long where scripts do not run, as pages cannot tell then."""


class Ethics(StrictRecord):
    """What the consent form has to say (GDPR, Art. 13). A study opens when all of it is there."""

    institution: Line | None = None
    """Who is responsible for the data."""
    responsible: Line | None = None
    """Name, role and e-mail of a person."""
    data_protection: Line | None = None
    """E-mail of the data protection officer."""
    purpose: Line | None = None
    """Purpose of the study, in a sentence."""
    approval: Line | None = None
    """Ethics board and number; or `none`, with the reason."""
    legal_basis: Literal["consent", "public_interest"] | None = None
    risks: Line | None = None
    age_min: Annotated[int, Field(ge=1, le=120)] | None = None
    recipients: Line | None = None
    """Who receives the data: hosting, platform."""
    transfer: Line | None = None
    """Country outside the EU and EEA, with the safeguard; or `none`."""
    until: Line | None = None
    """Latest closing date of the study."""
    publish: Line | None = None
    """Where answers are published, and the license; or `no`."""
    authority: Line | None = None
    """Supervisory authority that takes complaints."""

    @model_validator(mode="before")
    @classmethod
    def _read_plain_words(cls, content: Any) -> Any:
        """Take `no` and dates, which YAML reads as other things, as they were written."""
        if not isinstance(content, dict):
            return content
        words: dict[str, Any] = {
            name: "no" if value is False else value for name, value in content.items()
        }
        if isinstance(words.get("until"), date):
            words["until"] = words["until"].isoformat()
        return {name: value for name, value in words.items() if value != ""}


class Payment(StrictRecord):
    """Pay of participants, in the smallest unit of the currency."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] = "GBP"
    reward: Annotated[int, Field(ge=0)]
    """Pay for completing the study."""
    hourly: Annotated[int, Field(ge=0)] = 0
    """Lowest pay for an hour; the desk compares it with the median time of a pilot."""
    floor: Annotated[int, Field(ge=0)] = 0
    """Minimum pay for participants who stop after some items."""
    screenout: Annotated[int, Field(ge=0)] = 0
    """Pay for participants who are screened out or fail the practice."""


class Protocol(StrictRecord):
    """Study as its folder describes it; the database stores what participants read."""

    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{1,60}$")]
    """Part of the study's address: /s/slug."""
    title: Line
    language: Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")] = "en"
    languages: list[Annotated[str, Field(pattern=r"^[a-z]{2}(-[A-Z]{2})?$")]] = Field(
        default_factory=list
    )
    """Further languages that participants may choose: in texts of ours, or of `texts`."""
    texts: dict[str, dict[str, Text]] = Field(default_factory=dict)
    """Texts by language and key, where neither the settings below nor our texts have one."""
    instrument: Annotated[str, Field(pattern=r"^[\w-]+\.(json|yaml)$")] | None = None
    """File of the folder with blocks to ask, instead of `questions` and `rankings`."""
    pay: Literal["none"] | Payment | None = None
    """Pay of participants; no page of an unpaid study speaks of money."""
    ethics: Ethics = Field(default_factory=lambda: Ethics())
    """Facts of the consent form; in other languages, `texts` have `ethics.purpose` and others."""
    votes: Annotated[int, Field(ge=1, le=50)] = 5
    """Number of participants who rate each explanation."""
    quota: Annotated[int, Field(ge=1, le=100_000)] = 20
    """Number of explanations that each participant rates."""
    least_items: Annotated[int, Field(ge=1, le=100_000)] = 1
    """Minimum number of available explanations at which new participants are admitted."""
    plan: AnalysisPlan = Field(default_factory=lambda: AnalysisPlan())
    """Planned comparisons; frozen with the version, and part of each result."""
    patience: Patience = Field(default_factory=lambda: Patience())
    """Silence after which an item and a promise go to somebody else."""
    seed: Annotated[int, Field(ge=0, lt=2**63)] = 0
    design: Literal["dynamic", "planned"] = "dynamic"
    panel: Annotated[int, Field(ge=1, le=10_000)] | None = None
    """Planned design: number of participants."""
    same_image_gap: Annotated[int, Field(ge=0)] = 0
    """Minimum number of other items between two explanations of one image."""
    same_image_most: Annotated[int, Field(ge=1)] | None = None
    """Maximum number of times that one participant sees one image."""
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
    debriefing: Text | None = None
    contact: Line
    """Contact address, shown on every page."""
    minutes: Annotated[int, Field(ge=1, le=600)] | None = None
    """Duration of the study that participants are told."""
    demographics: bool = True
    smallest_width: Annotated[int, Field(ge=0, le=4000)] = 0
    """Minimum width of the window in pixels; 0 admits every device."""
    screening: list[Screening] = Field(default_factory=list)
    """Rules over answers at the door, or over the device, that turn people away."""
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


def is_unchanged(protocol: Protocol, stored: Mapping[str, Any]) -> bool:
    """Return whether study.yaml is as it was when it was imported."""
    return protocol.model_dump(mode="json", exclude_unset=True) == stored


def require_unchanged(protocol: Protocol, stored: Mapping[str, Any]) -> None:
    """Refuse a study.yaml that changed since it was imported into the database."""
    changed = _find_change(protocol.model_dump(mode="json", exclude_unset=True), stored)
    if changed is not None:
        name, now, before = changed
        raise EvidenceError(
            f"{STUDY_FILE}, {name}", f"{now!r}", f"{before!r}, as when it was first served",
            "Give the changed study another `slug`.",
        )  # fmt: skip


def _find_change(part: Any, whole: Any, name: str = "") -> tuple[str, Any, Any] | None:
    """Return the first setting of a part that differs in the whole, with both values."""
    if not (isinstance(part, dict) and isinstance(whole, dict)):
        return None if part == whole else (name or "the whole", part, whole)
    for key, value in part.items():
        difference = _find_change(value, whole.get(key), f"{name}.{key}".strip("."))
        if difference is not None:
            return difference
    return None


def read_protocol(folder: Path) -> Protocol:
    """Read and validate the study.yaml of a folder."""
    content = read_yaml(folder / STUDY_FILE, "study")
    try:
        return Protocol.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        problem = "an unknown setting" if first["type"] == "extra_forbidden" else str(first["msg"])
        raise EvidenceError(
            f"{STUDY_FILE}, {place}", problem, "a study that can be held",
            "docs/study.md lists each setting.",
        ) from error  # fmt: skip
