"""From images, from an export and from files of PASTA's layout to tables, a report, answers."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from PIL import Image

pytest.importorskip("torch")
pytest.importorskip("pytorch_grad_cam")

import torch
from safetensors.numpy import save_file

from theodolite._runs.folder.run_records import build_run_record, write_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.tables import read_parquet, write_parquet
from theodolite.datasets.votes.study import study_votes
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import Produced, WorkContext
from theodolite.evidence.study_tables import QUESTIONS, columns_of
from theodolite.evidence.technique_columns import SCRIPTED
from theodolite.evidence.workers import SerialWorkers, Work
from theodolite.models.cifar_resnet import CifarResNet
from theodolite.report.html import write_report
from theodolite_reproductions.claims.answers.votes import vote_answers
from theodolite_reproductions.datasets.votes.pasta import pasta_votes
from theodolite_reproductions.datasets.votes.pasta_images import pasta_images
from theodolite_reproductions.datasets.votes.scripted import PlantedEffects
from theodolite_reproductions.findings.leakage import read_findings
from theodolite_reproductions.findings.techniques.record import TechniquesVotesRecord
from theodolite_reproductions.findings.techniques.study import techniques_votes
from theodolite_reproductions.protocols import PROTOCOLS
from theodolite_reproductions.techniques.frames import frames_by_explanation, mean_numbers
from theodolite_reproductions.techniques.making import TechniqueConcepts, TechniqueNetwork
from theodolite_reproductions.techniques.pipeline import TechniquesPipeline

PROTOCOL = PROTOCOLS / "techniques_votes.yaml"
LABELS = ("dogs", "cats", "cars")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small images, a small MonuMAI, and a network that never learned anything."""
    root = tmp_path_factory.mktemp("data")
    random = np.random.default_rng(0)

    def image(path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 255, (24, 36, 3)).astype(np.uint8)).save(path)

    for i in range(6):
        image(root / "images" / f"{('Sets', 'Others')[i % 2]}_{i}_{LABELS[i % 3]}.png")
    (root / "images" / "SOURCE.txt").write_text("not an image")
    records = []
    for i in range(24):
        image(root / "monumai" / "images" / f"{i}.png")
        names = ["arco-lobulado"] * (i % 2) + ["fronton"] * (i % 3 == 0)
        boxes = [[name, 0.2, 0.2, 0.5, 0.5] for name in names]
        records.append({"file": f"{i}.png", "style": "AB"[i % 2], "objects": boxes})
    (root / "monumai" / "annotations.json").write_text(json.dumps(records))
    torch.manual_seed(0)
    arrays = {k: v.numpy() for k, v in CifarResNet(3).state_dict().items()}
    save_file(arrays, root / "network.safetensors")
    return root


class OneFails(SerialWorkers):
    """A method that fails on an image for good gives nothing for it."""

    def each(self, work: Work) -> Iterator[Any]:
        for name, arrays in zip(work.names or work.items, super().each(work), strict=True):
            yield None if name == "saliency, Others_1_cats.png" else arrays


def rehearsed(root: Path, cache: Path) -> Produced:
    pipeline = TechniquesPipeline(
        root=root,
        networks=(
            TechniqueNetwork(
                backbone="cifar_resnet20", weights="network.safetensors", layer="layer3"
            ),
        ),
        methods=("grad_cam", "saliency", "hires_cam"),
        concepts=TechniqueConcepts(
            data="monumai", network="cifar_resnet20", methods=("linear_head", "rise_cbm"),
            n_examples=4,
        ),
        percents=(10, 30), ways=("black",), noises=("uniform",),
        scripted=PlantedEffects(people=6, votes=4, modality={"saliency": 1.0}),
    )  # fmt: skip
    data = pasta_images(root / "images")
    return pipeline.make(data, WorkContext((0,), cache, workers=OneFails()))


