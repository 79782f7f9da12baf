"""Do scores follow accuracy lost under intervention? Table 2 of parisini2025 and its options."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._verdicts.scores_file import ComparedRecord
from theodolite_reproductions.claims.answers.bottleneck_scores import (
    CTL,
    ICL,
    OIS,
    S_INT,
    BottleneckRun,
    table_of,
)
from theodolite_reproductions.claims.answers.more_neighbors import (
    interconcept_leakage,
    task_leakage,
)
from theodolite_reproductions.claims.answers.resampled import (
    Draws,
    UnitResamples,
    answer_from,
    compute_percentile_ends,
)
from theodolite_reproductions.claims.power import detectable_correlation
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove
from theodolite_reproductions.findings.correlation import FEWEST_MODELS, correlation_study

WEIGHTS: list[str | int | float] = [0.01, 0.1, 0.5, 1, 5, 10]
NAMES = {"CTL": CTL, "ICL": ICL, "OIS": OIS}
WELL_LEARNED = 0.95
"""Concept accuracy above which concepts are called well learned."""
ROUNDING = 1e-12
"""Below this a correlation did not move."""
ClassFolds = Float[np.ndarray, "classes folds"]


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Scores of classes of models, a row each, and S_int."""

    scores: Mapping[str, ClassFolds]
    against: ClassFolds
    trainings: bool = False
    """Whether single trainings are correlated, rather than means of their classes."""

    def correlations(self, resamples: UnitResamples) -> dict[str, Draws]:
        """Of each score, on resampled classes."""
        n_folds = self.against.shape[1]
        if not self.trainings:
            against = self.against.mean(axis=1)
            return {n: resamples.correlation(v.mean(axis=1), against)
                    for n, v in self.scores.items()}  # fmt: skip
        each = UnitResamples(np.repeat(resamples.times, n_folds, axis=1), resamples.unit)
        return {n: each.correlation(v.ravel(), self.against.ravel())
                for n, v in self.scores.items()}  # fmt: skip


@dataclass(frozen=True, eq=False)
class OptionTable:
    """The same under another choice that the paper leaves open."""

    option: str
    name: str
    """What is chosen."""
    before: Any
    after: Any
    table: ScoreTable
    entries: tuple[str, ...] = ("P001-F0-08", "P001-F0-09", "P001-F0-10", "P001-F0-11")
    """Findings whose scores it enters."""


def classes_of(run: BottleneckRun) -> list[ComparedRecord]:
    """Soft and logit models at six weights on all concepts: twelve classes."""
    return [
        model
        for form in ("complete", "related")
        for model in run.such(
            {"data": form, "kind": "cbm", "training": "joint", "concept_weight": WEIGHTS}
        )
    ]


def published_table(models: Sequence[ComparedRecord]) -> ScoreTable:
    """Scores as the run wrote them."""
    scores = {label: table_of(models, metric) for label, metric in NAMES.items()}
    return ScoreTable(scores, table_of(models, S_INT))


def table_answers(table: ScoreTable, entry: str, data: str) -> Iterator[EntryAnswer]:
    """Table 2 as the paper pools it, score by score."""
    for label in table.scores:
        cell = {"data": data, "score": label}
        yield _pooled(entry, table, label, cell, nearest=label == "CTL")


def correlation_answers(
    table: ScoreTable, cell: Mapping[str, Any], *, nearest: bool
) -> Iterator[EntryAnswer]:
    """Return whether CTL and ICL follow, and whether CTL does so more closely than the others."""
    n = len(table.against)
    resamples = UnitResamples.draw(n, "model classes")
    r = table.correlations(resamples)
    for entry, label in (("P001-F0-08", "CTL"), ("P001-F0-09", "ICL")):
        if table.trainings:
            ours = {"r": float(r[label][0])}
            yield answer_from(entry, r[label], resamples, n, cell, ours, nearest=nearest)
        else:
            yield _pooled(entry, table, label, cell, nearest=nearest)
    for entry, other in (("P001-F0-10", "OIS"), ("P001-F0-11", "ICL")):
        ours = {label: float(r[label][0]) for label in ("CTL", other)}
        difference = r["CTL"] - r[other]
        yield answer_from(entry, difference, resamples, n, cell, ours, nearest=nearest)


def niche_answers(
    models: Sequence[ComparedRecord], tables: Mapping[str, ClassFolds]
) -> Iterator[EntryAnswer]:
    """Return whether NIS runs against interventions, in each form of it."""
    for form, values in tables.items():
        table = ScoreTable({"NIS": values}, table_of(models, S_INT))
        own = _pooled("P001-F0-07", table, "NIS", {"form": form}, nearest=form == "as_published")
        if own.effect is not None and own.low is not None and own.high is not None:
            yield own.model_copy(update={"effect": -own.effect, "low": -own.high, "high": -own.low})


