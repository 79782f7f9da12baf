"""Public functions on finished runs: ``theodolite.load``, ``compare`` and ``gate``."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from theodolite._runs.auditing.reading import read_source
from theodolite._runs.auditing.result import AuditResult
from theodolite._runs.comparison.compare_runs import Comparison
from theodolite._runs.comparison.compare_runs import compare_runs as compare_loaded_runs
from theodolite._runs.comparison.loaded_runs import load_runs
from theodolite._runs.comparison.versions import Version, check_drift_threshold
from theodolite._runs.finished_run import Run, read_finished_run
from theodolite._runs.folder.file_names import is_run
from theodolite._verdicts.gates.file import Thresholds, read_thresholds, thresholds_from
from theodolite._verdicts.gates.outcome import GateResult, check_gate
from theodolite.errors import EvidenceError
from theodolite.evidence.base import Evidence
from theodolite.evidence.pipeline_output import Progress, silent


def load(path: Path | str) -> Evidence | Run:
    """Load evidence or a run folder; the checksums of a run folder are verified.

    Args:
        path: A .npz or .safetensors file of arrays, a folder of stored evidence, the folder of an
            exported study, or a run folder.
    """
    if is_run(Path(path)):
        return read_finished_run(Path(path))
    source = read_source(path)
    if source.stored:
        raise EvidenceError(
            "load", f"sharded evidence ({source.name!r})", "evidence that fits into memory",
            "Give its path to theodolite.audit or theodolite.score.",
        )  # fmt: skip
    return source.first[0]


def compare(
    before: Run | Path | str,
    after: Run | Path | str,
    *,
    resamples: int | None = None,
    progress: Progress = silent,
) -> Comparison:
    """Compare two runs on the same samples, with paired intervals of the differences.

    The headline score of each question is tested: for these models, and for the recipe that they
    were trained with.

    Args:
        before: The reference run, or its folder.
        after: The run that is compared with it, or its folder.
        resamples: Number of resamples for intervals. Default: as many as ``before`` has.
        progress: Function that is called while runs are compared.
    """
    folders = [run.folder if isinstance(run, Run) else Path(run) for run in (before, after)]
    return compare_loaded_runs(load_runs(folders), resamples, progress)[0]


def gate(
    run: AuditResult | Run | Path | str,
    thresholds: Path | str | Mapping[str, object],
    *,
    against: Version | None = None,
    floor: Sequence[Version] = (),
) -> GateResult:
    """Check an audit or a finished run against thresholds.

    Args:
        run: The result of ``theodolite.audit``, a loaded run, or a run folder.
        thresholds: A YAML file, or its content as plain data (docs/gate.md).
        against: The earlier version of the model, for `drift` in the thresholds: a run, or its
            attributions.
        floor: Three or more retrainings of the earlier version.

    Example:
        >>> import theodolite
        >>> from theodolite.testing import planted_concepts
        >>> result = theodolite.audit(planted_concepts(), questions=["exists"])
        >>> bool(theodolite.gate(result, {"questions": {"exists": "yes"}}))
        True
        >>> print(theodolite.gate(result, {"questions": {"located": "yes"}}).failures[0].sentence)
        located: not evaluated; asked for 'yes'.
    """
    criteria = _read_criteria(thresholds)
    answers = read_finished_run(Path(run)) if isinstance(run, str | Path) else run
    return check_gate(criteria, answers, check_drift_threshold(run, criteria, against, floor))


def _read_criteria(thresholds: Path | str | Mapping[str, object]) -> Thresholds:
    if isinstance(thresholds, str | Path):
        return read_thresholds(Path(thresholds))
    return thresholds_from(thresholds)
