"""Answers to entries of paper 001 from the run of bottlenecks on TabularToy."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import RefusedInput
from theodolite.findings.correlation import correlation_study
from theodolite.findings.leakage import matches
from theodolite.papers.answers.resampled import LEVEL, Draws, UnitResamples, answer_from
from theodolite.papers.power import detectable_correlation, detectable_effect
from theodolite.papers.results import EntryAnswer, OptionMove
from theodolite.run_folder.run_file import read_record
from theodolite.run_folder.scores_file import ComparedFile, ComparedRecord, numbers, score_named
from theodolite.run_folder.spec import Filter
from theodolite.stats.intervals import quantile, two_sided_p

CTL, ICL, OIS = "concept_task_leakage", "interconcept_leakage", "oracle_impurity"
COMPARED, DATA = "compared.json", "TabularToy(0.25)"
Folds = Float[np.ndarray, " folds"]


@dataclass(frozen=True)
class Contrast:
    """A score of some models minus that of others, fold by fold, less a line."""

    entry: str
    metric: str
    more: Filter
    less: Filter | None = None
    cell: Mapping[str, Any] | None = None
    line: float = 0.0
    nearest: bool = False


def _soft(weight: float, data: str = "complete") -> Filter:
    return {"data": data, "encoding": "soft", "kind": "cbm", "concept_weight": weight}


def _logit(weight: float) -> Filter:
    return {"data": "complete", "encoding": "logit", "concept_weight": weight}


def _vectors(weight: float, rate: float) -> Filter:
    return {"kind": "cem", "concept_weight": weight, "intervention_rate": rate}


HARD: Filter = {"data": "complete", "encoding": "hard"}
STRONG, WEAK = _vectors(10, 0.75), _vectors(0.01, 0)
CONTRASTS = (
    Contrast("P001-F0-04", CTL, HARD, cell={"score": "CTL"}, nearest=True),
    Contrast("P001-F0-04", ICL, HARD, cell={"score": "ICL"}),
    Contrast("P001-F0-05", OIS, HARD, line=0.02, nearest=True),
    *(
        Contrast(
            "P001-F0-12", metric, side(0.01), side(1), {"encoding": name, "score": score},
            nearest=(name, score) == ("soft", "CTL"),
        )
        for name, side in (("soft", _soft), ("logit", _logit))
        for score, metric in (("CTL", CTL), ("ICL", ICL))
    ),
    *(
        Contrast("P001-F0-16", CTL, _logit(w), _soft(w), {"lambda": w}, nearest=w == 10)
        for w in (1, 5, 10)
    ),
    Contrast("P001-F0-18", CTL, _logit(0.01), _soft(0.01), nearest=True),
    *(
        Contrast(
            "P001-F0-19", CTL, _soft(w, "incomplete"), _soft(w), {"lambda": w}, nearest=w == 1
        )
        for w in (0.01, 1, 10)
    ),
    Contrast(
        "P001-F0-20", "task_accuracy", _soft(0.01, "incomplete"), _soft(0.01), nearest=True
    ),
    Contrast("P001-F0-25", "embedding_interconcept_information", STRONG, WEAK, nearest=True),
    Contrast("P001-F0-26", "embedding_self_information", STRONG, WEAK, nearest=True),
    *(
        Contrast(
            "P001-F0-27", CTL, _vectors(0.01, rate), _vectors(10, rate), {"p_int": rate},
            nearest=rate == 0,
        )
        for rate in (0, 0.75)
    ),
    Contrast("P001-F0-28", "embedding_alignment", STRONG, nearest=True),
    Contrast("P001-F0-30", "intervention_score", STRONG, nearest=True),
)  # fmt: skip
"""What is one difference or one level."""


def leakage_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What the run says of paper 001; folds are paired, since all models share them."""
    models = read_record(folder / COMPARED, ComparedFile).models
    answers = [_contrast(contrast, models) for contrast in CONTRASTS]
    answers += [*_slopes(models), *_correlations(models), *_vector_correlations(models)]
    return answers, []


def per_fold(models: Sequence[ComparedRecord], conditions: Filter, metric: str) -> Folds:
    """The score of the one model that a filter names, fold by fold."""
    chosen = [model for model in models if matches(model, conditions)]
    if len(chosen) != 1:
        raise RefusedInput("models", f"{len(chosen)} with {dict(conditions)}", "just one")
    score = score_named(chosen[0], metric)
    values = numbers([] if score is None else score.per_seed)
    if len(values) < 2 or np.isnan(values).any():
        raise RefusedInput(f"{metric} of {chosen[0].name}", f"{values.tolist()}", "a value a fold")
    return values


