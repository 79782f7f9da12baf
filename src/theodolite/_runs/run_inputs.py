"""Check the inputs of a run before it starts."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.folder.chapters import check_studies
from theodolite._runs.folder.preparation import check_outside
from theodolite._runs.folder.registry import build_registered
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.folder.spec_answers import build_requests
from theodolite._runs.missing_shards import BUCKETS
from theodolite._scoring.evaluate import MetricRun
from theodolite._storage.paths import confined
from theodolite._storage.stores import Store
from theodolite._verdicts.answers import by_kind
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.files import load
from theodolite.evidence.pipeline_output import Pipeline, Produced, Progress, WorkContext
from theodolite.evidence.shards import InMemoryShards, Shards
from theodolite.evidence.workers import Workers


@dataclass(frozen=True)
class RunPaths:
    """Where a run reads, writes and keeps what can be used again."""

    data: Path
    out: Path
    cache: Path


def check_paths_outside_folder(spec: RunSpec, at: RunPaths, engine: Engine) -> None:
    """The folder may be emptied, and is sealed: all else must lie outside of it."""
    for name in spec.evidence:
        if not name.startswith(BUCKETS):
            check_outside(at.out, "evidence", confined(at.data, name))
    if spec.pipeline is not None:
        check_outside(at.out, "data folder", at.data)
        check_outside(at.out, "cache", at.cache)
    pieces = Store.at(engine.checkpoint_dir).local if engine.checkpoint_dir else None
    if pieces is not None:
        check_outside(at.out, "pieces", pieces)


def check_names(spec: RunSpec) -> None:
    """Refuse scores and studies that there are not."""
    check_studies(spec)
    build_requests(spec.metrics)
    build_requests(spec.compared_metrics)


def check_requests(spec: RunSpec, kinds: Mapping[type[Evidence], Shards]) -> None:
    """Refuse scores that the evidence does not allow, before anything is done."""
    for request in build_requests(spec.metrics):
        needs = request.metric.needs
        if needs not in kinds:
            raise EvidenceError(request.metric.name, f"no {needs.kind} evidence", "some")
        MetricRun(request, [kinds[needs]])


def is_sharded(spec: RunSpec, at: RunPaths) -> bool:
    """Return whether workers make all of the spec's evidence, in tasks."""
    if spec.pipeline is None:
        return False
    return bool(getattr(build_registered("pipelines", spec.pipeline, at.data), "in_pieces", False))


def load_inputs(spec: RunSpec, at: RunPaths, progress: Progress) -> Callable[[Workers], Produced]:
    """Read what evidence is made from; what comes back makes it."""
    if spec.evidence:
        bundles = [load(confined(at.data, name)) for name in spec.evidence]
        check_requests(
            spec, {kind: InMemoryShards(bundle) for kind, bundle in by_kind(bundles).items()}
        )
        return lambda _: Produced([bundles])
    assert spec.dataset is not None  # noqa: S101  the spec was checked
    assert spec.pipeline is not None  # noqa: S101
    pipeline: Pipeline = build_registered("pipelines", spec.pipeline, at.data)
    progress("data", 0, 1)
    data = build_registered("datasets", spec.dataset, at.data)
    progress("data", 1, 1)
    return lambda workers: pipeline.make(data, WorkContext(spec.seeds, at.cache, progress, workers))
