"""What a run can find, before it is run."""

import json

import numpy as np
import pytest

from support.runs.command_line import theodolite
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.planning import plan_of
from theodolite_reproductions.claims.power import detectable_effect
from theodolite_reproductions.claims.results import EntryAnswer, stored_results
from theodolite_reproductions.claims.status import EntryStatus, cell_of
from theodolite_reproductions.claims.verdict import cell_word
from theodolite_reproductions.protocols import PROTOCOLS


def status(entry: str, error: float, n: int) -> EntryStatus:
    """An entry whose last run had this standard error."""
    answer = EntryAnswer(
        entry=entry, nearest=True, effect=0.0, low=-error, high=error, n=n,
        min_detectable_effect=detectable_effect(error),
    )  # fmt: skip
    return EntryStatus(own := ledger().entry(entry), (cell_of(own, answer, stored_results()[0]),))


@pytest.mark.parametrize(("name", "word"), [("P001-F0-12", "for"), ("P001-F0-03", "for")])
def test_as_many_units_as_are_needed_find_it_in_four_of_five_runs(name: str, word: str) -> None:
    entry = ledger().entry(name)
    smallest = entry.effect or entry.test.margin
    assert smallest is not None
    (plan,) = plan_of([status(name, 3 * smallest, 5)], "leakage_tabulartoy")
    assert plan.n_required is not None and plan.enough is False
    error = 3 * smallest * np.sqrt(5 / plan.n_required)
    truth = 0.0 if entry.test.type == "equivalence" else smallest
    values = np.random.default_rng(0).normal(truth, error, 2000)
    verdicts = [cell_word(entry, v - 1.96 * error, v + 1.96 * error) for v in values]
    assert np.mean([verdict == word for verdict in verdicts]) == pytest.approx(0.8, abs=0.03)


def test_before_a_first_run_only_correlations_tell_how_many_units_they_need() -> None:
    entries = ("P001-F0-08", "P001-F0-12", "P001-O-02", "P001-T3-01")
    known = [EntryStatus(ledger().entry(name)) for name in entries]
    plans = plan_of(known, "leakage_tabulartoy")
    assert [(plan.entry.id, plan.n_required, plan.enough) for plan in plans] == [
        ("P001-F0-08", 124, None),
        ("P001-F0-12", None, None),
    ]


def test_the_command_prints_the_power_of_a_protocol() -> None:
    protocol = str(PROTOCOLS / "detection_pets_monumai_camvid.yaml")
    content = theodolite("papers", "findings", "power", protocol, "--json")
    rows = {row["entry"]: row for row in json.loads(content.stdout)}
    assert rows["P003-F0-11"]["enough"] is False and rows["P003-F0-05"]["enough"] is True
    assert rows["P003-F0-11"]["n_required"] > rows["P003-F0-11"]["units"]
    table = theodolite("papers", "findings", "power", protocol).stdout
    assert "P003-F0-11" in table and "needed" in table
