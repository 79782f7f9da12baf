"""The figures of techniques under votes, made and read."""

import re
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest

from theodolite.evidence.technique_columns import SCRIPTED
from theodolite_reproductions.chapters.techniques import techniques_chapter
from theodolite_reproductions.findings.techniques.record import (
    TechniqueRow,
    TechniquesVotesRecord,
    TechniqueTable,
)


def row(value: float, **names: str) -> TechniqueRow:
    return TechniqueRow(names=names, value=value, low=value - 0.2, high=value + 0.2, units=3, n=9)


def record() -> TechniquesVotesRecord:
    tables = {
        "modality": [row(v, modality=m, of=q) for m, q, v in (
            ("concept", "Q1", 2.0), ("concept", "Q5", 3.0), ("saliency", "Q1", 2.5),
            ("saliency", "Q5", 3.5), ("saliency", "fidelity", 2.5))],
        "network": [row(2.0, network="large", of="Q1"), row(3.0, network="small", of="Q1")],
        "favorites": [row(1.0, technique="rise / large"), row(3.0, technique="lime / large")],
        "questions": [TechniqueRow(names={"question": "Q1", "with": "Q2", "over": "all",
                                          "method": "pearson"}, value=0.5)],
        "words": [row(0.3, measure="rouge_1", question="Q1")],
        "numbers": [row(-0.4, number="sum_pos", question="Q2", over="all", method="pearson"),
                    row(0.9, number="sum_pos", question="Q2", over="between techniques",
                        method="pearson")],
    }  # fmt: skip
    return TechniquesVotesRecord(
        title=f"Rehearsal ({SCRIPTED})", source=SCRIPTED, explanations=9, techniques=4, images=3,
        people=3, notes=[],
        tables=[TechniqueTable(name=n, title=f"{n} ({SCRIPTED})", rows=r)
                for n, r in tables.items()],
    )  # fmt: skip


@pytest.fixture(scope="module")
def figures() -> list[dict[str, Any]]:
    (study,) = techniques_chapter([record()])
    assert study["scripted"] and "3 scripted annotators" in study["counts"]
    return list(study["figures"])


def titles(figure: dict[str, Any]) -> list[str]:
    root = ElementTree.fromstring(str(figure["svg"]))  # noqa: S314  our own
    assert SCRIPTED in root.attrib["aria-label"]
    return [element.text or "" for element in root.iter() if element.tag.endswith("title")]


def heights(figure: dict[str, Any]) -> list[float]:
    return [float(y) for y in re.findall(r"translate\([\d.]+ ([\d.]+)\)", str(figure["svg"]))]


def test_mean_votes_by_question_for_modalities_and_networks(figures: list[dict[str, Any]]) -> None:
    modality, network = figures[:2]
    assert [name for _, name in modality["key"]] == ["concept", "saliency"]
    shown = "; ".join(titles(modality))
    assert all(text in shown for text in ("concept, Q1: 2.00", "saliency, Q5: 3.50"))
    ys = heights(modality)  # concept Q1, Q5, saliency Q1, Q5: the higher vote lies higher
    assert len(ys) == 4 and ys[3] < ys[1] < ys[2] < ys[0]
    assert [name for _, name in network["key"]] == ["large", "small"]


def test_first_lists(figures: list[dict[str, Any]]) -> None:
    assert titles(figures[2])[:2] == [
        "lime / large: 3 of 3, 2.8 to 3.2", "rise / large: 1 of 3, 0.8 to 1.2"
    ]  # fmt: skip


def test_questions_against_words_and_maps(figures: list[dict[str, Any]]) -> None:
    read = titles(figures[3])
    assert {"Q1, Q2: +0.50", "Q2, Q1: +0.50", "rouge_1, Q1: +0.30", "sum_pos, Q2: -0.40"} <= set(
        read
    )
    assert "sum_pos, Q1: undefined" in read and not any("+0.90" in text for text in read)
