"""Small finished runs about the same samples, for tests that compare runs."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._planted.concepts import planted_concepts
from theodolite._runs.folder.checksums import write_checksums
from theodolite._runs.folder.run_records import build_run_record
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.run_content import score_run
from theodolite._storage.records import write_record
from theodolite.evidence.axes import Samples
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.pipeline_output import Produced

METRICS = [{"name": "concept_existence", "options": {"top": [1, 3]}}]
BY_CONCEPT = {"name": "concept_global_importance", "options": {"over": "concepts", "form": [2]}}


def spoilt(share: float, n: int = 120, *, seed: int = 0, ids: str = "image") -> ConceptEvidence:
    """A concept model that is wrong about the first ``share`` of the samples, in one hard order.

    Runs made with other shares find the same samples hard: their scores go up and down together.
    """
    whole = planted_concepts(n, 8, 4, seed=3)
    hard = np.random.default_rng(7).permutation(n)[: round(share * n)]
    sign = np.ones((n, 1))
    sign[hard] = -1.0
    noise = 1 + 0.1 * np.random.default_rng(seed).random(whole.values.shape)
    samples = Samples(ids=np.array([f"{ids} {i}" for i in range(n)]))
    return replace(whole, values=whole.values * sign * noise, samples=samples)


def written(
    out: Path,
    evidence: Sequence[Evidence] | Evidence,
    *,
    metrics: Any = None,
    sealed: bool = True,
    **spec: Any,
) -> Path:
    """A finished run of such evidence, one bundle per seed."""
    seeds = [evidence] if isinstance(evidence, Evidence) else list(evidence)
    given = {"name": "planted", "evidence": ["planted"], "seeds": list(range(len(seeds)))}
    given |= {"metrics": METRICS if metrics is None else metrics, "resampling": {"resamples": 100}}
    made = RunSpec.model_validate(given | spec)
    out.mkdir(parents=True)
    write_record(out / "run.json", build_run_record(made, "a test"))
    score_run(made, Produced([[one] for one in seeds])).write(out)
    (out / "report.html").write_text("<p>a report</p>")
    if sealed:
        write_checksums(out)
    return out
