"""Votes that were collected with Label Studio, from its JSON export."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from theodolite._storage.paths import existing
from theodolite._storage.text import read_json
from theodolite.datasets.votes.rows import Vote, explanations_from, plain_name, plain_text
from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import UnsafeInputError

KINDS = ("rating", "number", "choices")


def label_studio_votes(
    path: Path, *, scale: Sequence[float] | None = None, choices: Mapping[str, float] | None = None
) -> VotedExplanations:
    """Read a JSON export: tasks, each with the annotations of several people.

    Answers given by ``Rating``, ``Number`` and ``Choices`` are votes; the control's name is the
    question, ``completed_by`` the rater, the task the explanation. Canceled annotations, answers
    about regions, and what no number can be made of are left out and counted in the notes. Of the
    task's data ``technique``, ``image_key`` (or ``image``), ``context``, ``text`` and ``label`` are
    taken where they are there. No address in it is ever opened.

    Args:
        path: The exported file.
        scale: All answers that could be given.
        choices: The number that each choice stands for; without it choices are read as numbers.
    """
    path = existing(Path(path), "export of Label Studio")
    votes: list[Vote] = []
    explanations: dict[str, ShownExplanation] = {}
    left_out = 0
    for number, task in enumerate(label_studio_tasks(path)):
        item = plain_name(task.get("id", f"task {number}"), f"id of task {number}")
        data = label_studio_data(task)
        words = (plain_text(data.get(word, "")) for word in ("context", "text", "label"))
        context, text, label = words
        explanations[item] = ShownExplanation(context, text, label=label)
        for rater, annotation in label_studio_annotations(task, path):
            for result in label_studio_results(annotation):
                rating = label_studio_number(result, choices)
                if rating is None:
                    left_out += 1
                    continue
                votes.append(_vote(item, rater, result, rating, data))
    if not votes:
        raise UnsafeInputError(f"export {path.name!r}", "no answers", f"some of type {list(KINDS)}")
    data_set = explanations_from(
        votes,
        name=path.name,
        explanations=explanations,
        scale=scale,
        repeated="last",
        tables=(path,),
    )
    if not left_out:
        return data_set
    note = f"{left_out:,} results were no votes (regions, text, other choices)."
    return replace(data_set, notes=(*data_set.notes, note))


def _vote(item: str, rater: str, result: Any, rating: float, data: Mapping[str, Any]) -> Vote:
    return Vote(
        item,
        rater,
        plain_name(result.get("from_name", "rating"), "from_name"),
        rating,
        technique=str(data.get("technique", "")).strip(),
        image=str(data.get("image_key", data.get("image", ""))).strip(),
    )


def label_studio_tasks(path: Path) -> list[dict[str, Any]]:
    """The tasks of an export."""
    tasks = read_json(path, "export of Label Studio")
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise UnsafeInputError(f"export {path.name!r}", "no list of tasks", "the JSON export")
    return tasks


def label_studio_data(task: Mapping[str, Any]) -> Mapping[str, Any]:
    """What was shown in a task."""
    data = task.get("data")
    return data if isinstance(data, dict) else {}


def label_studio_annotations(
    task: Mapping[str, Any], path: Path
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Return who annotated a task, and how; what was canceled is left out."""
    annotations = task.get("annotations", task.get("completions", []))
    if not isinstance(annotations, list):
        raise UnsafeInputError(f"export {path.name!r}", "annotations that are no list", "a list")
    for annotation in annotations:
        if not isinstance(annotation, dict) or annotation.get("was_cancelled"):
            continue
        by = annotation.get("completed_by", "unknown")
        if isinstance(by, dict):  # some versions write the whole user
            by = by.get("id", by.get("email", "unknown"))
        yield plain_name(by, "completed_by"), annotation


def label_studio_results(annotation: Mapping[str, Any]) -> Sequence[Any]:
    """The single answers of an annotation."""
    results = annotation.get("result")
    return results if isinstance(results, list) else ()


def label_studio_number(result: Any, choices: Mapping[str, float] | None = None) -> float | None:
    """The answer as a number, if it is one about the whole task."""
    if not isinstance(result, dict) or result.get("type") not in KINDS:
        return None
    value = result.get("value")
    if not isinstance(value, dict) or {"start", "x", "points"} & set(value):
        return None
    answer = value.get(result["type"])
    if result["type"] == "choices":
        if not isinstance(answer, list) or len(answer) != 1:
            return None
        answer = answer[0]
        if choices is not None:
            return choices.get(str(answer))
    try:
        return None if isinstance(answer, bool | list | dict) else float(answer)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
