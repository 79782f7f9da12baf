"""What a type checker sees of theodolite: read by ``mypy --strict``, never run.

``assert_type`` fails where a type is another; a line that is wrong says so in its ``type: ignore``,
which mypy refuses where the line is right.
"""

from pathlib import Path

import numpy as np
from typing_extensions import assert_type

import theodolite
from theodolite import ext, testing
from theodolite.ext import Card, ConceptEvidence, PerSample, SampleMean, metric

VALUES = np.zeros((4, 2))


def right() -> None:
    """What users write."""
    result = theodolite.audit(values=VALUES, truth=VALUES > 0, concepts=["horn", "tail"])
    assert_type(result, theodolite.AuditResult)
    assert_type(result.scores, tuple[theodolite.Score, ...])
    assert_type(result.save("runs/mine"), Path)

    some = theodolite.audit(
        theodolite.ConceptEvidence(values=VALUES, truth=VALUES > 0),
        metrics=["concept_existence", ("concept_prediction", {"by": "auc"})],
        questions=["exists", "leak_free"],
        seed=1,
    )
    assert_type(some, theodolite.AuditResult)
    assert_type(theodolite.metrics.krippendorff_alpha(VALUES, VALUES[0]), float)
    assert_type(
        theodolite.score(
            "concept_existence",
            values=VALUES,
            truth=VALUES > 0,
            options={"top": 1},
            samples=theodolite.Samples(clusters=np.arange(4)),
        ),
        theodolite.Score,
    )

    decision = theodolite.gate(result, {"questions": {"exists": "yes"}})
    assert_type(decision, theodolite.GateResult)
    assert_type(decision.passed, bool)
    assert_type(theodolite.compare("runs/before", Path("runs/after")), theodolite.Comparison)
    assert_type(theodolite.load("evidence"), ext.Evidence | theodolite.Run)
    assert_type(theodolite.__version__, str)
    assert_type(ext.API_VERSION, int)
    testing.check_metric("concept_existence", examples=1)


def declared() -> None:
    """What another package declares."""

    @metric("mine", title="Mine", card=Card("asks", "read", "limitations", "cost"))
    class Mine(SampleMean):
        """A metric of another package."""

        @staticmethod
        def each(evidence: ConceptEvidence) -> PerSample:
            """The mean value."""
            ones = np.ones(len(evidence))
            return PerSample(evidence.values.mean(axis=1), ones, ones > 0)


def wrong() -> None:
    """What a type checker must refuse."""
    theodolite.adit(values=VALUES)  # type: ignore[attr-defined]
    theodolite.ConceptEvidence(valuse=VALUES, truth=VALUES > 0)  # type: ignore[call-arg]
    theodolite.audit(values=VALUES, questions=["leaks"])  # type: ignore[list-item]
