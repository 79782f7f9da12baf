"""Findings as they are written: planted models, several claims."""

from pathlib import Path

import numpy as np
import pytest

from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.records import read_record
from theodolite._verdicts.scores_file import ComparedRecord, ScoreRecord
from theodolite_reproductions.chapters.findings import findings
from theodolite_reproductions.findings.leakage import (
    CorrelationRecord,
    CriterionRecord,
    FindingsFile,
    read_findings,
    write_findings,
)

PUBLISHED = ("concept_task_leakage", "interconcept_leakage")


def score(metric: str, seeds: np.ndarray) -> ScoreRecord:
    return ScoreRecord(
        metric=metric, version=1, question="leak_free", value=float(seeds.mean()), better="lower",
        bounds=(0.0, 1.0), best=0.0, n=9, n_undefined=0, n_unit="samples", options={},
        interval=None, null=None, intervals=[], nulls=[], detail=None,
        per_seed=seeds.tolist() if len(seeds) > 1 else [],
    )  # fmt: skip


def models(difference: float, seeds: int, spread: float = 0.01) -> list[ComparedRecord]:
    """Three pairs, one of each larger by so much in both scores."""
    random = np.random.default_rng([seeds, round(1000 + 1000 * difference)])
    return [
        ComparedRecord(
            name=f"{side}-{pair}",
            about={"side": side, "pair": pair},
            scores=[score(m, random.normal(0.3 + larger, spread, seeds)) for m in PUBLISHED],
        )
        for pair in range(3)
        for side, larger in (("more", difference), ("less", 0.0))
    ]


def records(path: Path, compared: list[ComparedRecord], *studies: dict) -> list:
    spec = RunSpec.model_validate({"name": "x", "evidence": ["x"], "studies": list(studies)})
    write_findings(path / "findings.json", spec, compared)
    return list(read_record(path / "findings.json", FindingsFile).findings)


CLAIM = {
    "kind": "criterion", "title": "It leaks more", "more": {"side": "more"},
    "less": {"side": "less"}, "matched": ["pair"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("difference", "seeds", "answer", "word"),
    [
        (0.1, 5, "confirmed", "more in 3 of 3 pairs, less in 0"),
        (-0.1, 5, "contradicted", "more in 0 of 3 pairs, less in 3"),
        (0.0, 40, "not there", "surely no difference in 3"),
        (0.0, 3, "too few repeats", "too few repeats in 3"),
        (0.1, 1, "too few repeats", "too few repeats in 3"),
    ],
)
def test_planted_claims_get_their_words(
    tmp_path: Path, difference: float, seeds: int, answer: str, word: str
) -> None:
    (result,) = records(tmp_path, models(difference, seeds), CLAIM)
    assert isinstance(result, CriterionRecord) and result.decision is not None
    assert result.answer == result.decision.answer == answer
    assert (result.decision.repeats, result.decision.effect) == (seeds, 0.02)
    assert (result.decision.min_detectable_effect is None) is (seeds == 1)
    page = findings(read_findings(tmp_path))
    assert page is not None
    told = page["criteria"][0]["answers"][0]
    assert told["word"] == answer and word in told["counts"]
    assert told["power"].startswith(f"{seeds} seed{'s' * (seeds > 1)} each; asked for: 2 points")


def test_the_effect_of_the_spec_decides(tmp_path: Path) -> None:
    compared = models(0.0, 5)
    (small,) = records(tmp_path, compared, CLAIM | {"effect": 0.005})
    (large,) = records(tmp_path, compared, CLAIM | {"effect": 0.2})
    assert (small.answer, large.answer) == ("too few repeats", "not there")


def test_scores_of_one_table_are_decided_together(tmp_path: Path) -> None:
    """Of eight models two scores follow the third by chance in part; Holm holds for both."""
    random = np.random.default_rng(3)
    against = np.linspace(0.1, 0.8, 8)
    compared = [
        ComparedRecord(
            name=f"m{i}", about={},
            scores=[
                score("intervention_score", base + random.normal(0, 0.002, 3)),
                score(PUBLISHED[0], base + random.normal(0, 0.002, 3)),
                score(PUBLISHED[1], 0.5 + random.normal(0, 0.1, 3)),
            ],
        )
        for i, base in enumerate(against)
    ]  # fmt: skip
    study = {
        "kind": "correlation", "title": "t", "metrics": list(PUBLISHED),
        "paper": {PUBLISHED[0]: (0.7, 0.01)},
    }  # fmt: skip
    (result,) = records(tmp_path, compared, study)
    assert isinstance(result, CorrelationRecord)
    first, second = (row.decision for row in result.rows)
    assert first is not None and second is not None
    assert (first.answer, first.effect) == ("confirmed", 0.35), "half of what was printed"
    assert (second.answer, second.effect) == ("too few repeats", 0.1)
    assert result.rows[0].corrected_p == pytest.approx(2 * result.rows[0].p)
    (few,) = records(tmp_path, compared[:3], study)
    assert [row.decision.answer for row in few.rows] == ["too few repeats"] * 2


def test_a_correlation_that_is_sure_alone_may_not_be_in_a_table(tmp_path: Path) -> None:
    """Twelve models without errors, r = 0.5945: z times 3 is 2.054, p = 0.04."""
    basis = np.linalg.qr(
        np.random.default_rng(0).normal(size=(12, 4)) @ np.eye(4) + [[5, 0, 0, 0]]
    )[0]
    x, along, away = (c - c.mean() for c in basis[:, 1:].T)
    x, along, away = np.linalg.qr(np.stack([x, along, away]).T)[0].T
    r = 0.5945
    columns = (0.5 + 0.3 * x, 0.5 + 0.3 * (r * x + (1 - r**2) ** 0.5 * along), 0.5 + 0.3 * away)
    compared = [
        ComparedRecord(
            name=f"m{i}", about={},
            scores=[
                score(m, np.full(2, c[i]))
                for m, c in zip(("intervention_score", *PUBLISHED), columns, strict=True)
            ],
        )
        for i in range(12)
    ]  # fmt: skip

    def answers(*metrics: str) -> list[str]:
        study = {"kind": "correlation", "title": "t", "metrics": list(metrics), "effect": 0.9}
        (result,) = records(tmp_path, compared, study)
        assert result.rows[0].p == pytest.approx(0.04, abs=0.001)
        return [row.decision.answer for row in result.rows]

    assert answers(PUBLISHED[0]) == ["confirmed"]
    assert answers(*PUBLISHED) == ["not there", "not there"], "surely below 0.9"
