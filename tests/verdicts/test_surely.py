"""What 0.1.0 answered wrongly: codes of a number, copies, too few; each now tells or says why not."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from theodolite._planted.conditions import Condition
from theodolite._planted.leaking_values import leaking_values
from theodolite._runs.auditing.front import audit
from theodolite._scoring.evaluate import MetricRequest, Resampling, evaluate
from theodolite._verdicts.gates.judge import broken, read_thresholds
from theodolite._verdicts.rules import verdict
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.metrics.catalogue import find_metric
from theodolite.results import Verdict

QUICK = Resampling(resamples=50, most_null_draws=1)
CLEAN = replace(leaking_values.usual, clusters=500)
LEAKING = replace(CLEAN, clusters=400, dial=0.2)
CODES = {
    "float": lambda values: values,
    "float32": lambda values: values.astype(np.float32),
    "three digits": lambda values: np.round(values, 3),
    "uint16": lambda values: np.round(65535 * values).astype(np.uint16),
}


def planted_evidence(condition: Condition, seed: int) -> ConceptEvidence:
    (evidence,) = leaking_values.draw("predictive_task_leakage", condition, seed).evidence
    assert isinstance(evidence, ConceptEvidence)
    return evidence


def leaks(evidence: ConceptEvidence) -> Verdict:
    (answer,) = [v for v in audit([evidence], QUICK).verdicts if v.question == "leak_free"]
    return answer


def coded(evidence: ConceptEvidence, code: str) -> ConceptEvidence:
    return replace(evidence, values=CODES[code](np.asarray(evidence.values)))


def repeated(evidence: ConceptEvidence, times: int, *, declared: bool) -> ConceptEvidence:
    rows = np.repeat(np.arange(len(evidence)), times)
    samples = Samples(clusters=rows) if declared else Samples()
    arrays = {
        name: np.asarray(getattr(evidence, name))[rows] for name in ("values", "truth", "labels")
    }
    return ConceptEvidence(**arrays, samples=samples)


@pytest.mark.parametrize("code", CODES)
def test_a_leak_is_seen_whatever_the_numbers_are_stored_as(code: str, tmp_path: Path) -> None:
    for seed in range(2):
        evidence = coded(planted_evidence(LEAKING, seed), code)
        answers = audit([evidence], QUICK)
        (answer,) = [v for v in answers.verdicts if v.question == "leak_free"]
        assert answer.answer == "no", answer.summary
        (tmp_path / "t.yaml").write_text("questions: {leak_free: 'yes'}")
        assert broken(read_thresholds(tmp_path / "t.yaml"), answers.scores, answers.verdicts)


@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("times", [2, 10])
def test_copies_do_not_leak_and_do_not_hide_a_leak(times: int, declared: bool) -> None:
    for seed in range(2):
        plain = planted_evidence(CLEAN, seed)
        clean = leaks(repeated(plain, times, declared=declared))
        assert clean.answer == leaks(plain).answer == "yes", clean.summary
        leaking = leaks(repeated(planted_evidence(LEAKING, seed), times, declared=declared))
        assert leaking.answer == "no", leaking.summary


def test_no_verdict_flips_between_representations_and_orders() -> None:
    for condition in (CLEAN, LEAKING, replace(CLEAN, dial=0.05), replace(CLEAN, clusters=100)):
        evidence = planted_evidence(condition, seed=7)
        answers = {leaks(coded(evidence, code)).answer for code in CODES}
        order = np.random.default_rng(1).permutation(len(evidence))
        answers.add(leaks(evidence[order]).answer)
        assert len(answers) == 1, condition


def test_near_copies_cannot_accuse_until_clusters_are_declared() -> None:
    base = planted_evidence(replace(LEAKING, clusters=150, rows=2, within=0.02), seed=2)
    undeclared = replace(base, samples=Samples())
    answers = audit([undeclared], QUICK)
    (answer,) = [v for v in answers.verdicts if v.question == "leak_free"]
    assert (answer.answer, answer.reason) == ("inconclusive", "data_quality")
    assert any("rows are alike" in note for note in answers.notes)
    independent = replace(base, samples=Samples(clusters=np.arange(len(base))))
    assert leaks(independent).answer == leaks(base).answer == "no"


def test_too_few_cannot_be_told_and_say_how_many_would_do() -> None:
    few = leaks(planted_evidence(replace(CLEAN, clusters=30), seed=0))
    assert (few.answer, few.reason) == ("inconclusive", "underpowered")
    assert few.min_detectable_effect is not None and few.min_detectable_effect > 0.05
    assert leaks(planted_evidence(replace(CLEAN, clusters=8), seed=0)).answer == "inconclusive"


def test_the_questions_of_a_report_are_corrected_for_one_another() -> None:
    """A leak that one question alone would show is not shown by one of several."""
    evidence = planted_evidence(replace(CLEAN, clusters=300, dial=0.1), seed=1)
    (score,) = evaluate(MetricRequest(find_metric("predictive_task_leakage")), [evidence], QUICK)
    assert score.defect is not None
    lone = verdict(score, alpha=score.defect.p_above_tolerance * 1.01)
    strict = verdict(score, alpha=score.defect.p_above_tolerance * 0.99)
    assert lone.answer == "no" and strict.answer != "no"


@pytest.mark.parametrize("few", [True, False])
def test_no_effect_is_named_that_cannot_be(few: bool) -> None:
    random = np.random.default_rng(1)
    n = 12 if few else 60
    truth = random.random((n, 3)) < 0.5
    evidence = ConceptEvidence(values=random.random((n, 3)), truth=truth)
    request = MetricRequest(find_metric("concept_existence"), {"rank_by": "value", "top": (1,)})
    (score,) = evaluate(request, [evidence], Resampling(resamples=100))
    answer = verdict(score)
    assert answer.answer == "inconclusive"
    assert answer.min_detectable_effect is not None
    assert score.null is not None
    possible = 1.0 - score.null.value
    assert (answer.min_detectable_effect >= possible) == few
    assert ("even the best possible would be missed" in answer.summary) == few
    assert ("an effect below" in answer.summary) != few


def test_similar_rows_found_among_rows_that_also_repeat() -> None:
    """A few exact copies must not hide groups of similar rows."""
    base = planted_evidence(replace(LEAKING, clusters=150, rows=2, within=0.02), seed=2)
    rows = np.concatenate([np.arange(len(base)), np.arange(10)])
    copied = replace(base[rows], samples=Samples())
    answers = audit([copied], QUICK)
    (answer,) = [v for v in answers.verdicts if v.question == "leak_free"]
    assert (answer.answer, answer.reason) == ("inconclusive", "data_quality")
    assert any("repeat others" in note for note in answers.notes)
