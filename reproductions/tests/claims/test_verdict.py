"""Words of cells: every position of an interval; the rule over cells; power beside SciPy."""

import math

import numpy as np
import pytest
from scipy import stats

from theodolite.errors import EvidenceError
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.power import (
    SEEN,
    detectable_correlation,
    detectable_effect,
    expected_by_chance,
    units_for_correlation,
)
from theodolite_reproductions.claims.results import stored_results
from theodolite_reproductions.claims.verdict import (
    CellWord,
    DecidedCell,
    axes,
    axis,
    cell_word,
    claim_verdict,
)

SIGNED, WITHIN = ledger().entry("P000-T6-01"), ledger().entry("P004-T1-01")
EFFECT, MARGIN = 0.1, 0.15


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-0.3, -0.2, "against"),
        (-0.2, 0.05, "null"),
        (-0.2, 0.2, "unclear"),
        (0.02, 0.08, "for"),
        (0.02, 0.3, "for"),
        # equalities
        (0.0, 0.3, "unclear"),
        (0.0, 0.05, "null"),
        (-0.2, 0.0, "null"),
        (0.0, 0.0, "null"),
        (-0.2, EFFECT, "unclear"),
    ],
)
def test_positions_against_nothing_and_the_smallest_effect(
    low: float, high: float, word: str
) -> None:
    assert SIGNED.effect == EFFECT
    assert cell_word(SIGNED, low, high) == word


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [
        (-0.3, -0.2, "against"),
        (-0.2, 0.05, "unclear"),
        (-0.05, 0.05, "for"),
        (-0.2, 0.2, "unclear"),
        (0.2, 0.3, "against"),
        # equalities
        (-MARGIN, 0.05, "unclear"),
        (-0.05, MARGIN, "unclear"),
        (MARGIN, 0.3, "unclear"),
        (-0.3, -MARGIN, "unclear"),
    ],
)
def test_positions_against_a_margin(low: float, high: float, word: str) -> None:
    assert WITHIN.test.margin == MARGIN
    assert cell_word(WITHIN, low, high) == word


def test_each_type_has_its_own_rule() -> None:
    entry = ledger().entry
    assert cell_word(entry("P000-F0-05"), 1, 19) == "for", "50 ± 10, as 60 minus existence"
    assert cell_word(entry("P000-F0-05"), -5, -1) == "against"
    shares = [cell_word(entry("P000-F0-09"), share, share) for share in (0.95, 0.94, 0.06, 0.05)]
    assert shares == ["for", "unclear", "unclear", "against"]
    assert cell_word(entry("P001-T3-01"), 0.0004, 0.02) == "for", "within the last digit"
    assert cell_word(entry("P001-T3-01"), 0.01, 0.02) == "against"
    assert cell_word(entry("P001-T1-01"), 0.001, 0.005, 5) == "for", "one model of five folds"
    assert cell_word(entry("P001-T1-01"), 0.004, 0.005, 5) == "against"
    assert cell_word(entry("P001-F0-18"), -0.1, 0.3) == "for", "the interval includes 0"
    assert cell_word(entry("P002-F0-09"), 0.1, 0.3) == "for", "more concepts do not help"
    assert cell_word(entry("P002-F0-09"), -0.3, -0.1) == "against"
    assert cell_word(entry("P000-F0-18"), -0.1, 0.01) == "unclear", "0 alone, never null"
    for name in ("P000-D-01", "P000-F-01", "P003-F0-16", "P004-T2-01"):
        with pytest.raises(EvidenceError):
            cell_word(entry(name), 0.1, 0.2)


@pytest.mark.parametrize("bounds", [(math.nan, 1.0), (0.0, math.nan), (0.2, 0.1)])
def test_no_interval_no_word(bounds: tuple[float, float]) -> None:
    with pytest.raises(EvidenceError, match="bounds"):
        cell_word(SIGNED, *bounds)
    with pytest.raises(EvidenceError, match="0 to 1"):
        cell_word(ledger().entry("P000-F0-09"), 1.2, 1.2)


def cells(
    words: str, *, own: bool = False, p: float | None = 1e-6, **axes: str
) -> list[DecidedCell]:
    """One cell a letter: For, Against, Null, Unclear."""
    known: dict[str, CellWord] = {"f": "for", "a": "against", "n": "null", "u": "unclear"}
    return [
        DecidedCell(known[letter], {"head": i} | axes, p, own) for i, letter in enumerate(words)
    ]


