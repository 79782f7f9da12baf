"""Kinds of evidence: declared once, entered when made, in an order that no package changes."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from theodolite._planted.examples import plant_example
from theodolite.errors import EvidenceError
from theodolite.evidence import registry
from theodolite.evidence.axes import NamedAxis, Policies
from theodolite.evidence.base import Evidence, array, flatten_entries
from theodolite.evidence.describe import describe_briefly
from theodolite.evidence.files import from_arrays, load, save
from theodolite.evidence.kinds import KIND_MODULES
from theodolite.evidence.registry import kinds, kinds_for, markers
from theodolite.questions import USUAL_KINDS

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


@pytest.fixture
def afterwards_as_before() -> Iterator[None]:
    kinds()
    before = dict(registry._registered)
    yield
    registry._registered.clear()
    registry._registered.update(before)


def test_ours_are_listed_in_one_order() -> None:
    assert tuple(kinds()) == KIND_MODULES
    table = (
        PROJECT.read_text().partition('entry-points."theodolite.evidence"]')[2].partition("\n\n")
    )
    points = dict(re.findall(r'(\w+) = "(.+)"', table[0]))
    assert points == {name: f"{k.__module__}:{k.__name__}" for name, k in kinds().items()}


def test_each_question_names_kinds_that_say_what_they_need() -> None:
    for question, usual in USUAL_KINDS.items():
        assert kinds_for(question) == list(usual)
        assert all(kinds()[name].ways[question] for name in usual)


@pytest.mark.parametrize("name", KIND_MODULES)
def test_planted_examples_come_by_a_seed_and_back_from_disk(name: str, tmp_path: Path) -> None:
    kind = kinds()[name]
    example, again, other = plant_example(kind, 3), plant_example(kind, 3), plant_example(kind, 4)
    save(example, tmp_path)
    loaded = load(tmp_path)
    arrays = [array_name for array_name, _ in kind.layouts() if example.has(array_name)]
    for array_name in arrays:
        values = flatten_entries(getattr(example, array_name))
        assert np.array_equal(values, flatten_entries(getattr(again, array_name)), equal_nan=True)
        assert np.array_equal(values, flatten_entries(getattr(loaded, array_name)), equal_nan=True)
    differ = [
        np.array_equal(flatten_entries(getattr(example, n)), flatten_entries(getattr(other, n)))
        for n in arrays
    ]
    assert not all(differ)
    if kind.marker is not None:
        plain = {n: getattr(example, n) for n in arrays}
        assert type(from_arrays(plain)) is kind


@pytest.mark.usefixtures("afterwards_as_before")
def test_what_is_taken_is_refused() -> None:
    with pytest.raises(EvidenceError, match="'concept' twice"):

        class Concepts2(Evidence):
            kind = "concept"
            version = 1

    with pytest.raises(EvidenceError, match="'maps', which marks saliency evidence"):

        class Maps(Evidence):
            kind = "other_maps"
            version = 1
            marker = "maps"

    with pytest.raises(EvidenceError, match="small letters"):

        class Odd(Evidence):
            kind = "../x"
            version = 1

    with pytest.raises(TypeError, match="slots=True"):

        @dataclass(frozen=True, eq=False, kw_only=True, repr=False, slots=True)
        class Slots(Evidence):
            kind = "slots"
            version = 1

    assert set(kinds()) - set(KIND_MODULES) == {"slots"}  # the first of the two classes
    assert list(kinds())[-1] == "slots"


@pytest.mark.usefixtures("afterwards_as_before")
def test_a_kind_of_a_notebook_has_defaults() -> None:
    @dataclass(frozen=True)
    class Voices(NamedAxis):
        """Speakers."""

        singular = "speaker"

    @dataclass(frozen=True, eq=False, kw_only=True, repr=False)
    class VoiceEvidence(Evidence):
        """What is heard."""

        kind = "voice"
        version = 1
        marker = "loudness"
        loudness: np.ndarray = array("samples", "voices")
        """How loud: in decibels."""
        voices: Voices = Voices()

    example = plant_example(VoiceEvidence, 0)
    assert example.voices.names[:2] == ("speaker 0", "speaker 1")
    assert (example.warnings(), example.rankable()) == ([], 0)
    assert type(from_arrays({"loudness": np.ones((2, 2))})) is VoiceEvidence
    assert markers()["loudness"] is VoiceEvidence
    assert describe_briefly(VoiceEvidence, "loudness") == "how loud"
    assert kinds_for("located", {"voice"})[-1] == "voice"
    assert Policies.numbered(1).names == ("policy 0",)
