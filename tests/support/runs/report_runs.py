"""Small runs with a report: one whose every name is hostile, one with people's votes."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

from theodolite._planted.ratings import planted_ratings
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import ReportSpec, RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.axes import Classes, Concepts, Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.pipeline_output import Produced
from theodolite.report.html import write_report

EVIL = ("<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "../../etc/passwd", "{{ 7*7 }}",
        "</title><svg onload=alert(3)>", "javascript:alert(4)", "&lt;b&gt;")  # fmt: skip


def evil_run(folder: Path) -> Path:
    """A run whose every name tries to break out."""
    random = np.random.default_rng(0)
    n, k = 30, len(EVIL)
    made = ConceptEvidence(
        values=random.normal(size=(n, k)), truth=random.random((n, k)) < 0.5,
        weights=random.normal(size=(k, 2)), predicted=random.integers(0, 2, n),
        labels=random.integers(0, 2, n), class_truth=random.random((k, 2)),
        concepts=Concepts(EVIL), classes=Classes(EVIL[:2]),
        samples=Samples(ids=np.array([f"<i>{i}</i>" for i in range(n)])),
    )  # fmt: skip
    spec = RunSpec(
        name="evil", title=EVIL[0], evidence=["x"], report=ReportSpec(examples=2, differs=EVIL[1])
    )
    image = io.BytesIO()
    Image.new("RGB", (8, 8)).save(image, "JPEG")
    write_record(folder / "run.json", build_run_record(spec, EVIL[0]))
    score_run(spec, Produced([[made]], notes=[EVIL[2], EVIL[4]], facts=[(EVIL[0], EVIL[1])], inputs={EVIL[0]: EVIL[1]},
             image=lambda name: image.getvalue())).write(folder)  # fmt: skip
    return write_report(folder)


def rated_run(folder: Path) -> Path:
    """A run on votes, with several scores of one question."""
    names = ("acceptance", "rater_agreement", "krippendorff_alpha")
    spec = RunSpec.model_validate(
        {
            "name": "votes", "evidence": ["x"], "metrics": [{"name": name} for name in names],
            "resampling": {"resamples": 20, "clusters": "none"},
        }
    )  # fmt: skip
    write_record(folder / "run.json", build_run_record(spec, ""))
    score_run(spec, Produced([[planted_ratings()]])).write(folder)
    return write_report(folder)
