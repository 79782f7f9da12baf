"""Attacks and honest values through `theodolite.audit`: the short form of the benchmark."""

import pytest
from benchmarks.leak_free_verdicts import CELLS, count_answers


@pytest.mark.parametrize(
    "cell", ["xor_300", "one_of_40_300", "xor_with_truth", "each_02_of_20", "labels_60"]
)
def test_audit_leak_free_planted_leaks_and_too_many_labels(cell: str) -> None:
    counts = count_answers(cell, 1, seed=2)
    assert counts["right"] == counts["draws"], counts


@pytest.mark.parametrize("cell", ["clean_300", "class", "groups_10", "pairs", "errors_10"])
def test_audit_leak_free_honest_values_are_not_accused(cell: str) -> None:
    counts = count_answers(cell, 2, seed=2)
    assert counts["right"] == counts["draws"], counts
    assert CELLS[cell].right == ("yes", "inconclusive")


def test_audit_leak_free_clean_values_of_usual_size_are_free() -> None:
    assert count_answers("clean", 2, seed=2)["yes"] == 2
