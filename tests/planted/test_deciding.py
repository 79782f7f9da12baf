"""Scores that verdicts are read from, on planted truths: the short form of the release's grid."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from theodolite._planted.ratings import accepting_votes
from theodolite._planted.validation.metric_validation import list_subjects, validate_metric
from theodolite._planted.validation.outside_functions import Foreign
from theodolite._planted.validation.subjects import MetricSubject
from theodolite.metrics.catalogue import catalogue

DECIDING = [name for name, metric in catalogue().items() if metric.decides]
SAMPLES = {"concept_location": 20, "concept_global_importance": 20, "joint_task_leakage": 1000}
DRAWS = 20 if os.environ.get("THEODOLITE_FULL") else 10
TOO_SURE = Foreign(
    "mean vote", lambda ratings: np.nanmean(ratings), ("ratings",), "accepted", "higher",
    planted=accepting_votes, bootstraps=20,
    own_interval=lambda ratings: (np.nanmean(ratings) - 0.001, np.nanmean(ratings) + 0.001),
)  # fmt: skip


@pytest.mark.parametrize("name", DECIDING)
def test_worthless_is_not_praised_and_what_is_there_is_seen(name: str) -> None:
    """Dial 0: hardly ever a claim; its end: always the right one.

    Ten draws are enough for what is grossly wrong: a score that claims something every other time
    passes once in twenty, one that claims it three times of four never. The grid counts finely.
    """
    subject = MetricSubject(name)
    usual, end = subject.generator.usual, subject.generator.dials[-1]
    n = SAMPLES.get(name, 60)
    cells = [replace(usual, clusters=n), replace(usual, clusters=n, dial=end)]
    worthless, perfect = validate_metric(subject, cells=cells, draws=DRAWS).cells
    assert worthless.alarms <= DRAWS // 4, worthless.answers
    right = ("no",) if subject.is_defect_metric else ("yes", "partly")
    assert sum(perfect.answers[answer] for answer in right) == DRAWS, perfect.answers
    rises = subject.is_defect_metric or subject.better == "higher"
    assert (perfect.mean > worthless.mean) == rises


def test_the_fixture_passes_and_fails(certified: Any) -> None:
    few = replace(MetricSubject("acceptance").generator.usual, clusters=60, dial=0.5)
    assert certified("acceptance", cells=[few], draws=20).cells[0].draws == 20
    with pytest.raises(pytest.fail.Exception, match="does not keep"):
        certified(TOO_SURE, cells=[few], draws=20)


def test_a_ci_run_takes_the_scores_that_decide() -> None:
    assert {subject.name for subject in list_subjects("ci")} == set(DECIDING)
