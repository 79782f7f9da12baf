"""Stored answers: sealed, of this protocol and these scores; statistics that they are made of."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError
from theodolite_reproductions.claims.answers.resampled import (
    UnitResamples,
    answer_from,
    slope_over_range,
)
from theodolite_reproductions.claims.extraction import answered_protocols, result_of
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import (
    SAME,
    EntryAnswer,
    ResultFile,
    outdated,
    read_result,
    stored_results,
    write_result,
)
from theodolite_reproductions.claims.status import (
    EntryStatus,
    cell_of,
    counts,
    many_tests,
    statuses,
)
from theodolite_reproductions.claims.verdict import WORDS, cell_word
from theodolite_reproductions.claims.words import headline
from theodolite_reproductions.protocols import PROTOCOLS

RESULTS = Path(__file__).parents[2] / "src" / "theodolite_reproductions" / "claims" / "results"
FIRST = stored_results()[0]


@pytest.mark.parametrize("result", stored_results(), ids=lambda result: result.protocol)
def test_results_are_of_todays_protocols_and_scores(result: ResultFile) -> None:
    assert outdated(result, PROTOCOLS) == []
    for answer in result.answers:
        headline = ledger().entry(answer.entry).protocol == result.protocol
        own = answer.settings.get("accuracy") == "network"
        assert headline or own or not answer.nearest, "of the entry's protocol, or own accuracy"
    by_entry = [answer.entry for answer in result.answers if answer.nearest]
    assert len(set(by_entry)) == len(by_entry), "one cell is nearest to the paper"
    decided = {
        answer.entry for answer in result.answers
        if answer.effect is not None and ledger().entry(answer.entry).protocol == result.protocol
    }  # fmt: skip
    own = {entry for entry in by_entry if ledger().entry(entry).protocol != result.protocol}
    assert decided == set(by_entry) - own


def test_a_changed_protocol_or_score_is_noticed(tmp_path: Path) -> None:
    for name in FIRST.files:
        (tmp_path / name).write_bytes((PROTOCOLS / name).read_bytes() + b"\n")
    changed = outdated(FIRST, tmp_path)
    assert len(changed) == len(FIRST.files) and "changed after the run" in changed[0]
    assert len(outdated(FIRST, tmp_path / "nowhere")) == len(FIRST.files)
    older = FIRST.model_copy(update={"metrics": {"unit_iou": 1, "beauty": 1}})
    assert [line.split(",")[0] for line in outdated(older, PROTOCOLS)] == [
        "unit_iou has version 2", "beauty has version None",
    ]  # fmt: skip


def test_a_broken_seal_is_refused(tmp_path: Path) -> None:
    path = write_result(tmp_path, FIRST)
    assert read_result(path) == FIRST
    content = json.loads(path.read_text())
    content["answers"][0]["ours"] = {"r": 0.99}
    path.write_text(json.dumps(content))
    with pytest.raises(VerificationError, match="changed"):
        read_result(path)
    path.write_text(json.dumps(content | {"verdict": "confirmed"}))
    with pytest.raises(UnsafeInputError, match="verdict"):
        read_result(path)


def test_shortened_runs_and_unsealed_folders_are_not_kept(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match="finished run folder"):
        result_of(tmp_path, PROTOCOLS / "detection_pets_monumai_camvid.yaml")
    assert set(answered_protocols()) >= {result.protocol for result in stored_results()}


def test_answers_say_something() -> None:
    with pytest.raises(ValueError, match="two bounds"):
        EntryAnswer(entry="P003-F0-05", effect=0.1)
    with pytest.raises(ValueError, match="says nothing"):
        EntryAnswer(entry="P003-F0-05")


def test_correlations_and_means_are_numpys() -> None:
    random = np.random.default_rng(3)
    x, y, z = random.normal(size=(3, 60))
    y = y + x
    x[4], y[9] = np.nan, np.nan
    resamples = UnitResamples.draw(60, "units", resamples=20, seed=1)
    r = resamples.correlation(x, y)
    known = ~(np.isnan(x) | np.isnan(y))
    assert r[0] == pytest.approx(np.corrcoef(x[known], y[known])[0, 1], abs=1e-12)
    rows = np.repeat(np.arange(60), resamples.times[7].astype(int))
    again = rows[known[rows]]
    assert r[7] == pytest.approx(np.corrcoef(x[again], y[again])[0, 1], abs=1e-12)
    assert resamples.mean(x)[7] == pytest.approx(np.nanmean(x[rows]))
    partial = resamples.correlation(x, y, z)[0]
    left = [v[known] - np.polyval(np.polyfit(z[known], v[known], 1), z[known]) for v in (x, y)]
    assert partial == pytest.approx(np.corrcoef(*left)[0, 1], abs=1e-12)


def test_a_planted_effect_of_frequency_vanishes_given_frequency() -> None:
    random = np.random.default_rng(0)
    images = random.normal(size=2000)
    detected, right = (sign * images + 1.5 * random.normal(size=2000) for sign in (-1, 1))
    resamples = UnitResamples.draw(2000, "units", resamples=200)
    raw = resamples.correlation(detected, right)
    partial = resamples.correlation(detected, right, images)
    assert raw[0] == pytest.approx(-0.3, abs=0.05)
    answer = answer_from("P003-F0-05", raw, resamples, 2000, {}, {"r": float(raw[0])})
    assert answer.high is not None and answer.high < -0.2 and answer.p == pytest.approx(0, abs=1e-9)
    low, high = np.quantile(partial[1:], [0.025, 0.975])
    assert low < 0 < high


def test_resampling_is_repeatable_and_needs_units() -> None:
    first, again = (UnitResamples.draw(10, "units", 5, 2).times for _ in range(2))
    assert np.array_equal(first, again) and (first.sum(axis=1) == 10).all()
    with pytest.raises(EvidenceError, match="two or more"):
        UnitResamples.draw(1, "units")


def test_a_slope_is_polyfits() -> None:
    rows = np.random.default_rng(0).normal(size=(10, 4))
    expected = 9 * np.polyfit(np.arange(10), rows, 1)[0]
    assert slope_over_range(list(rows)) == pytest.approx(expected)


def status_of(name: str, *answers: EntryAnswer, result: ResultFile = FIRST) -> EntryStatus:
    entry = ledger().entry(name)
    return EntryStatus(entry, tuple(cell_of(entry, answer, result) for answer in answers))


def test_headlines_say_how_many_cells_agree() -> None:
    cells = [
        EntryAnswer(entry="P003-F0-05", effect=low + 0.1, low=low, high=low + 0.2, p=0.001)
        for low in (0.1, 0.3, -0.1, -0.4)
    ]
    status = status_of("P003-F0-05", *cells)
    assert status.state == "measured here"
    assert headline(status) == "holds in part, 2 of 4 cells for, 2 against"
    shown = status_of("P003-T1-01", EntryAnswer(entry="P003-T1-01", ours={"a": 1}))
    assert headline(shown) == "not testable here (no data)" == f"{shown.standing} (no data)"
    blind = EntryAnswer(entry="P001-F0-21", nearest=True, reason="task cannot show it")
    assert headline(status_of("P001-F0-21", blind)) == "open", "this cell cannot show it"


def test_a_stand_in_is_in_the_word() -> None:
    (units,) = (own for own in stored_results() if own.protocol == "detection_options")
    low = EntryAnswer(entry="P003-F0-05", effect=-0.3, low=-0.4, high=-0.2)
    assert headline(status_of("P003-F0-05", low, result=units)) == (
        "does not carry over to pets; EfficientNet-lite0 (accuracy of a ridge probe)"
    )
    share = EntryAnswer(entry="P003-F0-01", effect=9, low=8, high=10, p=0.0)
    assert headline(status_of("P003-F0-01", share, result=units)) == "holds here"


def test_holm_is_within_a_paper() -> None:
    def decided(name: str, p: float) -> EntryStatus:
        answer = EntryAnswer(entry=name, nearest=True, effect=0.3, low=0.1, high=0.5, p=p)
        return status_of(name, answer)

    names = ["P003-F0-03", "P003-F0-04", "P003-F0-05", "P000-F0-16"]
    many = many_tests(
        [decided(name, p) for name, p in zip(names, (0.03, 0.01, 0.04, 0.04), strict=True)]
    )
    assert many.surviving == {"P003-F0-04", "P000-F0-16"}, (
        "0.03 and 0.04 do not last in a paper of three"
    )
    assert (many.tests, many.supported) == (4, 4) and many.by_chance == pytest.approx(0.1)


def test_every_entry_has_an_answer_or_a_reason() -> None:
    known = statuses()
    assert len(known) == 300 and not [status for status in known if status.state == "open"]
    without = statuses(results=())
    assert {status.state for status in without} == {
        "proven", "not testable here", "open", "reading",
    }  # fmt: skip


def test_nothing_is_contradicted_by_a_stand_in() -> None:
    known = [status for status in statuses() if status.cells]
    for status in known:
        if status.standing == "contradicted":
            assert set().union(*(own.values() for own in status.stand_ins().values())) == {SAME}
        assert status.stand_ins() or status.state == "printed table" or status.entry.reason
    total = sum((own for own in counts(statuses()).values()), Counter[str]())
    assert total["proven by tests"] == 104 and total["option, no claim"] == 30
    assert sum(total[word] for word in WORDS) == 102 and total["contradicted"] == 0


def test_thresholds_have_a_source_that_the_papers_own_figures_pass() -> None:
    """Each printed figure counts as a cell without an interval."""
    for entry in ledger().entries:
        used = {*entry.thresholds_from.values()}
        assert "reading" not in used or entry.kind == "reading", entry.id
        assert "printed" not in used or entry.theirs or entry.test.type == "figure", entry.id
        if not entry.theirs or entry.kind == "reading":
            continue
        words = [cell_word(entry, value, value) for value in entry.theirs]
        assert words.count("for") >= 2 / 3 * len(words), entry.id
        if entry.effect is not None:
            assert np.median(entry.theirs) >= entry.effect, entry.id
