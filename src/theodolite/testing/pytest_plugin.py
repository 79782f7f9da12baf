"""Fixtures: ``theodolite_gate`` fails where explanations are not good enough, ``certified`` where
a score is not.

Every run of pytest on a machine imports this: it imports nothing of ours before it is used.
"""

from pathlib import Path
from typing import Any

import pytest

PROPERTY = "theodolite"
"""The property of a test under which its gates are told."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for where to keep reports."""
    parser.getgroup("theodolite").addoption(
        "--theodolite-report",
        metavar="FOLDER",
        help="keep a run folder with a report for each theodolite_gate, in this folder",
    )


@pytest.fixture
def theodolite_gate(request: pytest.FixtureRequest) -> Any:
    """Fail the test unless an audit, or a finished run, meets thresholds.

    ``theodolite_gate(values=..., truth=..., thresholds="thresholds.yaml")`` takes all that
    ``theodolite.audit`` takes; ``theodolite_gate(run="runs/mine", thresholds=...)`` a run folder.
    ``against`` is the earlier version for `drift` in the thresholds, ``floor`` its retrainings.
    """

    def gate(
        evidence: Any = None,
        *,
        thresholds: str | Path,
        run: str | Path | None = None,
        against: Any = None,
        floor: Any = (),
        **arguments: Any,
    ) -> Any:
        from theodolite._runs.comparison.versions import check_drift_threshold  # noqa: PLC0415
        from theodolite.errors import EvidenceError  # noqa: PLC0415

        try:
            limits, result, report = _audit_or_read(
                request, evidence, Path(thresholds), run, arguments
            )
            drift = check_drift_threshold(result, limits, against, floor)
        except EvidenceError as error:
            pytest.fail(f"theodolite: {error}", pytrace=False)
        from theodolite._verdicts.gates.judge import broken  # noqa: PLC0415

        missed = broken(
            limits, result.scores, result.verdicts, failed_tasks=result.failed_tasks,
            failed=result.errors, drift=drift,
        )  # fmt: skip
        word = f"{len(missed)} not met" if missed else "met"
        line = f"thresholds {word}" + (f", report: {report}" if report else "")
        request.node.user_properties.append((PROPERTY, line))
        if missed:
            lines = [*missed, f"Report: {report}"] if report else missed
            pytest.fail("\n".join(["Thresholds that are not met:", *lines]), pytrace=False)
        return result

    return gate


@pytest.fixture
def certified(request: pytest.FixtureRequest) -> Any:
    """Fail the test unless a score keeps its promises where the truth is planted.

    ``certified("acceptance")`` takes a score of the catalogue, ``module:name`` or a declaration
    (``theodolite.ext.Foreign``); ``size``, ``draws``, ``cells`` and ``seed`` are
    those of ``theodolite._planted.validation.metric_validation.validate_metric``. It gives what
    came out.
    """

    def put_through(metric: Any, **options: Any) -> Any:
        from theodolite._planted.validation.metric_validation import validate_metric  # noqa: PLC0415
        from theodolite._planted.validation.outside_functions import load_outside_function  # noqa: PLC0415
        from theodolite._planted.validation.subjects import MetricSubject  # noqa: PLC0415

        if isinstance(metric, str):
            metric = load_outside_function(metric) if ":" in metric else MetricSubject(metric)
        done = validate_metric(metric, **options)
        word = f"{len(done.failures)} lines not met" if done.failures else "certified"
        request.node.user_properties.append((PROPERTY, f"{metric.name}: {word}"))
        if done.failures:
            lines = [f"What {metric.name} does not keep:", *done.failures]
            pytest.fail("\n".join(lines), pytrace=False)
        return done

    return put_through


def _audit_or_read(
    request: pytest.FixtureRequest,
    evidence: Any,
    thresholds: Path,
    run: str | Path | None,
    arguments: dict[str, Any],
) -> tuple[Any, Any, Path | None]:
    """Return the thresholds, the audit to compare with, and where its report is."""
    import theodolite  # noqa: PLC0415
    from theodolite._runs.finished_run import read_finished_run  # noqa: PLC0415
    from theodolite._verdicts.gates.judge import read_thresholds  # noqa: PLC0415
    from theodolite.errors import EvidenceError  # noqa: PLC0415

    limits = read_thresholds(thresholds)
    if run is not None:
        if evidence is not None or arguments:
            raise EvidenceError("theodolite_gate", "a run and something else", "one of them")
        finished = read_finished_run(Path(run))
        return limits, finished, finished.report
    audit: Any = theodolite.audit
    result = audit(evidence, **arguments)
    keep = request.config.getoption("theodolite_report")
    return limits, result, result.save(_free(Path(keep), request)) if keep else None


def _free(keep: Path, request: pytest.FixtureRequest) -> Path:
    """Return a folder named after the test, with a number if it exists."""
    plain = "".join(c if c.isalnum() or c in "-_" else "-" for c in request.node.name)[:80]
    names = (f"{plain}-{number}" if number else plain for number in range(10_000))
    return next(keep / name for name in names if not (keep / name).exists())


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print the result of each gate at the end."""
    lines = [
        f"{report.nodeid}: {line}"
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, line in report.user_properties
        if name == PROPERTY
    ]
    if lines:
        terminalreporter.section("theodolite")
        for line in lines:
            terminalreporter.write_line(line)
