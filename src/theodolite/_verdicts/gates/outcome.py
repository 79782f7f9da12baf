"""What a gate decides: whether all thresholds are met, and which are not."""

from dataclasses import dataclass

from theodolite._verdicts.gates.judge import GateCheck


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

    def __str__(self) -> str:
        """A line for each threshold."""
        lines = []
        for check in self.checks:
            let = check.outcome == "inconclusive" and check not in self.failures
            lines.append(f"{check.outcome}{' (let pass)' if let else ''}: {check.sentence}")
        return "\n".join(lines)
