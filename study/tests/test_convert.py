"""To Label Studio and Potato and back: the same answers, whatever the names."""

import io
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from theodolite._storage.images import read_image
from theodolite._storage.text import read_json, read_yaml, write_yaml
from theodolite.datasets.study_material.material import (
    Check,
    Explained,
    Instance,
    Material,
    keep_image,
)
from theodolite.datasets.votes.label_studio import label_studio_votes
from theodolite.datasets.votes.potato import potato_votes
from theodolite.datasets.votes.rows import plain_text
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.study_tables import list_columns
from theodolite_study.convert.foreign_answers import ForeignAnswer, convert_answers, scale_frame
from theodolite_study.convert.label_studio import read_label_studio, write_label_studio
from theodolite_study.convert.potato import BOXES, TEXT, make_identifier, read_potato, write_potato
from theodolite_study.protocol import Protocol, Question
from theodolite_study.vote_tables import build_rating_evidence

HOSTILE = [
    "<script>alert(1)</script>", "]]></View><Image name='x'/>", '" onload="x', "a & b", "$image",
    "{{7*7}} {label} %s", "key: [1, 2", "- *alias", "!!python/object/apply:os.system ['id']",
    "yes", "1e3", "~", "línea\u202e[31mzwei", "..", "../../etc/passwd", "'; DROP TABLE vote;--",
    "=1+1", "\ufeffend ", "😀",
]  # fmt: skip
QUESTIONS = ("q1", "q2", "q5")


def image(folder: Path, color: tuple[int, int, int], suffix: str = "png") -> str:
    stream = io.BytesIO()
    Image.new("RGB", (40, 20), color).save(stream, "PNG")
    return keep_image(folder, stream.getvalue(), suffix)


def study(folder: Path) -> tuple[Material, Protocol]:
    """Two explanations for each hostile name; the first of an image has a changed twin."""
    drawn = image(folder, (250, 0, 0))
    instances = []
    for i, name in enumerate(HOSTILE):
        seen = image(folder, (0, 5 * i, 100))
        by_map = Explained(image=seen, predicted=name, map=drawn)
        by_concepts = Explained(image=seen, predicted=name, concepts={name: 0.5, "leg": -1.0})
        instances += [
            Instance(key=name, image_key=f"p{i}", technique=name, shown=by_map, same=by_map),
            Instance(key=f"{name} 2", image_key=f"p{i}", technique="other", shown=by_concepts),
        ]
    training = instances[0].model_copy(
        update={"key": "practice", "kind": "training", "check": Check(ratings={"q1": 3})}
    )
    protocol = Protocol(
        slug="study", title=HOSTILE[0], contact="me@here.example", votes=2, quota=30,
        before_text="Why is it “{label}”?",
        questions={
            n: Question(text=f"{HOSTILE[i]} $image", low=HOSTILE[i + 3], high=HOSTILE[1])
            for i, n in enumerate(QUESTIONS)
        },
    )  # fmt: skip
    return Material(instances=[*instances, training]), protocol


def said(material: Material, people: int) -> list[dict[str, Any]]:
    """What people say about each explanation, in the order in which they say it."""
    random = np.random.default_rng(0)
    answers = []
    for person in range(people):
        for i, one in enumerate(material.of("real")):
            asked = [q for q in QUESTIONS if q != "q5" or one.same is not None]
            answers.append({
                "instance": one.key, "rater": f"person{person}@mail.example",
                "ratings": {q: int(random.integers(1, 6)) for q in asked},
                "text": f"{HOSTILE[i % len(HOSTILE)]} {i}",
                "boxes": [tuple(float(v) for v in row) for row in random.integers(1, 10, (i % 3, 4))],
            })  # fmt: skip
    return answers


def label_studio_export(tasks: list[dict[str, Any]], answers: list[dict[str, Any]]) -> list[Any]:
    """As Label Studio writes it: results with names of controls, boxes in per cent."""
    people = sorted({answer["rater"] for answer in answers})
    found = []
    for number, task in enumerate(tasks, start=1):
        of = [a for a in answers if a["instance"] == task["data"]["instance"]]
        annotations = [
            {
                "id": 1000 * number + who, "was_cancelled": False, "ground_truth": False,
                "completed_by": {"id": people.index(a["rater"]) + 7, "email": a["rater"]},
                "created_at": f"2026-03-09T{people.index(a['rater']):02}:{number:02}:49.513742Z",
                "lead_time": 4.2, "task": number,
                "result": [
                    *({"id": q, "type": "rating", "from_name": q, "to_name": "image",
                       "value": {"rating": v}} for q, v in a["ratings"].items()),
                    {"id": "t", "type": "textarea", "from_name": "text", "to_name": "image",
                     "value": {"text": [a["text"]]}},
                    *({"id": "b", "type": "rectanglelabels", "from_name": "boxes",
                       "to_name": "image", "original_width": 40, "original_height": 20,
                       "image_rotation": 0,
                       "value": {"x": x / 0.4, "y": y / 0.2, "width": w / 0.4, "height": h / 0.2,
                                 "rotation": 0, "rectanglelabels": ["part"]}}
                      for x, y, w, h in a["boxes"]),
                ],
            }
            for who, a in enumerate(of)
        ]  # fmt: skip
        found.append({"id": number, **task, "annotations": annotations, "predictions": []})
    return found


