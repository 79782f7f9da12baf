"""The README and the docs say what is so."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from theodolite.execution.spec import read_spec
from theodolite.metrics.__main__ import table
from theodolite.metrics._catalogue import catalogue

ROOT = Path(__file__).parents[1]


def test_the_readme_has_the_current_table_of_metrics() -> None:
    assert table() in (ROOT / "README.md").read_text()


def test_every_metric_is_cited_and_explained() -> None:
    references = (ROOT / "docs" / "references.bib").read_text()
    guide = (ROOT / "docs" / "guide.md").read_text()
    for entry in catalogue().values():
        assert f"{{{entry.cite}," in references
        assert f"`{entry.name}`" in guide


@pytest.mark.parametrize(
    "page",
    [
        "README.md",
        "docs/guide.md",
        "docs/leakage.md",
        "docs/faithfulness.md",
        "docs/saliency.md",
        "docs/acceptance.md",
        "docs/study.md",
        "docs/evidence.md",
        "docs/data-format.md",
        "docs/scale.md",
    ],
)
def test_python_in_the_docs_runs(page: str, tmp_path: Path) -> None:
    for code in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL):
        result = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
        )
        assert result.returncode == 0, result.stderr
        assert result.stdout


@pytest.mark.parametrize("page", ["data-format.md", "scale.md"])
def test_specs_in_the_docs_are_specs(page: str, tmp_path: Path) -> None:
    specs = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)
    assert specs
    for number, spec in enumerate(specs):
        (tmp_path / f"{number}.yaml").write_text(spec)
        assert read_spec(tmp_path / f"{number}.yaml").name in ("mine", "units")


def test_links_in_the_docs_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            if "://" not in target:
                assert (page.parent / target).exists(), (page.name, target)


def test_options_in_the_guide_are_the_defaults() -> None:
    guide = (ROOT / "docs" / "guide.md").read_text()
    location = catalogue()["concept_location"].options()
    for name in ("order", "population", "among", "invisible", "sides", "ties", "average"):
        (row,) = [line for line in guide.splitlines() if f"| `{name}` |" in line]
        assert f"`{location[name]}`" in row
