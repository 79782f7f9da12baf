"""Where the questions disagree: planted agreement and conflict, counting by hand, examples."""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

import theodolite
from support.evidence.two_questions import finished, image, opposite
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.run_records import ProducedRecord
from theodolite._runs.folder_reader import RunFolder
from theodolite._runs.recomputation import recompute
from theodolite._scoring.request import Resampling
from theodolite._storage.records import read_record
from theodolite._verdicts.conflicts.counts import counted, most_extreme
from theodolite._verdicts.conflicts.judged import line_of
from theodolite._verdicts.conflicts.matrix import conflicts, conflicts_between
from theodolite._verdicts.conflicts.record import ConflictsFile
from theodolite._verdicts.conflicts.sentences import MEANS, SHORT, WORDS, claim_text, meaning
from theodolite._verdicts.scores_file import IntervalRecord, NullRecord
from theodolite.errors import VerificationError
from theodolite.evidence.subject import WORDINGS, Subject, make_unstated_subject
from theodolite.questions import QUESTIONS
from theodolite.results import Detail, Null, Score, Verdict

GIVEN = make_unstated_subject()
FAST = Resampling(resamples=200)
LESS = NullRecord(
    name="unrelated questions", value=0.5,
    difference=IntervalRecord(
        low=-0.3, high=-0.1, level=0.95, over="shuffles", method="shuffles", n=9
    ),
)  # fmt: skip
OF = {"exists": "concept_existence", "located": "concept_location", "accepted": "acceptance"}


def scored(question: str, **changed: Any) -> Score:
    about: dict[str, Any] = {
        "metric": OF.get(question, question), "version": 1, "question": question, "value": 0.5,
        "better": "higher", "bounds": (0.0, 1.0), "best": 1.0, "n": 9, "n_undefined": 0,
        "n_unit": "samples", "options": {"top": 5, "alpha": 1},
        "nulls": (Null("chance", 0.2, None),),
    }  # fmt: skip
    return Score(**(about | changed))


def said(score: Score, answer: Any = "partly") -> Verdict:
    return Verdict(score.question, "?", answer, "because", score)


def columns_of(values: Mapping[str, Mapping[str, float | None]]) -> dict[str, list[Any]]:
    """A table per sample: question -> sample -> value."""
    rows = [
        (sample, OF[question], "" if question == "accepted" else "top=5", value)
        for question, own in values.items()
        for sample, value in own.items()
    ]
    names = ("sample", "metric", "options", "value")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def found_in(
    values: Mapping[str, Mapping[str, float | None]], clusters: Mapping[str, int] | None = None
) -> ConflictsFile:
    asked = [said(scored(question)) for question in values]
    return conflicts_between(asked, [], columns_of(values), clusters or {}, FAST)


def named(values: Sequence[float | None]) -> dict[str, float | None]:
    return {f"image {i:03d}": value for i, value in enumerate(values)}


def test_questions_that_agree_have_no_conflict() -> None:
    values = named([0.9, 0.1, 1.0, 0.2] * 10)
    result = found_in({"exists": values, "located": values})
    assert [(one.good, one.bad) for one in result.conflicts] == [
        ("exists", "located"), ("located", "exists"),
    ]  # fmt: skip
    for one in result.conflicts:
        assert (one.n, one.n_conflicts, one.share, one.kappa) == (40, 0, 0.0, 1.0)
        assert one.null.value == 0.25
        assert one.stands_out == "less"
        assert one.examples == []
        assert one.interval is not None
        assert one.interval.low == 0.0 < one.interval.high < 0.2
    assert result.strongest == []


def test_opposite_questions_always_conflict() -> None:
    first = [0.9, 0.1] * 20
    result = found_in({"exists": named(first), "located": named([1 - v for v in first])})
    shares = [one.share for one in result.conflicts]
    assert shares == [0.5, 0.5]
    assert sum(one.n_conflicts for one in result.conflicts) == 40  # every one, in one direction
    assert [one.kappa for one in result.conflicts] == [-1.0, -1.0]
    assert [one.stands_out for one in result.conflicts] == ["more", "more"]
    assert result.conflicts[0].statement(GIVEN).startswith("50.0 % of the explanations [")
    assert "25.0 % if the two had nothing to do with each other" in result.conflicts[0].statement(
        GIVEN
    )


