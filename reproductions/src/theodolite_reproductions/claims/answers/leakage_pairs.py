"""Models that look alike but fare differently when corrected, and how concepts differ."""

import itertools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from theodolite._verdicts.scores_file import ComparedRecord, Filter
from theodolite_reproductions.claims.answers.bottleneck_scores import (
    CTL,
    ICL,
    OIS,
    S_INT,
    BottleneckRun,
    fold_values,
    folds_answer,
    score_value,
)
from theodolite_reproductions.claims.results import EntryAnswer
from theodolite_reproductions.findings.pairs import lookalikes

PRINTED = {
    "soft, lambda 5": {"c_acc": 0.993, "c_F1": 0.992, "c_AUC": 0.992, "y_acc": 0.99, "y_F1": 0.99,
                       "S_int": 0.0},
    "logit, lambda 5": {"c_acc": 0.995, "c_F1": 0.995, "c_AUC": 0.995, "y_acc": 0.991,
                        "y_F1": 0.991, "S_int": 0.301},
}  # fmt: skip
"""Table 1, TabularToy; the area of the task is left out, as a run keeps classes and no scores."""
SOFT: Filter = {"data": "complete", "encoding": "soft", "concept_weight": 5}
LOGIT: Filter = {"data": "complete", "encoding": "logit", "concept_weight": 5}
JOINT: Filter = {"kind": "cbm", "training": "joint", "head": "linear"}
SPREADS: tuple[Filter, ...] = (
    LOGIT, SOFT, SOFT | {"concept_weight": 0.01}, LOGIT | {"concept_weight": 0.01},
)  # fmt: skip


def printed_pair(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """Ours minus the printed figure, for each score of the two models of Table 1."""
    for (name, printed), where in zip(PRINTED.items(), (SOFT, LOGIT), strict=True):
        model = run.the(where)
        ours = {
            "c_acc": fold_values(model, "concept_prediction", by="accuracy"),
            "c_F1": fold_values(model, "concept_prediction", by="f1"),
            "c_AUC": fold_values(model, "concept_prediction", by="auc"),
            "y_acc": fold_values(model, "task_accuracy"),
            "y_F1": np.array([_task_f1(fold.predicted, fold.labels)
                              for fold in run.concepts(model)]),
            "S_int": fold_values(model, S_INT),
        }  # fmt: skip
        for score, theirs in printed.items():
            cell = {"model": name, "score": score}
            mean = {score: float(ours[score].mean())}
            nearest = cell == {"model": "logit, lambda 5", "score": "S_int"}
            yield folds_answer("P001-T1-01", ours[score] - theirs, cell, mean, nearest=nearest)


def _task_f1(predicted: np.ndarray | None, labels: np.ndarray | None) -> float:
    """F1 of the second class."""
    positive, right = np.asarray(predicted) == 1, np.asarray(labels) == 1
    return float(2 * (positive & right).sum() / (positive.sum() + right.sum()))


def pair_answers(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """Score by score in each pair that looks alike; the one farthest apart comes first.

    Where no two models look alike, there is nothing to tell apart.
    """
    pairs = sorted(
        lookalikes(run.such(JOINT)),
        key=lambda pair: -float(_gap(pair[0], pair[1], S_INT).mean()),
    )
    if not pairs:
        for entry in ("P001-F0-01", "P001-F0-02", "P001-F0-03"):
            yield EntryAnswer(entry=entry, nearest=True, reason="task cannot show it")
    for number, (more, less) in enumerate(pairs):
        first = number == 0
        alike = {"more": more.name, "less": less.name}
        apart = {"S_int apart": float(_gap(more, less, S_INT).mean())}
        for entry, label, gap, nearest in (
            ("P001-F0-01", "CTL", _gap(more, less, CTL), True),
            ("P001-F0-01", "ICL", _gap(more, less, ICL), False),
            ("P001-F0-02", "OIS", _gap(more, less, OIS), True),
            ("P001-F0-03", "area", _gap(more, less, "concept_prediction", by="auc"), True),
            ("P001-F0-03", "accuracy", _gap(more, less, "concept_prediction", by="accuracy"),
             False),
        ):  # fmt: skip
            cell = alike | {"score": label}
            yield folds_answer(entry, gap, cell, apart, nearest=first and nearest)


def _gap(
    more: ComparedRecord, less: ComparedRecord, metric: str, **options: str
) -> Float[np.ndarray, " folds"]:
    own, other = (fold_values(model, metric, **options) for model in (more, less))
    return np.asarray(own - other)


def concept_spread(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """Spread of CTL over concepts, less that of permuted concepts within folds."""
    for number, where in enumerate(SPREADS):
        model = run.the(where)
        own = np.stack([score_value(CTL, fold) for fold in run.concepts(model)])
        ours = {f"concept {j + 1}": float(v) for j, v in enumerate(own.mean(axis=0))}
        yield folds_answer(
            "P001-F0-32", jackknifed(own), {"model": model.name}, ours, nearest=number == 0
        )


def jackknifed(own: Float[np.ndarray, "folds concepts"]) -> Float[np.ndarray, " folds"]:
    """Tukey's pseudo-values of the surplus of spread, one for each fold that is left out."""
    n, whole = len(own), spread_surplus(own)
    parts = np.array([spread_surplus(np.delete(own, fold, axis=0)) for fold in range(n)])
    return np.asarray(n * whole - (n - 1) * parts)


def spread_surplus(own: Float[np.ndarray, "folds concepts"]) -> float:
    """Standard deviation of the concepts' means, less its mean over all ways to deal concepts out
    within folds.

    >>> same, other = np.array([[0.0, 1], [0, 1]]), np.array([[0.0, 1], [1, 0]])
    >>> spread_surplus(same), spread_surplus(other)
    (0.25, -0.25)
    """
    orders = [list(order) for order in itertools.permutations(range(own.shape[1]))]
    sums = own[:1]  # the first fold may stay: only how folds lie to each other matters
    for fold in own[1:]:
        sums = (sums[:, None] + fold[np.array(orders)][None]).reshape(-1, own.shape[1])
    dealt = _spreads(sums / len(own))
    return float(_spreads(own.mean(axis=0)[None])[0] - dealt.mean())


def _spreads(means: Float[np.ndarray, "ways concepts"]) -> Float[np.ndarray, " ways"]:
    return np.asarray(means.std(axis=1))
