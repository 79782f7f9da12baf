"""What the command ``audit`` does with files, and with evidence in pieces."""

import tempfile
from pathlib import Path

from theodolite.contracts.files import load, load_arrays
from theodolite.contracts.made import Made, Progress
from theodolite.contracts.stored import is_stored
from theodolite.execution._scored import resampling_of
from theodolite.execution.audit import Audit, audit
from theodolite.execution.engine import Engine
from theodolite.execution.run import Places, run, run_made
from theodolite.execution.run_record import begin, run_record
from theodolite.execution.spec import ResamplingSpec, RunSpec
from theodolite.io.paths import sha256_of


def spec_of(evidence: str, *, resamples: int, seed: int) -> RunSpec:
    """The spec of an audit."""
    name = evidence if "://" in evidence else Path(evidence).name
    return RunSpec(
        name="audit",
        title=f"Audit of {Path(evidence).name}",
        evidence=[name],
        resampling=ResamplingSpec(resamples=resamples, seed=seed),
    )


def audit_pieces(
    spec: RunSpec, evidence: str, out: Path | None, engine: Engine, progress: Progress, command: str
) -> Audit | None:
    """Evidence in pieces; nothing if it is not."""
    if not is_stored(evidence):
        return None
    root = Path() if "://" in evidence else Path(evidence).resolve().parent
    if out is not None:
        return run(spec, Places(root, out, out), progress, command, engine)
    with tempfile.TemporaryDirectory() as folder:
        return run(spec, Places(root, Path(folder), Path(folder)), progress, command, engine)


def audit_files(
    spec: RunSpec, evidence: Path, out: Path | None, progress: Progress, command: str
) -> Audit:
    """Evidence in a folder or a file, which fits into memory."""
    given = load(evidence) if evidence.is_dir() else load_arrays(evidence)
    if out is None:
        return audit(given, resampling_of(spec), progress)
    inputs = _digests(evidence)
    begin(out / "run.json", run_record(spec, command, inputs=inputs))
    return run_made(spec, Made([[given]], inputs=inputs), out, progress)


def _digests(evidence: Path) -> dict[str, str]:
    files = sorted(evidence.rglob("*")) if evidence.is_dir() else [evidence]
    named = ((path.relative_to(evidence.parent).as_posix(), path) for path in files)
    return {name: sha256_of(path) for name, path in named if path.is_file()}
