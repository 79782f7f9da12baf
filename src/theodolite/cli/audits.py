"""What the command ``audit`` does with files, and with evidence in pieces."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from theodolite.contracts.bundle import Evidence
from theodolite.contracts.files import load, load_arrays
from theodolite.contracts.made import Made, Progress
from theodolite.contracts.stored import is_stored
from theodolite.errors import EvidenceError
from theodolite.execution import stored_run
from theodolite.execution._scored import resampling_of
from theodolite.execution.audit import Audit, audit, by_kind, requests_for
from theodolite.execution.engine import Engine
from theodolite.execution.run import Places, run, run_made
from theodolite.execution.run_folder import apart_from, check_folder, prepare_folder
from theodolite.execution.run_record import begin, run_record
from theodolite.execution.spec import ResamplingSpec, RunSpec
from theodolite.execution.stored_run import no_pieces_at
from theodolite.io.paths import sha256_of
from theodolite.io.stores import Store


@dataclass(frozen=True)
class Given:
    """Evidence, found."""

    place: str
    """Its full path, or the address in a bucket."""
    in_pieces: bool

    @property
    def local(self) -> Path | None:
        """The path, if it is one."""
        return Store.at(self.place).local

    @property
    def name(self) -> str:
        """What it is called."""
        return Path(self.place).name


@dataclass(frozen=True)
class Auditing:
    """What is to be audited, and where to."""

    spec: RunSpec
    given: Given
    out: Path | None
    overwrite: bool
    command: str


def given_at(evidence: str) -> Given:
    """Look where the user says that evidence is."""
    local = Store.at(evidence).local
    place = evidence.rstrip("/") if local is None else str(local.resolve())
    in_pieces = is_stored(place)
    if "://" in evidence and not in_pieces:
        raise no_pieces_at(evidence)
    return Given(place, in_pieces)


def spec_of(given: Given, *, resamples: int, seed: int) -> RunSpec:
    """The spec of an audit."""
    return RunSpec(
        name="audit",
        title=f"Audit of {given.name}",
        evidence=[given.place if given.local is None else given.name],
        resampling=ResamplingSpec(resamples=resamples, seed=seed),
    )


def audit_pieces(asked: Auditing, engine: Engine, progress: Progress) -> Audit:
    """Evidence in pieces. Without a run folder, nothing but the scores is kept."""
    spec, local = asked.spec, asked.given.local
    root = Path() if local is None else local.parent
    kinds = stored_run.by_kind(spec, [asked.given.place])
    _check_any(asked.given, {kind: shards.first() for kind, shards in kinds.items()})
    if asked.out is not None:
        at = Places(root, asked.out, asked.out)
        return run(spec, at, progress, asked.command, engine, overwrite=asked.overwrite)
    with tempfile.TemporaryDirectory() as folder:
        at = Places(root, Path(folder), Path(folder))
        return run(spec, at, progress, asked.command, engine)


def audit_files(asked: Auditing, progress: Progress) -> Audit:
    """Evidence in a folder or a file, which fits into memory."""
    path, out = Path(asked.given.place), asked.out
    if out is not None:
        check_folder(out, overwrite=asked.overwrite)
        apart_from(out, "evidence", path)
    given = load(path) if path.is_dir() else load_arrays(path)
    _check_any(asked.given, by_kind([given]))
    if out is None:
        return audit(given, resampling_of(asked.spec), progress)
    inputs = _digests(path)
    prepare_folder(out, overwrite=asked.overwrite)
    begin(out / "run.json", run_record(asked.spec, asked.command, inputs=inputs))
    return run_made(asked.spec, Made([[given]], inputs=inputs), out, progress)


def _check_any(given: Given, kinds: Mapping[type[Evidence], Evidence]) -> None:
    """Refuse evidence that allows no score at all."""
    requests, unanswered = requests_for(kinds)
    if not requests:
        needs = "; ".join(f"{one.metric}: {', '.join(one.needs)}" for one in unanswered)
        raise EvidenceError(f"{given.name!r}", "nothing that can be scored", needs)


def _digests(evidence: Path) -> dict[str, str]:
    files = sorted(evidence.rglob("*")) if evidence.is_dir() else [evidence]
    named = ((path.relative_to(evidence.parent).as_posix(), path) for path in files)
    return {name: sha256_of(path) for name, path in named if path.is_file()}
