"""What the command ``audit`` does with files, with evidence in pieces, and with a network."""

import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite.auditing.result import (
    answered,
    begin_folder,
    check_any,
    nothing_scored,
    spec_of,
    write_audited,
)
from theodolite.auditing.sources import EvidenceSource, read_given, together
from theodolite.engine.base import Engine
from theodolite.evidence.produced import Progress
from theodolite.io.stores import Store
from theodolite.run_folder.folder import apart_from, check_folder
from theodolite.run_folder.spec import RunSpec
from theodolite.runs import stored as stored_run
from theodolite.runs.run import Places, run
from theodolite.scoring.evaluate import Resampling
from theodolite.verdicts.answers import AuditAnswers


@dataclass(frozen=True)
class AuditArguments:
    """How to audit, and where to."""

    resampling: Resampling
    out: Path | None
    overwrite: bool
    command: str


@dataclass(frozen=True)
class NetworkArguments:
    """A network by name, and pictures with concepts."""

    model: str
    weights: Path | None
    layer: str | None
    data: Path
    dataset: str
    cache: Path


def read_all(evidence: Sequence[str], asked: AuditArguments) -> EvidenceSource:
    """Read what is to be audited; not before it is known that the result can be written."""
    if asked.out is not None:
        check_folder(asked.out, overwrite=asked.overwrite)
        for place in evidence:
            local = Store.at(place).local
            if local is not None:
                apart_from(asked.out, "evidence", local)
    return together([read_given(place) for place in evidence])


def audit_pieces(
    given: EvidenceSource, asked: AuditArguments, engine: Engine, progress: Progress
) -> AuditAnswers:
    """Evidence in pieces. Without a run folder, nothing but the scores is kept."""
    spec = spec_of(given, asked.resampling)
    kinds = stored_run.by_kind(spec, given.stored)
    nothing_scored(given.name, {kind: shards.first() for kind, shards in kinds.items()})
    return _run(spec, given.root, None, asked, engine, progress)


def audit_files(given: EvidenceSource, asked: AuditArguments, progress: Progress) -> AuditAnswers:
    """Evidence that fits into memory."""
    check_any(given)
    if asked.out is None:
        return answered(given, asked.resampling, progress)
    spec = spec_of(given, asked.resampling)
    begin_folder(given, spec, asked.out, asked.command, overwrite=asked.overwrite)
    found = answered(given, asked.resampling, progress)
    write_audited(found, spec, asked.out)
    return found


def audit_network(
    network: NetworkArguments, asked: AuditArguments, engine: Engine, progress: Progress
) -> AuditAnswers:
    """Make evidence from pictures and a network, and put every question to it."""
    from theodolite.auditing.network import SEEDS, concept_data

    concept_data(network.data, network.dataset)  # a wrong folder must not cost a network first
    given = [network.data.resolve(), *([network.weights.resolve()] if network.weights else [])]
    root = Path(os.path.commonpath([path.parent for path in given]))
    places = [path.relative_to(root).as_posix() for path in given]
    pipeline: dict[str, Any] = {
        "name": "posthoc_cbm", "backbone": network.model, "layer": network.layer, "units": True,
    }  # fmt: skip
    if network.weights:
        pipeline["weights"] = places[1]
    chance = asked.resampling
    spec = RunSpec.model_validate(
        {
            "name": "audit",
            "title": f"Audit of {network.model} on {network.data.resolve().name}",
            "dataset": {"name": network.dataset, "root": places[0]},
            "pipeline": pipeline,
            "seeds": list(SEEDS),
            "resampling": {"resamples": chance.resamples, "seed": chance.seed},
        }
    )
    return _run(spec, root, network.cache, asked, engine, progress)


def _run(
    spec: RunSpec,
    root: Path,
    cache: Path | None,
    asked: AuditArguments,
    engine: Engine,
    progress: Progress,
) -> AuditAnswers:
    if asked.out is not None:
        at = Places(root, asked.out, cache or asked.out)
        return run(spec, at, progress, asked.command, engine, overwrite=asked.overwrite)
    with tempfile.TemporaryDirectory() as folder:
        at = Places(root, Path(folder), cache or Path(folder))
        return run(spec, at, progress, asked.command, engine)
