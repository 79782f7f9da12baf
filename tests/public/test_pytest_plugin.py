"""The gate: as a command, as a fixture in a real run of pytest, and in the workflow to copy."""

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from support.runs.command_line import Result, theodolite
from support.runs.gated import partial_run, small_run, write_arrays
from theodolite.cli.commands import gate as gate_command
from theodolite.errors import EvidenceError

pytest_plugins = ["pytester"]
ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / "examples" / "github-actions.yml"
LENIENT = "scores: [{metric: concept_existence, options: {top: 3}, at_least: 0.2}]"
STRICT = "scores: [{metric: concept_existence, options: {top: 3}, at_least: 1}]"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_run(tmp_path_factory.mktemp("gate") / "run")


def gate(run: Path, folder: Path, text: str, *more: str) -> Result:
    """The command without a process of its own: the workflow below starts the real one."""
    (folder / "thresholds.yaml").write_text(text)
    return theodolite("gate", run, folder / "thresholds.yaml", *more)


def test_a_gate_opens_and_shuts(run: Path, tmp_path: Path) -> None:
    opened = gate(run, tmp_path, LENIENT + "\nquestions: {located: yes}\nundefined: pass")
    assert opened.returncode == 0
    assert "\nmet: concept_existence (top=3): " in opened.stdout
    assert opened.stdout.startswith("inconclusive (let pass): located")
    shut = gate(run, tmp_path, STRICT + "\nquestions: {located: yes}")
    assert shut.returncode == 6
    assert "not met: concept_existence (top=3): " in shut.stdout
    assert "inconclusive: located: not evaluated; asked for 'yes'." in shut.stdout


def test_json_and_junit(run: Path, tmp_path: Path) -> None:
    both = STRICT + "\nquestions: {located: yes, exists: partly}\nundefined: pass"
    result = gate(run, tmp_path, both, "--json", "--junit", str(tmp_path / "gate.xml"))
    content = json.loads(result.stdout)
    assert not content["passes"] and result.returncode == 6
    assert {row["of"]: row["passes"] for row in content["thresholds"]} == {
        "located": True, "exists": True, "concept_existence (top=3)": False,
    }  # fmt: skip
    suite = ElementTree.parse(tmp_path / "gate.xml").getroot()  # noqa: S314  our own
    assert suite.attrib == {"name": "theodolite", "tests": "3", "failures": "1"}
    inside = [[child.tag for child in case] for case in suite]
    assert inside == [["skipped"], [], ["failure"]] or inside == [[], ["skipped"], ["failure"]]


def test_a_summary_is_added_to_what_a_job_has_written(run: Path, tmp_path: Path) -> None:
    asked, summary = tmp_path / "asked.yaml", tmp_path / "summary.md"
    asked.write_text(LENIENT)
    summary.write_text("# Mine\n\n")
    gate_command.gate(run, asked, summary=summary)
    lines = summary.read_text().splitlines()
    assert lines[0] == "# Mine" and lines[2] == "## Explanations: may pass"
    answers, outcomes = [place for place, line in enumerate(lines) if line == "|---|---|---|"]
    assert lines[answers + 1].startswith("| Is the named concept in the input? | ")
    assert lines[outcomes + 1].startswith("| concept\\_existence (top=3) | ✓ met | ")


def test_junit_takes_the_place_of_no_other_file(run: Path, tmp_path: Path) -> None:
    asked, written = tmp_path / "asked.yaml", tmp_path / "gate.xml"
    asked.write_text(LENIENT + "\nundefined: pass")
    written.write_text("<mine/>")
    with pytest.raises(EvidenceError, match="of another program"):
        gate_command.gate(run, asked, junit=written)
    assert written.read_text() == "<mine/>"
    for overwrite in (True, False):  # what we wrote we may write again
        gate_command.gate(run, asked, junit=written, overwrite=overwrite)
    assert ElementTree.parse(written).getroot().tag == "testsuite"  # noqa: S314  our own


def test_a_changed_run_is_refused_before_it_is_judged(run: Path, tmp_path: Path) -> None:
    changed = tmp_path / "run"
    shutil.copytree(run, changed)
    scores = changed / "scores.json"
    scores.write_text(scores.read_text().replace("0", "1", 1))
    result = gate(changed, tmp_path, LENIENT)
    assert result.returncode == 5 and not result.stdout
    assert "scores.json changed" in result.stderr


def test_a_partial_run_is_stopped(run: Path, tmp_path: Path) -> None:
    partial = partial_run(run, tmp_path / "run")
    result = gate(partial, tmp_path, LENIENT + "\nundefined: pass")
    assert result.returncode == 6
    assert result.stdout.startswith("inconclusive: concept_existence (top=3): partial")
    assert gate(partial, tmp_path, LENIENT + "\npartial: pass").returncode == 0


