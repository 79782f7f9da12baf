"""What evidence holds is said the same way by the classes, the command and the docs."""

from pathlib import Path

import pytest

from support.runs.command_line import theodolite
from theodolite.evidence.describe import describe_arrays, summarize_kind
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.registry import kinds

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"


@pytest.mark.parametrize("kind", kinds().values(), ids=lambda kind: kind.kind)
def test_every_array_is_explained_here_and_in_the_docs(kind: type) -> None:
    assert summarize_kind(kind).endswith(".")
    section = PAGE.read_text().lower().split(f"## {kind.kind} evidence")[1].split("\n## ")[0]
    for one in describe_arrays(kind):
        assert one.holds.endswith((".", "?")), f"{one.name} has no words"
        assert f"`{one.name}`" in section


def test_shapes_and_what_is_needed() -> None:
    given = {one.name: (one.shape, one.needed) for one in describe_arrays(LocationEvidence)}
    assert given["explained"] == ("concept evidence", True)
    assert given["maps"] == ("samples × concepts × height × width", True)
    assert given["points"] == ("samples × parts × places × 2", False)
    assert {one.name for one in describe_arrays(ConceptEvidence) if one.needed} == {"values"}


def test_the_command() -> None:
    listed = theodolite("evidence").stdout
    assert all(name in listed for name in kinds())
    shown = theodolite("evidence", "concept").stdout
    assert shown.startswith("ConceptEvidence: What a concept model said")
    assert "Whether each concept is there." in shown
    refused = theodolite("evidence", "conspet")
    assert refused.returncode == 2 and "one of concept, location" in refused.stderr