def test_words_of_a_claim() -> None:
    assert claim_verdict(cells("fffu")).word == "holds here"
    assert claim_verdict(cells("ffffan")).word == "holds in part", "some oppose"
    assert claim_verdict(cells("fuuu")).word == "holds in part"
    assert claim_verdict(cells("fuuu", p=0.04)).word == "undecided here", "not after Bonferroni"
    assert claim_verdict(cells("fuuuu", p=None)).word == "undecided here", "a fifth, without p"
    assert claim_verdict(cells("f" + 10 * "n")).word == "does not carry over", "below a tenth"
    assert claim_verdict(cells("an", own=True)).word == "contradicted"
    assert claim_verdict(cells("an", own=True), across=True).word == "does not carry over"
    assert claim_verdict(cells("a", own=True) + cells("n")).word == "does not carry over"
    with pytest.raises(EvidenceError, match="cells"):
        claim_verdict([])


def test_many_choices_do_not_outvote_another_data_set() -> None:
    verdict = claim_verdict(cells(90 * "n", data="one") + cells("f", data="other"))
    assert (verdict.supporting, verdict.opposing, verdict.word) == (0.5, 0.5, "holds in part")


def test_each_setting_of_a_cell_is_declared_and_used() -> None:
    used = {name for r in stored_results() for answer in r.answers for name in answer.settings}
    assert used == set(axes())
    assert axis("data") == "material" and axis("head") == "choice"
    with pytest.raises(EvidenceError, match="not declared"):
        axis("beauty")


@pytest.mark.parametrize(
    ("effects", "n", "rho", "wrong", "right"),
    [
        ((0.0,), 1, 0.0, 0.04, 0.0),
        ((0.0,), 8, 0.3, 0.04, 0.0),
        ((0.0,), 48, 0.8, 0.04, 0.0),
        ((1.0,), 8, 0.8, 1.0, 0.70),
        ((2.0,), 8, 0.3, 1.0, 0.99),
        ((1.0, 0.0), 8, 0.3, 1.0, 0.80),
    ],
)
def test_rule_keeps_its_level_in_simulation(
    effects: tuple[float, ...], n: int, rho: float, wrong: float, right: float
) -> None:
    """Correlated cells with 80 % power at the smallest effect; half of them with each truth."""
    random = np.random.default_rng(0)
    draws = 400
    size, half = 1 / SEEN, stats.norm.ppf(0.975) / SEEN
    truth = np.resize(np.array(effects), n)
    shared = random.normal(size=(draws, 1))
    noise = math.sqrt(rho) * shared + math.sqrt(1 - rho) * random.normal(size=(draws, n))
    values = truth + size * noise
    result = []
    for row in values:
        words: list[CellWord] = [
            "for" if v > half else "against" if v < -half else "null" if v + half < 1 else "unclear"
            for v in row
        ]
        p = 2 * stats.norm.sf(np.abs(row) / size)
        known = [
            DecidedCell(w, {"data": i}, q) for i, (w, q) in enumerate(zip(words, p, strict=True))
        ]
        result.append(claim_verdict(known).word)
    supported = np.mean([word in ("holds here", "holds in part") for word in result])
    assert right <= supported <= wrong


def test_power_is_scipys() -> None:
    assert pytest.approx(stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) == SEEN
    result = 1 - stats.norm.cdf(stats.norm.ppf(0.975), loc=detectable_effect(0.3) / 0.3)
    assert result == pytest.approx(0.8)
    assert [units_for_correlation(r) for r in (0.75, 0.49, 0.36, -0.33, 0.1)] == [
        12, 31, 59, 70, 783,
    ]  # fmt: skip
    assert detectable_correlation(783) == pytest.approx(0.1, abs=1e-4)
    assert math.isnan(detectable_correlation(3))


def test_chance_confirms_one_in_forty() -> None:
    assert expected_by_chance(80) == pytest.approx(2.0)


@pytest.mark.parametrize("call", [lambda: units_for_correlation(0), lambda: units_for_correlation(1),
                                  lambda: detectable_effect(-1)])  # fmt: skip
def test_what_makes_no_sense_is_refused(call: object) -> None:
    with pytest.raises(EvidenceError):
        call()  # type: ignore[operator]
