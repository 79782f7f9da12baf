"""The page on people's votes: what is said is what was measured; words of others are only shown."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from support.runs.rated_run import HOSTILE, METRICS, with_numbers
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.pipeline_output import ComparedModel, Produced
from theodolite.evidence.rating_summary import aggregate_ratings
from theodolite.report.html import write_report
from theodolite_reproductions.findings.vote_correlations import vote_correlations


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("votes")
    spec = RunSpec.model_validate(
        {
            "name": "votes", "evidence": ["x"], "metrics": METRICS, "compared_metrics": METRICS,
            "resampling": {"resamples": 40, "clusters": "none"},
            "studies": [{"kind": "vote_correlations", "title": "Do they follow?",
                         "where": {"kind": "votes"}}],
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


def test_numbers_against_votes(folder: Path) -> None:
    rated = with_numbers()
    record = vote_correlations("t", "mean", [("ours", [rated])])
    votes = np.nanmean(rated.ratings, axis=1)
    by_name = {(r.measure, r.method): r for r in record.rows}
    near = by_name["near", "spearman"]
    assert near.r == pytest.approx(stats.spearmanr(rated.measured[:, 0], votes).statistic)
    assert by_name["far", "pearson"].r == pytest.approx(
        stats.pearsonr(rated.measured[:, 1], votes).statistic
    )
    assert all((r.corrected_p or 0) >= (r.p or 0) for r in record.rows)
    assert len(record.rows) == 4
    page = (folder / "report.html").read_text()
    assert "all 8 correlations" in page
    assert "Correlations within ±0.10 count as none" in page
    assert by_name["far", "pearson"].decision.answer == "too few repeats"
    assert "too few repeats: 0." in page


def test_a_report_opens_with_the_result_of_its_studies(folder: Path) -> None:
    page = (folder / "report.html").read_text()
    top, bottom = page.index('id="protocol-result"'), page.index('id="appendix"')
    assert top < page.index("strongest with near, r = ") < bottom
    assert "No question could be answered" not in page[:bottom]
