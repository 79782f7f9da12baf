"""Sentences name what was measured: no bare "the network" or "the model" where it may be neither."""

import ast
import re
from pathlib import Path

import numpy as np

import theodolite
from support.words import count_words

ROOT = Path(__file__).parents[2] / "src" / "theodolite"
BARE = re.compile(r"[Tt]he (?:network|model)(?:'s)?\b")
ROOMS = ("report", "language/dashboard", "_verdicts", "_runs/comparison")
FILES = ("questions.py",)
KNOWN = {
    # layers in the middle: the network itself is run
    "report/templates/methods.html.j2": 1,  # says whom the notes call so
    # what is no finding about the network, whoever answered
    "language/dashboard/nulls.py": 1,
    "language/dashboard/summary.py": 1,
    "_verdicts/draws.py": 1,
    "report/dossier/crosswalk.py": 1,
    "report/dossier/facts.py": 1,
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


def test_pages_call_nulls_by_readers_words(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    truth = random.random((80, 4)) < 0.5
    evidence = theodolite.ConceptEvidence(
        values=np.clip(truth + random.normal(0, 0.3, truth.shape), 0, 1), truth=truth,
        labels=truth[:, 0].astype(int),
    )  # fmt: skip
    result = theodolite.audit(evidence, seed=0)
    names = {null.name: null.label for score in result.scores for null in score.nulls}
    assert names["most_frequent"] == "most frequent concepts"
    assert names["leak_free_reference"] == "leak-free reference"
    page = result.report(tmp_path / "report.html").read_text("utf-8")
    assert "most frequent concepts" in page and "leak-free reference" in page
    former = {"nothing but the concept", "always the middle", "hardest null"}
    assert not former & {*count_words(page), *count_words(result._repr_html_())}
