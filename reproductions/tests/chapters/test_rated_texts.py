"""Explanations in words at both ends of a learned score."""

from types import SimpleNamespace
from typing import Any

from theodolite_reproductions.chapters.rated_texts import rated_texts


def choose(table: dict[str, list[Any]] | None) -> list[dict[str, Any]]:
    return rated_texts(SimpleNamespace(table=lambda name: table))


def test_rated_texts_ends_and_misjudged() -> None:
    table = {
        "predicted by mine": [1.0, 5.0, None, 3.0], "rating": [4.5, 5.0, 2.0, 3.0],
        "context": ["why?"] * 4, "text": ["low", "high", "unknown", "middle"],
    }  # fmt: skip
    groups = {group["title"]: group["texts"] for group in choose(table)}
    assert groups["Highest predicted acceptance"][0]["text"] == "high"
    assert groups["Lowest predicted acceptance"][0]["text"] == "low"
    assert groups["Misjudged most"][0] == {
        "context": "why?", "text": "low", "predicted": "1.00", "rating": "4.50"
    }  # fmt: skip
    assert "unknown" not in {text["text"] for texts in groups.values() for text in texts}


def test_rated_texts_without_texts() -> None:
    assert choose(None) == []
    assert choose({"predicted by mine": [1.0], "rating": [2.0]}) == []