def folds_answer(
    entry: str, values: Folds, cell: Mapping[str, Any], ours: Mapping[str, float], *, nearest: bool
) -> EntryAnswer:
    """Student's interval over folds."""
    n = len(values)
    error = float(values.std(ddof=1)) / math.sqrt(n)
    half = quantile(n - 1, LEVEL) * error
    value = float(values.mean())
    return EntryAnswer(
        entry=entry, settings=dict(cell), nearest=nearest, effect=value, low=value - half,
        high=value + half, p=two_sided_p(value, error, n - 1), unit="folds", n=n,
        detectable=detectable_effect(error), ours=dict(ours),
    )  # fmt: skip


def _contrast(contrast: Contrast, models: Sequence[ComparedRecord]) -> EntryAnswer:
    more = per_fold(models, contrast.more, contrast.metric)
    ours = {contrast.metric: float(more.mean())}
    values = more - contrast.line
    if contrast.less is not None:
        less = per_fold(models, contrast.less, contrast.metric)
        values, ours = more - less, ours | {"taken off": float(less.mean())}
    return folds_answer(contrast.entry, values, contrast.cell or {}, ours, nearest=contrast.nearest)


def _slopes(models: Sequence[ComparedRecord]) -> Iterator[EntryAnswer]:
    """How far leakage falls with lambda, of soft models minus of logit ones."""
    soft, logit = (
        per_fold(models, side(0.01), CTL) - per_fold(models, side(10), CTL)
        for side in (_soft, _logit)
    )
    ours = {"fall, soft": float(soft.mean()), "fall, logit": float(logit.mean())}
    yield folds_answer("P001-F0-17", soft - logit, {}, ours, nearest=True)


def _classes(models: Sequence[ComparedRecord], metric: str) -> Float[np.ndarray, "classes folds"]:
    """Soft and logit models on complete concepts: twelve classes."""
    chosen = [
        model for model in models
        if matches(model, {"data": "complete", "kind": "cbm", "training": "joint"})
    ]  # fmt: skip
    return np.stack([per_fold(models, model.about, metric) for model in chosen])


def _correlations(models: Sequence[ComparedRecord]) -> Iterator[EntryAnswer]:
    """Table 2 as the paper pools it; differences of correlations by resampling model classes."""
    against = _classes(models, "intervention_score")
    n = len(against)
    names = {"CTL": CTL, "ICL": ICL, "OIS": OIS}
    rows = {label: _classes(models, metric) for label, metric in names.items()}
    for label, own in rows.items():
        pooled = correlation_study(_mean_and_error(own), _mean_and_error(against))
        entries = {"CTL": "P001-F0-08", "ICL": "P001-F0-09"}
        for entry in ("P001-T2-01", *([entries[label]] if label in entries else [])):
            table = entry == "P001-T2-01"
            yield EntryAnswer(
                entry=entry, settings={"data": DATA} | ({"score": label} if table else {}),
                effect=pooled.r,
                low=pooled.low, high=pooled.high, p=pooled.p, unit="model classes", n=n,
                nearest=not table or label == "CTL", detectable=detectable_correlation(n),
                ours={"r": pooled.r},
            )  # fmt: skip
    resamples = UnitResamples.of(n, "model classes")
    r = {label: resamples.correlation(own.mean(axis=1), against.mean(axis=1))
         for label, own in rows.items()}  # fmt: skip
    for entry, other in (("P001-F0-10", "OIS"), ("P001-F0-11", "ICL")):
        ours = {label: float(r[label][0]) for label in ("CTL", other)}
        yield answer_from(entry, r["CTL"] - r[other], resamples, n, {}, ours, nearest=True)


def _vector_correlations(models: Sequence[ComparedRecord]) -> Iterator[EntryAnswer]:
    """Over trainings of embedding models."""
    chosen = [model for model in models if matches(model, {"kind": "cem"})]

    def each(metric: str) -> Float[np.ndarray, " trainings"]:
        return np.concatenate([per_fold(models, model.about, metric) for model in chosen])

    accuracy = each("task_accuracy")
    resamples = UnitResamples.of(len(accuracy), "trainings")
    pairs = {"P001-F0-23": "embedding_task_information", "P001-F0-24": "concept_prediction"}
    for entry, metric in pairs.items():
        r: Draws = resamples.correlation(each(metric), accuracy)
        n = len(accuracy)
        yield answer_from(entry, r, resamples, n, {}, {"r": float(r[0])}, nearest=True)


def _mean_and_error(own: Float[np.ndarray, "classes folds"]) -> tuple[np.ndarray, np.ndarray]:
    return own.mean(axis=1), own.std(axis=1, ddof=1) / math.sqrt(own.shape[1])
