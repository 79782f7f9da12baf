"""Answers to paper 001 from planted runs: heads on true concepts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from theodolite._runs.folder.spec import read_spec
from theodolite._storage.records import write_record
from theodolite._verdicts.scores_file import (
    ComparedFile,
    ComparedRecord,
    IntervalRecord,
    ScoreRecord,
)
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.bottlenecks.pipeline import BottleneckPipeline
from theodolite_reproductions.claims.answers.bottleneck_scores import COMPARED
from theodolite_reproductions.claims.answers.leakage_images import (
    cub_answers,
    dsprites_answers,
    ham10k_answers,
    shapes3d_answers,
    table_2,
)
from theodolite_reproductions.claims.answers.leakage_references import ROWS, reference_answers
from theodolite_reproductions.claims.ledger import ledger
from theodolite_reproductions.claims.results import EntryAnswer
from theodolite_reproductions.claims.verdict import cell_word
from theodolite_reproductions.protocols import PROTOCOLS


def accuracy(values: np.ndarray) -> ScoreRecord:
    value = float(values.mean())
    interval = IntervalRecord(
        low=value - 0.01, high=min(value + 0.01, 1.0), level=0.95, over="samples", method="t", n=10
    )
    return ScoreRecord(
        metric="task_accuracy", version=1, question="leak_free", value=value, better="higher",
        bounds=(0, 1), best=1.0, n=10, n_undefined=0, n_unit="samples", options={}, null=None,
        interval=interval, intervals=[interval], nulls=[], detail=None, per_seed=values.tolist(),
        n_samples=1000,
    )  # fmt: skip


def planted_heads() -> list[ComparedRecord]:
    """The printed figures, but for one: a head to convergence solves TabularToy with a product."""
    spec = read_spec(PROTOCOLS / "leakage_references.yaml")
    assert spec.pipeline is not None and spec.dataset is not None
    options = {k: v for k, v in spec.pipeline.model_dump().items() if k != "name"}
    printed = {
        form: float((ledger().entry(row.entry).printed or {})[column])
        for row in ROWS
        for column, form in row.forms.items()
    }
    models = BottleneckPipeline(**options)._models(
        dict.fromkeys(spec.dataset.model_dump()["forms"])
    )
    return [
        ComparedRecord(
            name=model.name, about=model.description,
            scores=[accuracy(np.full(5, 1.0 if model.name == "toy_nonlinear-linear-converged"
                                     else printed[model.form]))],
        )
        for model in models
    ]  # fmt: skip


def test_heads_are_held_against_the_printed_table(tmp_path: Path) -> None:
    models = planted_heads()
    write_record(tmp_path / COMPARED, ComparedFile(models=models))
    answers, moves = reference_answers(tmp_path)

    def word(answer: EntryAnswer) -> str:
        assert answer.low is not None and answer.high is not None
        return str(cell_word(ledger().entry(answer.entry), answer.low, answer.high))

    words = {
        (a.entry, a.settings["column"], a.settings["epochs"]): word(a)
        for a in answers
        if a.effect is not None
    }
    assert words.pop(("P001-T3-01", "misspecified", "converged")) == "against"
    assert set(words.values()) == {"for"} and len(words) == 3 * 8 - 1 + 3
    nearest = {a.entry: a.settings["column"] for a in answers if a.nearest}
    assert nearest == {f"P001-T3-0{n}": "incomplete" for n in (1, 2, 3)} | {
        "P001-T3-04": "complete"
    }
    birds = [a for a in answers if a.entry == "P001-T3-04" and a.reason]
    assert {(a.settings["column"], a.reason) for a in birds} == {("incomplete", "no data")}
    lesions = [a for a in answers if a.entry == "P001-T3-05"]
    assert len(lesions) == 4 and all(a.effect is None and a.ours["printed"] for a in lesions)
    assert {move.option for move in moves} == {"P001-O-05"} and len(moves) == 6
    (changed,) = [move for move in moves if move.value]
    assert changed.entry == "P001-T3-01" and changed.value == pytest.approx(1 - 0.687)
    write_record(tmp_path / COMPARED, ComparedFile(models=models[1:]))
    with pytest.raises(UnsafeInputError, match="0 with"):
        reference_answers(tmp_path)


def score(metric: str, values: np.ndarray) -> ScoreRecord:
    return accuracy(values).model_copy(update={"metric": metric})


def planted_bottlenecks(protocol: str) -> list[ComparedRecord]:
    """Leakage that falls with lambda and drags S_int along; more of it under a head too simple."""
    spec = read_spec(PROTOCOLS / protocol)
    assert spec.pipeline is not None and spec.dataset is not None
    options = {k: v for k, v in spec.pipeline.model_dump().items() if k != "name"}
    models = BottleneckPipeline(**options)._models(
        dict.fromkeys(spec.dataset.model_dump()["forms"])
    )
    random = np.random.default_rng(0)

    def value(metric: str, about: Mapping[str, Any]) -> float:
        if metric == "embedding_alignment":
            return 0.0 if about["intervention_rate"] else 0.1
        if about["data"] == "related" and metric == "concept_task_leakage":
            return 0.3
        extra = 0.1 * (about["data"] == "nonlinear" and about["concept_weight"] < 10)
        return 0.3 - 0.1 * np.log10(about["concept_weight"]) + extra

    metrics = [metric.name for metric in spec.compared_metrics]
    n = len(spec.seeds)
    return [
        ComparedRecord(name=model.name, about=model.description, scores=[
            score(m, value(m, model.description) + 0.001 * random.normal(size=n)) for m in metrics
        ])
        for model in models
    ]  # fmt: skip


def headlines(answers: list[EntryAnswer]) -> dict[str, str]:
    return {
        a.entry: str(cell_word(ledger().entry(a.entry), a.low, a.high))
        for a in answers
        if a.nearest and a.low is not None and a.high is not None
    }


def test_planted_bottlenecks_on_dsprites_and_cub(tmp_path: Path) -> None:
    models = planted_bottlenecks("leakage_dsprites.yaml")
    write_record(tmp_path / COMPARED, ComparedFile(models=models))
    answers, moves = dsprites_answers(tmp_path)
    result = headlines(answers)
    assert result.pop("P001-T2-05") != "for", "what does not vary follows nothing"
    assert not moves and result == {
        "P001-T2-02": "for", "P001-F0-21": "for",
        "P001-F0-22": "null", "P001-F0-29": "for",
    }  # fmt: skip
    table = {(a.entry, a.settings.get("score")): a for a in answers}
    assert (table["P001-T2-02", "ICL"].n, table["P001-T2-05", "CTL"].n) == (12, 8)
    assert [a.settings for a in answers if a.reason] == [{"data": "TabularToy(0.25)"}]
    leaking = [a for a in answers if a.entry == "P001-F0-29" and not a.nearest]
    assert [a.effect for a in leaking] == pytest.approx([0.1], abs=0.005)
    birds = planted_bottlenecks("leakage_cub.yaml")
    write_record(tmp_path / COMPARED, ComparedFile(models=birds))
    answers, _ = cub_answers(tmp_path)
    assert headlines(answers) == {"P001-T2-07": "for"}
    with pytest.raises(UnsafeInputError, match="four or more"):
        list(table_2("P001-T2-07", birds[:3], {}, "features"))


def test_planted_bottlenecks_without_images(tmp_path: Path) -> None:
    write_record(
        tmp_path / COMPARED, ComparedFile(models=planted_bottlenecks("leakage_3dshapes.yaml"))
    )
    answers, _ = shapes3d_answers(tmp_path)
    assert headlines(answers)["P001-T2-03"] == "for" != headlines(answers)["P001-T2-06"]
    assert {(a.n, a.settings["inputs"]) for a in answers} == {(14, "numbers with noise")}
    lesions = planted_bottlenecks("leakage_ham10k_concepts.yaml")
    write_record(tmp_path / COMPARED, ComparedFile(models=lesions))
    answers, _ = ham10k_answers(tmp_path)
    assert headlines(answers) == {"P001-T2-08": "for"} and answers[0].n == 18
