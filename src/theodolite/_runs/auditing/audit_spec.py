"""The spec that an audit can be repeated by."""

from collections.abc import Sequence
from typing import Any

from theodolite._runs.auditing.sources import EvidenceSource
from theodolite._runs.folder.spec import MetricSpec, ResamplingSpec, RunSpec
from theodolite._scoring.request import MetricRequest, Resampling
from theodolite.errors import EvidenceError

FROM_PYTHON = "arrays from Python"


def build_spec(
    source: EvidenceSource, resampling: Resampling, requests: Sequence[MetricRequest] = ()
) -> RunSpec:
    """Return the spec that repeats an audit: of the metrics chosen, or of all possible ones."""
    chance = ResamplingSpec.of_draws(resampling)
    if resampling != chance.draws():
        raise EvidenceError(
            "resampling", f"{resampling}", "only resamples, level, seed and most_pooled changed",
            "A run folder keeps no others.",
        )  # fmt: skip
    names = [path.name for path in source.local] or [FROM_PYTHON]
    spec = RunSpec(
        name="audit",
        title=f"Audit of {source.name}",
        evidence=source.stored_names if source.stored else names,
        seeds=list(range(max(len(source.evidence), 1))),
        metrics=[MetricSpec(name=r.metric.name, options=r.options) for r in requests],
        resampling=chance,
        subject=source.stated_subject,
        claim="" if source.claim is None else source.claim.text,
    )
    if source.run is None:
        return spec
    before = source.run.record.spec
    updates: dict[str, Any] = {"report": before.report}
    if source.run_alone:
        clusters = chance.model_copy(update={"clusters": before.resampling.clusters})
        title = f"Audit of {before.title or source.run.folder.name}"
        updates |= {"seeds": source.run.seeds, "resampling": clusters, "title": title}
    return spec.model_copy(update=updates)
