"""Moves of options and variants of scores: planted runs come back as planted."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite._storage.records import write_record
from theodolite._storage.tables import write_parquet
from theodolite._verdicts.scores_file import (
    ComparedFile,
    ComparedRecord,
    IntervalRecord,
    ScoreRecord,
    ScoresFile,
)
from theodolite_reproductions.claims.answers import acceptance, detection_options
from theodolite_reproductions.claims.answers.detection import LENGTHS
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.verdict import cell_word
from theodolite_reproductions.datasets.votes.word_overlap import bleu, longest_common, overlaps
from theodolite_reproductions.findings.leakage import FindingsFile
from theodolite_reproductions.findings.vote_correlations import (
    VoteCorrelationRow,
    VoteCorrelationsRecord,
)

UNITS = 120


def planted_units(folder: Path) -> None:
    """Overlap grows under all choices; stopping at one concept is rarer after the activation."""
    random = np.random.default_rng(0)
    base, right = random.uniform(size=(2, UNITS))
    table: dict[str, list[Any]] = {}
    for name in (detection_options.BEFORE, *detection_options.OPTIONS):
        for way in ("one concept", "as scored", "chosen by detection", "stopped by detection"):
            noise = 0.0 if name == "network" else 1.0
            columns = {
                "unit": [f"unit {u}" for u in range(UNITS)], "formulas": [way] * UNITS,
                "alternative": [name] * UNITS, "images": [9] * UNITS,
                "iou": (base + 0.1 * (way == "as scored")).tolist(),
                "detection_accuracy": (base - 0.1 * (way == "as scored")).tolist(),
                "accuracy_either": (base + noise * right).tolist(),
                "accuracy_present": right.tolist(), "accuracy_both": right.tolist(),
                "length": [3 if name == "clipped" and u < UNITS / 2 else 1 for u in range(UNITS)],
            }  # fmt: skip
            for column, values in columns.items():
                table.setdefault(column, []).extend(values)
    kept = [row for row, name in enumerate(table["alternative"]) if name == "clipped"]
    some = [row for row in kept if table["formulas"][row] == "stopped by detection"]
    tolerances = {key: [table[key][row] for row in some] for key in table}
    tolerances["tolerance"] = [0.05] * UNITS
    examples = {
        "kind": ["specialized"], "of": [7], "unit": ["unit 3"], "alone": ["cat"],
        "alone_detection_accuracy": [0.5], "three": ["cat OR dog"],
        "three_detection_accuracy": [0.25],
    }  # fmt: skip
    units = {"unit": table["unit"][:UNITS], "specialized": [True] * UNITS}
    (folder / "tables").mkdir()
    ways = (*LENGTHS, "chosen by detection", "stopped by detection")

    def scored(name: str) -> dict[str, list[Any]]:
        """Each way to choose formulas, as the formulas of three of an alternative."""
        rows = [row for row, way in enumerate(table["formulas"])
                if (way, table["alternative"][row]) == ("as scored", name)]  # fmt: skip
        scores = {
            key: [column[row] for _ in ways for row in rows]
            for key, column in table.items() if key != "alternative"
        }  # fmt: skip
        scores["formulas"] = [way for way in ways for _ in rows]
        scores["images"] = random.integers(5, 500, len(scores["unit"])).tolist()
        return scores

    named = {"formula_scores": scored(detection_options.BEFORE),
             "own_formula_scores": scored(detection_options.NETWORK), "alternatives": table, "tolerances": tolerances, "specialized": examples,
             "units": units}  # fmt: skip
    for name, content in named.items():
        write_parquet(folder / "tables" / f"{name}.parquet", content)


def test_moves_of_a_dissection(tmp_path: Path) -> None:
    planted_units(tmp_path)
    answers, moves = detection_options.option_answers(tmp_path)
    by = {(move.entry, move.after): move for move in moves}
    assert {move.option for move in moves} == {f"P003-O-0{n}" for n in (1, 2, 4, 5)}
    still, fewer = by["P003-F0-14", "beam 10"], by["P003-F0-14", "after it"]
    assert (still.value, still.low, still.high) == (0, 0, 0)
    assert fewer.value == -50 and fewer.high < -30
    closer = by["P003-F0-05", "network"]
    assert closer.low > 0, "without noise the correlation is higher"
    assert ("P003-F0-01", "network") not in by, "accuracy touches correlations only"
    tolerance, kinds, *cells = answers
    assert all(cell.settings["data"] == "pets alone" for cell in cells)
    nearest = {cell.entry for cell in cells if cell.nearest}
    assert {"P003-F0-05", "P003-F0-09", "P003-T2-01"} <= nearest
    assert all(cell.settings["accuracy"] == "network" for cell in cells if cell.nearest)
    assert not [cell for cell in cells if cell.entry == "P003-F0-01" and cell.nearest]
    assert tolerance.entry == "P003-F0-16" and tolerance.ours["mean length"] == 2
    assert tolerance.ours["one concept"] == 50
    assert kinds.ours == {
        "specialized": 7, "such as unit 3": "cat (0.50), of three: cat OR dog (0.25)",
    }  # fmt: skip


def score(metric: str, values: list[float], **options: str) -> ScoreRecord:
    value = float(np.mean(values))
    interval = IntervalRecord(low=value - 0.1, high=value + 0.1, level=0.95, over="samples",
                              method="planted", n=100)  # fmt: skip
    return ScoreRecord(
        metric=metric, version=1, question="accepted", value=value, better="higher",
        bounds=(-1, 1), best=1.0, n=1000, n_undefined=0, n_unit="explanations", options=dict(options),
        interval=interval, null=None, intervals=[interval], nulls=[], detail=None, per_seed=values,
    )  # fmt: skip


def raters(lowest: float, median: float) -> list[ScoreRecord]:
    return [
        score("rater_agreement", [value], own=own, ties=ties)
        for own in ("left out", "included")
        for ties, value in (("lowest", lowest), ("median", median))
    ]


def planted_scores(folder: Path) -> None:
    """A person 0.7, the default 0.5, one variant far worse, one the same."""
    kappa = {"mean-label": 0.5, "with-label": 0.5, "svm": 0.4, "ridge": 0.45, "lasso": 0.2,
             "mlp": 0.6, "no-restriction": 0.55, "words-only": 0.1}  # fmt: skip
    steps = np.array([-0.01, 0.0, 0.01, 0.005, -0.005])
    turned = steps[[1, 0, 2, 3, 4]]
    own = "predicted_rating_agreement"
    models = [
        ComparedRecord(name=name, about={"kind": "learned score"},
                       scores=[score(own, (value + turned).tolist())])
        for name, value in kappa.items()
    ]  # fmt: skip
    votes = {"kind": "votes", "votes": "saliency of words, correction"}
    models.append(ComparedRecord(name="votes-2", about=votes, scores=raters(0.3, 0.35)))
    first = [score(own, (0.5 + steps).tolist()), score("predicted_rating_correlation", [0.4]),
             score("rater_agreement", [0.7], own="left out", ties="lowest")]  # fmt: skip
    write_record(folder / "scores.json", ScoresFile(scores=first, not_computed=[]))
    write_record(folder / "compared.json", ComparedFile(models=models))
    rows = [
        VoteCorrelationRow(measure="rouge_1", votes=f"explanations beside {whose}", n=2500, r=0.2,
                           method="pearson", low=0.1, high=0.3, p=0.001, corrected_p=0.01)
        for whose in ("people's own", "others")
    ]  # fmt: skip
    record = VoteCorrelationsRecord(title="t", aggregate="mean", rows=rows)
    write_record(folder / "findings.json", FindingsFile(findings=[record]))


def test_variants_of_a_learned_score(tmp_path: Path) -> None:
    planted_scores(tmp_path)
    answers, none = acceptance.variant_answers(tmp_path)
    assert none == [] and not any(a.nearest for a in answers)
    words = {
        (a.entry, a.settings.get("difference")): str(
            cell_word(ledger().entry(a.entry), a.low or 0.0, a.high or 0.0)
        )
        for a in answers
    }
    assert words["P004-AB-03", "linear minus lasso"] == "for"
    assert words["P004-AB-03", "linear minus MLP"] == "against"
    assert words["P004-AB-01", "mode minus mean"] == "null"
    assert words["P004-F0-15", "embedding minus embedding and label"] == "for"
    assert words["P004-F0-13", "person minus scorer"] == "for"
    assert words["P004-F0-14", "none minus question"] == "for"


def test_peoples_own_words_and_ties(tmp_path: Path) -> None:
    planted_scores(tmp_path)
    answers, moves = acceptance.own_words_answers(tmp_path)
    assert [(a.entry, a.effect, a.n, a.nearest) for a in answers] == [
        ("P004-F0-09", 0.2, 2500, True)
    ], "not of other votes"
    ties = [move for move in moves if move.option == "P004-O-01"]
    assert [move.value for move in ties] == pytest.approx([0.05, 0.05])
    (half,) = [move for move in moves if move.option == "P004-O-02"]
    assert (half.value, half.low, half.high) == pytest.approx((-0.2, -0.25, -0.15), abs=1e-6)


def test_overlap_of_words_by_hand() -> None:
    text, people = "the dog runs home", "a dog runs to the home"
    assert longest_common(text.split(), people.split()) == 3
    first, longest, runs = overlaps(text, ["nothing alike", people])
    assert (first, longest) == pytest.approx((8 / 10, 6 / 10))
    # 4 of 4 words, 1 of 3 pairs, no run of three or four; six words are two more than four
    expected = np.exp(-0.5) * (1 * 2 / 4 * 1 / 3 * 1 / 2) ** 0.25
    assert runs == pytest.approx(expected) and bleu(text.split(), text.split()) == 1
    assert bleu([], ["a"]) == 0 and overlaps("", ["a"]) == (0, 0, 0)
