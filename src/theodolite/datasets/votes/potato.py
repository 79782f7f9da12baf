"""Votes that were collected with Potato, from its folder of annotations or an exported table."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from theodolite._storage.text import json_from, read_json, read_text
from theodolite.datasets.votes.rows import Vote, explanations_from, plain_name, plain_text
from theodolite.datasets.votes.table import rows_of
from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import UnsafeInputError

LINES, POTATO_STATE = "annotated_instances.jsonl", "user_state.json"
NO = (False, None, "", "false", "False", "0")
FREE = ("", "slider", "number", "text_box", "textbox", "value", "free_response")
"""Names of a label that has a number as its value."""
Annotation = tuple[str, str, Any, str]
"""Rater, item, answers by question, and the text that was shown."""


def potato_votes(
    path: Path, *, scale: Sequence[float] | None = None, labels: Mapping[str, float] | None = None
) -> VotedExplanations:
    """Read ``annotation_output`` of Potato, one of its files, or its exported table.

    A folder has one folder per rater with ``annotated_instances.jsonl`` or ``user_state.json``; a
    table (.csv, .csv.gz, .parquet) has ``instance_id``, ``user_id`` and a column per question. Of
    a Likert item the answer is the number in its label (``scale_4``), of a slider its value. What
    no number can be made of is left out and counted in the notes.

    Args:
        path: The folder or file.
        scale: All answers that could be given.
        labels: The number that each label stands for, where labels are words.
    """
    path = Path(path)
    files = potato_files(path)
    votes: list[Vote] = []
    explanations: dict[str, ShownExplanation] = {}
    left_out = 0
    for file in files:
        for rater, item, answers, text in potato_annotations(file):
            explanations.setdefault(item, ShownExplanation(text=plain_text(text)))
            for question, answer in potato_by_question(answers).items():
                rating = potato_number(answer, question, labels)
                if rating is None:
                    left_out += 1
                else:
                    votes.append(Vote(item, rater, plain_name(question, "question"), rating))
    if not votes:
        raise UnsafeInputError(
            f"annotations {path.name!r}", "no numbers", "Likert items or sliders"
        )
    data_set = explanations_from(
        votes, name=path.name, explanations=explanations, scale=scale, repeated="last", tables=files
    )
    if not left_out:
        return data_set
    note = f"{left_out:,} answers were no numbers and are left out."
    return replace(data_set, notes=(*data_set.notes, note))


def potato_files(path: Path) -> tuple[Path, ...]:
    """The files of annotations: of a folder one for each rater."""
    if not path.is_dir():
        return (path,)
    files = [
        next(file for name in (LINES, POTATO_STATE) if (file := folder / name).is_file())
        for folder in sorted(path.iterdir())
        if folder.is_dir() and any((folder / name).is_file() for name in (LINES, POTATO_STATE))
    ]
    if not files:
        raise UnsafeInputError(
            f"folder {path.name!r}", f"no {LINES} or {POTATO_STATE}", "one per rater"
        )
    return tuple(files)


def potato_annotations(file: Path) -> Iterator[Annotation]:
    """Return who said what about what, in the order of the file."""
    if file.suffix == ".jsonl":
        for line in read_text(file, "annotations").splitlines():
            if line.strip():
                record = _object(json_from(line.encode(), file.name), file)
                rater = record.get("user_id", record.get("user", file.parent.name))
                item = record.get("instance_id", record.get("id", ""))
                text = str(record.get("displayed_text", ""))
                yield *_names(rater, item), record.get("label_annotations", {}), text
    elif file.suffix == ".json":
        state = _object(read_json(file, "annotations"), file)
        answers = _object(state.get("instance_id_to_label_to_value", {}), file)
        for item, item_answers in answers.items():
            yield *_names(state.get("user_id", file.parent.name), item), item_answers, ""
    else:
        for row in rows_of(file):
            left = dict(row)
            rater, item = left.pop("user_id", left.pop("user", "")), left.pop("instance_id", "")
            text = str(left.pop("displayed_text", "") or "")
            yield *_names(rater, item), {q: {"": answer} for q, answer in left.items()}, text


def _names(rater: Any, item: Any) -> tuple[str, str]:
    return plain_name(rater, "user_id"), plain_name(item, "instance_id")


def _object(content: Any, file: Path) -> dict[str, Any]:
    if not isinstance(content, dict):
        raise UnsafeInputError(f"annotations {file.name!r}", type(content).__name__, "an object")
    return content


def potato_by_question(answers: Any) -> dict[str, Any]:
    """Answers by question: newer files have pairs of a label and its value instead."""
    if isinstance(answers, dict):
        return answers
    labels_by_question: dict[str, Any] = {}
    for pair in answers if isinstance(answers, list) else ():
        if isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], dict):
            schema, name = str(pair[0].get("schema", "")), str(pair[0].get("name", ""))
            labels_by_question.setdefault(schema, {})[name] = pair[1]
    return labels_by_question


def potato_number(
    answer: Any, question: str, labels: Mapping[str, float] | None = None
) -> float | None:
    """The one label that was chosen, as a number."""
    if isinstance(answer, dict) and set(answer) == {"labels"}:
        answer = answer["labels"]
    if not isinstance(answer, dict):
        return None
    free = {name: value for name, value in answer.items() if name in (*FREE, question)}
    if free:
        return _read(next(iter(free.values())), labels)
    chosen = [name for name, value in answer.items() if value not in NO]
    if len(chosen) != 1:
        return None
    number = re.fullmatch(r"(?:.*[_ ])?(-?\d+(?:\.\d+)?)", chosen[0])
    return float(number[1]) if number and labels is None else _read(chosen[0], labels)


def _read(value: Any, labels: Mapping[str, float] | None) -> float | None:
    if labels is not None and str(value) in labels:
        return float(labels[str(value)])
    try:
        return None if isinstance(value, bool) or value is None else float(value)
    except (TypeError, ValueError):
        return None
