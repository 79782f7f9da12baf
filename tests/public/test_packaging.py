"""What others build and run from: workflows, the conda recipe, constraints, versions of the site."""

import re
import runpy
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

import theodolite

ROOT = Path(__file__).parents[2]
WORKFLOWS = [
    *sorted((ROOT / ".github/workflows").glob("*.yml")),
    ROOT / "examples/github-actions.yml",
]
CHECK = shutil.which("check-jsonschema")


def project() -> str:
    return (ROOT / "pyproject.toml").read_text("utf-8")


def refused(*paths: Path) -> str:
    """What the schema of workflows, which comes with the checker, says of files."""
    command = [CHECK or "", "--builtin-schema", "vendor.github-workflows", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


@pytest.mark.skipif(not CHECK, reason="no check-jsonschema")
def test_workflows_are_workflows(tmp_path: Path) -> None:
    assert len(WORKFLOWS) > 3
    assert not refused(*WORKFLOWS)
    wrong = tmp_path / "wrong.yml"
    wrong.write_text(WORKFLOWS[-1].read_text("utf-8").replace("runs-on", "run-on"))
    assert "run-on" in refused(wrong)


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_may_do_the_least_and_name_files_that_exist(path: Path) -> None:
    flow = yaml.safe_load(path.read_text("utf-8"))
    assert flow["permissions"] == {"contents": "read"}
    for job in flow["jobs"].values():
        assert job["timeout-minutes"] <= 120
        for step in job["steps"]:
            command = step.get("run", "")
            assert "${{" not in command, "what others wrote must not become a command"
            assert all((ROOT / name).is_file() for name in re.findall(r"\.ci/[\w.]+", command))
            assert re.search(r"@(v\d+|release/v\d+)$", step.get("uses", "x@v1"))


def recipe() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text("utf-8"))


def test_the_recipe_needs_what_the_package_needs() -> None:
    (block,) = re.findall(r"^dependencies = \[\n(.*?)^\]", project(), re.MULTILINE | re.DOTALL)
    needed = {re.sub(r"(?<=[\w-])(?=[<>=])", " ", line) for line in re.findall(r'"([^"]+)"', block)}
    (python,) = re.findall(r'^requires-python = "(.+)"', project(), re.MULTILINE)
    assert len(needed) > 10
    assert set(recipe()["requirements"]["run"]) == {*needed, f"python {python}"}
    (build,) = re.findall(r"^requires = \[(.+)\]", project(), re.MULTILINE)
    needed = {re.sub(r"(?=[<>=])", " ", line, count=1) for line in re.findall(r'"([^"]+)"', build)}
    assert needed <= set(recipe()["requirements"]["host"])


def test_the_recipe_is_of_this_version_and_tries_the_first_commands() -> None:
    content = recipe()
    assert content["context"]["version"] == theodolite.__version__
    assert content["tests"][-1]["script"] == ["theodolite doctor", "theodolite demo"]
    assert content["about"]["summary"] in project()


def test_constraints_are_the_versions_that_were_tested() -> None:
    name, text = runpy.run_path(str(ROOT / ".ci/constraints.py"))["constraints"]()
    assert name == f"constraints-{theodolite.__version__.rpartition('.')[0]}.txt"
    lock = (ROOT / "requirements/lock.txt").read_text("utf-8")
    assert re.search(r"^numpy==(\S+)", lock, re.MULTILINE)[0] in text.splitlines()
    assert re.search(r"^torch==[\d.]+$", text, re.MULTILINE)


def test_old_versions_of_the_site_say_so_and_the_newest_is_stable(tmp_path: Path) -> None:
    publish = runpy.run_path(str(ROOT / ".ci/site_versions.py"))["publish"]
    site, tree = tmp_path / "site", tmp_path / "tree"
    (site / "deep").mkdir(parents=True)
    tree.mkdir()
    for page in (site / "index.html", site / "deep" / "page.html"):
        page.write_text("<html><body class='x'>\n<p>text</p></body></html>")
    for name in ("main", "v0.1.0", "v0.10.0", "v0.2.3", "main"):
        publish(site, tree, name)
    banner = {
        path.relative_to(tree).as_posix(): re.findall(r'announcement-old">(.*?)\. ', text)
        for path in tree.rglob("*.html")
        if "<p>text" in (text := path.read_text())
    }
    old = ["This is of version 0.2"]
    assert banner["0.2/index.html"] == banner["0.2/deep/page.html"] == old
    assert banner["stable/index.html"] == banner["0.10/index.html"] == []
    assert banner["dev/index.html"] == ["This is of what is not released yet"]
    assert 'href="../../stable/"' in (tree / "0.2/deep/page.html").read_text()
    assert 'href="../stable/"' in (tree / "0.2/index.html").read_text()
    versions = yaml.safe_load((tree / "versions.json").read_text())
    assert versions["stable"] == "0.10"
    assert [row["name"] for row in versions["versions"]] == ["0.10", "0.2", "0.1", "dev"]
    assert "url=stable/" in (tree / "index.html").read_text()
