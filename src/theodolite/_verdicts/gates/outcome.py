"""Check a run against the thresholds of a gate, and list those that are not met."""

from dataclasses import dataclass
from typing import Any

from theodolite._verdicts.gates.judge import DriftAnswer, GateCheck, Thresholds, fails, judged


@dataclass(frozen=True)
class GateResult:
    """Every threshold, and those that stop the gate; true where none does."""

    checks: tuple[GateCheck, ...]
    """Every threshold, each score that it is about by itself."""
    failures: tuple[GateCheck, ...]
    """Those not met, and those that cannot be told, unless the thresholds let that pass."""

    @property
    def passed(self) -> bool:
        """Whether nothing stops it."""
        return not self.failures

    def __bool__(self) -> bool:
        return self.passed

    def lines(self) -> list[str]:
        """Return a line for each threshold."""
        lines = []
        for check in self.checks:
            let = check.outcome == "inconclusive" and check not in self.failures
            lines.append(f"{check.outcome}{' (let pass)' if let else ''}: {check.sentence}")
        return lines

    def __str__(self) -> str:
        return "\n".join(self.lines())


def check_gate(
    criteria: Thresholds, run: Any, drift: DriftAnswer | str | None = None
) -> GateResult:
    """Check every threshold against the scores and verdicts of an audit or a run."""
    checks = judged(
        criteria, run.scores, run.verdicts, failed_tasks=run.failed_tasks, failed=run.errors,
        drift=drift,
    )  # fmt: skip
    return GateResult(tuple(checks), tuple(check for check in checks if fails(check, criteria)))
