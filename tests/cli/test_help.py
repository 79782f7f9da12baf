"""Help pages of all commands: nothing is cut at 80 columns, and every text is short."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from support.runs.command_line import theodolite
from theodolite.cli.package_commands import INSTALL
from theodolite.cli.program import program


def pages(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All groups and commands, by their words, with those of installed packages."""
    yield words, group
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from pages(command, (*words, name))
        elif name not in INSTALL:  # else its package is not installed
            yield (*words, name), command


PAGES = dict(pages(program()))


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_not_cut_at_80_columns(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = theodolite(*words, "--help")
    assert result.returncode == 0
    usage, *lines = result.stdout.splitlines()
    assert usage.startswith("Usage: theodolite")
    assert all(len(line) <= 80 for line in lines)
    assert not [line for line in lines if re.search(r"(\.\.\.|…)$", line)]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_texts_at_most_60_characters(words: tuple[str, ...]) -> None:
    command = PAGES[words]
    texts = [command.help.partition("\n")[0]]
    texts += [p.help or "" for p in command.params if p.name != "help"]
    assert [text for text in texts if len(text) > 60] == []
    if words[:1] != ("study",):
        for text in texts:
            assert text and not text.endswith("."), text
            assert text[0].isupper() or not text[0].isalpha() or text.startswith("tokenizer"), text


def test_top_level_help_describes_at_most_ten_commands() -> None:
    sections = program().sections
    described = [name for h, rows in sections.items() if not h.startswith("More") for name in rows]
    assert 0 < len(described) <= 10
    listed = ", ".join(text for h, rows in sections.items() for text in rows.values())
    assert set(program().list_commands(None)) <= {*described, *re.findall(r"[a-z]+", listed)}


TREE = {
    "": "demo audit report doctor compare gate leaderboard plan export sign verify run explain "
    "dissect sae data models metrics evidence",
    "sae": "audit dissect explain judge dashboard",
    "data": "list info get check example store commit keys",
    "models": "list info train",
    "metrics": "list show validate",
    "papers": "list show inputs run findings accept",
}


@pytest.mark.parametrize("group", TREE)
def test_command_tree(group: str) -> None:
    words = tuple(group.split())
    if words not in PAGES:
        pytest.skip("its package is not installed")
    below = [name for name in PAGES[words].list_commands(None) if words or name not in INSTALL]
    assert below == TREE[group].split()


WITHOUT_EXTRAS = """
import importlib.abc, sys
from theodolite._storage.optional import NOT_FOR_USERS, get_module_name, list_extras

missing = {get_module_name(p) for name, ps in list_extras().items() if name not in NOT_FOR_USERS for p in ps}
assert {"torch", "numba", "matplotlib"} <= missing
missing -= {"numpy", "scipy", "pyarrow", "typer", "jinja2", "theodolite_study"}

class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in missing:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from theodolite.cli.package_commands import INSTALL
from theodolite.cli.program import program

def load(group):
    for name in group.list_commands(None):
        if name not in INSTALL:
            command = group.get_command(None, name)
            load(command) if hasattr(command, "list_commands") else command.params

load(program())
print(*sorted({"torch", "ray", "matplotlib", "zarr", "numba"} & set(sys.modules)))
"""


def test_every_command_loads_without_optional_packages() -> None:
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert not result.stdout.strip()
