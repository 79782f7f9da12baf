"""Try to pass a gate with a bad explanation.

Each function is a row of ``docs/adversary.md``. ``walks/adversary_leak_free.py`` shows that the
gate stops the leaks that the audit detects.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import theodolite

STARS = [1, 2, 3, 4, 5]
RANDOM = np.random.default_rng(0)
LIKED = theodolite.audit(ratings=RANDOM.choice([4, 5], (100, 5)), scale=STARS)
NOT_LIKED = theodolite.audit(ratings=RANDOM.choice(STARS, (100, 5)), scale=STARS)


def check_gate(decision, answer):
    """Assert whether a gate passes."""
    assert ("passes" if decision.passed else "fails") == answer, decision


def check_command(command, exit_code):
    """Assert how a command ends."""
    program = Path(sys.executable).with_name("theodolite")
    done = subprocess.run([program, *command], capture_output=True, text=True)
    assert done.returncode == exit_code, done.stdout + done.stderr


def question_without_evidence():
    """Bring no evidence for the question that the explanation would fail."""
    check_gate(theodolite.gate(LIKED, {"questions": {"leak_free": "yes"}}), "fails")


def undefined_may_pass():
    """Bring no evidence, and thresholds that let undefined answers pass."""
    thresholds = {"questions": {"leak_free": "yes"}, "undefined": "pass"}
    check_gate(theodolite.gate(LIKED, thresholds), "passes")


def scores_of_another_run():
    """Put the scores of a better explanation into a run, then compute its checksums again."""
    with tempfile.TemporaryDirectory() as name:
        run, better, thresholds = (Path(name) / part for part in ("run", "better", "least.yaml"))
        NOT_LIKED.save(run)
        LIKED.save(better)
        thresholds.write_text("questions: {accepted: 'yes'}", "utf-8")
        scores = (better / "scores.json").read_bytes()
        (run / "scores.json").write_bytes(scores)
        check_command(["gate", run, thresholds], 5)

        manifest = json.loads((run / "manifest.json").read_text("utf-8"))
        manifest["files"]["scores.json"] = hashlib.sha256(scores).hexdigest()
        (run / "manifest.json").write_text(json.dumps(manifest), "utf-8")
        checksum = hashlib.sha256((run / "manifest.json").read_bytes()).hexdigest()
        (run / "manifest.json.sha256").write_text(f"{checksum}  manifest.json\n", "utf-8")
        check_command(["gate", run, thresholds], 0)
        check_command(["verify", run, "--recompute", "all"], 5)


for row in (question_without_evidence, undefined_may_pass, scores_of_another_run):
    row()
