"""Write a study as a Potato project, and read its annotations back as our tables.

What is lost: Potato shows the explanation together with the image, so nobody can prove that the
own answer came first; its cap on votes is counted when they are given, so that explanations can get
more or fewer than n (of more the first n are counted, and it is said where there are fewer); nor
does it store when an answer was given: the order is that of each person's own items. Consent,
practice and hidden checks stay with our server.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from theodolite.errors import UnsafeInputError
from theodolite.ext.studies import (
    POTATO_STATE,
    Material,
    all_or_nothing,
    image_path,
    image_size,
    json_from,
    plain_text,
    potato_annotations,
    potato_by_question,
    potato_files,
    potato_number,
    read_json,
    write_yaml,
)
from theodolite_study.convert.foreign_answers import (
    ConvertedTables,
    ForeignAnswer,
    Frame,
    convert_answers,
    scale_frame,
)
from theodolite_study.convert.project_pages import IMAGES, Page, build_pages, is_always_asked
from theodolite_study.protocol import QUESTIONS, Protocol

CONFIG, DATA = "config.yaml", "data/instances.json"
TEXT, BOXES = "before_text", "before_boxes"
PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


def write_potato(folder: Path, material: Material, protocol: Protocol, out: Path) -> None:
    """Write a Potato project: configuration, data file and the images as its media.

    Args:
        folder: The study folder.
        material: What it shows.
        protocol: What it asks.
        out: A new folder.
    """
    study_pages = build_pages(folder, material, protocol, out)
    lines = [json.dumps(_data(page), ensure_ascii=False) for page in study_pages]
    with all_or_nothing(out / DATA) as stream:
        stream.write("".join(line + "\n" for line in lines).encode())
    write_yaml(out / CONFIG, _configuration(material, protocol, list(study_pages[0].twins)))


def make_identifier(key: str) -> str:
    """Return the identifier of an explanation in Potato, valid as an element and file name."""
    if PLAIN.fullmatch(key):
        return key
    return f"x-{hashlib.sha256(key.encode()).hexdigest()[:24]}"


def _data(page: Page) -> dict[str, str]:
    def file(name: str) -> str:
        return f"/media/{name}"

    data = {
        "id": make_identifier(page.instance.key),
        "image": file(page.image),
        "before": page.before,
        "explanation": file(page.explanation),
        "explained": page.text,
    }
    for question, (image, explanation, text) in page.twins.items():
        data |= {
            f"{question}_image": file(image),
            f"{question}_explanation": file(explanation),
            f"{question}_explained": text,
        }
    return data


def _configuration(material: Material, protocol: Protocol, twins: list[str]) -> dict[str, Any]:
    fields = [
        {"key": "before", "type": "text"},
        {"key": "image", "type": "image", "label": "Image"},
        {"key": "explanation", "type": "image", "label": "Explanation"},
        {"key": "explained", "type": "text"},
    ]
    for question in twins:
        fields += [
            {"key": f"{question}_image", "type": "image", "label": "Changed image"},
            {"key": f"{question}_explanation", "type": "image", "label": "Its explanation"},
            {"key": f"{question}_explained", "type": "text"},
        ]
    return {
        "annotation_task_name": plain_text(protocol.title),
        "task_dir": ".",
        "output_annotation_dir": "annotation_output/",
        "data_files": [DATA],
        "item_properties": {"id_key": "id", "text_key": "image"},
        "media_directory": IMAGES,
        "user_config": {"allow_all_users": True, "users": []},
        "num_annotators_per_item": protocol.votes,
        "max_annotations_per_user": protocol.quota,
        "assignment_strategy": "random",
        "random_seed": protocol.seed % 2**31,
        "instance_display": {"fields": fields, "layout": {"direction": "vertical"}},
        "annotation_schemes": _schemes(material, protocol, twins),
    }


def _schemes(material: Material, protocol: Protocol, twins: list[str]) -> list[dict[str, Any]]:
    boxes = {
        "annotation_type": "image_annotation",
        "name": BOXES,
        "description": plain_text(protocol.before_boxes),
        "source_field": "image",
        "tools": ["bbox"],
        "labels": [{"name": "part", "color": "#6e56cf"}],
    }
    text = {
        "annotation_type": "text",
        "name": TEXT,
        "description": "Say it in your own words.",
        "multiline": True,
        "rows": 3,
        "label_requirement": {"required": True},
    }
    likert = [
        {
            "annotation_type": "likert",
            "name": name,
            "description": plain_text(question.text),
            "size": 5,
            "min_label": plain_text(question.low),
            "max_label": plain_text(question.high),
            "displaying_score": True,
            "label_requirement": {"required": is_always_asked(name, material)},
        }
        for name, question in protocol.questions.items()
        if name in twins or is_always_asked(name, material)
    ]
    return [boxes, text, *likert]


def read_potato(
    path: Path, folder: Path, material: Material, protocol: Protocol
) -> ConvertedTables:
    """Read the tables from a folder ``annotation_output``, or from one of its files.

    Boxes come as shares of the image and are turned into pixels of the study folder's own. Times
    are not known: both columns are empty, and votes are in the order of people's own items.
    """
    keys = {make_identifier(instance.key): instance.key for instance in material.of("real")}
    sizes = {instance.key: instance.shown.image or "" for instance in material.of("real")}

    def size(key: str) -> tuple[int, int]:
        return image_size(image_path(folder, sizes[key]))

    answers: list[ForeignAnswer] = []
    for file in potato_files(Path(path)):
        order = _order(file)
        for place, (rater, item, annotation, _) in enumerate(potato_annotations(file)):
            if item not in keys:
                raise UnsafeInputError(
                    "answers", f"instance {item!r}"[:80], "instances of this study"
                )
            at = (order.get(item, len(order) + place), rater)
            answers.append(
                _answered(keys[item], rater, at, potato_by_question(annotation), size(keys[item]))
            )
    return convert_answers(answers, material, protocol)


def _order(file: Path) -> Mapping[str, int]:
    """Read the order in which a rater met the items, where it is stored."""
    if file.name != POTATO_STATE:
        return {}
    state = read_json(file, "annotations")
    ordering = state.get("instance_id_ordering") if isinstance(state, dict) else None
    return {str(item): i for i, item in enumerate(ordering if isinstance(ordering, list) else ())}


def _answered(
    key: str,
    rater: str,
    at: tuple[str | int, ...],
    answers: Mapping[str, Any],
    size: tuple[int, int],
) -> ForeignAnswer:
    ratings = {
        name: value
        for name in QUESTIONS
        if name in answers and (value := potato_number(answers[name], name)) is not None
    }
    text = "\n".join(str(value) for value in _values(answers.get(TEXT)) if value)
    shapes = [shape for value in _values(answers.get(BOXES)) for shape in _shapes(value)]
    boxes = [frame for shape in shapes if (frame := _frame(shape, size)) is not None]
    answered = {name for name in answers if name in (*ratings, TEXT, BOXES)}
    left_out = len(answers) - len(answered) + len(shapes) - len(boxes)
    return ForeignAnswer(key, rater, at, ratings, text, boxes, left_out)


def _values(answer: Any) -> Sequence[Any]:
    if isinstance(answer, dict):
        return list(answer.values())
    return [] if answer is None else [answer]


def _shapes(stored: Any) -> Iterator[Any]:
    """Yield the drawn shapes from a list, or from JSON in a string."""
    if isinstance(stored, str):
        stored = json_from(stored.encode(), "boxes") if stored.strip() else []
    yield from stored if isinstance(stored, list) else []


def _frame(shape: Any, size: tuple[int, int]) -> Frame | None:
    """Return a box in pixels, clipped to the image; None for other shapes."""
    if not isinstance(shape, dict) or shape.get("type") != "bbox":
        return None
    try:
        at = shape["coordinates"]
        x, y, width, height = (float(at[name]) for name in ("x", "y", "width", "height"))
    except (KeyError, TypeError, ValueError):
        return None
    return scale_frame((x, y, width, height), size[1], size[0])
