"""The page on fooling the audit and its scripts have the same rows and answers.

The release step of the gate runs the scripts from the wheel (``.ci/release.sh``).
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
WALKS = sorted((ROOT / "walks").glob("adversary_*.py"))
ANSWERS = ("yes", "partly", "no", "inconclusive", "not_evaluated", "passes", "fails", "0", "5", "6")


def read_rows(walk: str) -> dict[str, set[str]]:
    """Return the answers of each row of the page's section about a walk."""
    page = (ROOT / "docs" / "adversary.md").read_text("utf-8")
    section = page.partition(f"(../walks/{walk})")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| `(\w+)` \|[^|]+\|([^|]+)\|", section, re.MULTILINE)
    words = {name: text.replace("not evaluated", "not_evaluated") for name, text in rows}
    return {name: set(re.findall(r"\w+", text)) & set(ANSWERS) for name, text in words.items()}


def read_checks(path: Path) -> dict[str, set[str]]:
    """Return the answers that each function of a walk asserts, in the order in which it is run."""
    tree = ast.parse(path.read_text("utf-8"))
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    loop = tree.body[-1]
    assert isinstance(loop, ast.For) and isinstance(loop.iter, ast.Tuple)
    names = [node.id for node in loop.iter.elts if isinstance(node, ast.Name)]
    return {
        name: {
            str(call.args[1].value)
            for call in ast.walk(functions[name])
            if isinstance(call, ast.Call)
            and isinstance(call.func, ast.Name)
            and call.func.id.startswith("check")
            and isinstance(call.args[1], ast.Constant)
        }
        for name in names
    }


@pytest.mark.parametrize("path", WALKS, ids=lambda path: path.stem)
def test_adversary_page_states_what_its_script_asserts(path: Path) -> None:
    assert list(read_rows(path.name).items()) == list(read_checks(path).items())


@pytest.mark.parametrize("path", WALKS, ids=lambda path: path.stem)
def test_adversary_script_runs_each_row(path: Path) -> None:
    tree = ast.parse(path.read_text("utf-8"))
    rows = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(part, ast.Name) and part.id.startswith("check") for part in ast.walk(node)
        )
    }
    assert rows == set(read_checks(path))
