"""The pages for leakage and for several models: what is drawn is what was measured."""

from pathlib import Path

import pytest

from support.runs.leaky_run import MODELS, REPORT, STUDIES, between, write_run
from theodolite._runs.folder.chapters import check_studies
from theodolite._runs.folder.spec import RunSpec
from theodolite._storage.records import write_record
from theodolite.errors import EvidenceError
from theodolite_reproductions.chapters.findings import findings, p_text
from theodolite_reproductions.findings.compared import DifferenceRecord
from theodolite_reproductions.findings.leakage import (
    CriterionRecord,
    FindingsFile,
    PairRecord,
    read_findings,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    write_run(folder, [0, 1, 2], MODELS, report=REPORT, studies=STUDIES)
    return folder


@pytest.fixture(scope="module")
def page(folder: Path) -> str:
    return (folder / "report.html").read_text()


def test_findings_count_pairs_and_quote_the_paper(tmp_path: Path) -> None:
    def pair(outcome: str) -> PairRecord:
        gap = DifferenceRecord(metric="concept_task_leakage", value=0.1, low=-0.02, high=0.2, p=0.1)
        return PairRecord(more="a", less="b", outcome=outcome, differences=[gap])

    def study(scores: str, answer: str, outcomes: list[str]) -> CriterionRecord:
        pooled = DifferenceRecord(
            metric="concept_task_leakage", value=0.123, low=-0.05, high=1.4, p=0.1
        )
        return CriterionRecord(
            title="It leaks", scores=scores, answer=answer, paper="Surely.", pooled=[pooled],
            pairs=[pair(one) for one in outcomes],
        )  # fmt: skip

    some = ["more"] * 7 + ["contradictory"] * 2
    write_record(
        tmp_path / "findings.json",
        FindingsFile(findings=[
            study("published", "confirmed", some),
            study("mended", "contradicted", ["less", "contradictory", "undefined"]),
        ]),
    )  # fmt: skip
    result = findings(read_findings(tmp_path))
    assert result is not None and len(result["criteria"]) == 1, "one card for both sets of scores"
    claim = result["criteria"][0]
    first, second = claim["answers"]
    assert first["counts"] == "more in 7 of 9 pairs, less in 0, contradictory in 2"
    assert second["counts"] == "more in 0 of 3 pairs, less in 1, contradictory in 1, undefined in 1"
    assert first["power"] == "" and first["pooled"][0]["words"] == []
    assert (first["word"], first["css"], second["css"]) == ("confirmed", "yes", "no")
    assert first["pooled"][0]["said"] == "+12.3 [−5.0, +100.0]", "a share differs by 100 at most"
    assert claim["paper"] == "Surely."
    assert findings(read_findings(tmp_path / "nowhere")) is None


def test_findings_are_on_the_page(page: str) -> None:
    part = between(page, "What the paper found", "models compared")
    assert "Loose supervision leaks more" in part and "The paper: It does." in part
    assert part.count('class="answer"') == 2
    assert "More in 2 of 2 pairs, less in 0." in part
    assert "3 seeds each; asked for: 2 points; most pairs would show " in part
    assert 'class="zone partly"' in part and "Shaded: too small" in part
    assert "0.75, p 0.0034" in part and p_text(0.0142) == "0.014"
    assert "Pearson's correlation with: Accuracy lost under full intervention" in part.replace(
        "&#39;", "'"
    )


def test_hostile_titles_stay_text(tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    claims = [
        {**STUDIES[0], "title": evil, "paper": evil, "matched": []},
        {**STUDIES[1], "title": evil},
    ]
    models = [("main", 0.6, "soft"), ("other", 0.05, "soft")]
    page = write_run(tmp_path, [0, 1], models, studies=claims).read_text()
    assert "<script>alert" not in page and page.count("&lt;script&gt;alert") >= 3


def test_check_studies_names_unknown_kinds_and_wrong_settings() -> None:
    study = {"kind": "vote_correlations", "title": "Do they follow?"}
    with pytest.raises(EvidenceError, match="study 'unknown': got no package"):
        check_studies(RunSpec.model_validate(
            {"name": "a", "evidence": ["e"], "studies": [study, {"kind": "unknown"}]}
        ))  # fmt: skip
    wrong = {"name": "a", "evidence": ["e"], "studies": [study | {"effect": 2}]}
    with pytest.raises(EvidenceError, match="effect: Input should be less than 1"):
        check_studies(RunSpec.model_validate(wrong))
