"""Names that tables of explanations and votes share, wherever the votes are from."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

QUESTIONS = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
QUALITIES = {
    "fidelity": ("Q1",), "complexity": ("Q2", "Q3"), "objectivity": ("Q4",),
    "robustness": ("Q5", "Q6"),
}  # fmt: skip
"""Which questions ask for which quality, by the paper's list."""
EXPLANATIONS, VOTES, NUMBERS, WORDS = "explanations", "votes", "numbers", "words"
BOXES, RANKINGS, PEOPLE = "boxes", "rankings", "people"
KINDS = ("image", "data_set", "technique", "method", "network", "modality")
"""What is known of each explanation beside its id."""
SCRIPTED: Literal["scripted annotators, no people"] = "scripted annotators, no people"
"""Stands in every table and title of votes that nobody gave."""
UNNAMED: Literal["unnamed people"] = "unnamed people"
"""Votes do not say whose they are."""
Source: TypeAlias = Literal["people", "unnamed people", "scripted annotators, no people"]
"""Who voted. Unnamed: columns of votes are no persons."""
Tables: TypeAlias = Mapping[str, Mapping[str, Sequence[Any]]]


def technique_parts(technique: str) -> tuple[str, str]:
    """Method and network of a technique's name; no network where none is named.

    >>> technique_parts("lime / resnet50"), technique_parts("lime")
    (('lime', 'resnet50'), ('lime', ''))
    """
    method, _, network = technique.partition(" / ")
    return method, network