def test_unrelated_questions_conflict_as_often_as_expected() -> None:
    covered, out = 0, 0
    for seed in range(40):
        first, second = np.random.default_rng(seed).random((2, 300)).round(3).tolist()
        one = found_in({"exists": named(first), "accepted": named(second)}).conflicts[0]
        assert one.interval is not None
        covered += one.interval.low <= 0.2 * 0.75 <= one.interval.high
        out += one.stands_out != "as"
    assert covered >= 34  # 38 to expect
    assert out <= 6  # 2 to expect


def test_undefined_and_unknown_samples_are_counted_and_left_out() -> None:
    one = named([0.9, None, 0.9, 0.1])
    other = {**named([0.1, 0.9, None, None]), "elsewhere": 0.3}
    pair = found_in({"exists": one, "located": other}).conflicts[0]
    assert (pair.n, pair.n_conflicts, pair.n_undefined, pair.n_unmatched) == (1, 1, 3, 1)
    judged = found_in({"exists": one, "located": other}).judged
    assert [(j.n, j.n_undefined, j.n_good) for j in judged] == [(3, 1, 2), (3, 2, 1)]


def test_ids_that_do_not_match_give_no_share() -> None:
    result = found_in({"exists": {"a": 0.9, "b": 0.1}, "located": {"c": 0.9}})
    assert [(one.n, one.share, one.kappa, one.n_unmatched) for one in result.conflicts] == [
        (0, None, None, 3), (0, None, None, 3),
    ]  # fmt: skip
    assert (
        result.conflicts[0].statement(GIVEN) == "None of the explanations could be judged by both."
    )


def test_mere_numbers_match_only_if_there_are_as_many() -> None:
    three, two = {"0": 0.9, "1": 0.9, "2": 0.1}, {"0": 0.1, "1": 0.9}
    assert found_in({"exists": three, "located": two}).conflicts[0].n == 0
    assert found_in({"exists": two, "located": two}).conflicts[0].n == 2


def test_a_single_question_has_no_conflicts() -> None:
    result = found_in({"exists": named([0.9, 0.1])})
    assert (result.verdicts, result.judged, result.conflicts) == ([], [], [])


def test_the_row_with_the_options_of_the_verdict_is_taken() -> None:
    columns = columns_of({"exists": named([0.9, 0.9]), "located": named([0.1, 0.1])})
    other = dict(columns, options=["top=1"] * 4, value=[0.0] * 4)
    both = {name: [*other[name], *columns[name]] for name in columns}
    asked = [said(scored("exists")), said(scored("located"))]
    assert conflicts_between(asked, [], both, {}, FAST).conflicts[0].n_conflicts == 2


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.none() | st.sampled_from([0.0, 0.5, 0.75, 0.8, 1.0]),
            st.none() | st.sampled_from([0.0, 0.5, 0.75, 0.8, 1.0]),
        ),
        max_size=25,
    )
)
def test_counted_by_hand(rows: list[tuple[float | None, float | None]]) -> None:
    values = {"exists": named([r[0] for r in rows]), "accepted": named([r[1] for r in rows])}
    lines = {"exists": 0.8, "accepted": 0.75}
    result = found_in(values)
    for pair in result.conflicts:
        n = good = bad = both = same = 0
        for name in values["exists"]:
            first, second = values[pair.good][name], values[pair.bad][name]
            if first is None or second is None:
                continue
            n += 1
            good += first >= lines[pair.good]
            bad += second < lines[pair.bad]
            both += first >= lines[pair.good] and second < lines[pair.bad]
            same += (first >= lines[pair.good]) == (second >= lines[pair.bad])
        assert (pair.n, pair.n_conflicts) == (n, both)
        assert pair.n_undefined == len(rows) - n
        if n:
            assert pair.share == pytest.approx(both / n)
            assert pair.null.value == pytest.approx(good * bad / n**2)
            chance = (good * (n - bad) + (n - good) * bad) / n**2
            if chance < 1:
                assert pair.kappa == pytest.approx((same / n - chance) / (1 - chance))
            else:
                assert pair.kappa is None


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60))
def test_kappa_is_that_of_scikit_learn(rows: list[tuple[bool, bool]]) -> None:
    first, second = np.array(rows).T
    result = counted(first, second, None, FAST)
    if np.ptp(np.concatenate([first, second]).astype(int)):
        assert result.kappa == pytest.approx(cohen_kappa_score(first, second))
    assert result.interval is not None or result.n_conflicts not in (0, result.n)


