"""Answers to entries of Parisini et al. (2025) from runs of bottlenecks on TabularToy."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite._runs.folder.registry import build_registered
from theodolite._runs.folder.spec import Named
from theodolite._verdicts.scores_file import ComparedRecord, Filter
from theodolite.metrics.leak_free._terms import auc_terms
from theodolite.metrics.leak_free.impurity import JOINT, fitted, impurity, split
from theodolite_reproductions.claims.answers.bottleneck_scores import (
    CTL,
    ICL,
    NIS,
    OIS,
    S_INT,
    BottleneckRun,
    Folds,
    fold_values,
    folds_answer,
    folds_interval,
)
from theodolite_reproductions.claims.answers.leakage_correlations import (
    OptionTable,
    accuracies_after,
    classes_of,
    converged_accuracy,
    correlation_answers,
    niche_answers,
    option_moves,
    option_tables,
    published_table,
    table_answers,
    well_learned,
)
from theodolite_reproductions.claims.answers.leakage_pairs import (
    concept_spread,
    pair_answers,
    printed_pair,
)
from theodolite_reproductions.claims.answers.more_neighbors import task_leakage
from theodolite_reproductions.claims.answers.resampled import Draws, UnitResamples, answer_from
from theodolite_reproductions.claims.results import EntryAnswer, OptionMove

TOY, RELATED = "TabularToy(0.25)", "TabularToy(0.75)"
SUPERVISED = (0.01, 0.1, 0.5, 1, 5, 10, 20, 50)
"""Weights of the soft models."""
HEAVY = (10, 20, 50)
SURE = 0.9
"""Task accuracy of which the paper counts folds."""


@dataclass(frozen=True)
class Contrast:
    """A score of some models minus that of others, fold by fold."""

    entry: str
    metric: str
    more: Filter
    less: Filter | None = None
    cell: Mapping[str, Any] | None = None
    nearest: bool = False


def _soft(weight: float, data: str = "complete", head: str = "linear") -> Filter:
    own: Filter = {"data": data, "encoding": "soft", "kind": "cbm", "head": head}
    return own | {"concept_weight": weight}


def _logit(weight: float) -> Filter:
    return {"data": "complete", "encoding": "logit", "concept_weight": weight}


def _vectors(weight: float, rate: float) -> Filter:
    return {"kind": "cem", "concept_weight": weight, "intervention_rate": rate}


HARD: Filter = {"data": "complete", "encoding": "hard"}
STRONG, WEAK = _vectors(10, 0.75), _vectors(0.01, 0)
CONTRASTS = (
    Contrast("P001-F0-04", CTL, HARD, cell={"score": "CTL"}, nearest=True),
    Contrast("P001-F0-04", ICL, HARD, cell={"score": "ICL"}),
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
)  # fmt: skip
"""What is one difference or one level."""
OF_TASKS = (
    *(
        Contrast(
            "P001-F0-19", CTL, _soft(w, "incomplete"), _soft(w), {"lambda": w}, nearest=w == 1
        )
        for w in (0.01, 1, 10)
    ),
    Contrast(
        "P001-F0-20", "task_accuracy", _soft(0.01, "incomplete"), _soft(0.01), nearest=True
    ),
    *(
        Contrast(
            entry, CTL, _soft(w, "parity"), less, {"task": "parity", "beside": beside, "lambda": w},
        )
        for beside, task, head in (("a linear task", "complete", "linear"),
                                   ("a head that can do it", "parity", "mlp"))
        for entry, weights in (("P001-F0-21", (0.01, 1, 10)), ("P001-F0-22", (10,)))
        for w in weights
        for less in (_soft(w, task, head),)
    ),
)  # fmt: skip
OF_VECTORS = (
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


def leakage_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """What the run says of parisini2025; folds are paired, since all models share them."""
    run = BottleneckRun.read(folder)
    models = classes_of(run)
    table = published_table(models)
    others = list(option_tables(run, models, table, _converged(len(models), len(run.seeds))))
    answers = [_contrast(contrast, run) for contrast in CONTRASTS]
    answers += table_answers(table, "P001-T2-01", TOY)
    answers += correlation_answers(table, {"data": TOY}, nearest=True)
    learned = well_learned(models)
    if learned:
        cell = {"data": TOY, "concept accuracy": "above 0.95"}
        answers += correlation_answers(published_table(learned), cell, nearest=False)
    for other in others:
        answers += _other_choice(other)
    for part in (_hard_impurity, _slopes, _heavy, _least, _best_range, _niches, printed_pair,
                 pair_answers, concept_spread):  # fmt: skip
        answers += part(run)
    moves = [move for other in others for move in option_moves(table, other)]
    return answers, [*moves, *_neighbor_moves(run)]


def task_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """Incomplete concepts, and parity in place of the printed task with a product."""
    run = BottleneckRun.read(folder)
    answers = [_contrast(contrast, run) for contrast in OF_TASKS]
    for entry in ("P001-F0-21", "P001-F0-22"):  # a linear head solves the printed task
        task = {"task": "as printed"}
        answers.append(EntryAnswer(entry=entry, settings=task, reason="task cannot show it"))
    return answers, []


def embedding_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """Embedding models."""
    run = BottleneckRun.read(folder)
    answers = [_contrast(contrast, run) for contrast in OF_VECTORS]
    return answers + list(_vector_correlations(run)), list(_reference_moves(run))


def related_answers(folder: Path) -> tuple[list[EntryAnswer], list[OptionMove]]:
    """The same correlations where true concepts are related."""
    run = BottleneckRun.read(folder)
    table = published_table(classes_of(run))
    answers = list(table_answers(table, "P001-T2-04", RELATED))
    return answers + list(correlation_answers(table, {"data": RELATED}, nearest=False)), []


def _contrast(contrast: Contrast, run: BottleneckRun) -> EntryAnswer:
    more = fold_values(run.the(contrast.more), contrast.metric)
    ours = {contrast.metric: float(more.mean())}
    values = more
    if contrast.less is not None:
        less = fold_values(run.the(contrast.less), contrast.metric)
        values, ours = more - less, ours | {"taken off": float(less.mean())}
    return folds_answer(contrast.entry, values, contrast.cell or {}, ours, nearest=contrast.nearest)


def _hard_impurity(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """OIS of hard models less that of true concepts on one half of the test and on the other.

    A norm is never negative: noise alone lifts it above 0.
    """
    values = fold_values(run.the(HARD), OIS)
    null = np.array([halves_impurity(seed) for seed in run.seeds])
    ours = {OIS: float(values.mean()), "true concepts on two halves": float(null.mean())}
    yield folds_answer("P001-F0-05", values - null, {}, ours, nearest=True)


def halves_impurity(seed: int) -> float:
    """The oracle impurity of the true concepts of TabularToy between two halves of its test."""
    data = build_registered("datasets", Named(name="tabular_toy", delta=0.25), Path())
    truth = data.truth[np.random.default_rng(seed).permutation(data.test)]
    return float(impurity(*(_areas(half, seed) for half in np.array_split(truth, 2))))


def _areas(truth: np.ndarray, seed: int) -> Float[np.ndarray, "concepts concepts"]:
    """How well each true concept predicts each other."""
    train, test = split(len(truth), seed)
    rows = []
    for source in truth.T[:, :, None].astype(float):
        network = fitted(source[train], truth[train], size=JOINT, seed=seed)
        columns = zip(network(source[test]).T, truth[test].T, strict=True)
        rows.append([float(np.mean(auc_terms(own, true))) for own, true in columns])
    return np.array(rows)


def _other_choice(other: OptionTable) -> Iterator[EntryAnswer]:
    cell = {"data": TOY, other.name: other.after}
    for answer in correlation_answers(other.table, cell, nearest=False):
        if answer.entry in other.entries:
            yield answer


def _converged(n_models: int, n_folds: int) -> Float[np.ndarray, "models folds"]:
    """The reference of every model: all have the same task, folds and kind of head."""
    data = build_registered("datasets", Named(name="tabular_toy", delta=0.25), Path())
    each = [converged_accuracy(data.folded(fold, n_folds)) for fold in range(n_folds)]
    return np.tile(each, (n_models, 1))


def _slopes(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """Return how far leakage falls with lambda, of soft models minus of logit ones."""
    soft, logit = (
        fold_values(run.the(side(0.01)), CTL) - fold_values(run.the(side(10)), CTL)
        for side in (_soft, _logit)
    )
    ours = {"fall, soft": float(soft.mean()), "fall, logit": float(logit.mean())}
    yield folds_answer("P001-F0-17", soft - logit, {}, ours, nearest=True)


def _by_weight(
    run: BottleneckRun, metric: str, weights: Sequence[float] = SUPERVISED
) -> Float[np.ndarray, "weights folds"]:
    return np.stack([fold_values(run.the(_soft(weight)), metric) for weight in weights])


def _heavy(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """Change from lambda 10 to 50 along a line on log lambda: accuracy falls, or CTL rises."""
    x = np.log(HEAVY) - np.mean(np.log(HEAVY))
    slope = x / (x**2).sum() * (np.log(HEAVY[-1]) - np.log(HEAVY[0]))
    for metric, sign in (("task_accuracy", -1), (CTL, 1)):
        values = _by_weight(run, metric, HEAVY)
        ours: dict[str, float] = {f"at {w}": float(v.mean())
                                  for w, v in zip(HEAVY, values, strict=True)}  # fmt: skip
        if metric == "task_accuracy":
            ours |= {f"folds above 0.9 at {w}": float((v > SURE).sum())
                     for w, v in zip(HEAVY, values, strict=True)}  # fmt: skip
        change = sign * np.einsum("w,wf->f", slope, values)
        yield folds_answer("P001-F0-14", change, {"score": metric}, ours, nearest=sign < 0)


def at_the_least(values: Float[np.ndarray, "weights folds"]) -> tuple[Folds, list[int]]:
    """Each fold's value at the weight that is best in the other folds, and which that is.

    The smallest of several means is too small; chosen by other folds, it is not.
    """
    others = (values.sum(axis=1, keepdims=True) - values) / (values.shape[1] - 1)
    best = others.argmin(axis=0)
    return values[best, np.arange(values.shape[1])], best.tolist()


def _least(run: BottleneckRun) -> Iterator[EntryAnswer]:
    values = _by_weight(run, CTL)
    least, _ = at_the_least(values)
    ours = {"CTL": float(least.mean())}
    yield folds_answer("P001-F0-13", least, {}, ours, nearest=True)


def _best_range(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """How far leakage at either end of what was tried lies above the least, which a range has to
    leave out; and which weights are not surely above it."""
    for label, metric in (("CTL", CTL), ("ICL", ICL)):
        values = _by_weight(run, metric)
        least, _ = at_the_least(values)
        within = [w for w, own in zip(SUPERVISED, values, strict=True)
                  if folds_interval(own - least)[1] <= 0]  # fmt: skip
        ours = {"from lambda": min(within), "to lambda": max(within)} if within else {}
        for end, own in (("below", values[0]), ("above", values[-1])):
            cell = {"score": label, "end": end}
            nearest = (label, end) == ("CTL", "below")
            yield folds_answer("P001-F0-15", own - least, cell, ours, nearest=nearest)


def _niches(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """NIS of hard models on the plotted scale, and over classes; in both forms."""
    models, hard = classes_of(run), run.the(HARD)

    def of(model: ComparedRecord, form: str) -> Folds:
        if form == "as_published":
            return fold_values(model, NIS, form=form)
        return run.recomputed(model, NIS, form=form)

    forms = ("as_published", "defined")
    for form in forms:
        values = 2 * (of(hard, form) - 0.5)
        ours = {"scaled NIS": float(values.mean())}
        nearest = form == "as_published"
        yield folds_answer("P001-F0-06", values, {"form": form}, ours, nearest=nearest)
    tables = {form: np.stack([of(model, form) for model in models]) for form in forms}
    yield from niche_answers(models, tables)


def _vector_correlations(run: BottleneckRun) -> Iterator[EntryAnswer]:
    """Over trainings of embedding models."""
    chosen = run.such({"kind": "cem"})

    def each(metric: str) -> Float[np.ndarray, " trainings"]:
        return np.concatenate([fold_values(model, metric) for model in chosen])

    accuracy, information = each("task_accuracy"), each("embedding_task_information")
    resamples = UnitResamples.draw(len(accuracy), "trainings")
    for entry, metric, other, cell, nearest in (
        ("P001-F0-23", "embedding_task_information", accuracy, {}, True),
        ("P001-F0-24", "concept_prediction", accuracy, {"with": "task accuracy"}, True),
        ("P001-F0-24", "concept_prediction", information, {"with": "task information"}, False),
    ):
        r: Draws = resamples.correlation(each(metric), other)
        ours = {"r": float(r[0])}
        yield answer_from(entry, r, resamples, len(other), cell, ours, nearest=nearest)


def _neighbor_moves(run: BottleneckRun) -> Iterator[OptionMove]:
    """What other numbers of neighbors do to the fall of CTL from lambda 0.01 to 1."""
    low, high = run.the(_soft(0.01)), run.the(_soft(1))
    published = fold_values(low, CTL) - fold_values(high, CTL)
    for k in (5, 10):
        ends = (np.array([task_leakage(fold, k) for fold in run.concepts(m)]) for m in (low, high))
        yield _fold_move("P001-O-03", "P001-F0-12", 3, k, next(ends) - next(ends) - published)


def _reference_moves(run: BottleneckRun) -> Iterator[OptionMove]:
    """What other references do to S_int of embedding models."""
    model = run.the(STRONG)
    after, published = accuracies_after(run, [model])[0], fold_values(model, S_INT)
    converged = _converged(1, len(run.seeds))[0]
    for option, before, choice, reference in (
        ("P001-O-04", "head", "one", np.ones(len(after))),
        ("P001-O-05", 20, "all until it converges", converged),
    ):
        moved = reference - after - published
        yield _fold_move(option, "P001-F0-30", before, choice, moved)


def _fold_move(option: str, entry: str, before: Any, after: Any, moved: Folds) -> OptionMove:
    value, low, high, _ = folds_interval(moved)
    return OptionMove(option=option, entry=entry, before=before, after=after, value=value,
                      low=low, high=high)  # fmt: skip
