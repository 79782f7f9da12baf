"""Paper 001: planted models come back with their sign, size and verdict."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec, read_spec
from theodolite._storage.records import write_record
from theodolite._verdicts.scores_file import ComparedFile, ComparedRecord, ScoreRecord
from theodolite.errors import UnsafeInputError
from theodolite.evidence.axes import Policies
from theodolite.evidence.files import save
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite_reproductions.bottlenecks.pipeline import BottleneckPipeline
from theodolite_reproductions.claims.answers import leakage, more_neighbors
from theodolite_reproductions.claims.answers.bottleneck_scores import (
    CTL,
    ICL,
    NIS,
    S_INT,
    BottleneckRun,
    fold_values,
)
from theodolite_reproductions.claims.answers.leakage_correlations import converged_accuracy
from theodolite_reproductions.claims.answers.leakage_pairs import jackknifed, spread_surplus
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove
from theodolite_reproductions.claims.verdict import cell_word
from theodolite_reproductions.datasets.tabular_toy import tabular_toy
from theodolite_reproductions.protocols import PROTOCOLS

PARTS = {
    "leakage_tabulartoy": leakage.leakage_answers,
    "leakage_tabulartoy_tasks": leakage.task_answers,
    "leakage_tabulartoy_embeddings": leakage.embedding_answers,
}
FOLDS, SAMPLES = (0, 1, 2), 60
AFTER = 0.75


def words(answers: list[EntryAnswer]) -> dict[str, str]:
    """The headline of each entry."""
    return {
        a.entry: str(cell_word(ledger().entry(a.entry), a.low, a.high))
        for a in answers
        if a.nearest and a.low is not None and a.high is not None
    }


def score(metric: str, values: np.ndarray, **options: str) -> ScoreRecord:
    return ScoreRecord(
        metric=metric, version=1, question="leak_free", value=float(values.mean()), better="lower",
        bounds=(0, 1), best=0.0, n=10, n_undefined=0, n_unit="samples", options=options,
        interval=None, null=None, intervals=[], nulls=[], detail=None, per_seed=values.tolist(),
    )  # fmt: skip


def planted_models(spec: RunSpec, value: Any) -> list[ComparedRecord]:
    """All models of the protocol, with scores by a rule."""
    assert spec.pipeline is not None and spec.dataset is not None
    options = {k: v for k, v in spec.pipeline.model_dump().items() if k != "name"}
    forms = dict.fromkeys(spec.dataset.model_dump()["forms"])
    sides = [(metric.name, {}) for metric in spec.compared_metrics]
    sides += [("concept_prediction", {"by": by}) for by in ("accuracy", "f1", "auc")]
    sides += [(NIS, {"form": "as_published"})]
    random = np.random.default_rng(1)

    def noisy(metric: str, about: dict[str, Any]) -> np.ndarray:
        return value(metric, about) + 0.001 * random.normal(size=len(FOLDS))

    return [
        ComparedRecord(
            name=model.name, about=model.description,
            scores=[score(m, noisy(m, model.description), **named) for m, named in sides],
        )
        for model in BottleneckPipeline(**options)._models(forms)
    ]  # fmt: skip


def planted_run(folder: Path, protocol: str, value: Any) -> list[ComparedRecord]:
    """A run folder with the planted scores, and evidence in which the concepts differ."""
    spec = read_spec(PROTOCOLS / f"{protocol}.yaml").model_copy(update={"seeds": list(FOLDS)})
    models = planted_models(spec, value)
    write_record(folder / "run.json", build_run_record(spec, ""))
    write_record(folder / "compared.json", ComparedFile(models=models))
    random = np.random.default_rng(2)
    truth = random.random((SAMPLES, 3)) < 0.5
    labels = (truth.sum(axis=1) > 1).astype(int)
    for number, model in enumerate(models):
        if model.about["data"] != "complete":
            continue
        root = folder / ("compared/" + model.name if number else "evidence")
        for seed in FOLDS:
            values = truth + 0.3 * random.random(truth.shape)
            values[:, 0] += labels  # only the first tells the label
            if model.about["encoding"] == "hard":
                values = truth.astype(float)
            said = ConceptEvidence(values=values, truth=truth, labels=labels, predicted=labels)
            right = np.ones((SAMPLES, 1, 4), bool)
            lost = 1 - AFTER if model.about["kind"] == "cem" else leaks(S_INT, model.about)
            right[: round(lost * SAMPLES), 0, -1] = False
            corrected = InterventionEvidence(
                right_after=right, right_reference=np.ones(SAMPLES, bool),
                policies=Policies(("random",)),
            )  # fmt: skip
            for bundle in (said, corrected):
                save(bundle, root / f"seed-{seed}" / bundle.kind)
    return models


def leaks(metric: str, about: dict[str, Any]) -> float:
    """As the paper says, where it says something."""
    weight, hard = about["concept_weight"], about["encoding"] == "hard"
    if metric in (CTL, ICL, S_INT):
        if about["kind"] == "cem" and metric == S_INT:
            return 0.0
        more = 0.1 * (about["encoding"] == "logit" and weight >= 1)
        more += 0.1 * (about["data"] == "incomplete")
        more += 0.1 * (about["data"] == "parity" and about["head"] == "linear")
        return 0.0 if hard else 0.3 - 0.05 * np.log10(weight) + 0.2 * (weight > 10) + more
    if metric == NIS:
        return 0.95 if hard else 0.9 - 0.3 * (0.3 - 0.05 * np.log10(weight))
    if about["kind"] == "cem" and metric != "concept_prediction":
        return 0.5 + 0.1 * np.log10(weight) + 0.1 * about["intervention_rate"]
    return 0.97 if metric == "concept_prediction" else 0.3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    for part in PARTS:
        planted_run(folder / part, part, leaks)
    return folder


@pytest.fixture(scope="module")
def both(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """Without the networks of NIS, which have tests of their own."""

    def quick(run: BottleneckRun, model: ComparedRecord, metric: str, **options: Any) -> np.ndarray:
        if metric == NIS:
            return fold_values(model, NIS) - 0.4
        return recomputed(run, model, metric, **options)

    recomputed = BottleneckRun.recomputed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BottleneckRun, "recomputed", quick)
        parts = [extract(folder / part) for part, extract in PARTS.items()]
    return [a for own, _ in parts for a in own], [m for _, own in parts for m in own]


@pytest.fixture
def answers(both: tuple[list[EntryAnswer], list[OptionMove]]) -> list[EntryAnswer]:
    return both[0]


def test_planted_models_get_their_verdicts(answers: list[EntryAnswer]) -> None:
    verdicts = words(answers)
    supported = (
        "01", "02", "03", "04", "05", "06", "07", "08", "09", "12", "13", "15", "16", "18", "19",
        "23", "25", "26", "27", "28", "30", "32",
    )  # fmt: skip
    for entry in supported:
        assert verdicts[f"P001-F0-{entry}"] == "for", entry
    assert verdicts["P001-T2-01"] == "for"
    assert verdicts["P001-F0-11"] != "for", "CTL and ICL follow alike"
    assert verdicts["P001-F0-14"] in ("against", "null"), "accuracy stays as it is"
    by = {a.entry: a for a in answers if a.nearest}
    assert by["P001-F0-12"].effect == pytest.approx(0.1, abs=0.003), "0.05 a decade"
    assert (by["P001-F0-08"].n, by["P001-F0-12"].n, by["P001-F0-23"].n) == (12, 3, 12)
    assert all(sum(a.nearest for a in answers if a.entry == e) == 1 for e in by), "one headline"


def test_parity_stands_beside_what_a_linear_head_solves(answers: list[EntryAnswer]) -> None:
    own = [a for a in answers if a.entry == "P001-F0-21"]
    assert len(own) == 7 and [a.reason for a in own if a.effect is None] == ["task cannot show it"]
    assert all(a.effect == pytest.approx(0.1, abs=0.005) for a in own if a.effect is not None)


def test_the_best_range_has_two_ends(answers: list[EntryAnswer]) -> None:
    ends = {a.settings["end"]: a for a in answers
            if a.entry == "P001-F0-15" and a.settings["score"] == "CTL"}  # fmt: skip
    assert ends["below"].effect == pytest.approx(0.15, abs=0.005), "0.01 is three decades off"
    assert ends["above"].effect == pytest.approx(0.165, abs=0.005), "50 leaks again"
    assert ends["below"].ours == {"from lambda": 10, "to lambda": 10}
    values = np.array([[1.0, 3.0], [2.0, 2.0]])
    assert leakage.at_the_least(values) == (pytest.approx([2.0, 3.0]), [1, 0]), "by other folds"


def test_pairs_and_printed_figures(answers: list[EntryAnswer]) -> None:
    pairs = [a for a in answers if a.entry == "P001-F0-01" and a.nearest]
    assert pairs[0].settings["more"].startswith("complete-") and pairs[0].effect > 0.1
    table = {(a.settings["model"], a.settings["score"]): a for a in answers
             if a.entry == "P001-T1-01"}  # fmt: skip
    assert len(table) == 12
    assert table["logit, lambda 5", "c_acc"].effect == pytest.approx(0.97 - 0.995, abs=0.003)
    assert table["logit, lambda 5", "y_F1"].effect == pytest.approx(1 - 0.991), "all are right"


def test_where_nothing_looks_alike_nothing_is_told_apart(tmp_path: Path) -> None:
    def apart(metric: str, about: dict[str, Any]) -> float:
        return about["concept_weight"] if metric == "task_accuracy" else leaks(metric, about)

    models = planted_run(tmp_path, "leakage_tabulartoy_related", apart)
    run = BottleneckRun(tmp_path, tuple(models[:6]), FOLDS)
    own = list(leakage.pair_answers(run))
    assert [a.reason for a in own] == ["task cannot show it"] * 3
    related, moves = leakage.related_answers(tmp_path)
    assert words(related) == {"P001-T2-04": "for"} and not moves
    assert {a.entry for a in related} >= {"P001-F0-08", "P001-F0-10"}


def test_options_move_by_what_they_change(
    folder: Path, both: tuple[list[EntryAnswer], list[OptionMove]]
) -> None:
    _, moves = both
    assert {move.option for move in moves} == {f"P001-O-0{n}" for n in range(1, 6)}
    by = {(m.option, m.entry, m.after): m for m in moves}
    one = by["P001-O-04", "P001-F0-30", "one"]
    assert one.value == pytest.approx(1 - AFTER, abs=0.002), "no S_int was planted"
    run = BottleneckRun.read(folder / "leakage_tabulartoy")
    model = run.the({"data": "complete", "encoding": "soft", "concept_weight": 1})
    folds = run.concepts(model)
    for metric, anew in ((CTL, more_neighbors.task_leakage),
                         (ICL, more_neighbors.interconcept_leakage)):  # fmt: skip
        own = [anew(fold, 3) for fold in folds]
        assert own == pytest.approx(run.recomputed(model, metric), abs=1e-6), "the same estimates"
        assert own != pytest.approx([anew(fold, 10) for fold in folds], abs=1e-3)
    for entry in (e for e in ledger().entries if e.protocol in PARTS):
        named = {m.option for m in moves if m.entry == entry.id}
        assert named == set(entry.moved_by), entry.id


def test_heads_trained_to_the_end() -> None:
    assert converged_accuracy(tabular_toy(0.25).folded(0, 5)) == 1.0
    incomplete = tabular_toy(0.25, concepts="incomplete").folded(0, 5)
    assert converged_accuracy(incomplete) == pytest.approx(0.79, abs=0.03), "Table 3: 0.786"


def test_spread_over_concepts_beyond_that_of_dealt_ones() -> None:
    random = np.random.default_rng(0)
    apart = np.array([0.1, 0.2, 0.6]) + 0.01 * random.normal(size=(5, 3))
    alike = 0.3 + 0.01 * random.normal(size=(5, 3))
    assert jackknifed(apart).mean() > 0.05 > abs(jackknifed(alike).mean())
    ways = [
        np.stack([row[random.permutation(3)] for row in apart]).mean(axis=0).std()
        for _ in range(4000)
    ]
    own = apart.mean(axis=0).std() - np.mean(ways)
    assert spread_surplus(apart) == pytest.approx(own, abs=0.005)


def test_one_model_and_a_value_a_fold(folder: Path) -> None:
    run = BottleneckRun.read(folder / "leakage_tabulartoy")
    with pytest.raises(UnsafeInputError, match="just one"):
        run.the({"encoding": "soft"})
    with pytest.raises(UnsafeInputError, match="a value a fold"):
        fold_values(run.models[0], "beauty")


def test_the_toy_is_trained_as_often_as_printed() -> None:
    printed = ledger().entry("P001-T4-01").printed
    assert printed is not None
    spec = read_spec(PROTOCOLS / "leakage_tabulartoy_related.yaml")
    assert spec.pipeline is not None
    options = {k: v for k, v in spec.pipeline.model_dump().items() if k != "name"}
    models = [
        model.description for model in BottleneckPipeline(**options)._models({"related": None})
        if model.description["training"] == "joint"
    ]  # fmt: skip
    assert sorted({m["concept_weight"] for m in models}) == printed["toy"]
    assert len(spec.seeds) == options["folds"] == printed["folds"]
    assert len(models) * len(spec.seeds) == printed["trainings"][0]
