"""A small finished run that answers two questions, and on which they disagree."""

from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from theodolite._runs.folder.run_records import build_run_record, write_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.pipeline_output import Produced

EVIL = "<script>alert(1)</script>|*x*_y_ % & # $ [a](b) {{ 7*7 }} <!-- theodolite: end -->"


def opposite(n: int = 16) -> list[Any]:
    """Half of the explanations name what is there; people accept just the others."""
    ids = Samples(ids=np.array([f"<b>p</b>{i:02d}" for i in range(n)]))
    values = np.tile([0.9, 0.8, 0.7, 0.6, 0.5, 0.1], (n, 1))
    truth = np.zeros((n, 6), bool)
    truth[: n // 2] = True
    ratings = np.full((n, 2), 5.0)
    ratings[: n // 2] = 1.0
    labels = np.arange(n) % 4
    explained = ConceptEvidence(
        values=values, truth=truth, labels=labels, predicted=labels, samples=ids
    )
    return [explained, RatingEvidence(ratings=ratings, scale=np.arange(1.0, 6.0), samples=ids)]


def image(name: str) -> bytes:
    """A small image, another for every sample."""
    import io  # noqa: PLC0415

    shade = sum(map(ord, name)) % 256
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), (shade, 120, 255 - shade)).save(stream, "JPEG")
    return stream.getvalue()


def spec_of(name: str = "two", metrics: tuple[str, ...] = ("exists", "accepted")) -> RunSpec:
    known = {
        "exists": {"name": "concept_existence", "options": {"rank_by": "value", "top": [1, 5]}},
        "accepted": {"name": "acceptance"},
    }
    return RunSpec.model_validate(
        {
            "name": name,
            "title": EVIL,
            "evidence": ["x"],
            "seeds": [0],
            "metrics": [known[one] for one in metrics],
            "resampling": {"resamples": 50, "clusters": "none"},
            "report": {"examples": 0},
        }
    )


def finished(
    out: Path, name: str = "two", metrics: tuple[str, ...] = ("exists", "accepted")
) -> Path:
    """A run folder, without report and seal."""
    out.mkdir(parents=True)
    spec = spec_of(name, metrics)
    write_run_record(out / "run.json", build_run_record(spec, f"theodolite run {EVIL} ```"))
    made = Produced(
        evidence=[opposite()], image=image, notes=(EVIL,), facts=(("test samples", 16),)
    )
    score_run(spec, made).write(out)
    return out
