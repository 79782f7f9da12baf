"""Scores of a run as evaluation results of a model card on the Hugging Face Hub."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.errors import EvidenceError
from theodolite.report.words import full_title
from theodolite.results import Interval, Score
from theodolite.run_folder.spec import RunSpec
from theodolite.runs.finished import read_finished

if TYPE_CHECKING:
    from huggingface_hub import EvalResult, ModelCard


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
    the run stands for both. Undefined scores are left out: a card has no word for them. A folder
    whose bytes were changed is refused.
    """
    library = _library()
    run = read_finished(folder)
    shown = run.scores if every else [v.score for v in run.verdicts if v.score is not None]
    said = {id(v.score): v.answer for v in run.verdicts if v.score is not None}
    kind, name = dataset or _dataset(run.record.spec)
    return [
        library.EvalResult(
            task_type=task_type,
            dataset_type=kind,
            dataset_name=name,
            metric_type=score.metric,
            metric_name=full_title(score),
            metric_value=score.value,
            metric_args=_arguments(score) | _answer(said.get(id(score))),
            source_name=None if source_url is None else "theodolite",
            source_url=source_url,
        )
        for score in shown
        if math.isfinite(score.value)
    ]


def with_eval_results(card: "ModelCard", folder: Path, **given: Any) -> "ModelCard":
    """A copy of a card with the results of a run in its ``model-index``.

    Results that say the same metric with the same options of the same data are replaced, all
    others are kept. ``given`` goes to ``eval_results``.
    """
    library = _library()
    new = eval_results(folder, **given)
    made = library.ModelCard(str(card))
    replaced = {_identity(one) for one in new}
    kept = [one for one in made.data.eval_results or [] if _identity(one) not in replaced]
    if made.data.model_name is None:
        made.data.model_name = read_finished(folder).record.spec.name
    made.data.eval_results = [*kept, *new]
    result: ModelCard = made
    return result


def _identity(one: "EvalResult") -> tuple[Any, ...]:
    arguments = one.metric_args if isinstance(one.metric_args, dict) else {}
    return (*one.unique_identifier, one.metric_type, str(arguments.get("options")))


def _dataset(spec: RunSpec) -> tuple[str, str]:
    name = spec.name if spec.dataset is None else spec.dataset.name
    return name, name


def _answer(answer: str | None) -> dict[str, str]:
    return {} if answer is None else {"answer": answer}


def _arguments(score: Score) -> dict[str, Any]:
    """What belongs to the value, in plain words that YAML knows."""
    found: dict[str, Any] = {
        "question": score.question,
        "options": {k: list(v) if isinstance(v, tuple) else v for k, v in score.options.items()},
        "better": score.better,
        "n": score.n,
        "n_undefined": score.n_undefined,
        "n_of": score.n_of,
    }
    if score.interval is not None:
        found["interval"] = _ends(score.interval)
    null = score.null
    if null is not None and math.isfinite(null.value):
        found["null"] = {"name": null.name, "value": null.value}
        if null.difference is not None:
            found["null"]["difference"] = _ends(null.difference)
    return found


def _ends(interval: Interval) -> dict[str, Any]:
    return {
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "over": interval.over,
    }


def _library() -> Any:
    try:
        import huggingface_hub  # noqa: PLC0415
    except ImportError as error:
        raise EvidenceError(
            "model card", "no huggingface_hub", "it", "Install it: pip install huggingface_hub."
        ) from error
    return huggingface_hub