FIXTURE = """
import numpy as np
import pytest

with np.load({arrays!r}) as given:
    VALUES, TRUTH = given["values"], given["truth"]

def test_arrays_hold(theodolite_gate):
    found = theodolite_gate(values=VALUES, truth=TRUTH, thresholds={lenient!r})
    assert found.scores

def test_arrays_do_not(theodolite_gate):
    theodolite_gate(values=VALUES, truth=TRUTH, thresholds={strict!r})

def test_run_holds(theodolite_gate):
    theodolite_gate(run={run!r}, thresholds={lenient!r})

def test_run_does_not(theodolite_gate):
    theodolite_gate(run={run!r}, thresholds={strict!r})

def test_both_are_refused(theodolite_gate):
    theodolite_gate(values=VALUES, run={run!r}, thresholds={strict!r})
"""


def loaded() -> list[str]:
    """By its entry point; by name where the package was installed before it had one."""
    points = importlib.metadata.entry_points(group="pytest11")
    return [] if "theodolite" in points.names else ["-p", "theodolite.testing.pytest_plugin"]


def test_the_fixture_in_a_run_of_pytest(pytester: pytest.Pytester, run: Path) -> None:
    folder = pytester.path
    (folder / "lenient.yaml").write_text(LENIENT)
    (folder / "strict.yaml").write_text(STRICT)
    names = {"lenient": "lenient.yaml", "strict": "strict.yaml", "run": str(run)}
    arrays = str(write_arrays(folder / "arrays.npz"))
    pytester.makepyfile(FIXTURE.format(arrays=arrays, **names))
    result = pytester.runpytest_subprocess(
        *loaded(), "-p", "no:cacheprovider", "--theodolite-report", "kept", timeout=120
    )
    result.assert_outcomes(passed=2, failed=3)
    text = result.stdout.str()
    assert "Traceback" not in text and "def gate" not in text  # the sentences alone
    failures = text.partition("short test summary")[0]  # which repeats them whole where CI is set
    said = re.findall(r"^concept_existence \(top=3\): .*surely at least 1\.", failures, re.M)
    assert len(said) == 2
    assert "got a run and something else" in text
    result.stdout.fnmatch_lines(["*= theodolite =*", "*test_arrays_hold: thresholds met, report:*"])
    for name in ("test_arrays_hold", "test_arrays_do_not"):
        assert (folder / "kept" / name / "report.html").is_file()


def test_the_plugin_is_registered_and_imports_nothing_heavy() -> None:
    point = '[project.entry-points.pytest11]\ntheodolite = "theodolite.testing.pytest_plugin"'
    assert point in (ROOT / "pyproject.toml").read_text()
    code = (
        "import sys, theodolite.testing.pytest_plugin; "
        "print(sorted({'numpy', 'torch', 'theodolite.metrics', 'theodolite._runs'} & {*sys.modules}))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "[]"


def steps() -> list[dict]:
    jobs = yaml.safe_load(WORKFLOW.read_text())["jobs"]
    return [step for job in jobs.values() for step in job["steps"]]


def test_the_workflow_has_known_keys_and_least_permissions() -> None:
    flow = yaml.safe_load(WORKFLOW.read_text())
    assert set(flow) == {"name", True, "permissions", "jobs"}  # YAML reads a bare on as true
    assert flow["permissions"] == {"contents": "read"}
    assert set(flow[True]) == {"pull_request", "push"}  # never pull_request_target
    known = {"runs-on", "timeout-minutes", "steps", "needs", "if", "permissions"}
    for job in flow["jobs"].values():
        assert set(job) <= known and job["timeout-minutes"] <= 30
    assert flow["jobs"]["comment"]["permissions"] == {"pull-requests": "write"}
    assert "permissions" not in flow["jobs"]["audit"]
    for step in steps():
        assert set(step) <= {"name", "uses", "with", "run", "if", "env", "shell"}
        assert ("uses" in step) != ("run" in step)
        assert "${{" not in step.get("run", ""), "what others wrote must not become a command"
    (upload,) = [s for s in steps() if "upload-artifact" in s.get("uses", "")]
    assert upload["if"] == "always()"


def test_the_commands_of_the_workflow_run_and_stop_it(tmp_path: Path) -> None:
    write_arrays(tmp_path / "evidence.npz")
    (tmp_path / "thresholds.yaml").write_text(STRICT)
    commands = [s["run"] for s in steps() if s.get("run", "").startswith("theodolite")]
    assert [command.split()[1] for command in commands] == ["audit", "gate"]
    script = tmp_path / "steps.sh"
    script.write_text("set -eo pipefail\n" + "\n".join(commands))
    program = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    compiled = {k: v for k, v in os.environ.items() if k.startswith(("NUMBA_", "PYTHONPATH"))}
    result = subprocess.run(
        ["bash", str(script)],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120,
        env={"PATH": program, "GITHUB_STEP_SUMMARY": str(tmp_path / "summary"), "HOME": str(tmp_path)}
        | compiled,
    )  # fmt: skip
    assert result.returncode == 6, result.stderr
    (upload,) = [s for s in steps() if "upload-artifact" in s.get("uses", "")]
    for name in upload["with"]["path"].split():
        assert (tmp_path / name).is_file()
    summary = (tmp_path / "summary").read_text()
    assert summary.startswith("## Explanations: stop\n")
    assert "| concept\\_existence (top=3) | ✗ not met | " in summary
