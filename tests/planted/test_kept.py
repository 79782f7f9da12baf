"""Validation records of the package: every metric has one, and those that decide hold."""

import pytest
from tools.validation import SUMMARIES, build_summaries

from theodolite.metrics.catalogue import catalogue
from theodolite.metrics.validation import get_validation

OWN = {name: m for name, m in catalogue().items() if m.state.__module__.startswith("theodolite.")}


@pytest.mark.parametrize("name", OWN)
def test_every_metric_has_a_validation_of_its_version(name: str) -> None:
    validation = get_validation(name, OWN[name].version)
    assert validation is not None, f"theodolite metrics validate {name} --keep validation"
    if OWN[name].decides:
        assert validation.least_samples is not None and validation.least_samples <= 100


def test_summaries_are_those_of_the_records() -> None:
    assert SUMMARIES.read_text("utf-8") == build_summaries(), "run python -m tools.validation"
