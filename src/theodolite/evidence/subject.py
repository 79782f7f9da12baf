"""The subject of an audit: which explanation, of which network, and whose outputs it is held
against."""

from dataclasses import dataclass
from typing import Literal, get_args

from theodolite.errors import EvidenceError

Outputs = Literal["model", "probe_only", "concept_model", "given", "none", "unknown"]
"""Whose outputs an explanation is compared with.

``network``: the network's own, read in the classes of the data. ``model itself``: of a model whose
concepts are the inputs of its head. ``given``: arrays from whoever asks. ``stand-in``: of a layer
that was fitted in the network's place. ``none``: nothing is compared. ``unknown``: a run that does
not say.
"""


@dataclass(frozen=True)
class Wording:
    """How sentences name what an explanation is held against."""

    name: str
    puts_out: str
    reasons: str
    axis: str
    """For a figure, where there is room for two words."""


WORDINGS: dict[Outputs, Wording] = {
    "model": Wording(
        "the network", "what the network puts out", "the network's reasons", "network puts out"
    ),
    "concept_model": Wording(
        "the model", "what the model puts out", "the model's reasons", "model puts out"
    ),
    "given": Wording(
        "the outputs you gave",
        "the outputs you gave",
        "the reasons behind the outputs you gave",
        "outputs you gave",
    ),
    "probe_only": Wording(
        "the linear probe",
        "what the linear probe puts out",
        "the linear probe's reasons",
        "probe puts out",
    ),
    "none": Wording("the explanation", "the output", "the reasons", "output"),
    "unknown": Wording(
        "what it was compared with",
        "what it was compared with",
        "the reasons of what it was compared with",
        "compared with",
    ),
}


@dataclass(frozen=True)
class Claim:
    """What an explanation says, as whoever relies on it would put it, and the words of its data."""

    text: str
    """Such as "This style, because of these five elements"; the title of a report."""
    concepts: str = "concepts"
    """What the data set calls them, in the plural: elements, attributes, features."""
    classes: str = "classes"
    samples: str = "samples"


@dataclass(frozen=True)
class Subject:
    """Which explanation is audited, of which network, and what stands in for what.

    >>> Subject("saliency by Grad-CAM", "resnet18, layer4", "model").description
    'saliency by Grad-CAM of resnet18, layer4'
    """

    explanation: str
    """Such as "post-hoc concept bottleneck (48 concepts)"."""
    model: str | None = None
    """Such as "resnet18, layer4"; None where nothing but arrays is at hand."""
    outputs: Outputs = "given"
    linear_probe: str = ""
    """Such as "a linear layer trained on its features by theodolite"."""
    data: str = ""

    def __post_init__(self) -> None:
        if self.outputs not in get_args(Outputs):
            raise EvidenceError(
                "subject.outputs", repr(self.outputs), f"one of {', '.join(get_args(Outputs))}"
            )

    @property
    def wording(self) -> Wording:
        """How sentences name what the explanation is held against."""
        return WORDINGS[self.outputs]

    @property
    def decides(self) -> bool:
        """Whether *faithful* is asked of what is explained, not of something in its place."""
        return self.outputs not in ("probe_only", "none")

    @property
    def description(self) -> str:
        """The explanation and what it explains, to follow "Audited:"."""
        network = f" of {self.model}" if self.model else ""
        data = f", on {self.data}" if self.data else ""
        return f"{self.explanation}{network}{data}"

    @property
    def probe_label(self) -> str:
        """The stand-in with what it is, in brackets."""
        return "the linear probe" + (f" ({self.linear_probe})" if self.linear_probe else "")

    @property
    def not_evaluated(self) -> str:
        """Why *faithful* was not asked, where scores of it do not decide."""
        if self.outputs == "probe_only":
            return (
                "Not evaluated for your model, because its outputs were not read: "
                f"{self.probe_label} was evaluated instead. That result is separate, under "
                "“Faithful to the linear probe”."
            )
        return "Not evaluated for your model, because its outputs were not read."

    @property
    def reference(self) -> str:
        """What an answer on faithfulness is compared with, in a sentence.

        >>> Subject("maps", "resnet18", "model").reference
        "The reference is the network's own output."
        """
        return {
            "model": "The reference is the network's own output.",
            "concept_model": "The reference is the model's own output.",
            "given": "The reference is the outputs you gave.",
            "probe_only": f"The reference is {self.linear_probe or 'a linear probe'}, not the "
            "model's own output.",
            "none": "",
            "unknown": "Whose outputs the reference is, is not known.",
        }[self.outputs]

    @property
    def sentence(self) -> str:
        """For the head of a report: what was audited, and what stood in for what."""
        if self.outputs == "unknown":
            return (
                f"Audited: {self.description}. It is not known whose outputs it was compared with."
            )
        if self.outputs != "probe_only":
            return f"Audited: {self.description}."
        place = (self.model or "your network").partition(",")[0]
        return (
            f"Audited: {self.description}. The outputs of {place} were not read; "
            f"{self.probe_label} was evaluated instead and decides nothing."
        )


def unstated(source: str = "") -> Subject:
    """The subject of evidence that comes without one: its outputs are those that were given."""
    return Subject(f"the explanation in {source}" if source else "the explanation")
