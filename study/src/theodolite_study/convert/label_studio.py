"""Write a study as a Label Studio project, and read its export back as our tables.

What is lost: Label Studio does not hold the explanation back, so nobody can prove that the own
answer came first; it does not guarantee n votes of different people (of more than n the first n
are counted, and it is said where there are fewer); consent, practice, hidden checks, images that
are kept apart within one person's items, and times before and after stay with our server.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from theodolite.ext.studies import (
    Material,
    all_or_nothing,
    existing,
    label_studio_annotations,
    label_studio_data,
    label_studio_number,
    label_studio_results,
    label_studio_tasks,
    plain_text,
    write_json,
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

CONFIG, TASKS = "labeling_config.xml", "tasks.json"
LOCAL = f"/data/local-files/?d={IMAGES}/"
"""Prefix of local files below LABEL_STUDIO_LOCAL_FILES_DOCUMENT_ROOT. Set that to the project's
folder, and LABEL_STUDIO_LOCAL_FILES_SERVING_ENABLED to true."""


def write_label_studio(
    folder: Path, material: Material, protocol: Protocol, out: Path, *, images: str = LOCAL
) -> None:
    """Write a Label Studio project: labeling configuration, tasks to import and images.

    Args:
        folder: The study folder.
        material: What it shows.
        protocol: What it asks.
        out: A new folder.
        images: What stands before an image's name in a task.
    """
    study_pages = build_pages(folder, material, protocol, out)
    root = _configuration(material, protocol, with_twins=list(study_pages[0].twins))
    ElementTree.indent(root)
    with all_or_nothing(out / CONFIG) as stream:
        stream.write(ElementTree.tostring(root, encoding="utf-8", xml_declaration=False))
    write_json(out / TASKS, [{"data": _data(page, images)} for page in study_pages])


def _data(page: Page, images: str) -> dict[str, str]:
    instance = page.instance
    data = {
        "instance": instance.key,
        "technique": instance.technique,
        "image_key": instance.image_key,
        "label": instance.shown.predicted,
        "image": images + page.image,
        "before": page.before,
        "explanation": images + page.explanation,
        "explained": page.text,
    }
    for question, (image, explanation, text) in page.twins.items():
        data |= {
            f"{question}_image": images + image,
            f"{question}_explanation": images + explanation,
            f"{question}_explained": text,
        }
    return data


def _configuration(
    material: Material, protocol: Protocol, *, with_twins: list[str]
) -> ElementTree.Element:
    root = ElementTree.Element("View")

    def add(tag: str, within: ElementTree.Element = root, /, **attributes: str) -> Any:
        return ElementTree.SubElement(within, tag, attributes)

    add("Header", value="$before")
    add("Image", name="image", value="$image")
    boxes = add("RectangleLabels", name="boxes", toName="image", canRotate="false")
    add("Label", boxes, value="part")
    add("Header", value=_static(protocol.before_boxes))
    add(
        "TextArea", name="text", toName="image", required="true", maxSubmissions="1",
        editable="true", rows="3",
    )  # fmt: skip
    add("Image", name="explanation", value="$explanation")
    add("Text", name="explained", value="$explained")
    for name, question in protocol.questions.items():
        if name in with_twins:
            add("Image", name=f"{name}_image", value=f"${name}_image")
            add("Image", name=f"{name}_explanation", value=f"${name}_explanation")
            add("Text", name=f"{name}_explained", value=f"${name}_explained")
        elif not is_always_asked(name, material):
            continue  # nobody is asked: there is no changed image
        add("Header", value=_static(question.text))
        add("Header", size="5", value=_static(f"1: {question.low}; 5: {question.high}"))
        add(
            "Rating", name=name, toName="image", maxRating="5",
            required=str(is_always_asked(name, material)).lower(),
        )  # fmt: skip
    return root


def _static(text: str) -> str:
    """Escape a text, since a dollar sign would name a field of the task."""
    return plain_text(text).replace("$", "＄")


def read_label_studio(path: Path, material: Material, protocol: Protocol) -> ConvertedTables:
    """Read the tables from an export (JSON, not JSON_MIN) of such a project.

    The time before and after the explanation was shown is not known: both columns are empty. People
    get pseudonyms in the order of their first answers.
    """
    path = existing(Path(path), "export of Label Studio")
    return convert_answers(_answers(path), material, protocol)


def _answers(path: Path) -> Iterator[ForeignAnswer]:
    for number, task in enumerate(label_studio_tasks(path)):
        instance = str(label_studio_data(task).get("instance", ""))
        for rater, annotation in label_studio_annotations(task, path):
            results = [
                result for result in label_studio_results(annotation) if isinstance(result, dict)
            ]
            ratings = {
                str(result["from_name"]): value
                for result in results
                if result.get("from_name") in QUESTIONS
                and (value := label_studio_number(result)) is not None
            }
            texts = [text for result in results for text in _texts(result)]
            frames = [
                _frame(result) for result in results if "rectangle" in str(result.get("type"))
            ]
            boxes = [frame for frame in frames if frame is not None]
            known = len(ratings) + sum(result.get("from_name") == "text" for result in results)
            yield ForeignAnswer(
                instance,
                rater,
                (str(annotation.get("created_at", "")), number),
                ratings,
                "\n".join(texts),
                boxes,
                len(results) - known - len(boxes),
            )


def _texts(result: Mapping[str, Any]) -> list[str]:
    value = result.get("value")
    if result.get("from_name") != "text" or not isinstance(value, dict):
        return []
    texts = value.get("text", [])
    return [str(text) for text in (texts if isinstance(texts, list) else [texts])]


def _frame(result: Mapping[str, Any]) -> Frame | None:
    """Return a rectangle in pixels, clipped to the image; None if rotated or outside of it."""
    value = result.get("value")
    size = (result.get("original_width"), result.get("original_height"))
    if not isinstance(value, dict) or value.get("rotation", 0):
        return None
    try:
        x, y, width, height = (float(value[n]) for n in ("x", "y", "width", "height"))
        across, down = (float(length) for length in size)  # type: ignore[arg-type]
    except (KeyError, TypeError, ValueError):
        return None
    return scale_frame((x / 100, y / 100, width / 100, height / 100), across, down)
