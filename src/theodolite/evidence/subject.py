"""Subject of an audit: the explanation, the model it explains, and the reference for its
outputs."""

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
    """Phrases with which sentences name the reference of an explanation."""

    name: str
    puts_out: str
    reasons: str
    axis: str
    """Short label for a figure's axis."""


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
    """What an explanation claims, for the report's title, and the terms of its data."""

    text: str
    """Such as "This style, because of these five elements"; the title of a report."""
    concepts: str = "concepts"
    """Plural term for concepts in this data set, such as elements or attributes."""
    classes: str = "classes"
    samples: str = "samples"


UNNAMED = "the explanation"
"""What an explanation is called that nobody described."""


@dataclass(frozen=True)
class Subject:
    """Audited explanation, the model it explains, and any stand-in for that model.

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
    def is_unstated(self) -> bool:
        """Whether nobody described the explanation, as in `make_unstated_subject`."""
        unnamed = self.explanation.partition(" in ")[0] == UNNAMED
        return unnamed and self == Subject(self.explanation)

    @property
    def wording(self) -> Wording:
        """Phrases that name what the explanation is compared with."""
        return WORDINGS[self.outputs]

    @property
    def decides(self) -> bool:
        """Whether *faithful* is evaluated on the explained model itself."""
        return self.outputs not in ("probe_only", "none")

    @property
    def description(self) -> str:
        """Explanation and what it explains, to follow "Audited:"."""
        network = f" of {self.model}" if self.model else ""
        data = f", on {self.data}" if self.data else ""
        return f"{self.explanation}{network}{data}"

    @property
    def probe_label(self) -> str:
        """Label of the linear probe, in brackets."""
        return "the linear probe" + (f" ({self.linear_probe})" if self.linear_probe else "")

    @property
    def not_evaluated(self) -> str:
        """Reason why *faithful* was not evaluated."""
        if self.outputs == "probe_only":
            return (
                "Not evaluated for your model: no outputs of it for these classes were read. "
                f"Instead {self.probe_label} was evaluated. That result is separate, under "
                "“Faithful to the linear probe”."
            )
        return "Not evaluated for your model: no outputs of it for these classes were read."

    @property
    def reference(self) -> str:
        """Sentence that says what a faithfulness answer is compared with.

        >>> Subject("maps", "resnet18", "model").reference
        "The reference is the explained model's own output."
        """
        return {
            "model": "The reference is the explained model's own output.",
            "concept_model": "The reference is the model's own output.",
            "given": "The reference is the outputs you gave.",
            "probe_only": f"The reference is {self.linear_probe or 'a linear probe'}, not the "
            "model's own output.",
            "none": "",
            "unknown": "Whose outputs the reference is, is not known.",
        }[self.outputs]

    @property
    def sentence(self) -> str:
        """Sentence for the head of a report: what was audited and any stand-in."""
        if self.outputs == "unknown":
            return (
                f"Audited: {self.description}. It is not known whose outputs it was compared with."
            )
        if self.outputs != "probe_only":
            return f"Audited: {self.description}."
        place = (self.model or "your network").partition(",")[0]
        return (
            f"Audited: {self.description}. No outputs of {place} for these classes were read: "
            f"{self.probe_label} was evaluated instead and decides nothing."
        )


def make_unstated_subject(source: str = "") -> Subject:
    """Return the subject of evidence without one: outputs count as given."""
    return Subject(f"{UNNAMED} in {source}" if source else UNNAMED)
