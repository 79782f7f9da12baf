"""Material of a study: images with explanations, in a folder."""

import hashlib
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, model_validator

from theodolite._storage.paths import all_or_nothing, confined
from theodolite._storage.text import read_json, write_json
from theodolite.errors import EvidenceError

INSTANCES = "instances.json"
IMAGES = "images"
Checked = TypeVar("Checked", bound=BaseModel)


def _one_line(name: str) -> str:
    if any(unicodedata.category(c) in {"Cc", "Cs", "Zl", "Zp"} for c in name):
        raise ValueError("needs one line without control characters")
    return name


Name: TypeAlias = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)]
"""Shown on pages, in tables, on terminals."""
ImageFile: TypeAlias = Annotated[str, Field(pattern=r"^[0-9a-f]{64}\.(png|jpg|webp)$")]
"""An image of the folder, named by the SHA-256 of its bytes."""
Kind: TypeAlias = Literal["real", "training", "gold"]


class StrictRecord(BaseModel):
    """Read strictly: nothing that is not asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Box(StrictRecord):
    """A rectangle in pixels of the image, from the upper left corner."""

    x: Annotated[float, Field(ge=0)]
    y: Annotated[float, Field(ge=0)]
    width: Annotated[float, Field(gt=0)]
    height: Annotated[float, Field(gt=0)]


Piece: TypeAlias = Annotated[str, Field(min_length=1, max_length=200)]
Weight: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


class Explained(StrictRecord):
    """What was classified, the class predicted for it, and the explanation.

    An image is explained by a map of colors or by concepts; a text by weights of its tokens; a
    row of a table by weights of its features. Text and row are shown without weights before.
    """

    image: ImageFile | None = None
    predicted: Name
    map: ImageFile | None = None
    """Colors of the image's size, to be laid over it."""
    concepts: Annotated[dict[Name, float] | None, Field(min_length=1, max_length=100)] = None
    tokens: Annotated[list[tuple[Piece, Weight]] | None, Field(min_length=1, max_length=2000)] = (
        None
    )
    """Parts of a text, including blanks, each with its signed weight: for or against."""
    table: Annotated[
        list[tuple[Name, Piece, Weight]] | None, Field(min_length=1, max_length=100)
    ] = None
    """Features with their values and signed weights."""

    @model_validator(mode="after")
    def _one_explanation(self) -> "Explained":
        of_image = [self.map, self.concepts]
        ways = [part is not None for part in (*of_image, self.tokens, self.table)]
        if sum(ways) != 1:
            raise ValueError("needs one of: a map, concepts, tokens, a table")
        if any(part is not None for part in of_image) and self.image is None:
            raise ValueError("a map or concepts need the image")
        return self


class Check(StrictRecord):
    """What is right beyond doubt, of a practice item or a hidden check.

    Never an opinion: a rating that the item itself asks for, a pair that is the same, an object
    that has to be framed.
    """

    task: Literal["rating", "pair", "frame"] | None = None
    """What the item asks for; pages word it in the participant's language."""
    object: Annotated[str, Field(max_length=200)] = ""
    """Name of the object that has to be framed."""
    ratings: dict[str, int] = {}
    """Question to the answer that the item asks for."""
    box: Box | None = None
    overlap: Annotated[float, Field(gt=0, le=1)] = 0.5
    """How much of the frames has to be shared: intersection over union."""
    instruction: Annotated[str, Field(max_length=1000)] = ""
    """Said on the page where there is no task: what to do here."""
    feedback: Annotated[str, Field(max_length=2000)] = ""
    """Said after a practice item without a task, right or wrong: why."""


class Instance(StrictRecord):
    """One explanation that people are asked about."""

    key: Name
    image_key: Name
    """Which image it is: the same for all explanations of one image."""
    technique: Name
    shown: Explained
    same: Explained | None = None
    """The image changed a little, the prediction is the same: question 5."""
    different: Explained | None = None
    """The image changed so that the prediction is another one: question 6."""
    kind: Kind = "real"
    check: Check | None = None

    @model_validator(mode="after")
    def _checks_where_they_belong(self) -> "Instance":
        if (self.kind == "real") != (self.check is None):
            raise ValueError("practice items and hidden checks need `check`, real ones have none")
        return self

    def images(self) -> list[str]:
        """All files that it shows."""
        parts = [self.shown, self.same, self.different]
        return [f for p in parts if p for f in (p.image, p.map) if f]


class Material(StrictRecord):
    """All that a study shows."""

    version: Literal[1] = 1
    origin: dict[str, str] = {}
    """What it was made from: run, code, network, seeds."""
    legend: Literal["signed", "unsigned"] = "signed"
    """Whether the colors of maps have two ends (against, for) or one (nothing to most)."""
    instances: Annotated[list[Instance], Field(min_length=1, max_length=200_000)]

    @model_validator(mode="after")
    def _distinct(self) -> "Material":
        keys = [instance.key for instance in self.instances]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise ValueError(f"the key {twice!r} occurs twice")
        if not any(instance.kind == "real" for instance in self.instances):
            raise ValueError("there is no real instance, only practice")
        return self

    def of(self, kind: Kind) -> Sequence[Instance]:
        """The instances of one kind, in their order."""
        return [instance for instance in self.instances if instance.kind == kind]


def read_material(folder: Path) -> Material:
    """The material of a study folder; what does not fit is refused in words."""
    return read_checked(folder, INSTANCES, Material, "instances")


def read_checked(folder: Path, name: str, kind: type[Checked], what: str) -> Checked:
    """A file of a study folder; what does not fit is refused in words."""
    path = confined(folder, name)
    try:
        return kind.model_validate(read_json(path, what))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise EvidenceError(f"{name}, {place}", str(first["msg"]), "a record that fits") from error


def write_material(folder: Path, material: Material) -> None:
    """Write the records; the images are there already."""
    write_json(folder / INSTANCES, material.model_dump(mode="json", exclude_none=True))


def image_path(folder: Path, name: str) -> Path:
    """Return where an image of the study folder lies."""
    return confined(folder / IMAGES, name)


def keep_image(folder: Path, content: bytes, suffix: str) -> str:
    """Put an image into the study folder; the name by which records know it."""
    name = f"{hashlib.sha256(content).hexdigest()}.{suffix}"
    path = image_path(folder, name)
    if not path.is_file():
        with all_or_nothing(path) as stream:
            stream.write(content)
    return name
