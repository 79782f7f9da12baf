"""Thresholds: read strictly, judged like a naive reader would, and nothing undefined slips by."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite._verdicts.gates.judge import NOT_MET, broken, judged, read_thresholds
from theodolite._verdicts.rules import verdict
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.results import Interval, Null, Score, Verdict

INTERVAL = Interval(0.55, 0.75, 0.95, "samples", "percentile", 100)
NULL = Null("permuted_concepts", 0.3, replace(INTERVAL, low=0.2, high=0.4))
AWAY = replace(INTERVAL, low=-0.1, high=0.1)
"""No gain that would be of use: a quarter of the way from 0.3 to 0.8 is 0.125."""
SCORE = Score(
    "concept_existence", 2, "exists", 0.65, "higher", (0.0, 1.0), 1.0, 40, 0, "samples",
    {"top": 5, "rank_by": "contribution"}, (INTERVAL,), (NULL,),
)  # fmt: skip
DISTANCE = replace(
    SCORE, metric="surrogate_distance", question="faithful", better="lower", best=0.0, options={}
)


def thresholds(folder: Path, text: str):
    path = folder / "thresholds.yaml"
    path.write_text(text)
    return read_thresholds(path)


def about(folder: Path, text: str, *scores: Score, verdicts=()) -> list[str]:
    return broken(thresholds(folder, text), scores, verdicts)


def line(what: str) -> str:
    return f"scores: [{{metric: concept_existence, {what}}}]"


def test_the_exit_code_is_the_documented_one() -> None:
    assert NOT_MET == 6


@pytest.mark.parametrize("least", ["yes", "'yes'", "true", "partly"])
@pytest.mark.parametrize("answer", ["yes", "partly", "no", "inconclusive", "not_evaluated"])
@pytest.mark.parametrize("undefined", ["fail", "pass"])
def test_questions(tmp_path: Path, least: str, answer, undefined: str) -> None:
    asked = "partly" if least == "partly" else "yes"
    text = f"questions: {{exists: {least}}}\nundefined: {undefined}"
    result = about(tmp_path, text, verdicts=[Verdict("exists", "?", answer, "So it is.")])
    unknown = answer in ("inconclusive", "not_evaluated")
    met = undefined == "pass" if unknown else answer in ("yes", asked)
    assert (not result) == met
    if result and answer != "not_evaluated":
        assert "exists" in result[0] and repr(answer) in result[0] and "So it is" in result[0]
        assert repr(asked) in result[0]


def test_a_question_without_verdict_was_not_asked(tmp_path: Path) -> None:
    assert about(tmp_path, "questions: {leak_free: yes}") == [
        "leak_free: not evaluated; asked for 'yes'."
    ]


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.booleans(), st.booleans())
def test_lines_as_a_naive_reader_draws_them(tmp_path_factory, line, a, b, surely, lower) -> None:
    low, high = min(a, b), max(a, b)
    value = (low + high) / 2
    score = replace(
        DISTANCE if lower else SCORE,
        value=value,
        intervals=(replace(INTERVAL, low=low, high=high),),
    )
    side = "at_most" if lower else "at_least"
    text = f"scores: [{{metric: {score.metric}, {side}: {line!r}, by: {'confidence_bound' if surely else 'value'}}}]"
    result = about(tmp_path_factory.mktemp("t"), text, score)
    nearest = value if not surely else high if lower else low
    assert (not result) == (nearest <= line if lower else nearest >= line)


def test_the_sentence_says_what_was_found_its_interval_and_what_was_asked(tmp_path: Path) -> None:
    text = "scores: [{metric: concept_existence, options: {top: 5}, at_least: 0.6}]"
    assert about(tmp_path, text, SCORE) == [
        "concept_existence (top=5): 65.0 % [55.0, 75.0]; asked for surely at least 0.6."
    ]


@pytest.mark.parametrize("undefined", ["fail", "pass"])
@pytest.mark.parametrize(
    "score",
    [replace(SCORE, value=math.nan), replace(SCORE, intervals=())],
    ids=["nan", "no interval"],
)
def test_what_cannot_be_told_fails_unless_said_otherwise(tmp_path, score, undefined) -> None:
    text = f"{line('options: {top: 5}, at_least: 0')}\nundefined: {undefined}"
    assert bool(about(tmp_path, text, score)) == (undefined == "fail")


@pytest.mark.parametrize("undefined", ["fail", "pass"])
@pytest.mark.parametrize(
    ("scores", "says"),
    [
        ((), "not evaluated"),
        ((replace(SCORE, options={"top": 3}),), "not evaluated so, but with top=3"),
        ((DISTANCE,), "not evaluated"),
        ((replace(SCORE, version=7),), "version 7"),
    ],
    ids=["missing", "other options", "other metric", "other version"],
)
def test_what_was_not_asked_is_never_let_pass(tmp_path, scores, says, undefined) -> None:
    text = f"{line('options: {top: 5}, at_least: 0')}\nundefined: {undefined}"
    (result,) = about(tmp_path, text, *scores)
    assert says in result


def test_an_answer_from_another_version_of_a_score_is_never_let_pass(tmp_path: Path) -> None:
    old = verdict(replace(SCORE, version=7))
    text = "questions: {exists: partly}\nundefined: pass"
    assert about(tmp_path, text, verdicts=[verdict(SCORE)]) == []
    assert "version 7" in about(tmp_path, text, verdicts=[old])[0]


@pytest.mark.parametrize("more", ["", "undefined: pass", "partial: pass", "partial: fail"])
def test_a_partial_run_meets_nothing_unless_said_otherwise(tmp_path: Path, more: str) -> None:
    asked = thresholds(tmp_path, f"questions: {{exists: partly}}\n{line('at_least: 0.5')}\n{more}")
    answers = [verdict(SCORE)]
    assert broken(asked, [SCORE], answers) == []
    result = judged(asked, [SCORE], answers, failed_tasks=3)
    passes = more == "partial: pass"
    assert [one.outcome for one in result] == ["met" if passes else "inconclusive"] * 2
    assert len(broken(asked, [SCORE], answers, failed_tasks=3)) == (0 if passes else 2)
    assert passes or all("partial" in one.sentence and "3" in one.sentence for one in result)
    missed = replace(SCORE, intervals=(replace(INTERVAL, low=0.1),))
    assert judged(asked, [missed], answers, failed_tasks=3)[1].outcome == "not met"


def test_a_value_without_interval_is_enough_where_the_value_is_asked(tmp_path: Path) -> None:
    assert about(tmp_path, line("at_least: 0.6, by: value"), replace(SCORE, intervals=())) == []


def test_every_score_that_fits_must_hold(tmp_path: Path) -> None:
    worse = replace(SCORE, options={"top": 3}, intervals=(replace(INTERVAL, low=0.1),))
    assert about(tmp_path, line("at_least: 0.5, options: {top: 5}"), SCORE, worse) == []
    result = about(tmp_path, line("at_least: 0.5"), SCORE, worse)
    assert len(result) == 1 and "top=3" in result[0]
    both = about(tmp_path, line("at_least: 0.5, options: {top: [3, 5]}"), SCORE, worse)
    assert both == result
    assert "top=1" in about(tmp_path, line("at_least: 0, options: {top: [1, 5]}"), SCORE)[0]


@pytest.mark.parametrize(
    ("score", "outcome"),
    [
        (SCORE, "met"),
        (replace(SCORE, nulls=(replace(NULL, difference=AWAY),)), "not met"),
        (replace(SCORE, nulls=(NULL, replace(NULL, difference=AWAY))), "not met"),
        (
            replace(SCORE, nulls=(NULL, replace(NULL, difference=replace(INTERVAL, low=-1.0)))),
            "inconclusive",
        ),
        (replace(SCORE, nulls=()), "inconclusive"),
        (replace(SCORE, nulls=(replace(NULL, value=math.nan),)), "inconclusive"),
        (replace(SCORE, value=math.nan), "inconclusive"),
    ],
)
def test_nulls(tmp_path: Path, score: Score, outcome: str) -> None:
    one = judged(thresholds(tmp_path, line("beats_null: true")), [score], [])[0]
    assert one.outcome == outcome
    assert verdict(score).summary.rstrip(".") in one.sentence


@pytest.mark.parametrize(
    "null", [replace(NULL, difference=None), replace(NULL, value=math.nan)], ids=["bare", "nan"]
)
def test_a_null_that_is_not_surely_beaten_cannot_be_told(tmp_path: Path, null: Null) -> None:
    score = replace(SCORE, nulls=(NULL, null))
    (one,) = judged(thresholds(tmp_path, line("beats_null: true")), [score], [])
    assert one.outcome == "inconclusive" and "permuted concepts" in one.found
    by_value = thresholds(tmp_path, line("beats_null: true, by: value"))
    assert judged(by_value, [score], [])[0].outcome == "met"


def test_the_best_possible_is_said_where_it_is_less_than_all() -> None:
    assert verdict(SCORE).summary == (
        "65.0 % [55.0, 75.0], better than permuted concepts (30.0 %), but not surely at least 80.0 %."
    )
    short = verdict(replace(SCORE, best=0.68)).summary
    assert short.startswith("65.0 % [55.0, 75.0] of at most 68.0 %, better than permuted")
    assert "of at most" not in verdict(replace(SCORE, best=math.nan)).summary


@pytest.mark.parametrize(
    ("low", "high", "answer"),
    [
        (-0.1, 0.5, "inconclusive"),
        (-0.1, 0.13, "inconclusive"),
        (-0.1, 0.12, "no"),  # a quarter of the way from 0.3 to 0.8 is 0.125
        (-0.5, -0.1, "no"),
        (0.1, 0.5, "partly"),
    ],
)
def test_no_needs_power(low: float, high: float, answer: str) -> None:
    null = replace(NULL, difference=replace(INTERVAL, low=low, high=high))
    result = verdict(replace(SCORE, nulls=(null,)))
    assert result.answer == answer
    assert (result.reason == "underpowered") == (answer == "inconclusive")
    if answer == "inconclusive":
        error = (high - low) / 2 / 1.959964
        assert result.min_detectable_effect == pytest.approx(
            (1.959964 + 0.841621) * error, rel=1e-4
        )
        needed = 40 * (result.min_detectable_effect / 0.125) ** 2
        assert (
            result.n_required == pytest.approx(needed, abs=1)
            and f"{result.n_required:,} sam" in result.summary
        )
    if answer == "no" and high > 0:
        assert "would have been seen" in result.summary


def test_of_two_demands_the_worse_outcome_counts(tmp_path: Path) -> None:
    asked = thresholds(tmp_path, line("beats_null: true, at_least: 0.5"))
    lost = replace(SCORE, nulls=(replace(NULL, difference=AWAY),))
    outcomes = [judged(asked, [score], [])[0].outcome for score in (SCORE, lost)]
    assert outcomes == ["met", "not met"]
    high = thresholds(tmp_path, line("beats_null: true, at_least: 0.7"))
    assert judged(high, [replace(SCORE, nulls=())], [])[0].outcome == "not met"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[]", "list"),
        ("{}", "asks for nothing"),
        ("questions: {exist: yes}", "exist"),
        ("questions: {exists: no}", "'yes' or 'partly'"),
        ("question: {exists: yes}", "Did you mean 'questions'?"),
        ("questions: {exist: yes}", "Did you mean 'exists'?"),
        ("questions: {leak_free: no}", "yes is the good answer"),
        (line("min: 0.5"), "Did you mean 'at_least'?"),
        (line("max: 0.5"), "Did you mean 'at_most'?"),
        (line("at_leest: 0.5"), "Did you mean 'at_least'?"),
        ("questions: {exists: yes}\nquestions: {leak_free: yes}", "'questions' twice"),
        ("questions: {exists: yes}\nundefined: maybe", "undefined"),
        ("scores: [{metric: concept_existance, at_least: 0.5}]", "concept_existence"),
        (line("by: value"), "give at_least"),
        (line("beats_null: false"), "give at_least"),
        (line("at_least: yes"), "give a number"),
        (line("at_least: .nan"), "finite"),
        (line("at_least: 60"), "percent"),
        (line("at_most: 0.5"), "higher is better"),
        (line("at_least: 0.5, options: {topp: 5}"), "topp"),
        (line("at_least: 0.5, options: {rank_by: size}"), "rank_by"),
        ("scores: [{metric: surrogate_distance, at_least: 0.3}]", "lower is better"),
        ("scores: [{metric: surrogate_distance, at_least: 0.3, at_most: 0.4}]", "not both"),
        ("scores: [{metric: interconcept_leakage, beats_null: true}]", "leak_free"),
    ],
)  # fmt: skip
def test_mistakes_are_refused_with_a_reason(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(EvidenceError) as caught:
        thresholds(tmp_path, text)
    assert says in str(caught.value)


def test_a_file_that_is_no_plain_yaml_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError):
        thresholds(tmp_path, "questions: !!python/name:os.system x")


class Drift:
    """What is known of a drift."""

    def __init__(self, answer: str) -> None:
        self.answer = answer
        self.summary = "9.4 % moved"


@pytest.mark.parametrize("least", ["yes", "partly"])
@pytest.mark.parametrize("answer", ["yes", "partly", "no", "inconclusive"])
def test_a_drift_is_judged_by_its_answer(tmp_path: Path, least: str, answer: str) -> None:
    criteria = thresholds(tmp_path, f"drift: {{at_most: 0.1, least: {least}}}")
    [check] = judged(criteria, [], [], drift=Drift(answer))
    outcomes = {"yes": "met", "no": "not met", "inconclusive": "inconclusive"}
    assert check.outcome == outcomes.get(answer, "met" if least == "partly" else "not met")
    assert f"drift: {answer!r} (9.4 % moved); asked for" in check.sentence
    assert "no more than retraining moves or 10 %" in check.sentence


def test_a_drift_that_was_not_looked_at_never_passes(tmp_path: Path) -> None:
    criteria = thresholds(tmp_path, "drift: {}\nundefined: pass")
    assert broken(criteria, [], []) == [
        "drift: no version to compare with; asked for no more than retraining moves."
    ]
    assert broken(criteria, [], [], drift="other samples")[0].startswith("drift: other samples;")
    assert broken(criteria, [], [], drift=Drift("inconclusive")) == []
    assert broken(criteria, [], [], drift=Drift("yes"), failed_tasks=2) != []


def test_floors_of_a_file_lie_beside_it(tmp_path: Path) -> None:
    criteria = thresholds(tmp_path, "drift: {floor: [runs/a, runs/b]}")
    assert criteria.drift is not None
    assert criteria.drift.floor == [str(tmp_path / "runs/a"), str(tmp_path / "runs/b")]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("drift: {at_most: 20}", "less than or equal to 1"),
        ("drift: {at_most: true}", "give a number"),
        ("drift: {max: 0.2}", "at_most"),
        ("drift: {floors: [a]}", "floor"),
        ("drift: {over: columns}", "features"),
    ],
)
def test_a_drift_that_means_nothing_is_refused(tmp_path: Path, text: str, hint: str) -> None:
    with pytest.raises(EvidenceError, match=hint):
        thresholds(tmp_path, text)
