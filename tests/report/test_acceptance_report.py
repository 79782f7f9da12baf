"""The page on people's votes: what is said is what was measured; words of others are only shown."""

import json
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from support.runs.rated_run import HOSTILE, METRICS, with_numbers
from support.servers.browser import looks_right
from theodolite._planted.ratings import planted_ratings
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced
from theodolite.evidence.rating_summary import aggregate_ratings
from theodolite.report.html import write_report


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("votes")
    spec = RunSpec.model_validate(
        {
            "name": "votes", "evidence": ["x"], "metrics": METRICS, "compared_metrics": METRICS,
            "resampling": {"resamples": 40, "clusters": "none"},
        }
    )  # fmt: skip
    main = with_numbers()
    worse = replace(main, predicted=np.random.default_rng(1).permutation(main.predicted))
    n = len(main)
    made = Produced(
        [[main]],
        compared=[
            ComparedModel("worse", {"kind": "learned score", "features": "length"}, [[worse]]),
            ComparedModel("votes-1", {"kind": "votes", "votes": HOSTILE}, [[with_numbers(0.2)]]),
        ],
        about={"kind": "learned score", "name": "better", "features": "words", "votes": "ours"},
        tables={
            "predictions": {
                "explanation": [str(i) for i in range(n)],
                "rating": aggregate_ratings(main.ratings, main.scale, "mean").tolist(),
                "predicted by better": main.predicted.tolist(),
                "context": ["why?"] * n,
                "text": [f"{HOSTILE} {i}" for i in range(n)],
            }
        },
    )
    write_record(out / "run.json", build_run_record(spec, ""))
    score_run(spec, made).write(out)
    write_report(out)
    return out


def between(page: str, start: str, end: str) -> str:
    return page.split(start)[1].split(end)[0]


def test_learned_scores_are_ranked_below_a_person(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    table = between(page, "Can ratings be predicted?", "How far do people agree?")
    assert table.index("one person") < table.index(">better<") < table.index(">worse<")
    models = json.loads((folder / "compared.json").read_text())["models"]
    for model in models[:2]:
        result = next(s for s in model["scores"] if s["metric"] == "predicted_rating_correlation")
        assert f"{result['value']:.3f}".replace("-", "−") in table


def test_agreement_of_all_sets_of_votes(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    table = between(page, "How far do people agree?", "</table>")
    scores = json.loads((folder / "scores.json").read_text())["scores"]
    own = [s for s in scores if s["metric"] == "rater_agreement"]
    assert {s["options"]["own"] for s in own} == {"left out", "included"}
    for score in own:
        assert f"{score['value']:.3f}" in table
    assert table.count('<tr><th scope="row">') == 2


def test_words_of_others_are_only_shown(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    assert "<script>alert" not in page
    assert HOSTILE in unescape(page)


def test_a_person_leaves_the_own_vote_out(tmp_path: Path) -> None:
    """Whatever the order in the spec."""
    own = {"name": "rater_agreement", "options": {"own": ["included", "left out"]}}
    spec = RunSpec.model_validate(
        {"name": "v", "evidence": ["x"], "metrics": [own, {"name": "predicted_rating_agreement"}],
         "resampling": {"resamples": 20}}
    )  # fmt: skip
    write_record(tmp_path / "run.json", build_run_record(spec, ""))
    about = {"kind": "learned score", "name": "s", "votes": "ours"}
    rated = planted_ratings(agreement=0.7)
    other = ComparedModel("votes-1", {"kind": "votes", "votes": "others"}, [[rated]])
    score_run(spec, Produced([[rated]], about=about, compared=[other])).write(tmp_path)
    page = write_report(tmp_path).read_text()
    scores = json.loads((tmp_path / "scores.json").read_text())["scores"]
    value = {s["options"].get("own"): f"{s['value']:.3f}" for s in scores}
    row = between(page, "one person<span", "</tr>")
    assert value["left out"] in row and value["included"] not in row


def test_in_a_browser(folder: Path) -> None:
    looks_right(folder / "report.html")


def test_votes_alone(tmp_path: Path) -> None:
    spec = RunSpec.model_validate({"name": "bare", "evidence": ["x"]})
    write_record(tmp_path / "run.json", build_run_record(spec, ""))
    score_run(
        spec, Produced([[RatingEvidence(ratings=[[1, 2, 2], [5, 5, 4]], scale=range(1, 6))]])
    ).write(tmp_path)
    page = write_report(tmp_path).read_text()
    assert "Would people agree?" in page and "Distribution of ratings" in page
    assert "Can ratings be predicted?" not in page
