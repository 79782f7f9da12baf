"""What the command ``audit`` does with files, with evidence in pieces, and with a network."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite._runs import stored as stored_run
from theodolite._runs.auditing.audit_spec import spec_of
from theodolite._runs.auditing.reading import read_sources
from theodolite._runs.auditing.result import answer_source, check_any, nothing_scored
from theodolite._runs.auditing.saving import begin_folder, write_audited
from theodolite._runs.auditing.sources import EvidenceSource, together, with_claim
from theodolite._runs.engine.base import Engine
from theodolite._runs.engine.estimate import RunPrice
from theodolite._runs.folder.folder import apart_from, check_folder
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.inputs import Places
from theodolite._runs.run import rehearse, run
from theodolite._scoring.evaluate import Resampling
from theodolite._storage.stores import Store
from theodolite._verdicts.answers import AuditAnswers
from theodolite.evidence.produced import Progress


@dataclass(frozen=True)
class AuditArguments:
    """How to audit, and where to."""

    resampling: Resampling
    out: Path | None
    overwrite: bool
    command: str
    claim: str = ""
    """What the explanation says."""
    announce: Callable[[RunPrice], None] | None = None
    """Called with what a long run will cost."""


@dataclass(frozen=True)
class NetworkArguments:
    """A network by name, and images with concepts."""

    model: str
    weights: Path | None
    layer: str | None
    data: Path
    dataset: str
    cache: Path


def read_all(
    evidence: Sequence[str], arguments: AuditArguments, columns: Mapping[str, str]
) -> EvidenceSource:
    """Read what is to be audited; not before it is known that the result can be written."""
    if arguments.out is not None:
        check_folder(arguments.out, overwrite=arguments.overwrite)
        for place in evidence:
            local = Store.at(place).local
            if local is not None:
                apart_from(arguments.out, "evidence", local)
    return with_claim(together(read_sources(evidence, columns)), arguments.claim)


def audit_pieces(
    source: EvidenceSource, arguments: AuditArguments, engine: Engine, progress: Progress
) -> AuditAnswers:
    """Evidence in pieces. Without a run folder, nothing but the scores is kept."""
    spec = spec_of(source, arguments.resampling)
    kinds = stored_run.by_kind(spec, source.stored)
    nothing_scored(source.name, {kind: shards.first() for kind, shards in kinds.items()})
    return _run(spec, source.root, None, arguments, engine, progress)


def audit_files(
    source: EvidenceSource, arguments: AuditArguments, progress: Progress
) -> AuditAnswers:
    """Evidence that fits into memory."""
    check_any(source)
    if arguments.out is None:
        return answer_source(source, arguments.resampling, progress)
    spec = spec_of(source, arguments.resampling)
    begin_folder(source, spec, arguments.out, arguments.command, overwrite=arguments.overwrite)
    answers = answer_source(source, arguments.resampling, progress)
    write_audited(answers, spec, arguments.out)
    return answers


def audit_network(
    network: NetworkArguments, arguments: AuditArguments, engine: Engine, progress: Progress
) -> AuditAnswers:
    """Make evidence from images and a network, and put every question to it."""
    from theodolite._runs.auditing.network import SEEDS, concept_data

    concept_data(network.data, network.dataset)  # a wrong folder must not cost a network first
    paths = [network.data.resolve(), *([network.weights.resolve()] if network.weights else [])]
    root = Path(os.path.commonpath([path.parent for path in paths]))
    places = [path.relative_to(root).as_posix() for path in paths]
    pipeline: dict[str, Any] = {
        "name": "posthoc_cbm", "backbone": network.model, "layer": network.layer, "units": True,
    }  # fmt: skip
    if network.weights:
        pipeline["weights"] = places[1]
    chance = arguments.resampling
    spec = RunSpec.model_validate(
        {
            "name": "audit",
            "title": f"Audit of a concept bottleneck of {network.model} on "
            f"{network.data.resolve().name}",
            "claim": arguments.claim,
            "dataset": {"name": network.dataset, "root": places[0]},
            "pipeline": pipeline,
            "seeds": list(SEEDS),
            "resampling": {"resamples": chance.resamples, "seed": chance.seed},
        }
    )
    return _run(spec, root, network.cache, arguments, engine, progress)


def _run(
    spec: RunSpec,
    root: Path,
    cache: Path | None,
    arguments: AuditArguments,
    engine: Engine,
    progress: Progress,
) -> AuditAnswers:
    with _places(root, cache, arguments.out) as at:
        overwrite = None if arguments.out is None else arguments.overwrite
        return run(
            spec, at, progress, arguments.command, engine, overwrite=overwrite,
            announce=arguments.announce,
        )  # fmt: skip


def rehearse_pieces(
    source: EvidenceSource | None, arguments: AuditArguments, engine: Engine
) -> RunPrice | None:
    """What an audit would cost; nothing if it is not of evidence in pieces."""
    if source is None or not source.stored:
        return None
    spec = spec_of(source, arguments.resampling)
    with _places(source.root, None, arguments.out) as at:
        overwrite = None if arguments.out is None else arguments.overwrite
        return rehearse(spec, at, command=arguments.command, engine=engine, overwrite=overwrite)


@contextmanager
def _places(root: Path, cache: Path | None, out: Path | None) -> Iterator[Places]:
    """Where a run reads and writes; for its time only, if nobody wants the folder."""
    if out is not None:
        yield Places(root, out, cache or out)
        return
    with tempfile.TemporaryDirectory() as folder:
        yield Places(root, Path(folder), cache or Path(folder))
