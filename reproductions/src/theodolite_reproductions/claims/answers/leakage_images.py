"""Answers to entries of parisini2025 from bottlenecks on dSprites, 3dshapes, CUB and HAM10000."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float

from theodolite._storage.records import read_record
from theodolite._verdicts.scores_file import (
    ComparedFile,
    ComparedRecord,
    Filter,
    matches,
    score_named,
)
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.claims.answers.bottleneck_scores import (
    COMPARED,
    CTL,
    ICL,
    OIS,
    folds_answer,
    per_fold,
)
from theodolite_reproductions.claims.power import detectable_correlation
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove
from theodolite_reproductions.findings.correlation import correlation_study

Answers = tuple[list[EntryAnswer], list[OptionMove]]
Models = Sequence[ComparedRecord]
CTL_AND_ICL = {"CTL": CTL, "ICL": ICL}
ALL_SCORES = CTL_AND_ICL | {"OIS": OIS}
AGAINST, CONCEPTS, ALIGNMENT = "intervention_score", "concept_prediction", "embedding_alignment"


def dsprites_answers(folder: Path) -> Answers:
    """Table 2, heads too simple, alignment."""
    models = read_record(folder / COMPARED, ComparedFile).models
    joint: Filter = {"kind": "cbm", "training": "joint"}
    answers = [
        *table_2("P001-T2-02", models, joint | {"data": "complete"}, "numbers"),
        *table_2("P001-T2-05", models, joint | {"data": "related"}, "numbers"),
        *_too_simple(models),
        *_alignment(models),
    ]
    return answers, []


def cub_answers(folder: Path) -> Answers:
    """Table 2 on CUB."""
    models = read_record(folder / COMPARED, ComparedFile).models
    return [*table_2("P001-T2-07", models, {"data": "complete"}, "features")], []


def shapes3d_answers(folder: Path) -> Answers:
    """Table 2 on 3dshapes, from its numbers with noise."""
    models = read_record(folder / COMPARED, ComparedFile).models
    forms = {"P001-T2-03": "complete", "P001-T2-06": "related"}
    return [
        answer
        for entry, form in forms.items()
        for answer in table_2(entry, models, {"data": form}, "numbers with noise")
    ], []


def ham10k_answers(folder: Path) -> Answers:
    """Table 2 on HAM10000, from its concepts with noise."""
    models = read_record(folder / COMPARED, ComparedFile).models
    return [*table_2("P001-T2-08", models, {"data": "complete"}, "concepts with noise")], []


def table_2(entry: str, models: Models, where: Filter, inputs: str) -> Iterator[EntryAnswer]:
    """Scores against what interventions cost, over model classes, pooled as the paper does.

    The headline is that of CTL over all classes. A score that the run does not have has no cell.
    """
    chosen = [model for model in models if matches(model, where)]
    if len(chosen) < 4:
        raise UnsafeInputError("model classes", f"{len(chosen)} with {dict(where)}", "four or more")
    against = _rows(models, chosen, AGAINST)
    learned = float(_rows(models, chosen, CONCEPTS).mean())
    for label, metric in ALL_SCORES.items():
        if any(score_named(model, metric) is None for model in chosen):
            continue
        own = _rows(models, chosen, metric)
        pooled = correlation_study(_mean_and_error(own), _mean_and_error(against))
        yield EntryAnswer(
            entry=entry, settings={"inputs": inputs, "score": label}, effect=pooled.r,
            low=pooled.low,
            high=pooled.high, p=pooled.p, unit="model classes", n=len(chosen),
            nearest=label == "CTL", min_detectable_effect=detectable_correlation(len(chosen)),
            ours={"r": pooled.r, "concept accuracy": learned},
        )  # fmt: skip


def _too_simple(models: Models) -> Iterator[EntryAnswer]:
    """Linear heads on the task with further products minus on the one without."""
    for weight in (0.01, 1, 10):
        for label, metric in CTL_AND_ICL.items():
            more, less = (
                per_fold(models, {"data": data, "concept_weight": weight}, metric)
                for data in ("nonlinear", "linear")
            )
            ours = {metric: float(more.mean()), "taken off": float(less.mean())}
            cell = {"data": "dSprites(0)", "lambda": weight, "score": label}
            yield folds_answer(
                "P001-F0-21", more - less, cell, ours, nearest=(weight, label) == (1, "CTL")
            )
            if weight == 10:
                yield folds_answer(
                    "P001-F0-22", more - less, {"score": label}, ours, nearest=label == "CTL"
                )
    # c1 + c2 + c3 - c1 c2 >= 2 is c1 + c2 + 2 c3 >= 3: no head is too simple for it
    yield EntryAnswer(
        entry="P001-F0-21", settings={"data": "TabularToy(0.25)"}, reason="task cannot show it"
    )


def _alignment(models: Models) -> Iterator[EntryAnswer]:
    for rate in (0, 0.75):
        values = per_fold(models, {"kind": "cem", "intervention_rate": rate}, ALIGNMENT)
        ours = {"alignment": float(values.mean())}
        yield folds_answer("P001-F0-29", values, {"p_int": rate}, ours, nearest=rate == 0.75)


def _rows(models: Models, chosen: Models, metric: str) -> Float[np.ndarray, "classes folds"]:
    return np.stack([per_fold(models, {"name": model.name}, metric) for model in chosen])


def _mean_and_error(own: Float[np.ndarray, "classes folds"]) -> tuple[np.ndarray, np.ndarray]:
    return own.mean(axis=1), own.std(axis=1, ddof=1) / np.sqrt(own.shape[1])
