"""Planted runs of surrogates come back with their sign, size and verdict."""

from pathlib import Path

import numpy as np
import pytest

from theodolite._storage.records import write_record
from theodolite._verdicts.scores_file import ComparedFile, ComparedRecord, ScoreRecord
from theodolite.evidence.axes import Samples
from theodolite.evidence.files import save
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite_reproductions.claims.answers.resampled import UnitResamples
from theodolite_reproductions.claims.answers.surrogate_outputs import (
    attribute_answers,
    balanced_agreement,
    regression_answers,
)
from theodolite_reproductions.claims.answers.surrogate_tables import CrossedResamples
from theodolite_reproductions.claims.answers.surrogates import (
    CURVES,
    NUMBERS,
    cifar_answers,
    decoder_answers,
    slope_over_logs,
    species_answers,
)
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import EntryAnswer
from theodolite_reproductions.claims.verdict import cell_word

IMAGES, CLASSES, SEEDS = 60, 4, 3
FIRST = "sae-5"


def words(answers: list[EntryAnswer], entry: str) -> list[tuple[dict[str, str], bool, str]]:
    """Cells of an entry with their verdicts."""
    return [
        (a.settings, a.nearest, str(cell_word(ledger().entry(entry), a.low, a.high)))
        for a in answers
        if a.entry == entry and a.low is not None and a.high is not None
    ]


def score(metric: str, values: list[float], surrogate: str) -> ScoreRecord:
    return ScoreRecord(
        metric=metric, version=1, question="faithful", value=float(np.mean(values)),
        better="lower", bounds=(0, 1), best=0.0, n=10, n_undefined=0, n_unit="samples",
        options={"surrogate": surrogate}, interval=None, null=None, intervals=[], nulls=[],
        detail=None, per_seed=values,
    )  # fmt: skip


def explained(
    outputs: np.ndarray, off: float, seed: int, **more: np.ndarray | Samples
) -> SurrogateEvidence:
    """Concepts that are the outputs, off by so much."""
    random = np.random.default_rng([seed, round(1000 * off)])
    table = np.full((outputs.shape[1],) * 2, np.nan)
    np.fill_diagonal(table, 1.0)
    wrong = outputs + off * random.normal(size=outputs.shape)
    return SurrogateEvidence(importances=table, outputs=outputs, projections=wrong, **more)


def write_run(folder: Path, offs: dict[str, float], missed: float | None = None) -> None:
    """A run in which each model is off by so much."""
    random = np.random.default_rng(0)
    outputs = random.normal(size=(IMAGES, CLASSES))
    labels = np.arange(IMAGES) % CLASSES
    models = []
    for name, off in offs.items():
        models.append(ComparedRecord(name=name, about={}, scores=[]))
        root = folder / "evidence" if name == FIRST else folder / "compared" / name
        for seed in range(SEEDS):
            evidence = explained(outputs, off, seed, labels=labels)
            save(evidence, root / f"seed-{seed}" / "surrogate")
    if missed is not None:
        for name in ("layer1-nmf", "layer2-nmf"):
            models.append(ComparedRecord(name=name, about={}, scores=[]))
            save(
                explained(
                    outputs, 0.1, 0, rebuilt=outputs + 1 + missed, linearized=outputs + 1
                ),
                folder / "compared" / name / "seed-0" / "surrogate",
            )  # fmt: skip
    steps = {"perfect": (0.0, 1.0, 0.9), "random-importances": (0.6, 1.0, 0.9),
             "random-concepts": (0.9, 0.1, 0.2)}  # fmt: skip
    for name, (far, rebuilt, learned) in steps.items():
        around = np.linspace(-0.01, 0.01, 10) * (name != "perfect")
        own = around if name == "random-concepts" else np.zeros(10)
        scores = [score(metric, (far + around).tolist(), "linear")
                  for metric in ("surrogate_distance", "surrogate_error")]  # fmt: skip
        scores.append(score("surrogate_agreement", (rebuilt + own).tolist(), "rebuilt"))
        scores.append(score("surrogate_agreement", (learned + own).tolist(), "learned"))
        models.append(ComparedRecord(name=f"setting-{name}", about={}, scores=scores))
    write_record(folder / "compared.json", ComparedFile(models=models))


def offs(best: float) -> dict[str, float]:
    """MCD gains from concepts, the others do not; the autoencoder is off by 0.5."""
    names = {FIRST: 0.5, "cdisco-5": 60.0, "mcd_lasso_uncentered-5": 0.1}
    names |= {f"{m}-{n}": 4.0 for m in ("svd", "nmf", "craft", "concept_shap") for n in (5, 20)}
    return names | {f"{m}-{n}": 5 * best / n for m in CURVES.values() for n in NUMBERS}


