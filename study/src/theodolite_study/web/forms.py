"""What may come in a form: known fields of known sizes, and nothing else."""

import json
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeAlias, TypeVar
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from theodolite.ext.studies import Box
from theodolite_study.answers import LONGEST_TEXT, MOST_BOXES
from theodolite_study.refusals import Invalid

BOX_FIELD = re.compile(r"box_(x|y|width|height)_([0-9]{1,2})")
PLACE_FIELD = re.compile(r"(.{1,60})_([0-9]{1,2})", re.DOTALL)
SCALE = ("1", "2", "3", "4", "5")
LONGEST_JSON = 60_000


def _from_json(given: Any) -> Any:
    """The fields that scripts fill hold JSON; empty is nothing."""
    if not isinstance(given, str):
        return given
    if len(given) > LONGEST_JSON or given.count("[") + given.count("{") > 1000:
        raise ValueError("too long")
    try:
        return json.loads(given) if given.strip() else None
    except (ValueError, RecursionError) as error:
        raise ValueError("not JSON") from error


def _storable(given: str) -> str:
    """Letters that PostgreSQL can keep."""
    if "\x00" in given or any("\ud800" <= letter <= "\udfff" for letter in given):
        raise ValueError("letters that are none")
    return given


Word: TypeAlias = Annotated[str, StringConstraints(max_length=200), AfterValidator(_storable)]
Words: TypeAlias = Annotated[
    str, StringConstraints(max_length=4 * LONGEST_TEXT), AfterValidator(_storable)
]
Whole: TypeAlias = Annotated[int, Field(ge=-(10**9), le=10**9)]
Amount: TypeAlias = Annotated[float, Field(ge=-1e9, le=1e9, allow_inf_nan=False)]
Client: TypeAlias = Annotated[
    dict[Word, bool | Whole | Amount | Word | None] | None,
    Field(max_length=30),
    BeforeValidator(_from_json),
]
"""Size of the window and the like."""
Durations: TypeAlias = Annotated[
    dict[Word, Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]] | None,
    Field(max_length=60),
    BeforeValidator(_from_json),
]
Boxes: TypeAlias = Annotated[
    list[Box] | None, Field(max_length=MOST_BOXES), BeforeValidator(_from_json)
]
Rating: TypeAlias = Literal["1", "2", "3", "4", "5", ""] | None


class Form(BaseModel):
    """Read strictly. Every form that changes something shows that it is ours."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    csrf: Word = ""


class PlainForm(Form):
    """A button."""


class BeginForm(Form):
    """Begin; with an invitation, or with the withdrawal code on another device."""

    code: Word = ""


class WithdrawForm(BeginForm):
    """Withdraw, here or with the code."""


class AboutForm(Form):
    """A little about oneself."""

    age_band: Word = ""
    gender: Word = ""
    country: Word = ""


class ReleaseForm(Form):
    """Skip a picture."""

    reason: Word = ""


class BaselineForm(Form):
    """What somebody sees."""

    text: Words = ""
    boxes: Boxes = None
    client: Client = None

    @model_validator(mode="before")
    @classmethod
    def _boxes_of_numbers(cls, given: Any) -> Any:
        """Without a script each number has a field of its own; empty ones are left out."""
        fields = dict(given)
        rows: dict[int, dict[str, str]] = {}
        for name in list(fields):
            match = BOX_FIELD.fullmatch(name)
            if match is not None:
                value = fields.pop(name)
                if str(value).strip():
                    rows.setdefault(int(match[2]), {})[match[1]] = value
        if rows and not fields.get("boxes"):
            fields["boxes"] = [rows[number] for number in sorted(rows)]
        return fields


class RatingsForm(Form):
    """Answers to the questions about one explanation."""

    q1: Rating = None
    q2: Rating = None
    q3: Rating = None
    q4: Rating = None
    q5: Rating = None
    q6: Rating = None
    key: UUID
    durations: Durations = None
    client: Client = None

    def answers(self) -> dict[str, int]:
        """Those that were given."""
        given = {f"q{i}": getattr(self, f"q{i}") for i in range(1, 7)}
        return {name: int(value) for name, value in given.items() if value}


class RankingsForm(Form):
    """Places of items, from 1."""

    places: dict[Word, dict[int, Annotated[int, Field(ge=1, le=99)]]] = {}

    @model_validator(mode="before")
    @classmethod
    def _places(cls, given: Any) -> Any:
        places: dict[str, dict[int, str]] = {}
        rest = {}
        for name, value in dict(given).items():
            match = PLACE_FIELD.fullmatch(name)
            if name == "csrf" or match is None:
                rest[name] = value
            else:
                places.setdefault(match[1], {})[int(match[2])] = value
        if "places" in rest:
            raise ValueError("no such field")
        return rest | {"places": places}

    def orders(self) -> dict[str, list[int]]:
        """Each list's items, the first one first. What is no order is refused by the study."""
        return {name: _order(places) for name, places in self.places.items()}


def _order(places: Mapping[int, int]) -> list[int]:
    twice = len(set(places.values())) < len(places)
    return [] if twice else sorted(places, key=lambda item: places[item])


class DraftBox(BaseModel):
    """A frame that may be half drawn."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    x: Amount
    y: Amount
    width: Amount
    height: Amount


class Draft(BaseModel):
    """Half an answer."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    text: Words | None = None
    boxes: Annotated[list[DraftBox], Field(max_length=MOST_BOXES)] | None = None
    answers: (
        dict[Literal["q1", "q2", "q3", "q4", "q5", "q6"], Annotated[int, Field(ge=1, le=5)]] | None
    ) = None


class Nothing(BaseModel):
    """A page that says it is still open."""

    model_config = ConfigDict(extra="forbid", frozen=True)


Kind = TypeVar("Kind", bound=BaseModel)
SENTENCES = {
    "text": f"Please write something, at most {LONGEST_TEXT:,} letters.",
    "boxes": "A frame has something that is no number, or a size of nothing. Please correct it.",
    "age_band": "Please choose one of the answers, or none.",
    "gender": "Please choose one of the answers, or none.",
    "country": "Please choose a country from the list, or none.",
    "code": "There is no such code. Please check each letter.",
    "places": "Please give each line its place.",
}


def read_form(kind: type[Kind], fields: Mapping[str, Any]) -> Kind:
    """The form, or a refusal that says which part to look at."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        place = next((str(part) for part in error.errors()[0]["loc"]), "")
        if re.fullmatch("q[1-6]", place):
            raise Invalid("Please answer with 1 to 5.") from error
        raise Invalid(SENTENCES.get(place, "This form has a part that does not fit.")) from error


def chosen(fields: Mapping[str, str]) -> dict[str, int]:
    """The ratings that a form shows again."""
    names = {f"q{number}" for number in range(1, 7)}
    return {name: int(fields[name]) for name in names & set(fields) if fields[name] in SCALE}


def form_body(kind: type[Form]) -> dict[str, Any]:
    """A form for the description of our addresses: all fields are text."""
    properties = {name: {"type": "string"} for name in kind.model_fields}
    schema = {"type": "object", "properties": properties}
    content = {"application/x-www-form-urlencoded": {"schema": schema}}
    return {"requestBody": {"required": True, "content": content}}
