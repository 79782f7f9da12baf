"""Facts about a system that no run knows: read from a YAML file, nothing of them invented."""

from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from theodolite._storage.paths import create_file, sha256_of
from theodolite._storage.records import Strict
from theodolite._storage.text import read_yaml
from theodolite.errors import EvidenceError, did_you_mean

NEW = "new"
TEMPLATE_FILE = "dossier.yaml"
TEMPLATE = """\
# Facts for a dossier. Fill in the required fields. Empty fields are printed as
# "not stated". Versions and dates are texts: write them in quotes.
system:                    # required
  name: ""
  version: ""              # of the system that is placed on the market or used, not of the model
  provider: ""
purpose: ""                # required: the intended purpose, in one sentence
deployers: ""              # who uses the system
explanation:               # required: who relies on the explanation, and for what
  shown_to: ""
  used_for: ""
  claim: ""                # what the explanation says of the system, as its readers take it
metrics_fit: ""            # why these scores are the right ones for the intended purpose
model_files:               # required; hashed where the path exists, else give sha256
  - path: ""
    sha256: ""
data:                      # required: what the audit was made on
  name: ""
  license: ""
  description: ""
responsible:               # required: who signs
  - name: ""
    role: ""
date: ""                   # required: the day of signing, such as "2026-01-31"
thresholds: ""             # the file that `theodolite gate` takes, beside this one
limits: []                 # known limits of the explanation, a sentence each
oversight: ""              # measures of human oversight that use the explanation
again:                     # when the audit is repeated
  when: ""
  at_least_every: ""
"""
NOT_STATED = "not stated"


def _text(value: Any) -> Any:
    """YAML reads 2.10 as a number that is 2.1, and a bare date as a date: the second is safe."""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, int | float):
        message = f"{value} is a number: write it in quotes"
        raise ValueError(message)
    return "" if value is None else value


def _listed(value: Any) -> Any:
    return [] if value is None else value


Text = Annotated[str, BeforeValidator(_text), Field(max_length=5000)]


class SystemFacts(Strict):
    """The system and its provider."""

    name: Text = ""
    version: Text = ""
    provider: Text = ""


class ExplanationFacts(Strict):
    """Who relies on the explanation, and for what."""

    shown_to: Text = ""
    used_for: Text = ""
    claim: Text = ""


class ModelFileFacts(Strict):
    """A file of the model that was explained."""

    path: Text = ""
    sha256: Text = ""


class DataFacts(Strict):
    """What the audit was made on."""

    name: Text = ""
    license: Text = ""
    description: Text = ""


class ResponsiblePerson(Strict):
    """Who signs."""

    name: Text = ""
    role: Text = ""


class RepeatFacts(Strict):
    """When the audit is repeated."""

    when: Text = ""
    at_least_every: Text = ""


class DossierFacts(Strict):
    """What a provider states about a system and its explanation."""

    system: SystemFacts = SystemFacts()
    purpose: Text = ""
    deployers: Text = ""
    explanation: ExplanationFacts = ExplanationFacts()
    metrics_fit: Text = ""
    model_files: Annotated[list[ModelFileFacts], BeforeValidator(_listed)] = Field(
        default_factory=list
    )
    data: DataFacts = DataFacts()
    responsible: Annotated[list[ResponsiblePerson], BeforeValidator(_listed)] = Field(
        default_factory=list
    )
    date: Text = ""
    thresholds: Text = ""
    limits: Annotated[list[Text], BeforeValidator(_listed)] = Field(default_factory=list)
    oversight: Text = ""
    again: RepeatFacts = RepeatFacts()

    def people(self) -> str:
        """Return who signs, in one line."""
        return ", ".join(f"{person.name} ({person.role})" for person in self.responsible)


def write_template(path: Path) -> None:
    """A file of facts to fill in; one that is there is never replaced."""
    if not create_file(path, TEMPLATE.encode()):
        raise EvidenceError(
            f"facts {path.name!r}", "a file that is there", "a new one",
            f"Fill it in, and pass --facts {path.name}.",
        )  # fmt: skip


def read_facts(path: Path) -> DossierFacts:
    """Facts that are complete; everything that is missing or wrong is named at once."""
    what = f"facts {path.name!r}"
    content = read_yaml(path, "facts")
    if not isinstance(content, dict):
        raise EvidenceError(what, type(content).__name__, "facts as in the template", "--facts new")
    try:
        facts = DossierFacts.model_validate(content)
    except ValidationError as error:
        raise EvidenceError(
            what, "; ".join(map(_fault, error.errors())), "the template's fields"
        ) from error
    facts = facts.model_copy(update={"model_files": _hashed(facts.model_files, path.parent)})
    if missing := list(_missing(facts)):
        raise EvidenceError(what, f"nothing for {', '.join(missing)}", "all required facts")
    return facts


def _missing(facts: DossierFacts) -> Iterator[str]:
    """Required facts that are not there, in the order of the template."""
    required: dict[str, Any] = {
        **{f"system.{name}": value for name, value in facts.system},
        "purpose": facts.purpose,
        **{f"explanation.{name}": value for name, value in facts.explanation},
        "model_files": facts.model_files,
        **{f"data.{name}": value for name, value in facts.data},
        "responsible": facts.responsible,
        "date": _is_day(facts.date),
    }
    for name, items in (("model_files", facts.model_files), ("responsible", facts.responsible)):
        required |= {f"{name}[{i}].{key}": v for i, item in enumerate(items) for key, v in item}
    for name, value in required.items():
        if not (value.strip() if isinstance(value, str) else value):
            yield f"{name} (a day such as 2026-01-31)" if name == "date" else name


def _is_day(text: str) -> bool:
    try:
        return bool(date.fromisoformat(text))
    except ValueError:
        return False


def _hashed(files: list[ModelFileFacts], folder: Path) -> list[ModelFileFacts]:
    """The files with their digests, computed where the file is there."""
    hashed = []
    for file in files:
        path = folder / file.path
        digest = sha256_of(path) if file.path and path.is_file() else file.sha256.lower()
        if file.sha256 and digest != file.sha256.lower():
            raise EvidenceError(
                f"model file {file.path!r}", f"SHA-256 {digest}", f"the stated {file.sha256}",
                "Is it the file that was explained?",
            )  # fmt: skip
        if digest and (len(digest) != 64 or set(digest) - set("0123456789abcdef")):
            raise EvidenceError(f"model file {file.path!r}", repr(digest), "64 hexadecimal digits")
        hashed.append(ModelFileFacts(path=file.path, sha256=digest))
    return hashed


def _fault(fault: Any) -> str:
    place = ".".join(map(str, fault["loc"]))
    if fault["type"] == "extra_forbidden":
        return (
            f"{place}, which is no field. {did_you_mean(place, DossierFacts.model_fields)}".strip()
        )
    return f"{place}: {fault['msg'].removeprefix('Value error, ')}"
