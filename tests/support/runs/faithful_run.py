"""A run with several methods that find concepts, and helpers to read its page."""

import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
from PIL import Image

from theodolite._planted.surrogates import planted_surrogates
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.axes import Classes
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.pipeline_output import ComparedModel, ConceptCard, Produced
from theodolite.evidence.surrogate_settings import SETTINGS, compute_outputs
from theodolite.report.html import write_report

PLAIN = ("auk", "bee", "cat", "dog")
SEEDS = (0, 1, 2)
CHECKS = 8
"""Seeds of the settings of the check; methods have fewer."""
N = 120


def planted(faithfulness: float, seed: int = 0, names: Sequence[str] = PLAIN) -> SurrogateEvidence:
    made = planted_surrogates(N, len(names), faithfulness=faithfulness, seed=seed)
    return replace(made, classes=Classes(tuple(names)), rebuilt=None, linearized=None)


def middle(evidence: SurrogateEvidence, missed: float) -> SurrogateEvidence:
    """A layer in the middle: the slope is off by ``missed`` from what the network makes of it."""
    outputs = compute_outputs(evidence)
    return replace(evidence, rebuilt=outputs + 2.0, linearized=outputs + 2.0 + missed)


def settings(names: Sequence[str], checks: int) -> list[ComparedModel]:
    """The settings of the check, each with outputs of a fitted network that never change."""
    random, k = np.random.default_rng(0), len(names)
    given = SurrogateEvidence(
        importances=np.ones((1, k)), projections=np.ones((N, 1)),
        embeddings=random.normal(size=(N, 12)),
        head=random.normal(size=(k, 12)) * np.arange(1, k + 1)[:, None],
        labels=np.arange(N) % k, classes=Classes(tuple(names)),
    )  # fmt: skip
    fitted = random.normal(size=(N, k))
    return [
        ComparedModel(
            f"setting-{number}",
            {"kind": "setting", "setting": name},
            [[replace(make(given, seed), learned=fitted)] for seed in range(checks)],
        )
        for number, (name, make) in enumerate(SETTINGS.items())
    ]


def method(name: str, concepts: int, faithfulness: float, names: Sequence[str]) -> ComparedModel:
    about = {"kind": "method", "method": name, "concepts": concepts}
    about["directions"] = 23 if name == "mcd" else concepts
    wobble = (0.0, 0.02, 0.01)
    seeds = [[planted(faithfulness - wobble[seed], 0, names)] for seed in SEEDS]
    return ComparedModel(f"m{len(name)}-{concepts}-{round(100 * faithfulness)}", about, seeds)


def jpeg(color: str) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (13, 13), color).save(buffer, "JPEG")
    return buffer.getvalue()


SURROGATES = {"surrogate": ["linear", "rebuilt", "learned"]}
MEASURES = ("surrogate_distance", "surrogate_error", "surrogate_agreement",
            "surrogate_rank_correlation", "surrogate_relative_error")  # fmt: skip
METRICS = [
    {"name": "surrogate_distance"},
    {"name": "surrogate_error", "options": {"surrogate": ["linear", "rebuilt"]}},
    *({"name": name} for name in MEASURES[2:]),
    {"name": "surrogate_accuracy"},
    {"name": "surrogate_relative_error_by_class"},
]
COMPARED = [
    {"name": "surrogate_distance", "options": SURROGATES},
    {"name": "surrogate_error",
     "options": {"surrogate": ["linear", "rebuilt", "learned", "linearized"]}},
    *({"name": name} for name in MEASURES[2:]),
    {"name": "concept_deletion"},
    {"name": "linearization_error"},
]  # fmt: skip
STUDIES = [
    {"kind": "sanity", "title": "Measure over measure", "classes": 4, "dimensions": 400,
     "paper": {"surrogate_distance linear": [0.0, 0.862, 0.883]}},
    {"kind": "curve", "title": "Against the number"},
    {"kind": "layers", "title": "In the middle", "metric": "surrogate_error"},
]  # fmt: skip
REPORT = {"benchmark": {"concepts": 5, "paper": {"svd": [3.4, 0.932, 0.002, 0.002]}}}


def write_run(
    folder: Path,
    names: Sequence[str] = PLAIN,
    *,
    word: str = "svd",
    checks: int = CHECKS,
    **asked: object,
) -> Path:
    """The verdict is about svd-5, which is neither the best nor the worst of the methods."""
    spec = RunSpec.model_validate(
        {"name": "faithful", "title": names[0], "evidence": ["x"], "seeds": list(range(CHECKS)),
         "metrics": METRICS, "compared_metrics": COMPARED, "resampling": {"resamples": 20},
         "report": REPORT, **asked}
    )  # fmt: skip
    main = method(word, 5, 0.6, names)
    others = [
        method("random", 5, 0.3, names),
        method("mcd", 5, 0.97, names),
        method(word, 1, 0.2, names),
        method(word, 2, 0.57, names),
        method(word, 10, 0.63, names),
        method("pca", 10, 0.65, names),
    ]
    layers = [
        ComparedModel(
            f"layer-{at}",
            {"kind": "layer", "layer": layer, "method": word, "concepts": 5},
            [[middle(planted(0.8, seed, names), missed)] for seed in SEEDS],
        )
        for at, (layer, missed) in enumerate(((names[1], 0.1), ("block 2", 7.0)))
    ]
    cards = [
        ConceptCard(names[1], f"{names[1]}: 2", -0.25, -1.5, ("concepts/a.jpg", "concepts/b.jpg")),
        ConceptCard(names[1], f"{names[1]}: 1", 1.25, 0.5, ()),
        ConceptCard(names[1], names[0], 2.0, 4.75, ("concepts/b.jpg",)),
        ConceptCard(names[2], "wing", 1.0, 2.0, ("concepts/a.jpg",)),
    ]
    made = Produced(
        main.evidence,
        compared=[*others, *settings(names, checks), *layers],
        about={**main.about, "name": main.name},
        facts=(("method of the verdicts", word),),
        concept_cards=cards,
        images={"concepts/a.jpg": jpeg("red"), "concepts/b.jpg": jpeg("blue")},
    )
    write_record(folder / "run.json", build_run_record(spec, ""))
    score_run(spec, made).write(folder)
    return write_report(folder)


def between(page: str, start: str, end: str) -> str:
    return page.split(start, 1)[1].split(end, 1)[0]


def svgs(page: str, css: str) -> list[str]:
    return re.findall(rf'<svg class="{css}".*?</svg>', page, re.DOTALL)


def plain(markup: str) -> str:
    """Text without tags, white space made one."""
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def rows_of(table: str) -> list[tuple[str, list[str]]]:
    """Of each row of a table's body its opening tag, and its cells as text."""
    result = re.findall(r"(<tr[^>]*>)(.*?)</tr>", table.split("</thead>")[1], re.DOTALL)
    return [
        (tag, [plain(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)])
        for tag, row in result
    ]


def compared_scores(folder: Path, metric: str, surrogate: str = "linear") -> dict[str, dict]:
    models = json.loads((folder / "compared.json").read_text())["models"]
    return {
        model["name"]: score
        for model in models
        for score in model["scores"]
        if score["metric"] == metric and score["options"].get("surrogate", "linear") == surrogate
    }
