"""The part of a report that compares models."""

from collections.abc import Sequence
from typing import Any

from theodolite._runs.folder.spec import RunSpec
from theodolite._verdicts.from_scores import verdicts as decide
from theodolite._verdicts.scores_file import ComparedRecord, score_of
from theodolite.questions import QUESTIONS
from theodolite.report.tables import Row, Table, score_cell
from theodolite.report.words import ANSWER_WORDS, full_title
from theodolite.results import Score, Verdict

Attribute = float | int | str


def compared_chapter(models: Sequence[ComparedRecord], spec: RunSpec) -> dict[str, Any] | None:
    """All that the page shows of several models; None if there is one."""
    if not models:
        return None
    level = spec.resampling.level
    if are_other_explanations(models):
        tables = [_score_list(model, level) for model in models[1:]]
        return {"tables": tables, "title": "Scores of the compared explanation", "n": 0}
    n = len(models)
    return {"tables": [_table(models, level)], "title": f"All scores of all {n} models", "n": n}


def are_other_explanations(models: Sequence[ComparedRecord]) -> bool:
    """Return whether the other models have no score in common with the first."""
    first, *others = ({score.metric for score in model.scores} for model in models)
    return bool(others) and first.isdisjoint(set().union(*others))


def answers_by_explanation(
    models: Sequence[ComparedRecord], verdicts: Sequence[Verdict]
) -> dict[str, Any] | None:
    """Return the answer of each explanation to each question; None for a single explanation."""
    if len(models) < 2 or not are_other_explanations(models):
        return None
    answered = [verdicts, *(decide([*map(score_of, model.scores)]) for model in models[1:])]
    by_question = [{verdict.question: verdict for verdict in own} for own in answered]
    rows = []
    for question in QUESTIONS:
        own = [of.get(question) for of in by_question]
        cells = [
            ("", "") if v is None or v.score is None or v.answer == "not_evaluated"
            else (ANSWER_WORDS[v.answer], f"n = {v.score.n:,} {v.score.n_unit}")
            for v in own
        ]  # fmt: skip
        if any(word for word, _ in cells):
            rows.append((question.replace("_", "-"), cells))
    notes = [f"{m.name}: {m.about['what']}." for m in models[1:] if "what" in m.about]
    return {"names": [model.name for model in models], "rows": rows, "notes": notes}


def _score_list(model: ComparedRecord, level: float) -> Table:
    scores = [*map(score_of, model.scores)]
    rows = [Row((full_title(score),), (score_cell(score, level),)) for score in scores]
    return Table(("score",), (model.name,), tuple(rows), note=str(model.about.get("what", "")))


def _table(models: Sequence[ComparedRecord], level: float) -> Table:
    scores_by_model = [{_score_key(s): s for s in map(score_of, m.scores)} for m in models]
    columns = list(dict.fromkeys(key for model_scores in scores_by_model for key in model_scores))
    firsts = [
        next(model_scores[key] for model_scores in scores_by_model if key in model_scores)
        for key in columns
    ]
    heads = [full_title(s) + (" (%)" if s.bounds == (0.0, 1.0) else "") for s in firsts]
    rows = []
    for model, what, scores in zip(models, _descriptions(models), scores_by_model, strict=True):
        cells = (score_cell(scores.get(key), level, half=True) for key in columns)
        rows.append(Row((model.name, what), tuple(cells)))
    several = any(len(s.per_seed) > 1 for own in scores_by_model for s in own.values())
    of = "Mean over seeds" if several else "The score"
    interval = f"{of} ± half the {100 * level:g} % interval"
    note = f"{interval}; then the strongest baseline, with ✗ if the score is not better."
    return Table(("model", "description"), tuple(heads), tuple(rows), note=note)


def attribute_text(value: Attribute) -> str:
    """Return what describes a model, as text."""
    return value if isinstance(value, str) else f"{value:g}"


def _score_key(score: Score) -> tuple[str, str]:
    return score.metric, str(sorted(score.options.items()))


def _descriptions(models: Sequence[ComparedRecord]) -> list[str]:
    """Of each model what is not the same in all."""
    names = dict.fromkeys(name for model in models for name in model.about if name != "name")
    differ = [name for name in names if len({model.about.get(name) for model in models}) > 1]
    return [
        ", ".join(
            attribute_text(model.about[name])
            if name == "what"  # a sentence by itself
            else f"{name.replace('_', ' ')} {attribute_text(model.about[name])}"
            for name in differ
            if name in model.about
        )
        for model in models
    ]