def test_whole_clusters_are_drawn_together() -> None:
    good = np.repeat([True, False], 200)
    alone = counted(good, ~good, None, FAST)
    groups = np.repeat(np.arange(10), 40)
    together = counted(good, ~good, groups, FAST)
    assert alone.interval is not None
    assert together.interval is not None
    assert (alone.interval.over, together.interval.over) == ("samples", "clusters")
    wide = [i.high - i.low for i in (alone.interval, together.interval)]
    assert wide[1] > 3 * wide[0]
    order = np.random.default_rng(0).permutation(400)
    assert counted(good[order], ~good[order], groups[order], FAST) == together


def test_examples_are_the_most_extreme_for_both_questions() -> None:
    result = found_in(
        {
            "exists": named([0.8, 1.0, 1.0, 0.9, 0.1]),
            "located": named([0.0, 0.7, 0.1, 0.4, 0.0]),
        }
    )
    names = [one.name for one in result.conflicts[0].examples]
    assert names[0] == "image 002"
    assert sorted(names) == [f"image {i:03d}" for i in range(4)]
    assert (result.conflicts[0].examples[0].good_value, result.conflicts[0].examples[0].bad_value) == (
        1.0, 0.1,
    )  # fmt: skip
    assert most_extreme(np.ones(3), np.ones(3), ["c", "a", "b"], 2) == [1, 2]  # ties by name


def test_lower_is_better_where_the_score_says_so() -> None:
    fault = "predictive_task_leakage"
    leaks = scored(
        "leak_free", metric=fault, better="lower", nulls=(Null("clean", 0.1, None),),
        detail=Detail("concepts", ("a", "b", "c"), np.array([0.1, 0.16, np.nan]), None, None),
    )  # fmt: skip
    assert line_of(leaks) == (pytest.approx(0.15), "accepted")
    there = scored(
        "exists", metric="concept_global_importance", bounds=(-1.0, 1.0),
        detail=Detail("concepts", ("a", "b", "c"), np.array([0.9, 0.9, 0.9]), None, None),
    )  # fmt: skip
    assert line_of(there) == (pytest.approx(0.2 + 0.7 * (1 - 0.2)), "enough")
    result = conflicts_between([said(leaks), said(there)], [leaks, there], {}, {}, FAST)
    by = {(one.good, one.bad): one for one in result.conflicts}
    assert by["exists", "leak_free"].level == "concepts"
    assert (by["exists", "leak_free"].n, by["exists", "leak_free"].n_conflicts) == (2, 1)
    assert by["exists", "leak_free"].n_undefined == 1
    assert [one.name for one in by["exists", "leak_free"].examples] == ["b"]
    assert by["leak_free", "exists"].n_conflicts == 0
    assert by["leak_free", "exists"].interval is not None
    assert by["leak_free", "exists"].interval.over == "concepts"


def test_a_single_bad_item_has_no_interval_of_kappa() -> None:
    good = np.array([True] * 4 + [False] * 8)
    other = np.array([True] * 11 + [False])
    result = counted(good, other, None, FAST)
    assert (result.n_conflicts, result.kappa_interval) == (0, None)


