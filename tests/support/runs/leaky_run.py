"""A run with several models that leak, and helpers to read its page."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.axes import Classes, Concepts, Policies
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced
from theodolite.report.html import write_report

PLAIN = ("red body", "long horn", "wings folded over the back")
N = 160


def bundles(leak: float, encoding: str, seed: int, names: Sequence[str] = PLAIN,
            classes: Sequence[str] = ("few", "most"), embedded: bool = False) -> list:  # fmt: skip
    """Three concepts, the label says whether most are there; values that tell it beside them."""
    random = np.random.default_rng([seed, round(100 * leak), len(encoding)])
    z = np.random.default_rng(1).normal(size=(N, 3))
    truth = z > 0
    labels = (truth.sum(axis=1) > 1).astype(int)
    logits = 2 * z + 5 * leak * (2 * labels[:, None] - 1) + 0.5 * random.normal(size=z.shape)
    values = {"logit": logits, "hard": np.round(logits > 0), "soft": 1 / (1 + np.exp(-logits))}
    said = ConceptEvidence(
        values=values[encoding].astype(float), truth=truth, labels=labels,
        concepts=Concepts(tuple(names)), classes=Classes(tuple(classes)),
    )  # fmt: skip
    falling = np.linspace(0.95, 0.95 - 0.4 * leak, 4)
    corrected = InterventionEvidence(
        right_after=random.random((N, 2, 4)) < falling, right_reference=random.random(N) < 0.97,
        policies=Policies(("at random", names[0])),
    )  # fmt: skip
    if not embedded:
        return [said, corrected]
    vectors = random.normal(size=(N, 3, 5)) + 2 * labels[:, None, None]
    return [said, corrected, EmbeddingEvidence(explained=said, vectors=vectors)]


METRICS = [
    {"name": "concept_task_leakage"},
    {"name": "interconcept_leakage", "options": {"over": ["concepts", "pairs"]}},
    {"name": "task_leakage_given_concept"},
    {"name": "interconcept_leakage_given_concepts"},
    {"name": "intervention_score"},
]


def write_run(folder: Path, seeds: Sequence[int], models: Sequence[tuple[str, float, str]],
              names: Sequence[str] = PLAIN, **asked: object) -> Path:  # fmt: skip
    """The first model is that of the verdicts, with vectors; the others are compared with it."""
    spec = RunSpec.model_validate(
        {"name": "leaky", "title": names[0], "evidence": ["x"], "seeds": list(seeds),
         "metrics": METRICS, "resampling": {"resamples": 20}, **asked}
    )  # fmt: skip
    classes = ("few", "most") if names is PLAIN else (names[1], names[0])

    def about(name: str, leak: float, encoding: str) -> dict[str, float | str]:
        return {"weight": leak, "encoding": encoding, "remark": names[1] if leak > 0.3 else "none"}

    (first, *others) = models
    made = Produced(
        [bundles(*first[1:], seed, names, classes, embedded=True) for seed in seeds],
        compared=[
            ComparedModel(
                one[0], about(*one), [bundles(*one[1:], s, names, classes) for s in seeds]
            )
            for one in others
        ],
        about=about(*first) | {"name": first[0]},
    )
    write_record(folder / "run.json", build_run_record(spec, ""))
    score_run(spec, made).write(folder)
    return write_report(folder)


MODELS = [("leaky", 0.6, "soft"), ("tight", 0.05, "soft"), ("loose", 0.6, "logit"),
          ("firm", 0.05, "logit"), ("hard", 0.05, "hard")]  # fmt: skip
REPORT = {
    "charts": [
        {"title": "Supervision", "metrics": ["task_leakage_given_concept", "intervention_score"],
         "across": "weight", "lines": "encoding"},
        {"title": "Nothing fits", "metrics": ["task_leakage_given_concept"], "across": "color"},
    ],
    "shown": ["hard", "loose", "no such model"],
}  # fmt: skip
STUDIES = [
    {"kind": "criterion", "title": "Loose supervision leaks more", "more": {"weight": 0.6},
     "less": {"weight": 0.05}, "matched": ["encoding"], "paper": "It does."},
    {"kind": "correlation", "title": "Do scores follow?", "metrics": ["concept_task_leakage"],
     "paper": {"concept_task_leakage": [0.75, 0.0034]}},
]  # fmt: skip


def between(page: str, start: str, end: str) -> str:
    return page.split(start, 1)[1].split(end, 1)[0]


def svgs(page: str, css: str) -> list[str]:
    """Find the drawings of one kind."""
    return re.findall(rf'<svg class="{css}[ "].*?</svg>', page, re.DOTALL)


def upwards(svg: str) -> tuple[float, float]:
    """Return slope and offset from a height in the drawing to the value, read off its labeled lines."""
    lines = [float(y) for y in re.findall(r'<line class="grid"[^>]* y1="([\d.]+)"', svg)]
    labels = [
        float(t.replace("−", "-").removesuffix(" %")) / (100 if t.endswith("%") else 1)
        for t in re.findall(r'text-anchor="end">([−\d.]+(?: %)?)</text>', svg)
    ]
    assert len(lines) == len(labels) >= 2
    slope = (labels[-1] - labels[0]) / (lines[-1] - lines[0])
    return slope, labels[0] - slope * lines[0]


def marked(svg: str, style: int) -> list[tuple[float, float]]:
    """Return the places of the marks of one line."""
    result = re.findall(rf'class="mark c{style}" transform="translate\(([\d.]+) ([\d.]+)\)"', svg)
    return [(float(x), float(y)) for x, y in result]