def potato_output(folder: Path, answers: list[dict[str, Any]]) -> Path:
    """As Potato stores it: pairs of a label and its value, boxes in shares of the image."""
    for rater in sorted({answer["rater"] for answer in answers}):
        of = [a for a in answers if a["rater"] == rater]
        labels = {
            make_identifier(a["instance"]): [
                *([{"schema": q, "name": f"{v}"}, f"{v}"] for q, v in a["ratings"].items()),
                [{"schema": TEXT, "name": "text_box"}, a["text"]],
                [{"schema": BOXES, "name": "_data"}, json.dumps([
                    {"type": "bbox", "label": "part", "color": "#6e56cf", "coordinates":
                     {"x": x / 40, "y": y / 20, "width": w / 40, "height": h / 20}}
                    for x, y, w, h in a["boxes"]
                ])],
            ]
            for a in reversed(of)
        }  # fmt: skip
        state = {
            "user_id": rater,
            "instance_id_ordering": [make_identifier(a["instance"]) for a in of],
            "instance_id_to_label_to_value": labels,
            "instance_id_to_span_to_value": {},
        }
        (folder / rater).mkdir(parents=True)
        (folder / rater / "user_state.json").write_text(json.dumps(state))
    return folder


def check(tables: Any, people: Any, answers: list[dict[str, Any]]) -> None:
    """Every answer is in the tables, and nothing else is."""

    def rows(table: str) -> list[dict[str, Any]]:
        columns = tables[table]
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    by = {(a["instance"], a["rater"]): a for a in answers}
    votes = {(row["instance"], people[row["participant"]]): row for row in rows("votes")}
    assert votes.keys() == by.keys()
    for key, vote in votes.items():
        assert {q: vote[q] for q in QUESTIONS if vote[q] is not None} == by[key]["ratings"]
        assert vote["q3"] is None and vote["seconds_before"] is None
    texts = {(r["instance"], people[r["participant"]]): r["text"] for r in rows("baselines")}
    assert texts == {key: plain_text(a["text"]) for key, a in by.items()}
    boxes: dict[Any, list[Any]] = {}
    for r in rows("boxes"):
        frame = [r["x"], r["y"], r["width"], r["height"]]
        boxes.setdefault((r["instance"], people[r["participant"]]), []).append(frame)
    assert boxes.keys() == {key for key, a in by.items() if a["boxes"]}
    for key, frames in boxes.items():
        expected = [
            [x, y, min(x + w, 40) - x, min(y + h, 20) - y] for x, y, w, h in by[key]["boxes"]
        ]
        assert np.allclose(frames, expected)


def cells(tables: Any) -> str:
    return json.dumps({name: table for name, table in tables.items() if name != "instances"})


def test_label_studio_and_back(tmp_path: Path) -> None:
    material, protocol = study(tmp_path / "study")
    out = tmp_path / "project"
    write_label_studio(tmp_path / "study", material, protocol, out)
    tasks = read_json(out / "tasks.json")
    assert [task["data"]["instance"] for task in tasks] == [i.key for i in material.of("real")]
    answers = said(material, 3)
    export = tmp_path / "export.json"
    export.write_text(json.dumps(label_studio_export(tasks, answers)))
    back = read_label_studio(export, material, protocol)
    raters = {name: f"person{int(i) - 7}@mail.example" for name, i in back.people.items()}
    check(back.tables, raters, answers)
    assert "mail.example" not in cells(back.tables), "nobody's address in a table"
    votes = back.tables["votes"]
    assert sum(votes["counted"]) == 2 * len(tasks), "the first two of three"
    assert votes["at_order"] == list(range(1, 3 * len(tasks) + 1))
    assert set(votes["image_exposure_index"]) == {1, 2}
    assert f"{len(tasks):,} votes are more than 2 and are not counted." in back.notes
    assert build_rating_evidence(votes, "q5").ratings.shape == (len(tasks), 2)
    # and the reader of votes reads it too
    read = label_studio_votes(export, scale=[1, 2, 3, 4, 5])
    assert set(read.questions) == set(QUESTIONS)
    assert len(set(np.asarray(read.questions["q1"].samples.clusters))) == len(HOSTILE)