def test_all_pairs_of_questions_are_looked_at_together() -> None:
    """What would stand out by itself is one of three looks here."""
    first = np.repeat([1.0, 0.0], 20)
    other = np.concatenate([np.repeat([1.0, 0.0], [14, 6]), np.repeat([1.0, 0.0], [7, 13])])
    unrelated = np.tile([1.0, 0.0], 20)
    two = {"exists": named(first.tolist()), "located": named(other.tolist())}
    alone = found_in(two).conflicts[0]
    assert alone.p is not None
    three = found_in({**two, "accepted": named(unrelated.tolist())})
    by = {(one.good, one.bad): one for one in three.conflicts}
    assert by["exists", "located"].p == pytest.approx(3 * alone.p)
    assert by["exists", "located"].p == by["located", "exists"].p
    assert by["exists", "accepted"].p == 1.0
    assert by["exists", "located"].null.p == alone.null.p == alone.p


def test_explanations_and_concepts_are_looked_at_together() -> None:
    """A report with both has two tests: the smaller p-value is doubled."""
    names, values = tuple("abcdefghij"), np.tile([0.9, 0.1], 5)
    over = [Detail("concepts", names, v, None, None) for v in (values, 1 - values)]
    asked = [
        said(scored(q, detail=own)) for q, own in zip(("exists", "located"), over, strict=True)
    ]
    twice = np.tile(values, 2)
    table = columns_of({"exists": named(twice.tolist()), "located": named((1 - twice).tolist())})
    alone = conflicts_between(asked, [], {}, {}, FAST).conflicts
    both = conflicts_between(asked, [], table, {}, FAST).conflicts
    assert [one.level for one in alone] == ["concepts"] * 2
    assert [one.level for one in both] == ["explanations"] * 2 + ["concepts"] * 2
    assert [one.p for one in alone] == pytest.approx([2 / 252] * 2)
    assert [one.p for one in both] == pytest.approx(
        [2 * 2 / 184756, 2 * 2 / 184756, 2 / 252, 2 / 252]
    )


def test_what_stands_out_is_what_shuffles_say_of_all_pairs() -> None:
    first = [0.9, 0.1] * 20
    record = found_in({"exists": named(first), "located": named(first)}).conflicts[0]
    sure = record.model_copy(update={"p": 0.05})
    assert (sure.stands_out, sure.cause(GIVEN), sure.too_few) == ("less", sure.means(GIVEN), "")
    unsure = record.model_copy(update={"p": 0.0501})
    assert (unsure.stands_out, unsure.cause(GIVEN)) == ("as", "")
    few = record.model_copy(update={"p": None})
    assert (few.stands_out, few.cause(GIVEN)) == ("few", "")


def test_too_few_to_tell() -> None:
    first = [0.9, 0.1] * 4
    values = {"exists": named(first), "located": named([1 - v for v in first])}
    names = list(values["exists"])
    five = found_in(values, {name: min(i, 4) for i, name in enumerate(names)}).conflicts[0]
    assert (five.n_clusters, five.p, five.stands_out) == (5, None, "few")
    assert five.too_few == "too few clusters to tell"
    assert five.statement(GIVEN).endswith("with each other (too few clusters to tell).")
    one_large = [0, 0, 0, 0, 1, 1, 2, 3]  # two, and two, and one alone: 2 orders
    unlike = found_in(values, dict(zip(names, one_large, strict=True))).conflicts[0]
    assert (unlike.n_clusters, unlike.stands_out) == (4, "few")
    singles = found_in(values).conflicts[0]
    assert (singles.n_clusters, singles.too_few) == (8, "")
    assert singles.p == pytest.approx(2 / 70)
    assert singles.stands_out == "more"
    five = found_in({q: dict(list(own.items())[:5]) for q, own in values.items()}).conflicts[0]
    assert five.too_few == "too few explanations to tell"


def test_a_pair_that_cannot_tell_is_not_counted_as_a_look() -> None:
    """Located is known for five only: no claim is possible there, and the other needs no more."""
    first = [0.9, 0.1] * 20
    two = {"exists": named(first), "accepted": named([1 - v for v in first])}
    alone = found_in(two).conflicts[0]
    located = dict(list(named(first).items())[:5])
    by = {(o.good, o.bad): o for o in found_in({**two, "located": located}).conflicts}
    assert by["exists", "accepted"].p == alone.p
    assert by["exists", "located"].p is None