def well_learned(models: Sequence[ComparedRecord]) -> list[ComparedRecord]:
    """Models whose concepts are well learned; none, if they are too few to correlate."""
    accuracy = table_of(models, "concept_prediction", by="accuracy").mean(axis=1)
    chosen = [m for m, own in zip(models, accuracy, strict=True) if own > WELL_LEARNED]
    return chosen if len(chosen) >= FEWEST_MODELS else []


def option_tables(
    run: BottleneckRun, models: Sequence[ComparedRecord], table: ScoreTable, converged: ClassFolds
) -> Iterator[OptionTable]:
    """All choices but the published one, one at a time.

    Args:
        run: The models with their stored evidence.
        models: Those in the table, in its order.
        table: Scores as published.
        converged: Accuracy of each training's reference head when it is trained to the end.
    """
    single = replace(table, trainings=True)
    yield OptionTable("P001-O-01", "unit", "model classes", "trainings", single)

    def anew(metric: str, **options: Any) -> ClassFolds:
        return np.stack([run.recomputed(model, metric, **options) for model in models])

    scores = dict(table.scores)
    entropy = replace(table, scores=scores | {"ICL": anew(ICL, normalizer="truth")})
    entries = ("P001-F0-09", "P001-F0-11")
    yield OptionTable("P001-O-02", "entropy", "reference", "true concepts", entropy, entries)
    for k in (5, 10):
        folds = [run.concepts(model) for model in models]
        more = scores | {
            "CTL": np.array([[task_leakage(fold, k) for fold in own] for own in folds]),
            "ICL": np.array([[interconcept_leakage(fold, k) for fold in own] for own in folds]),
        }
        yield OptionTable("P001-O-03", "neighbors", 3, k, replace(table, scores=more))
    after = accuracies_after(run, models)
    for option, name, before, choice, reference in (
        ("P001-O-04", "reference", "head", "one", np.ones(after.shape)),
        ("P001-O-05", "epochs of the reference", 20, "all until it converges", converged),
    ):
        moved = replace(table, against=reference - after)
        yield OptionTable(option, name, before, choice, moved)


def option_moves(published: ScoreTable, other: OptionTable) -> Iterator[OptionMove]:
    """By how much a choice moves correlations, on the same resampled classes."""
    resamples = UnitResamples.draw(len(published.against), "model classes")
    sides = [table.correlations(resamples) for table in (published, other.table)]
    effects = [
        {"P001-F0-08": r["CTL"], "P001-F0-09": r["ICL"], "P001-F0-10": r["CTL"] - r["OIS"],
         "P001-F0-11": r["CTL"] - r["ICL"]}
        for r in sides
    ]  # fmt: skip
    for entry in other.entries:
        moved = effects[1][entry] - effects[0][entry]
        moved[np.abs(moved) < ROUNDING] = 0.0
        if np.isnan(moved[0]):
            continue
        low, high = compute_percentile_ends(moved)
        yield OptionMove(option=other.option, entry=entry, before=other.before,
                         after=other.after, value=float(moved[0]), low=low, high=high)  # fmt: skip


def accuracies_after(run: BottleneckRun, models: Sequence[ComparedRecord]) -> ClassFolds:
    """Accuracy of each training when all its concepts are replaced by the truth."""
    return np.array(
        [[np.asarray(fold.right_after)[:, 0, -1].mean() for fold in run.corrected(model)]
         for model in models]
    )  # fmt: skip


def converged_accuracy(data: Any) -> float:
    """Accuracy on the test samples of a linear head on true concepts, trained to the end.

    Args:
        data: A data set of bottlenecks, by name: truth, labels, and which rows are trained on.
    """
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415  a second that few need

    head = LogisticRegression(C=1e6, max_iter=10_000)
    head.fit(data.truth[data.train], data.labels[data.train])
    return float(head.score(data.truth[data.test], data.labels[data.test]))


def _pooled(
    entry: str, table: ScoreTable, label: str, cell: Mapping[str, Any], *, nearest: bool
) -> EntryAnswer:
    own = table.scores[label]
    pooled = correlation_study(_mean_and_error(own), _mean_and_error(table.against))
    if np.isnan(pooled.r):  # without an effect it has no verdict
        return EntryAnswer(entry=entry, settings=dict(cell), n=len(own), ours={"r": pooled.r})
    return EntryAnswer(
        entry=entry, settings=dict(cell), effect=pooled.r, low=pooled.low, high=pooled.high,
        p=pooled.p, unit="model classes", n=len(own), nearest=nearest,
        min_detectable_effect=detectable_correlation(len(own)), ours={"r": pooled.r},
    )  # fmt: skip


def _mean_and_error(own: ClassFolds) -> tuple[np.ndarray, np.ndarray]:
    return own.mean(axis=1), own.std(axis=1, ddof=1) / np.sqrt(own.shape[1])