def test_a_run_on_species_is_read(tmp_path: Path) -> None:
    write_run(tmp_path, offs(best=1.5))
    answers, moves = species_answers(tmp_path)
    nearest = {
        a.entry: v for a in answers if a.nearest for _, own, v in words(answers, a.entry) if own
    }
    assert nearest == {
        "P002-F0-01": "for", "P002-F0-02": "for", "P002-F0-03": "for",
        "P002-F0-04": "against", "P002-F0-05": "for",
        "P002-F0-06": "unclear", "P002-F0-07": "unclear", "P002-F0-08": "for",
        "P002-F0-09": "for", "P002-F0-10": "for",
    }  # fmt: skip
    by_form = {cell["MCD"]: word for cell, _, word in words(answers, "P002-F0-08")}
    assert by_form["mcd_lasso"] == "for"
    assert by_form["mcd_lasso_uncentered"] == "against"
    mcd = next(m for m in moves if m.entry == "P002-F0-08" and "lasso_uncentered" in m.after)
    assert mcd.option == "P002-O-04" and mcd.high < 0
    worse = next(m for m in moves if m.option == "P002-O-01")
    assert worse.entry == "P002-T2-01" and worse.value > 0
    assert {a.unit for a in answers if a.entry == "P002-F0-08"} == {"classes and seeds"}
    assert {a.n for a in answers if a.entry == "P002-F0-08"} == {CLASSES}
    figures = {a.entry for a in answers if a.low is None}
    assert figures == {f"P002-T2-0{n}" for n in (1, 2, 3, 4, 5, 7)}, "it has no HU-MCD"


def test_a_run_on_small_images_is_read(tmp_path: Path) -> None:
    names = offs(best=0.1) | {"hu_mcd_slic-5": 0.1, "hu_mcd_grid-5": 0.3, "sae_places-5": 0.5}
    write_run(tmp_path, names, missed=0.8)
    answers, moves = cifar_answers(tmp_path)
    assert [word for _, own, word in words(answers, "P002-F0-13") if own] == ["for"]
    share = next(a for a in answers if a.entry == "P002-F0-13" and a.nearest)
    assert share.ours["share missed"] == pytest.approx(0.8, abs=1e-6)
    assert not any(a.nearest for a in answers if a.entry != "P002-F0-13")
    assert {word for *_, word in words(answers, "P002-F0-05")} == {"against"}
    assert {word for *_, word in words(answers, "P002-F0-08")} == {"against"}
    assert {move.option for move in moves} == {f"P002-O-0{n}" for n in (1, 4, 5, 6, 7)}
    assert "ConceptSHAP" in next(a for a in answers if a.entry == "P002-F0-06").ours["methods"]


def test_a_decoder_learned_anew_is_a_move(tmp_path: Path) -> None:
    write_run(tmp_path, {FIRST: 1.0, "concept_shap-5": 4.0, "concept_shap_relearned-5": 0.5})
    answers, (move,) = decoder_answers(tmp_path)
    assert move.option == "P002-O-03" and move.high < 0
    assert answers[0].ours["SURF_EMD"] - answers[1].ours["SURF_EMD"] == pytest.approx(-move.value)


def test_balanced_agreement_by_hand() -> None:
    network = np.array([[True, False], [False, False], [False, False], [False, False]])
    always_absent = np.zeros((4, 2), bool)
    resamples = UnitResamples.draw(4, "images")
    # right for no present and for all absent; the second output is never there
    assert balanced_agreement(resamples, network, always_absent)[0] == 0.5
    assert balanced_agreement(resamples, network, network)[0] == 1.0
    assert balanced_agreement(resamples, network, ~network)[0] == 0.0


@pytest.mark.parametrize("ahead", [True, False])
def test_attributes_and_a_number_are_read(tmp_path: Path, ahead: bool) -> None:
    random = np.random.default_rng(0)
    samples = Samples(index=np.arange(IMAGES), clusters=np.arange(IMAGES) % 12)
    off = dict.fromkeys(("nmf", "mcd", "svd", "pca", "kmeans"), 1.0) | {
        "sae": 0.2 if ahead else 3.0, "random": 5.0,
    }  # fmt: skip
    for outputs, tails, read, entry in (
        (random.normal(size=(IMAGES, CLASSES)), ("", "-all"), attribute_answers, "P002-F0-11"),
        (random.normal(size=(IMAGES, 1)), ("",), regression_answers, "P002-F0-12"),
    ):
        folder = tmp_path / entry
        models = []
        for tail in tails:
            for name, wrong in sorted(off.items(), key=lambda pair: pair[0] != "sae"):
                models.append(ComparedRecord(name=f"{name}-5{tail}", about={}, scores=[]))
                own = folder / "compared" / f"{name}-5{tail}"
                root = folder / "evidence" if f"{name}-5{tail}" == FIRST else own
                for seed in range(2):
                    evidence = explained(outputs, wrong, seed, samples=samples)
                    save(evidence, root / f"seed-{seed}" / "surrogate")
        write_record(folder / "compared.json", ComparedFile(models=models))
        cells = words(read(folder)[0], entry)
        assert len(cells) == (12 if tails[1:] else 2)
        assert sum(own for _, own, _ in cells) == 1
        assert {word for *_, word in cells} == {"for" if ahead else "against"}


def test_images_of_a_class_are_drawn_together() -> None:
    clusters = np.repeat([4, 7, 9], 10)
    drawn = CrossedResamples.of(30, 2, clusters)
    times = drawn.images.times[1:].reshape(-1, 3, 10)
    assert (times == times[:, :, :1]).all() and set(times.sum(axis=(1, 2))) == {30}
    values = np.stack([clusters.astype(float), np.full(30, np.nan)])
    mean = drawn.mean(values)
    assert mean[0] == pytest.approx(20 / 3), "what is undefined is left out"


def test_a_slope_against_logarithms() -> None:
    rows = [np.full(3, 0.1 * np.log2(n) + 1) for n in (1, 2, 4, 16)]
    np.testing.assert_allclose(slope_over_logs(rows, (1, 2, 4, 16)), 0.4)