@pytest.fixture(scope="module")
def produced(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Produced:
    return rehearsed(root, tmp_path_factory.mktemp("cache"))


def test_explanations_of_every_technique_in_one_table(produced: Produced) -> None:
    table = produced.tables["explanations"]
    assert len(table["explanation"]) == 5 * 6 - 1 == len(set(table["explanation"]))
    assert "saliency failed on 1 images." in "; ".join(produced.notes).replace(
        " / cifar_resnet20", ""
    )
    rows = list(zip(*(table[n] for n in ("technique", "modality", "concepts")), strict=True))
    assert {t for t, m, c in rows if m == "concept" and json.loads(c)} == {
        "linear_head / cifar_resnet20", "rise_cbm / cifar_resnet20"
    }  # fmt: skip
    assert all(c is None for _, m, c in rows if m == "saliency")
    assert set(table["data_set"]) == {"Sets", "Others"} and set(table["label"]) == set(LABELS)
    assert all(set(own["source"]) == {SCRIPTED} for own in produced.tables.values())
    votes = produced.tables["votes"]
    assert len(votes["person"]) == 4 * 29 and len(set(votes["person"])) == 6


def test_the_whole_way_to_the_report(produced: Produced, tmp_path: Path) -> None:
    content = yaml.safe_load(PROTOCOL.read_text())
    metrics = content["studies"][0]["metrics"]
    there = ("removal (black)", "sensitivity (uniform noise)", "sparseness")
    content["studies"][0] |= {"first": 2, "resamples": 40,
                              "metrics": {name: metrics[name] for name in there}}  # fmt: skip
    content["resampling"]["resamples"] = 20
    spec = RunSpec.model_validate(content)
    write_run_record(tmp_path / "run.json", build_run_record(spec, "", "", {}))
    score_run(spec, produced).write(tmp_path)
    (record,) = read_findings(tmp_path)
    assert isinstance(record, TechniquesVotesRecord) and record.explanations == 29
    assert SCRIPTED in record.title and all(SCRIPTED in t.title for t in record.tables)
    numbers = {row.names["number"] for row in record.rows("numbers")}
    assert {"removal (black)", "sensitivity (uniform noise)", "sparseness", "sum_pos"} <= numbers
    assert {row.n for row in record.rows("scores", of="sparseness")} == {5, 6}
    page = write_report(tmp_path).read_text()
    assert page.count(SCRIPTED) > 15 and 'id="techniques"' in page
    assert set(read_parquet(tmp_path / "tables" / "votes.parquet")["source"]) == {SCRIPTED}
    with pytest.raises(UnsafeInputError, match="scripted annotators"):
        vote_answers(tmp_path)


def test_images_without_votes_need_a_script(root: Path, tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="scripted"):
        TechniquesPipeline(root=root).make(
            pasta_images(root / "images"), WorkContext((0,), tmp_path)
        )


def export(root: Path) -> Path:
    """An export of a study: four techniques on six images, three people."""
    random = np.random.default_rng(1)
    instances, votes, baselines = [], [], []
    for image in range(6):
        for technique in ("lime / a", "lime / b", "shap / a", "linear_head / a"):
            key, concept = f"{image} {technique}", technique.startswith("linear")
            common = {"instance": key, "image_key": f"p{image}", "technique": technique}
            instances.append(common | {
                "modality": "concept" if concept else "saliency", "predicted": "cat",
                "image": "x.png", "map": None if concept else "m.png",
                "concepts": '{"ear": 0.5, "tail": 0.1}' if concept else None})  # fmt: skip
            for person in ("ann", "bob", "cy"):
                answers = {q: int(random.integers(1, 6)) for q in QUESTIONS}
                n = len(votes) + 1
                votes.append(common | answers | {
                    "participant": person, "counted": True, "position": n, "at_order": n,
                    "image_exposure_index": 1, "seconds_before": 1.0, "seconds_after": 2.0,
                })  # fmt: skip
                baselines.append({"instance": key, "participant": person, "copied": False,
                                  "text": "an ear" if answers["q1"] > 3 else "grass"})  # fmt: skip
    for name, rows in (("instances", instances), ("votes", votes), ("baselines", baselines),
                       ("boxes", [])):  # fmt: skip
        write_parquet(root / f"{name}.parquet", columns_of(name, rows))  # type: ignore[arg-type]
    write_parquet(root / "rankings.parquet", {
        "participant": ["ann", "ann"], "question": ["q7", "q7"], "place": [1, 2],
        "item": ["trust", "objectivity"], "item_number": [0, 1]})  # fmt: skip
    write_parquet(root / "participants.parquet", {
        "participant": ["ann", "bob", "cy"], "age_band": ["a", "a", "b"],
        "gender": [None, None, None]})  # fmt: skip
    scores = [f"{row['instance']},{i % 7}" for i, row in enumerate(instances)]
    (root / "scores.csv").write_text("\n".join(["explanation,my score", *scores]))
    return root


def test_an_export_of_ones_own_study(tmp_path: Path) -> None:
    data = study_votes(export(tmp_path))
    produced = TechniquesPipeline().make(data, WorkContext((0,), tmp_path))
    record = techniques_votes("Ours", produced.tables, first=2, resamples=60)
    assert record.source == "people" and record.people == 3 and record.techniques == 4
    assert {row.names["network"] for row in record.rows("network")} == {"a", "b"}
    (contrast,) = record.rows("network_contrast", of="Q1")
    assert contrast.units == 1 and contrast.low is None, "one method on both networks"
    assert {row.names["number"] for row in record.rows("numbers")} == {"my score"}
    (words,) = record.rows("words", measure="rouge_1", question="Q1")
    assert words.value is not None and words.value > 0.5 and words.n == 18
    assert {row.names["item"]: row.value for row in record.rows("rankings")} == {
        "trust": 1.0, "objectivity": 2.0
    }  # fmt: skip
    assert {row.names["group"] for row in record.rows("agreement")} == {"a"}
    assert len(record.rows("favorites")) == 4


def test_frames_by_hand() -> None:
    boxes = {"explanation": ["e", "e"], "person": ["a", "b"], "x": [0, 20], "y": [0, 0],
             "width": [20, 20], "height": [10, 10]}  # fmt: skip
    people = frames_by_explanation(boxes, {"e": (10, 40)})
    relevance = np.array([[3.0, 1.0], [0.0, 0.0]])  # rows by columns; a frames the left half
    numbers = mean_numbers(relevance, people["e"])
    assert numbers["sum_pos"] == pytest.approx((0.75 + 0.25) / 2)
    assert np.isnan(numbers["sum_neg"])
    assert np.isnan(mean_numbers(relevance, [])["sum_pos"])
    assert np.isnan(mean_numbers(relevance * 0, people["e"])["entropy"])


def test_files_of_pasta(tmp_path: Path) -> None:
    entries = []
    for image in range(6):
        for technique in (1, 2, 39):
            votes = [{f"Q{q}": (image + q + v) % 5 + 1 for q in range(1, 7)} | {"Q0.1": "a roof"}
                     for v in range(5)]  # fmt: skip
            entries.append({
                "img": f"imgs/Coco_{image}_home.png", "Annotation": votes, "GTclass": "home",
                "explication": f"expl/Coco_{image}_{technique}_home.png",
                "predictedclass": "home" if image else "",
            })  # fmt: skip
    (tmp_path / "human_annotations.json").write_text(json.dumps(entries))
    (tmp_path / "techniques.csv").write_text(
        "number,method,network,modality\n1,GradCAM,ResNet50,saliency\n2,GradCAM,ViT-B,saliency\n"
    )
    (tmp_path / "scores.csv").write_text(
        "explanation,sparseness\nCoco_0_1_home,0.5\nCoco_1_1_home,\n"
    )
    data = pasta_votes(tmp_path)
    produced = TechniquesPipeline().make(data, WorkContext((0,), tmp_path))
    table = produced.tables["explanations"]
    assert set(zip(table["method"], table["network"], table["modality"], strict=True)) == {
        ("GradCAM", "ResNet50", "saliency"), ("GradCAM", "ViT-B", "saliency"),
        ("39 CLIP-QDA-sample", "", "concept"),
    }  # fmt: skip
    assert np.isnan(data.numbers["sparseness"]).sum() == 17
    record = techniques_votes("PASTA", produced.tables, resamples=40)
    assert record.source == "unnamed people" and record.people is None
    assert any("3 explanations say no predicted class" in note for note in record.notes)
    assert record.rows("network_contrast", contrast="ResNet50 minus ViT-B")
    shorter = replace(data, more={})
    assert len(produced.tables["words"]["text"]) == 90 and not shorter.more
