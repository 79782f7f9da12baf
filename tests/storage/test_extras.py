"""Every import that an extra brings names that extra, and no extra for users brings our own tools."""

import ast
import re
from pathlib import Path

import theodolite
from theodolite._storage.optional import NOT_FOR_USERS, find_extra, get_module_name, list_extras

SOURCE = Path(theodolite.__file__).parent
OTHERWISE = {"skimage": "explain", "torchmetrics": "torch", "tokenizers": "embed"}
"""Libraries that come along with those of the extra."""


def required() -> list[tuple[str, str]]:
    """Module and extra of every call of `require` with both written out."""
    calls = []
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                module, *_, extra = node.args
                if isinstance(module, ast.Constant) and isinstance(extra, ast.Constant):
                    calls.append((str(module.value).partition(".")[0], str(extra.value)))
    return calls


def test_what_is_required_comes_with_the_extra_that_is_named() -> None:
    calls = required()
    assert len(calls) > 40
    wrong = [
        (module, extra)
        for module, extra in calls
        if module not in map(get_module_name, list_extras().get(extra, ()))
        and OTHERWISE.get(module) != extra
    ]
    assert not wrong


def test_a_module_leads_to_the_smallest_extra() -> None:
    assert find_extra("pytorch_grad_cam") == "explain"
    assert find_extra("torch.nn") == "torch"
    assert find_extra("optuna") == "tune"
    assert find_extra("ruff") is None


def test_all_is_for_users() -> None:
    everything = set(list_extras()["all"])
    assert {"torch", "shap", "theodolite-study"} <= everything
    tools = {name for extra in NOT_FOR_USERS for name in list_extras()[extra]}
    users = {
        p for e, brings in list_extras().items() if e not in (*NOT_FOR_USERS, "all") for p in brings
    }
    assert not everything & (tools - users)
    assert all(re.fullmatch(r"[a-z0-9.-]+", name) for name in everything)
