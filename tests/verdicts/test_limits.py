"""The range of a validation record: every limit of it is checked."""

from dataclasses import fields
from typing import Any

import pytest

from theodolite.metrics.validation import ValidationSummary

WIDE: dict[str, Any] = {
    "metric": "any", "version": 1, "digest": "", "theodolite": "", "date": "", "size": "release",
    "text": "", "failures": (), "least_samples": 100, "most_samples": 1000, "holds_up_to": 1000,
    "least_clusters": 50, "most_labels": 50, "least_per_label": 10, "most_concepts": 112,
    "representations": (), "powers": (),
}  # fmt: skip
INSIDE: dict[str, Any] = {
    "samples": 500, "clusters": None, "labels": 2, "concepts": 5, "rarest": 200
}  # fmt: skip
BEYOND: dict[str, tuple[dict[str, Any], str]] = {
    "least_samples": ({"samples": 99}, "99 samples, validated from 100"),
    "holds_up_to": ({"samples": 1001}, "validated up to 1000"),
    "least_clusters": ({"clusters": 49}, "49 clusters, validated from 50"),
    "most_labels": ({"labels": 51}, "51 labels, validated up to 50"),
    "least_per_label": ({"rarest": 9}, "9 samples or clusters of the rarest label"),
    "most_concepts": ({"concepts": 113}, "113 concepts, validated up to 112"),
}
NOT_LIMITS = {"version", "most_samples"}
"""The version, and the largest number tried: beyond it, what holds is expected to hold."""


def test_range_every_numeric_field_has_a_check() -> None:
    numeric = {f.name for f in fields(ValidationSummary) if f.type in ("int", "int | None", int)}
    numeric |= {f.name for f in fields(ValidationSummary) if f.type == int | None}
    assert numeric - NOT_LIMITS == set(BEYOND)


@pytest.mark.parametrize("limit", BEYOND)
def test_range_evidence_beyond_a_limit_is_outside(limit: str) -> None:
    summary = ValidationSummary(**WIDE)
    assert summary.outside(**INSIDE) == ""
    changes, text = BEYOND[limit]
    assert text in summary.outside(**(INSIDE | changes))


def test_range_text_names_every_limit() -> None:
    text = ValidationSummary(**WIDE).range_text
    for number in ("100", "1,000", "50 clusters", "112 concepts", "50 labels", "10 samples"):
        assert number in text