def test_the_label_studio_project(tmp_path: Path) -> None:
    material, protocol = study(tmp_path / "study")
    out = tmp_path / "project"
    write_label_studio(tmp_path / "study", material, protocol, out, images="/p/")
    content = (out / "labeling_config.xml").read_text()
    root = ElementTree.fromstring(content)  # noqa: S314  our own
    assert {child.tag for child in root.iter()} == {
        "View", "Header", "Image", "RectangleLabels", "Label", "TextArea", "Text", "Rating",
    }  # fmt: skip
    controls = {c.get("name"): c for c in root.iter() if c.get("name")}
    assert list(controls) == [
        "image", "boxes", "text", "explanation", "explained", "q1", "q2",
        "q5_image", "q5_explanation", "q5_explained", "q5",
    ]  # fmt: skip
    assert controls["q1"].attrib == {
        "name": "q1", "toName": "image", "maxRating": "5", "required": "true",
    }  # fmt: skip
    assert controls["q5"].get("required") == "false", "not all have a changed image"
    texts = [h.get("value", "") for h in root.iter("Header")]
    assert "<script>alert(1)</script> ＄image" in texts, "the text, and no field of the task"
    data = [task["data"] for task in read_json(out / "tasks.json")]
    fields = {value[1:] for c in root.iter() if (value := c.get("value", "")).startswith("$")}
    assert all(fields <= set(one) for one in data)
    files = {
        one[f].removeprefix("/p/")
        for one in data
        for f in data[0]
        if f.endswith(("image", "explanation"))
    }
    assert files == {path.name for path in (out / "images").iterdir()}
    blended = np.asarray(read_image(out / "images" / data[0]["explanation"].removeprefix("/p/")))
    assert np.allclose(blended.mean(axis=(0, 1)), [125, 0, 50], atol=3), "the map over the image"
    assert data[1]["explained"].endswith(f"leg: -1.00\n{HOSTILE[0]}: +0.50")
    assert data[0]["before"] == f"Why is it “{HOSTILE[0]}”?"
    assert data[1]["q5_explained"].startswith("This question is not asked here")
    assert "practice" not in (out / "tasks.json").read_text()
    with pytest.raises(UnsafeInputError, match="empty folder"):
        write_label_studio(tmp_path / "study", material, protocol, out)


def test_what_a_label_studio_export_may_hold(tmp_path: Path) -> None:
    material, protocol = study(tmp_path / "study")
    key = HOSTILE[0]
    base = {
        "from_name": "boxes",
        "type": "rectanglelabels",
        "original_width": 40,
        "original_height": 20,
    }
    results = [
        {"from_name": "q1", "type": "rating", "value": {"rating": 4}},
        {"from_name": "other", "type": "number", "value": {"number": 2.5}},
        {**base, "value": {"x": 0, "y": 0, "width": 50, "height": 50, "rotation": 30}},
        {**base, "value": {"x": 90, "y": 90, "width": 50, "height": 50, "rotation": 0}},
        {**base, "value": {"x": 200, "y": 0, "width": 1, "height": 1}},
        {**base, "original_width": None, "value": {"x": 0, "y": 0, "width": 1, "height": 1}},
        "not an object",
    ]
    again = [{"from_name": "q1", "type": "rating", "value": {"rating": 2}}]
    export = tmp_path / "export.json"

    def read(tasks: Any) -> Any:
        export.write_text(json.dumps(tasks))
        return read_label_studio(export, material, protocol)

    found = read([{"id": 1, "data": {"instance": key}, "annotations": [
        {"completed_by": 1, "created_at": "2026-01-02", "result": results},
        {"completed_by": 1, "created_at": "2026-01-01", "result": again},
        {"completed_by": 2, "was_cancelled": True, "result": results},
    ]}])  # fmt: skip
    assert found.tables["votes"]["q1"] == [4], "the later one"
    assert found.tables["boxes"]["width"] == pytest.approx([4.0]), "cut off at the edge"
    assert found.tables["baselines"]["text"] == [""]
    assert "1 answers were given again later; the last ones count." in found.notes
    assert "4 answers have no place in the tables and are left out." in found.notes
    with pytest.raises(UnsafeInputError, match="instances of this study"):
        read([{"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": again}]}])
    wrong = [{"from_name": "q1", "type": "rating", "value": {"rating": 9}}]
    with pytest.raises(EvidenceError, match="1 to 5"):
        read([{"id": 1, "data": {"instance": key}, "annotations": [{"result": wrong}]}])


