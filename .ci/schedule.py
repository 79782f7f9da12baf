"""Steps side by side: a few at a time, and one that gives way to them."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MEASURED = Path(__file__).with_name("measured.py")


@dataclass(frozen=True)
class Step:
    """A command, what it waits for, and about how many seconds of CPU it takes."""

    name: str
    command: tuple[str, ...]
    cpu: int
    after: tuple[str, ...] = ()
    background: bool = False
    """Gives way to the others."""
    environment: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """How a step ended, and what it took."""

    step: Step
    code: int
    wall: float
    cpu: float
    left: tuple[str, ...] = ()
    """Processes that it had not ended."""


class Running:
    """A step under way."""

    def __init__(self, step: Step, folder: Path) -> None:
        self.step = step
        self.log = folder / f"{step.name.replace(' ', '-')}.log"
        self.record = self.log.with_suffix(".json")
        self.record.unlink(missing_ok=True)
        nice = ["nice"] if step.background else []
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*nice, sys.executable, MEASURED, self.record, *step.command],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **step.environment},
            )

    def outcome(self) -> Outcome | None:
        """None while it runs."""
        code = self.process.poll()
        if code is None:
            return None
        if not self.record.is_file():
            return Outcome(self.step, code or 1, 0.0, 0.0)
        record = json.loads(self.record.read_text())
        return Outcome(
            self.step, record["code"], record["wall"], record["cpu"], tuple(record["left"])
        )


def carry_out(steps: Sequence[Step], logs: Path, slots: int) -> list[Outcome]:
    """Run all steps; what waits for a step that failed is not begun. Longest first."""
    logs.mkdir(parents=True, exist_ok=True)
    waiting = sorted(steps, key=lambda step: -step.cpu)
    running: list[Running] = []
    outcomes: list[Outcome] = []
    start = time.monotonic()
    while waiting or running:
        ended = {outcome.step.name: outcome.code == 0 for outcome in outcomes}
        for step in list(waiting):
            names = [name for name in step.after if name in {s.name for s in steps}]
            if any(ended.get(name) is False for name in names):
                waiting.remove(step)
                outcomes.append(Outcome(step, 1, 0.0, 0.0))
                say(start, f"left out   {step.name}")
            elif all(ended.get(name) for name in names) and _free(step, running, slots):
                waiting.remove(step)
                running.append(Running(step, logs))
        time.sleep(0.2)
        for item in list(running):
            outcome = item.outcome()
            if outcome is not None:
                running.remove(item)
                outcomes.append(outcome)
                _tell(start, outcome, item.log)
    return outcomes


def _free(step: Step, running: Iterable[Running], slots: int) -> bool:
    alike = sum(item.step.background == step.background for item in running)
    return alike < (1 if step.background else slots)


def say(start: float, text: str) -> None:
    """One line, with the seconds since the beginning."""
    print(f"[{time.monotonic() - start:5.0f} s] {text}", flush=True)


def _tell(start: float, outcome: Outcome, log: Path) -> None:
    """A line if it went well; everything that it printed if not."""
    went = "ok    " if outcome.code == 0 else "FAILED"
    times = f"{outcome.wall:5.0f} s, CPU {outcome.cpu:5.0f} s"
    say(start, f"{went} {times}   {outcome.step.name}")
    for name in outcome.left:
        say(start, f"          it left a process running: {name}")
    text = log.read_text("utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip() and not _is_noise(line)]
    if outcome.code:
        print("\n".join(lines), flush=True)
    elif lines:
        print("          " + lines[-1][:160], flush=True)


def _is_noise(line: str) -> bool:
    """pip says of every place of a machine that it was not needed."""
    return line.startswith("WARNING: Location")
