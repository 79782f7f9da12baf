"""The spec that an audit can be repeated by."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from theodolite._runs.auditing.sources import EvidenceSource
from theodolite._runs.folder.spec import MetricSpec, ResamplingSpec, RunSpec
from theodolite._scoring.request import MetricRequest, Resampling
from theodolite.errors import EvidenceError

if TYPE_CHECKING:
    from theodolite._runs.auditing.run_sources import SourceRun

FROM_PYTHON = "arrays from Python"


def spec_of(
    source: EvidenceSource, resampling: Resampling, requests: Sequence[MetricRequest] = ()
) -> RunSpec:
    """The spec that an audit can be done again by: what was chosen, or all that the evidence
    allows."""
    usual = Resampling(
        resampling.resamples, resampling.level, resampling.seed,
        most_pooled=resampling.most_pooled,
    )  # fmt: skip
    if resampling != usual:
        raise EvidenceError(
            "resampling", f"{resampling}", "only resamples, level, seed and most_pooled changed",
            "A run folder keeps no others.",
        )  # fmt: skip
    names = [path.name for path in source.local] or [FROM_PYTHON]
    chance = ResamplingSpec(
        resamples=resampling.resamples,
        level=resampling.level,
        seed=resampling.seed,
        most_pooled=resampling.most_pooled,
    )
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
    return spec if source.run is None else spec.model_copy(update=_spec_updates(source.run, chance))


def _spec_updates(source_run: "SourceRun", chance: ResamplingSpec) -> dict[str, Any]:
    """What the spec of an audit takes over from that of the run."""
    spec = source_run.spec
    updates: dict[str, Any] = {"headlines": spec.headlines, "report": spec.report}
    if source_run.alone:
        clusters = chance.model_copy(update={"clusters": spec.resampling.clusters})
        title = f"Audit of {spec.title or source_run.folder.name}"
        updates |= {"seeds": source_run.seeds(), "resampling": clusters, "title": title}
    return updates