def test_potato_and_back(tmp_path: Path) -> None:
    material, protocol = study(tmp_path / "study")
    answers = said(material, 3)
    output = potato_output(tmp_path / "annotation_output", answers)
    back = read_potato(output, tmp_path / "study", material, protocol)
    check(back.tables, back.people, answers)
    assert "mail.example" not in cells(back.tables)
    votes = back.tables["votes"]
    assert sum(votes["counted"]) == 2 * len(material.of("real"))
    order = [
        key for key, who in zip(votes["instance"], votes["participant"], strict=True) if who == "p1"
    ]
    assert order == [one.key for one in material.of("real")], "as they met them"
    assert len(potato_votes(output, scale=[1, 2, 3, 4, 5])) == len(material.of("real"))


def test_the_potato_project(tmp_path: Path) -> None:
    material, protocol = study(tmp_path / "study")
    out = tmp_path / "project"
    write_potato(tmp_path / "study", material, protocol, out)
    config = read_yaml(out / "config.yaml")
    assert config["annotation_task_name"] == HOSTILE[0]
    assert config["num_annotators_per_item"] == 2 and config["max_annotations_per_user"] == 30
    schemes = {s["name"]: s for s in config["annotation_schemes"]}
    assert [s["annotation_type"] for s in schemes.values()] == [
        "image_annotation", "text", "likert", "likert", "likert",
    ]  # fmt: skip
    assert schemes["q1"]["min_label"] == HOSTILE[3] and schemes["q1"]["description"].startswith(
        "<script>"
    )
    assert schemes["q1"]["label_requirement"] == {"required": True}
    assert schemes["q5"]["label_requirement"] == {"required": False}
    assert schemes[BOXES]["tools"] == ["bbox"] and schemes[BOXES]["source_field"] == "image"
    lines = [json.loads(line) for line in (out / config["data_files"][0]).read_text().splitlines()]
    assert len({line["id"] for line in lines}) == len(lines) == len(material.of("real"))
    shown = [field["key"] for field in config["instance_display"]["fields"]]
    assert all(set(shown) < set(line) for line in lines)
    used = {
        line[k].removeprefix("/media/")
        for line in lines
        for k in shown
        if line[k].startswith("/media/")
    }
    assert used == {path.name for path in (out / config["media_directory"]).iterdir()}


def test_what_potato_may_store(tmp_path: Path) -> None:
    material, protocol = study(tmp_path / "study")
    key = make_identifier(HOSTILE[0])
    lines = [
        {"user_id": "ann", "instance_id": key, "label_annotations": {
            "q1": {"scale_4": True}, "q2": {"1": True, "5": True}, TEXT: {"text_box": "a dog"},
            BOXES: {"_data": json.dumps([{"type": "polygon"}, {"type": "bbox"}, 5])},
            "other": {"x": 1},
        }},
    ]  # fmt: skip
    file = tmp_path / "annotated_instances.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    found = read_potato(file, tmp_path / "study", material, protocol)
    assert found.tables["votes"]["q1"] == [4] and found.tables["votes"]["q2"] == [None]
    assert found.tables["baselines"]["text"] == ["a dog"] and not found.tables["boxes"]["x"]
    assert "5 answers have no place in the tables and are left out." in found.notes
    lines[0]["instance_id"] = "another"
    file.write_text(json.dumps(lines[0]))
    with pytest.raises(UnsafeInputError, match="instances of this study"):
        read_potato(file, tmp_path / "study", material, protocol)


def test_names_for_potato() -> None:
    assert make_identifier("e_1-a") == "e_1-a"
    assert len({make_identifier(name) for name in HOSTILE}) == len(HOSTILE)
    assert all(
        make_identifier(name).isascii() and " " not in make_identifier(name) for name in HOSTILE
    )


def test_ratings_are_whole(tmp_path: Path) -> None:
    material, protocol = study(tmp_path / "study")
    half = ForeignAnswer(HOSTILE[0], "ann", (1,), {"q1": 2.5})
    with pytest.raises(UnsafeInputError, match="1 to 5"):
        convert_answers([half], material, protocol)
    more = ForeignAnswer(f"{HOSTILE[0]} 2", "ann", (1,), {"q1": 2.0, "q3": 2.0, "q5": 2.0})
    votes = convert_answers([more], material, protocol).tables["votes"]
    assert [votes[q] for q in ("q1", "q3", "q5")] == [[2], [None], [None]], "only what is asked"
    silent = ForeignAnswer(HOSTILE[0], "ann", (1,), {})
    found = convert_answers([silent], material, protocol)
    assert not found.tables["votes"]["instance"] and not found.tables["baselines"]["instance"]
    assert [*found.tables["votes"]] == [*list_columns("votes")]
    assert scale_frame((0.0, 0.0, float("nan"), 1.0), 5, 5) is None


def test_yaml_gives_back_every_text(tmp_path: Path) -> None:
    shared = {"a": HOSTILE}
    content = {name: [shared, shared, {name: i}] for i, name in enumerate(HOSTILE)}
    write_yaml(tmp_path / "a.yaml", content)
    assert read_yaml(tmp_path / "a.yaml") == content
