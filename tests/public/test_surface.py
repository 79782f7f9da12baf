"""What is public: names that load late and are seen by type checkers, pages that use no others."""

import ast
import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import theodolite
from theodolite import bridges, datasets, ext, testing
from theodolite.ext import commands, studies

ROOT = Path(__file__).parents[2]
LAZY = {
    "theodolite": theodolite, "theodolite.bridges": bridges, "theodolite.datasets": datasets, "theodolite.ext": ext, "theodolite.ext.commands": commands,
    "theodolite.ext.studies": studies, "theodolite.testing": testing,
}  # fmt: skip
OPEN = r"theodolite(?:\.(?:metrics|datasets|ext(?:\.\w+)?|testing|language\.judges|bridges(?:\.[a-z]\w*)?)|_study\.\w+|_reproductions(?:\.\w+)+)?"
"""Modules that pages may import from; the other distributions are open as a whole."""
PAGES = [
    ROOT / "README.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_made" not in page.parts),
    *sorted((ROOT / "docs" / "gallery").glob("*.py")),
    *sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")),
    *sorted((ROOT / "examples").glob("*.py")),
]


def imports_of(text: str) -> list[tuple[str, list[str]]]:
    """Every import of ours in a page: the module, and the names taken from it."""
    pairs = re.findall(r"from (theodolite[\w.]*) import (\([^)]*\)|[^\n#;\"']+)", text)
    pairs += [(module, "") for module in re.findall(r"^import (theodolite[\w.]*)", text, re.M)]
    return [
        (module, re.findall(r"\b\w+\b", re.sub(r"\bas \w+", "", names))) for module, names in pairs
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_pages_import_public_names_only(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        text = "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"])
    for module, names in imports_of(text):
        assert re.fullmatch(OPEN, module), f"{module} is private"
        if module.startswith(("theodolite_study.", "theodolite_reproductions.")):
            continue
        public = getattr(importlib.import_module(module), "__all__", None)
        assert public is None or set(names) <= set(public), f"{module}: {names}"


def test_the_reference_has_public_names_only() -> None:
    for page in (ROOT / "docs" / "api").glob("*.rst"):
        for path in re.findall(r"^\.\. auto\w+:: (\S+)", page.read_text(), re.MULTILINE):
            module, _, name = path.rpartition(".")
            assert name in LAZY[module].__all__, f"{page.name}: {path}"


def test_a_deep_import_is_noticed() -> None:
    (pair,) = imports_of("from theodolite.metrics.base import (\n    Card,\n    metric,\n)")
    assert pair == ("theodolite.metrics.base", ["Card", "metric"])
    assert not re.fullmatch(OPEN, pair[0]) and not re.fullmatch(OPEN, "theodolite.bridges._tensors")


@pytest.mark.parametrize("module", LAZY)
def test_what_loads_late_is_what_type_checkers_see(module: str) -> None:
    tree = ast.parse(Path(str(LAZY[module].__file__)).read_text(encoding="utf-8"))
    (block,) = [n for n in tree.body if isinstance(n, ast.If)]
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    own = {name for name, home in seen.items() if home == module}  # modules
    homes = {name: home for name, home in LAZY[module].HOMES.items() if name not in own}
    assert homes == {name: home for name, home in seen.items() if name not in own}
    assert set(LAZY[module].__all__) - {"API_VERSION", "__version__"} == set(seen)


@pytest.mark.parametrize("module", LAZY)
def test_every_public_name_is_there(module: str) -> None:
    for name in LAZY[module].__all__:
        assert getattr(LAZY[module], name) is not None
    with pytest.raises(AttributeError, match=f"module '{module}' has no attribute 'adit'"):
        LAZY[module].adit  # noqa: B018
    assert set(dir(LAZY[module])) == set(LAZY[module].__all__)


def test_importing_it_imports_nothing_heavy() -> None:
    code = (
        "import sys, theodolite, theodolite.bridges, theodolite.ext, theodolite.testing; dir(theodolite); "
        "sys.exit(str(sorted({'numpy', 'pydantic', 'hypothesis', 'torch'} & set(sys.modules))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.strip() == "[]"


def test_without_hypothesis_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(theodolite.EvidenceError, match=r"pip install 'theodolite\[testing\]'"):
        testing.check_metric  # noqa: B018
    assert testing.planted_concepts(10).values.shape[0] == 10


def test_nothing_is_hidden_from_type_checkers() -> None:
    """And what users write is checked with the package: see ``typed_user.py``."""
    sources = (ROOT / "src").rglob("*.py")
    assert not [path for path in sources if "no_type_check" in path.read_text(encoding="utf-8")]
    settings = (
        (ROOT / "pyproject.toml").read_text().partition("[tool.mypy]\n")[2].partition("\n[")[0]
    )
    assert "strict = true" in settings and '"tests/public/typed_user.py"' in settings
    user = Path(__file__).with_name("typed_user.py").read_text()
    assert user.count("# type: ignore[") == 3 and user.count("assert_type(") > 8
