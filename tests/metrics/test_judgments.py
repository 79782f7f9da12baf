"""Scores of judges: worked numbers, loops that say the same, floors, and what is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import balanced_accuracy_score, f1_score, roc_auc_score

import theodolite
from theodolite._planted.examples import plant_example
from theodolite._planted.judgments import planted_judgments
from theodolite._runs.auditing.single_score import score
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.judgment import TASKS, JudgmentEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.language.judges import judge_and_people
from theodolite.metrics import judge_detection, judge_intruder
from theodolite.metrics.accepted.krippendorff import JudgeAgreement
from theodolite.metrics.catalogue import find_metric
from theodolite.metrics.language._judgments import MAX_FREQUENCY_RATIO, OTHER_EXPLANATION
from theodolite.metrics.language.judges import JudgeDetection, JudgeFuzzing, JudgeIntruder
from theodolite.results import Score
from theodolite.testing.strategies import judgment_evidence

QUESTIONS = {"latent": [0] * 4, "sequence": [0, 1, 2, 3], "active": [1, 1, 1, 0]}
BY = ("balanced", "accuracy", "f1", "auroc")


def windows(active: int, inactive: int, latents: int = 3, answer: float = 0.0) -> JudgmentEvidence:
    """A judge who always answers the same."""
    each = np.repeat([True, False], [active, inactive])
    n = len(each) * latents
    return JudgmentEvidence(
        latent=np.repeat(np.arange(latents), len(each)), sequence=np.arange(n),
        active=np.tile(each, latents), answer=np.full(n, answer),
        judge=np.zeros(n, int), written_from=np.zeros(n, bool),
    )  # fmt: skip


def test_worked_numbers_are_those_of_scikit_learn() -> None:
    answers = [1.0, 1.0, 0.0, 0.0]
    values = judge_detection(**QUESTIONS, answer=answers, by=BY)[:, 0]
    assert_allclose(values, [0.833333, 0.75, 0.8, 0.833333], atol=5e-7)
    truth = QUESTIONS["active"]
    assert_allclose(
        values,
        [
            balanced_accuracy_score(truth, answers),
            np.equal(truth, answers).mean(),
            f1_score(truth, answers),
            roc_auc_score(truth, answers),
        ],
        atol=1e-12,
    )
    rounds = {"latent": [0, 0, 0, 1], "sequence": range(4), "active": [0] * 4}
    named = judge_intruder(**rounds, answer=[1, 0, 1, np.nan], task=["intruder"] * 4)
    assert_allclose(named, [0.666667, np.nan], atol=5e-7)


def area(yes: list[float], no: list[float]) -> float:
    pairs = [(a > b) + (a == b) / 2 for a in yes for b in no]
    return sum(pairs) / len(pairs) if pairs else math.nan


def by_hand(rows: list[tuple[bool, float]]) -> list[float]:
    """Balanced accuracy, accuracy, F1 and area of (truth, answer), in loops."""
    yes, no = ([a for truth, a in rows if truth is side] for side in (True, False))
    tp, tn = sum(a > 0.5 for a in yes), sum(a <= 0.5 for a in no)
    balanced = (tp / len(yes) + tn / len(no)) / 2 if yes and no else math.nan
    wrong = len(yes) - tp + len(no) - tn
    return [
        balanced,
        (tp + tn) / len(rows) if rows else math.nan,
        2 * tp / (2 * tp + wrong) if tp + wrong else math.nan,
        area(yes, no),
    ]


def rows_of(
    evidence: JudgmentEvidence, task: str, times: np.ndarray, column: np.ndarray, item: int
) -> list[tuple[bool, float]]:
    rows = []
    for row in range(len(evidence)):
        own = evidence.explanation is None or evidence.explanation[row] == evidence.latent[row]
        if (
            own
            and evidence.tasks.names[evidence.task[row]] == task
            and column[row] == item
            and not math.isnan(evidence.answer[row])
        ):
            rows += [(bool(evidence.active[row]), float(evidence.answer[row]))] * int(times[row])
    return rows


@given(evidence=judgment_evidence(), data=st.data())
def test_tables_by_hand(evidence: JudgmentEvidence, data: st.DataObject) -> None:
    """Of each latent and of each judge; and weights count a question as often as they say."""
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    times = random.integers(0, 3, len(evidence))
    weights = np.stack([np.ones(len(evidence)), times.astype(float)])
    for over, column in (("latents", evidence.latent), ("judges", evidence.judge)):
        for state, task, options in (
            (JudgeDetection, "detection", {}),
            (JudgeFuzzing, "fuzzing", {}),
            (JudgeFuzzing, "fuzzing across", {"form": "across"}),
        ):
            values = state.of(evidence, weights, by=BY, over=over, **options).value()
            for row, counts in enumerate(weights):
                for item in range(len(getattr(evidence, over))):
                    expected = by_hand(rows_of(evidence, task, counts, column, item))
                    assert_allclose(values[row, :, item], expected, atol=1e-12)
        values = JudgeIntruder.of(evidence, weights, over=over).value()
        for row, counts in enumerate(weights):
            for item in range(len(getattr(evidence, over))):
                answers = [a for _, a in rows_of(evidence, "intruder", counts, column, item)]
                expected = np.mean(answers) if answers else math.nan
                assert_allclose(values[row, item], expected, atol=1e-12)


def nulls(score: Score) -> dict[str, float]:
    return {null.name: null.value for null in score.nulls}


@pytest.mark.parametrize("name", ["judge_detection", "judge_fuzzing"])
def test_no_published_form_is_without_its_floor(name: str) -> None:
    assert {"always_no", "always_yes"} <= {null.name for null in find_metric(name).nulls}
    evidence = windows(4, 10)
    if name == "judge_fuzzing":
        evidence = replace(evidence, task=np.zeros(len(evidence), int), tasks=("fuzzing",))
    floors = {}
    for by in BY:
        single = score(name, evidence, options={"by": (by,)}, resamples=50)
        assert single.value == pytest.approx(nulls(single)["always_no"])
        floors[by] = nulls(single)["always_no"], nulls(single)["always_yes"]
    assert floors["balanced"] == floors["auroc"] == pytest.approx((0.5, 0.5))
    assert floors["accuracy"] == pytest.approx((10 / 14, 4 / 14))  # as SAEBench has it: 0.714286
    assert floors["f1"] == pytest.approx((0.0, 0.444444), abs=1e-6)
    half = score(
        name,
        replace(evidence, active=np.arange(len(evidence)) % 2),
        options={"by": ("f1",)},
        resamples=50,
    )
    assert nulls(half)["always_yes"] == pytest.approx(0.666667, abs=1e-6)


def test_pooled_tables_are_those_of_the_published_code() -> None:
    """The balanced accuracy of one table of all latents, which delphi calls accuracy."""
    evidence = planted_judgments(right=0.8)
    rows = evidence.is_task("detection") & evidence.is_own()
    truth, answers = evidence.active[rows], evidence.answer[rows] > 0.5
    tp, fn = (truth & answers).sum(), (truth & ~answers).sum()
    tn, fp = (~truth & ~answers).sum(), (~truth & answers).sum()
    pooled = JudgeDetection.of(evidence, by=("balanced",), over="judges").value()
    assert pooled[0, 0] == pytest.approx((tp / (tp + fn) + tn / (tn + fp)) / 2, abs=1e-12)


def test_intervals_are_over_sequences_and_over_latents() -> None:
    evidence = planted_judgments(60, latents=20, right=0.8)
    single = score("judge_detection", evidence, options={"by": ("balanced",)}, resamples=200)
    assert single.value == pytest.approx(0.8, abs=0.03)
    assert [interval.over for interval in single.intervals] == ["clusters", "latents"]
    assert single.n_clusters == 60
    assert single.n_unit == "latents"
    # another latent is active elsewhere: its explanation tells nothing
    assert nulls(single)["another_latent"] == pytest.approx(0.5, abs=0.04)
    assert nulls(single)["permuted_answers"] == pytest.approx(0.5, abs=0.04)


def test_intruders_are_held_against_any_of_their_round() -> None:
    evidence = planted_judgments(right=0.9)
    single = score("judge_intruder", evidence, resamples=100)
    assert nulls(single) == {"random_text": pytest.approx(0.2)}
    of_ten = replace(evidence, texts=np.full(len(evidence), 10))
    assert nulls(score("judge_intruder", of_ten, resamples=100)) == {
        "random_text": pytest.approx(0.1)
    }


def test_another_explanation_is_of_a_latent_that_is_active_as_often() -> None:
    random = np.random.default_rng(0)
    latent, sequence = np.indices((6, 50)).reshape(2, -1)
    often = np.array([0.1, 0.12, 0.5, 0.55, 0.9, 0.01])
    evidence = JudgmentEvidence(
        latent=latent, sequence=sequence, active=random.random(300) < 0.5,
        answer=(latent + 1) / 10, frequency=often, written_from=np.zeros(300, bool),
    )  # fmt: skip
    null = OTHER_EXPLANATION.made(evidence, 3)
    source = np.where(np.isnan(null.answer), -1, np.round(np.nan_to_num(null.answer) * 10 - 1))
    for own in range(6):
        others = {int(other) for other in source[latent == own]}
        like = {
            other
            for other in range(6)
            if other != own
            and max(often[[own, other]]) <= MAX_FREQUENCY_RATIO * min(often[[own, other]])
        }
        assert others == (like or {-1})


def test_unread_answers_are_left_out_and_said() -> None:
    evidence = windows(5, 5, answer=1.0)
    answers = np.array(evidence.answer)
    answers[:1] = np.nan
    few = replace(evidence, answer=answers)
    assert few.n_unread == 1
    assert few.warnings() == [
        "1 of 30 answers of judges (3.3 %) could not be read; they are left out"
    ]
    answers[:5] = np.nan  # no active sequence of the first latent is left
    values = JudgeDetection.of(replace(evidence, answer=answers), by=("balanced",)).value()
    assert_allclose(values[0], [np.nan, 0.5, 0.5])
    assert replace(windows(20, 20, answer=1.0), written_from=None).warnings() == [
        "explanations may have been scored on what they were written from: `written_from` does "
        "not say"
    ]


def test_questions_of_one_sequence_are_a_cluster_unless_documents_are_known() -> None:
    rows = {"latent": [0, 1, 0], "sequence": [7, 7, 2], "active": [1, 0, 1], "answer": [1, 0, 1]}
    evidence = JudgmentEvidence(**rows)
    assert evidence.samples.clusters.tolist() == [7, 7, 2]
    known = JudgmentEvidence(**rows, samples=Samples(clusters=[0, 0, 0]))
    assert known.samples.clusters.tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"answer": [0.0, 1.5, 0.0, 0.0]}, "1.5 in row 1"),
        ({"answer": [0.0, -0.1, 0.0, 0.0]}, "-0.1 in row 1"),
        ({"task": ["guessing"] * 4}, "guessing"),
        ({"task": ["intruder"] * 4}, "round of intruders"),
        ({"decile": [1, 9, -1, -1]}, "-1 in row 2"),
        ({"decile": [1, 9, 10, -1]}, "10 in row 2"),
        ({"written_from": [0, 0, 1, 0]}, "row 2 is scored on what its explanation was written"),
        ({"frequency": [1.5]}, "frequency"),
        ({"explanation": [0, 0, 0, 3]}, "explanation"),
        ({"task": ["intruder"] * 4, "active": [0] * 4, "texts": [1] * 4}, "fewer than 2"),
    ],
)
def test_what_is_no_judgment_is_refused(change: dict[str, object], says: str) -> None:
    arrays = QUESTIONS | {"answer": [1.0, 1.0, 0.0, 0.0], "latents": ["cat"]}
    with pytest.raises(EvidenceError, match=says):
        JudgmentEvidence(**(arrays | change))


def test_tasks_are_known_by_name_whatever_their_order() -> None:
    evidence = planted_judgments(right=0.7)
    order = np.random.default_rng(0).permutation(len(TASKS))
    turned = replace(
        evidence, task=np.argsort(order)[evidence.task], tasks=tuple(TASKS[i] for i in order)
    )
    for state in (JudgeDetection, JudgeFuzzing, JudgeIntruder):
        assert_allclose(state.of(turned).value(), state.of(evidence).value())


def alpha(votes: np.ndarray) -> float:
    """Krippendorff's alpha of names, in loops."""
    together, alone = [], []
    for row in votes:
        own = [vote for vote in row if not math.isnan(vote)]
        alone += own if len(own) > 1 else []
        pairs = [(a, b) for i, a in enumerate(own) for j, b in enumerate(own) if i != j]
        together += [((a != b) / (len(own) - 1)) for a, b in pairs]
    n = len(alone)
    apart = sum(a != b for i, a in enumerate(alone) for j, b in enumerate(alone) if i != j)
    return 1 - (n - 1) * sum(together) / apart if apart else math.nan


