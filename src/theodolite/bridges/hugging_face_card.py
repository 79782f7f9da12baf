"""Scores of a run as evaluation results on the Hugging Face Hub: in files of their own, or in the
``model-index`` of a model card."""

import math
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite._runs.finished import read_finished
from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.optional import require
from theodolite._storage.text import write_yaml
from theodolite.report.words import full_title, interval_words, value_text
from theodolite.results import Interval, Score

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, EvalResultEntry, ModelCard

EVAL_RESULTS = Path(".eval_results", "theodolite.yaml")
"""Where the Hub looks for them in the repository of a model."""
MODEL_INDEX = (
    "model-index is what the Hub leaves behind: write .eval_results with write_eval_results, or "
    "theodolite export --eval-results; model-index goes after 0.2"
)


def eval_result_entries(
    folder: Path, dataset_id: str, *, source_url: str | None = None
) -> "list[EvalResultEntry]":
    """The scores behind the verdicts, a number each, for ``.eval_results`` of a model.

    The data set is one of the Hub that is registered as a benchmark; tasks are called
    ``explanation_exists`` and so on. Interval, null and direction are in the notes. Undefined
    scores are left out. A folder whose bytes were changed is refused.
    """
    entry = require("huggingface_hub", "evaluation results", "hub").EvalResultEntry
    run = read_finished(folder)
    return [
        entry(
            dataset_id=dataset_id,
            task_id=f"explanation_{verdict.question}",
            value=verdict.score.value,
            date=run.record.started,
            source_url=source_url,
            source_name=None if source_url is None else "theodolite",
            notes=_notes(verdict.score),
        )
        for verdict in run.verdicts
        if verdict.score is not None and math.isfinite(verdict.score.value)
    ]


def write_eval_results(
    repository: Path, folder: Path, dataset_id: str, *, source_url: str | None = None
) -> Path:
    """Write ``.eval_results/theodolite.yaml`` into a folder that becomes a model's repository."""
    entries = eval_result_entries(folder, dataset_id, source_url=source_url)
    library = require("huggingface_hub", "evaluation results", "hub")
    write_yaml(repository / EVAL_RESULTS, library.eval_result_entries_to_yaml(entries))
    return repository / EVAL_RESULTS


def _notes(score: Score) -> str:
    parts = [full_title(score)]
    interval = score.interval
    if interval is not None:
        ends = interval_words(interval, score)
        parts.append(f"{100 * interval.level:g} % interval {ends}")
    if score.null is not None and math.isfinite(score.null.value):
        parts.append(f"{score.null.shown} {value_text(score.null.value, score)}")
    return "; ".join([*parts, f"{score.better} is better"])


def eval_results(
    folder: Path,
    *,
    every: bool = False,
    task_type: str = "image-classification",
    dataset: tuple[str, str] | None = None,
    source_url: str | None = None,
) -> "list[EvalResult]":
    """The scores behind the verdicts, or ``every`` score, each with interval, null and counts.

    ``dataset`` is its id on the Hub and its name for readers; without it, the data set's name in
    the run stands for both. The Hub moves from ``model-index`` to ``.eval_results`` (see
    ``eval_result_entries``): this stays for one release. Undefined scores are left out: a card has
    no word for them. A folder whose bytes were changed is refused.
    """
    warnings.warn(MODEL_INDEX, FutureWarning, stacklevel=2)
    library = _library()
    run = read_finished(folder)
    scores = [v.score for v in run.verdicts if v.score is not None]
    if every:  # but for what was measured on a stand-in: a card is about the model
        own = run.subject.decides
        scores = [score for score in run.scores if own or score.question != "faithful"]
    answers = {id(v.score): v.answer for v in run.verdicts if v.score is not None}
    kind, name = dataset or _dataset(run.record.spec)
    return [
        library.EvalResult(
            task_type=task_type,
            dataset_type=kind,
            dataset_name=name,
            metric_type=score.metric,
            metric_name=full_title(score),
            metric_value=score.value,
            metric_args=_arguments(score) | _answer(answers.get(id(score))),
            source_name=None if source_url is None else "theodolite",
            source_url=source_url,
        )
        for score in scores
        if math.isfinite(score.value)
    ]


def with_eval_results(card: "ModelCard", folder: Path, **options: Any) -> "ModelCard":
    """A copy of a card with the results of a run in its ``model-index``.

    Results that say the same metric with the same options of the same data are replaced, all
    others are kept. ``options`` goes to ``eval_results``.
    """
    library = _library()
    evaluations = eval_results(folder, **options)
    new_card = library.ModelCard(str(card))
    replaced = {_identity(evaluation) for evaluation in evaluations}
    others = [
        evaluation
        for evaluation in new_card.data.eval_results or []
        if _identity(evaluation) not in replaced
    ]
    if new_card.data.model_name is None:
        new_card.data.model_name = read_finished(folder).record.spec.name
    new_card.data.eval_results = [*others, *evaluations]
    result: ModelCard = new_card
    return result


def _identity(evaluation: "EvalResult") -> tuple[Any, ...]:
    arguments = evaluation.metric_args if isinstance(evaluation.metric_args, dict) else {}
    return (*evaluation.unique_identifier, evaluation.metric_type, str(arguments.get("options")))


def _dataset(spec: RunSpec) -> tuple[str, str]:
    name = spec.name if spec.dataset is None else spec.dataset.name
    return name, name


def _answer(answer: str | None) -> dict[str, str]:
    return {} if answer is None else {"answer": answer}


def _arguments(score: Score) -> dict[str, Any]:
    """What belongs to the value, in plain words that YAML knows."""
    arguments: dict[str, Any] = {
        "question": score.question,
        "options": {k: list(v) if isinstance(v, tuple) else v for k, v in score.options.items()},
        "better": score.better,
        "n": score.n,
        "n_undefined": score.n_undefined,
        "n_of": score.n_of,
    }
    if score.interval is not None:
        arguments["interval"] = _ends(score.interval)
    null = score.null
    if null is not None and math.isfinite(null.value):
        arguments["null"] = {"name": null.name, "value": null.value}
        if null.difference is not None:
            arguments["null"]["difference"] = _ends(null.difference)
    return arguments


def _ends(interval: Interval) -> dict[str, Any]:
    return {
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "over": interval.over,
    }


def _library() -> Any:
    return require("huggingface_hub", "model card", "hub")
