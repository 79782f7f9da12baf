"""What to vary in a protocol, and which contrasts of scores to look at."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from theodolite._runs.folder.spec import MetricSpec, RunSpec
from theodolite._storage.records import Strict, describe_first_error
from theodolite._storage.text import read_yaml
from theodolite.errors import EvidenceError

OPTION = "options."
"""Before the name of an option of the scores: it needs no evidence of its own."""
MOST_CELLS = 1000
Choice = str | int | float | bool | list[int | float | str] | None


class ContrastSpec(Strict):
    """A score, or how far it is from the same score with other options, or from a line."""

    name: str
    metric: MetricSpec
    minus: dict[str, Any] | None = None
    """Options of the score that is taken off, where they differ."""
    line: float = 0.0
    """A number that is taken off."""
    below: bool = False
    """Whether the claim is that it is below: the sign is then turned."""
    share_below: float | None = None
    """Where the score has items (concepts, classes): the share of them below this number, in place
    of their mean."""
    unit: Literal["samples", "items"] = "samples"
    """What is resampled: samples or their clusters, or the items, where the claim is of these."""
    effect: Annotated[float, Field(gt=0)] | None = None
    """The smallest that would still be the claim, in the score's own units."""
    entries: list[str] = Field(default_factory=list)
    """Findings that it decides, by their ids."""


class SweepSpec(Strict):
    """A protocol, what is varied in it, what stays otherwise than it says, and contrasts."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$")]
    title: str = ""
    protocol: str
    """A spec beside this file."""
    settings: dict[str, Any] = Field(default_factory=dict)
    """What all cells change in the protocol, by dotted names such as ``pipeline.projection``."""
    vary: Annotated[dict[str, Annotated[list[Choice], Field(min_length=1)]], Field(min_length=1)]
    """Choices by dotted name; the first is the one nearest to the paper's text. ``options.NAME``
    varies an option of the scores."""
    contrasts: Annotated[list[ContrastSpec], Field(min_length=1)]
    family: Literal["holm"] = "holm"
    """How having looked at many moves is corrected for."""

    @model_validator(mode="after")
    def _names_differ(self) -> "SweepSpec":
        names = [contrast.name for contrast in self.contrasts]
        if len(set(names)) < len(names):
            message = "two contrasts have one name"
            raise ValueError(message)
        both = set(self.settings) & set(self.vary)
        if both:
            message = f"{sorted(both)[0]} is both set and varied"
            raise ValueError(message)
        return self


def read_sweep(path: Path) -> tuple[SweepSpec, dict[str, Any]]:
    """A sweep, and the content of its protocol, which must lie in the same folder."""
    content = read_yaml(path, "sweep")
    try:
        sweep = SweepSpec.model_validate(content)
    except ValidationError as error:
        raise EvidenceError(
            f"sweep {path.name!r}", describe_first_error(error), "a sweep as documented"
        ) from error
    if Path(sweep.protocol).name != sweep.protocol:
        raise EvidenceError("protocol", repr(sweep.protocol), "the name of a file beside the sweep")
    protocol = read_yaml(path.parent / sweep.protocol, "spec")
    if not isinstance(protocol, dict):
        raise EvidenceError(f"spec {sweep.protocol!r}", type(protocol).__name__, "names and values")
    return sweep, protocol


def spec_with(protocol: dict[str, Any], settings: dict[str, Any]) -> RunSpec:
    """The protocol with other settings, by dotted names. All of them must be there to be changed,
    or be arguments of the data set or pipeline."""
    content: dict[str, Any] = {**protocol}
    for name, value in settings.items():
        *path, last = name.split(".")
        part = content
        for step in path:
            own = part.get(step)
            if not isinstance(own, dict):
                raise EvidenceError(f"setting {name!r}", f"no {step!r} in the protocol", "a part")
            part[step] = {**own}
            part = part[step]
        part[last] = value
    try:
        return RunSpec.model_validate(content)
    except ValidationError as error:
        raise EvidenceError(
            "protocol with settings", describe_first_error(error), "a spec"
        ) from error