def test_matching_by_number_is_told() -> None:
    numbers = {"0": 0.9, "1": 0.1}
    two_kinds = found_in({"exists": numbers, "accepted": numbers}).conflicts
    assert [one.by_number for one in two_kinds] == [True, True]
    names = named([0.9, 0.1])
    assert not any(o.by_number for o in found_in({"exists": names, "accepted": names}).conflicts)


def test_every_pair_has_words() -> None:
    assert set(MEANS) == set(itertools.permutations(QUESTIONS, 2))
    assert len(set(MEANS.values())) == 30
    assert set(SHORT) == set(WORDS["concepts"]) == set(WORDS["explanations"]) == set(QUESTIONS)
    assert all(sentence.endswith(".") for sentence in MEANS.values())


@pytest.mark.parametrize("outputs", WORDINGS)
def test_sentences_name_what_was_compared(outputs: Any) -> None:
    subject = Subject("e", "n", outputs)
    texts = [meaning(*pair, subject) for pair in MEANS]
    texts += [claim_text("explanations", *pair, subject) for pair in MEANS]
    assert not any("{" in text or "}" in text for text in texts)
    assert any(subject.wording.puts_out in text for text in texts)
    assert any("the network" in text for text in texts) == (outputs == "model")
    assert any("the model" in text for text in texts) == (outputs == "concept_model")


def test_verdicts_that_point_apart() -> None:
    exists, located, accepted = map(scored, ("exists", "located", "accepted"))
    answers = [said(exists, "no"), said(located, "yes"), said(accepted, "partly")]
    result = conflicts_between(answers, [], {}, {}, FAST)
    assert [(one.good, one.bad) for one in result.verdicts] == [
        ("located", "exists"), ("accepted", "exists"),
    ]  # fmt: skip
    assert result.verdicts[0].means(GIVEN).startswith("The explanation looks at the right")
    assert result.verdicts[1].means(GIVEN) == "", "what is only partly so has no cause"
    unsure = [said(exists, "inconclusive"), said(located, "yes")]
    assert conflicts_between(unsure, [], {}, {}, FAST).verdicts == []


def test_from_an_audit() -> None:
    evidence = opposite()
    before = evidence[0].values.copy()
    found = theodolite.audit(evidence, Resampling(resamples=20, shuffles=20, most_null_draws=1))
    result = conflicts(found, evidence, FAST)
    by = {(one.good, one.bad): one for one in result.conflicts}
    assert by["accepted", "exists"].share == 0.5
    assert by["accepted", "exists"].kappa == -1.0
    assert (
        by["accepted", "exists"]
        .means(GIVEN)
        .startswith("People accept explanations that name what is")
    )
    assert conflicts(found, evidence, FAST) == result
    assert (evidence[0].values == before).all()


def test_a_run_keeps_them_with_images(tmp_path: Path) -> None:
    folder = finished(tmp_path / "run")
    kept = RunFolder(folder).conflicts()
    assert [(one.n, one.share) for one in kept.conflicts] == [(16, 0.5), (16, 0.5)]
    shown = read_record(folder / "produced.json", ProducedRecord).conflict_examples
    first = kept.strongest[0].examples[0].name
    assert shown[0].sample == first
    assert (folder / shown[0].file).read_bytes() == image(first)
    assert len({one.sample for one in shown}) == len(shown) == 6
    (folder / "conflicts.json").unlink()  # an older run: counted from its table
    assert RunFolder(folder).conflicts() == kept


def test_a_run_of_one_question_writes_no_file(tmp_path: Path) -> None:
    folder = finished(tmp_path / "run", metrics=("accepted",))
    assert not (folder / "conflicts.json").exists()
    assert RunFolder(folder).conflicts() == ConflictsFile(verdicts=[], judged=[], conflicts=[])


def test_they_are_computed_again_with_the_run(tmp_path: Path) -> None:
    folder = finished(tmp_path / "run")
    write_checksums(folder)
    recompute(folder)
    path = folder / "conflicts.json"
    changed = path.read_text().replace("16", "17", 1)
    assert changed != path.read_text()
    path.write_text(changed)
    write_checksums(folder)
    with pytest.raises(VerificationError, match="other scores when computed again"):
        recompute(folder)
