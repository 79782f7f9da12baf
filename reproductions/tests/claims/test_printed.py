"""What a paper's own tables say of its claims, and the statistics behind that."""

import numpy as np
import pytest
from scipy import stats

from theodolite_reproductions.claims.answers import printed_statistics as statistics
from theodolite_reproductions.claims.answers.printed_tables import printed_of, votes
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.printed import printed_result
from theodolite_reproductions.claims.results import (
    PRINTED,
    EntryAnswer,
    ResultFile,
    outdated,
    stored_results,
)
from theodolite_reproductions.claims.status import EntryStatus, many_tests, statuses
from theodolite_reproductions.claims.words import headline

STORED = next(result for result in stored_results() if result.protocol == PRINTED)


@pytest.fixture(scope="module")
def today() -> ResultFile:
    return printed_result()


def cell(result: ResultFile, entry: str, **settings: object) -> EntryAnswer:
    (answer,) = [
        answer for answer in result.answers
        if answer.entry == entry and settings.items() <= answer.settings.items()
    ]  # fmt: skip
    return answer


def test_the_stored_answers_are_those_of_the_ledger(today: ResultFile, tmp_path: object) -> None:
    assert today.seal == STORED.seal, (
        "theodolite papers findings tables --keep reproductions/src/theodolite_reproductions/claims/results"
    )
    other = dict.fromkeys(STORED.files, "0" * 64)
    changed = outdated(STORED.model_copy(update={"files": other}), None)  # type: ignore[arg-type]
    assert changed == ["printed figures of paper 004 was changed after the run"]


def test_kinds_of_techniques_with_techniques_resampled(today: ResultFile) -> None:
    expected = {"fidelity": (0.45, 0.11, 0.79), "robustness": (0.10, -0.26, 0.48)}
    for quality, numbers in expected.items():
        answer = cell(today, "P004-F0-01", quality=quality)
        assert (answer.effect, answer.low, answer.high) == pytest.approx(numbers, abs=0.03)
        assert (answer.n, answer.unit) == (35, "techniques")
    matched = cell(today, "P004-F0-02", quality="fidelity", minus="ViT-B")
    assert (matched.effect, matched.low, matched.high) == pytest.approx(
        (0.37, -0.27, 1.05), abs=0.05
    )
    assert matched.n == 9
    assert len(votes()) == 35


def test_tables_that_contradict_each_other(today: ResultFile) -> None:
    of_b4 = {quality: cell(today, "P004-T12-02", rows="without CLIP-QDA-sample", quality=quality)
             for quality in ("fidelity", "robustness")}  # fmt: skip
    assert of_b4["fidelity"].ours["mean of rows"] == pytest.approx(2.12, abs=0.005)
    assert of_b4["robustness"].ours["mean of rows"] == pytest.approx(3.47, abs=0.005)
    unfit = [a for a in today.answers if a.ours.get("r and p") == "do not fit"]
    assert [answer.entry for answer in unfit].count("P004-T9-02") == 5
    assert cell(today, "P004-AB-08").ours == {
        "best width of the table": 0.1, "width that the text names": 0.15,
    }  # fmt: skip


def test_how_many_maps_were_rated() -> None:
    cells = [
        columns[name]
        for table in range(1, 5)
        for columns in printed_of(f"P004-T1-0{table}").values()
        for name in ("PCC", "SCC")
    ]
    fewest, alike = statistics.units_that_fit(cells)
    assert 1300 <= fewest <= 1390 and alike == 45 and len(cells) == 48
    assert not any(statistics.fits(-0.33, "0.33", n) for n in range(20, 3000, 20))
    assert statistics.fits(-0.17, 1e-10, 1450) and not statistics.fits(-0.17, 1e-10, 400)


def test_intervals_are_scipys() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=40)
    result = stats.pearsonr(x, x + 2 * random.normal(size=40))
    ours = statistics.fisher(float(result.statistic), 40, "maps")
    ends = result.confidence_interval(0.95)
    assert (ours.low, ours.high, ours.p) == pytest.approx((ends.low, ends.high, result.pvalue))
    theirs = stats.ttest_ind_from_stats(0.48, 0.05, 5, 0.31, 0.02, 5, equal_var=False)
    kappa = statistics.welch("0.48+-0.05", "0.31+-0.02", 5)
    assert kappa.p == pytest.approx(float(theirs.pvalue)) and kappa.effect == pytest.approx(0.17)
    mean = stats.ttest_1samp(x[:5], 0)
    ends = mean.confidence_interval(0.95)
    few = statistics.student(x[:5], "networks")
    assert (few.low, few.high, few.p) == pytest.approx((ends.low, ends.high, mean.pvalue))


def test_ranks_of_a_person_add_up() -> None:
    spread = float(np.sqrt(2))  # five ranks in any order: variance 2, covariance -1/2
    printed = dict.fromkeys("abcde", f"3+-{spread!r}") | {"a": f"4+-{spread!r}"}
    difference = statistics.rank_difference(printed, "a", "b", 20)
    assert difference.error == pytest.approx(np.sqrt(5 / 20)) and difference.effect == 1


def test_variances_are_those_of_the_analysis_of_variance() -> None:
    random = np.random.default_rng(1)
    groups = [random.normal(loc=center, size=3) for center in (0, 4, 8, 12)]
    within = np.mean([group.var(ddof=1) for group in groups])
    ratio = stats.f_oneway(*groups).statistic
    draws = statistics.variance_within_minus_between(groups)
    assert draws[0] == pytest.approx(within - (ratio - 1) * within / 3) and draws[0] < 0
    alike = statistics.variance_within_minus_between([group - group.mean() for group in groups])
    assert np.quantile(alike, 0.025) > 0


def test_whose_figures_they_are_is_said() -> None:
    known = {status.entry.id: status for status in statuses()}
    assert headline(known["P004-F0-01"]) == (
        "by the paper's own printed table: agrees (3 of 4 cells for, 0 against)"
    )
    assert known["P004-T12-02"].standing == "printed table: disagrees"
    both = headline(known["P004-F0-13"])
    assert both.startswith("holds in part") and "printed table: agrees" in both
    own = [status for status in known.values() if status.state == "printed table"]
    assert len(own) == 21 and many_tests(own).tests == 0, "they are no tests of ours"
    assert headline(EntryStatus(ledger().entry("P004-F0-01"))) == "open"
