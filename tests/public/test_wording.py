"""Sentences name what was measured: no bare "the network" or "the model" where it may be neither."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2] / "src" / "theodolite"
BARE = re.compile(r"[Tt]he (?:network|model)(?:'s)?\b")
ROOMS = ("report", "conflicts", "verdicts", "comparison", "thresholds")
FILES = ("questions.py",)
KNOWN = {
    "report/templates/faithfulness.html.j2": 4,  # layers in the middle: the network itself is run
    "report/templates/saliency.html.j2": 1,  # methods compared by the saliency pipeline
    "report/words.py": 1,  # the slope of a layer in the middle
    "report/templates/methods.html.j2": 1,  # says whom the notes call so
    # what is no finding about the network, whoever answered
    "report/features/nulls.py": 1,
    "report/features/summary.py": 1,
    "verdicts/draws.py": 1,
}
"""Where the subject is known to be the network, and how often."""


def bare_words(path: Path) -> list[str]:
    """What is said: templates without their comments, strings that are no docstrings."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        tree = ast.parse(text)
        docstrings = {
            id(node.value)
            for node in ast.walk(tree)
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        }
        strings = [
            node.value
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ]
        text = "\n".join(strings)
    return BARE.findall(text)


def test_no_sentence_speaks_of_the_network_without_knowing_that_it_is_that() -> None:
    paths = [ROOT / name for name in FILES]
    for room in ROOMS:
        paths += [
            path for ending in ("py", "j2", "js") for path in (ROOT / room).rglob(f"*.{ending}")
        ]
    counts = {
        path.relative_to(ROOT).as_posix(): len(words)
        for path in paths
        if (words := bare_words(path))
    }
    assert counts == KNOWN


def test_the_search_bites(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('"""The network."""\nTEXT = f"what the network puts {1} out"\n')
    assert bare_words(tmp_path / "a.py") == ["the network"]
