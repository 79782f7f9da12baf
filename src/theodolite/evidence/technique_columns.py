"""Column and table names that rating studies of explanation techniques share."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

QUESTIONS = ("Q1", "Q2", "Q3", "Q4", "Q5", "Q6")
QUALITIES = {
    "fidelity": ("Q1",), "complexity": ("Q2", "Q3"), "objectivity": ("Q4",),
    "robustness": ("Q5", "Q6"),
}  # fmt: skip
"""Questions that measure each quality, as numbered by the studies' questionnaire."""
EXPLANATIONS, VOTES, NUMBERS, WORDS = "explanations", "votes", "numbers", "words"
BOXES, RANKINGS, PEOPLE = "boxes", "rankings", "people"
KINDS = ("image", "data_set", "technique", "method", "network", "modality")
"""Columns that describe each explanation besides its id."""
SCRIPTED: Literal["scripted annotators, no people"] = "scripted annotators, no people"
"""Label in tables and titles for ratings that no person gave."""
UNNAMED: Literal["unnamed people"] = "unnamed people"
"""Source of ratings that do not identify their raters."""
Source: TypeAlias = Literal["people", "unnamed people", "scripted annotators, no people"]
"""Who rated. Unnamed: columns of ratings do not identify persons."""
Tables: TypeAlias = Mapping[str, Mapping[str, Sequence[Any]]]


def split_technique(technique: str) -> tuple[str, str]:
    """Split a technique's name into method and model; no model if none is named.

    >>> split_technique("lime / resnet50"), split_technique("lime")
    (('lime', 'resnet50'), ('lime', ''))
    """
    method, _, network = technique.partition(" / ")
    return method, network