@given(st.integers(0, 2**32 - 1))
def test_agreement_of_a_judge_by_hand(seed: int) -> None:
    random = np.random.default_rng(seed)
    people = random.integers(0, 2, (9, 3)).astype(float)
    people[random.random(people.shape) < 0.3] = np.nan
    people[0, 0] = 1.0
    judge = np.where(random.random(9) < 0.2, np.nan, random.integers(0, 2, 9))
    evidence = RatingEvidence(ratings=people, scale=[0.0, 1.0], predicted=judge)
    state = JudgeAgreement.of(evidence)
    usable = ((~np.isnan(people)).sum(axis=1) >= 2) & ~np.isnan(judge)
    everyone = np.concatenate([people, judge[:, None]], axis=1)[usable]
    expected = alpha(everyone) - alpha(people[usable])
    assert_allclose(state.value(level="nominal"), expected, atol=1e-12)
    assert [int(part) for part in state.counted()] == [usable.sum(), (~usable).sum()]


def test_judges_and_people_answer_alike_in_one_table() -> None:
    evidence = planted_judgments(30, latents=3, right=0.9)
    rows = np.flatnonzero(evidence.is_task("detection") & evidence.is_own())
    part = evidence[rows]
    both = JudgmentEvidence(
        latent=np.tile(part.latent, 3), sequence=np.tile(part.sequence, 3),
        active=np.tile(part.active, 3), judge=np.repeat(np.arange(3), len(part)),
        judges=["ann", "bob", "model"], written_from=np.zeros(3 * len(part), bool),
        answer=np.concatenate([part.active, part.active, part.answer]),
    )  # fmt: skip
    ratings = judge_and_people(both, "model")
    assert ratings.ratings.shape == (90, 2)
    assert ratings.raters.names == ("ann", "bob")
    assert (ratings.ratings[:, 0] == ratings.ratings[:, 1]).all()
    assert np.mean(ratings.predicted == ratings.ratings[:, 0]) == pytest.approx(0.9, abs=0.07)
    assert len(np.unique(ratings.samples.clusters)) == 30
    single = score("judge_agreement", ratings, resamples=100)
    assert -0.4 < single.value < 0  # people agree fully: a judge can only disturb them
    assert single.null.value < single.value
    with pytest.raises(EvidenceError, match="no judge 'nobody'"):
        judge_and_people(both, "nobody")
    with pytest.raises(EvidenceError, match="twice"):
        judge_and_people(JudgmentEvidence.joined([both, both]), "model")


def test_audit_without_judge_reports_a_verdict() -> None:
    evidence = replace(plant_example(JudgmentEvidence, 0), judge=None)
    result = theodolite.audit(evidence)
    assert [verdict.score and verdict.score.metric for verdict in result.verdicts] == [
        "judge_detection"
    ]
    assert not result.errors
