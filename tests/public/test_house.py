"""The lint of the house: names that say what they hold, rooms and files of a readable size."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import theodolite

REPOSITORY = Path(__file__).parents[2]
ROOT = REPOSITORY / "src" / "theodolite"
STUDY = REPOSITORY / "study" / "src" / "theodolite_study"
NOT_NAMES = frozenset(
    [
        "found",
        "one",
        "said",
        "given",
        "told",
        "kept",
        "made",
        "came",
        "held",
        "wanted",
        "asked",
        "about",
        "drawn",
        "shown",
    ]
)
"""Participles and pronouns: they say when or that something happened, not what it is."""
NOT_FUNCTIONS = frozenset(
    ["_plain", "_said", "_about", "_found", "_drawn", "_named", "_made", "_kept"]
)
FILE_KEYS = ("Record", "BaseModel", "Named", "Spec", "File", "Strict")
"""Bases of classes whose fields are keys of files: those keep the names of their format."""
PUBLIC_FIELDS = {
    ("Produced", "about"), ("ComparedModel", "about"), ("Work", "about"), ("Work", "kept"),
    ("PerSample", "asked"), ("SampleMean", "asked"), ("DetectionAndAccuracy", "asked"),
    ("NullModel", "made"), ("NullModel", "shown"), ("Null", "shown"), ("GateCheck", "asked"), ("GateCheck", "found"), ("Step", "found"),
    ("StudyProgress", "held"),
    ("Item", "shown"), ("LatexFormula", "shown"), ("SaliencyPipeline", "shown"),
}  # fmt: skip
"""Fields that plugins and studies set by keyword, or that are written by their names."""
MOST_FILES, MOST_LINES, MOST_LINES_OF_A_FUNCTION = 25, 400, 40
"""Of a function, lines of code: without its docstring, comments and empty lines. Compiled kernels
are one loop each and may be longer."""

GENERATED = ROOT / "metrics" / "functions"
MODULES = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for root in (ROOT, STUDY)
    for path in sorted(root.rglob("*.py"))
    if not path.is_relative_to(GENERATED)
}


def place(path: Path, node: ast.AST) -> str:
    return f"{path.relative_to(REPOSITORY)}:{getattr(node, 'lineno', 0)}"


def bound_names(tree: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """Every name that is assigned, looped over or taken as a parameter, file keys excepted."""
    exempt = set(_file_keys(tree))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in exempt:
            yield node.id, node
        elif isinstance(node, ast.arg) and node not in exempt:
            yield node.arg, node


def _file_keys(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if not isinstance(node, ast.ClassDef):
            continue
        of_a_file = any(ast.unparse(base).endswith(FILE_KEYS) for base in node.bases)
        if node.name == "EvidenceError":  # it says what came and what was needed
            yield from (arg for arg in ast.walk(node) if isinstance(arg, ast.arg))
        fields = [f.target for f in node.body if isinstance(f, ast.AnnAssign)]
        for field in fields:
            if isinstance(field, ast.Name) and (
                of_a_file or (node.name, field.id) in PUBLIC_FIELDS
            ):
                yield field


def test_names_say_what_they_hold() -> None:
    wrong = [
        f"{place(path, node)} {name}"
        for path, tree in MODULES.items()
        for name, node in bound_names(tree)
        if name in NOT_NAMES
    ]
    assert not wrong, "\n".join(wrong)


def test_functions_say_what_they_do() -> None:
    wrong = [
        f"{place(path, node)} {node.name}"
        for path, tree in MODULES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name in NOT_FUNCTIONS
    ]
    assert not wrong, "\n".join(wrong)


def test_no_two_classes_have_one_name() -> None:
    homes = defaultdict(list)
    for path, tree in MODULES.items():
        package = STUDY if path.is_relative_to(STUDY) else ROOT
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                homes[package, node.name].append(place(path, node))
    wrong = {name: places for name, places in homes.items() if len(places) > 1}
    assert not wrong, wrong


def test_no_room_reaches_into_private_modules_of_another() -> None:
    wrong = []
    for path, tree in MODULES.items():
        room = path.relative_to(STUDY if path.is_relative_to(STUDY) else ROOT).parts[0]
        for node in ast.walk(tree):
            if not isinstance(node, ast.ImportFrom) or not (node.module or "").startswith("theod"):
                continue
            _, *parts = str(node.module).split(".")
            private = any(part.startswith("_") for part in parts[1:])
            if private and parts[0] != room:
                wrong.append(f"{place(path, node)} {node.module}")
    assert not wrong, wrong


def test_no_room_hides_a_public_name() -> None:
    """Importing a room sets an attribute of the package: it must not be a function's."""
    rooms = {path.stem for path in ROOT.iterdir() if path.suffix in ("", ".py")}
    public = {"bridges", "ext", "metrics", "testing"}  # these are modules themselves
    assert not (rooms - public) & set(theodolite.__all__)


@pytest.mark.parametrize("room", sorted({p.parent for p in MODULES if p.parent != ROOT}))
def test_a_room_can_be_looked_over(room: Path) -> None:
    files = [path for path in room.glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES, f"{room.relative_to(REPOSITORY)}: make a room inside it"


def test_files_and_functions_are_short() -> None:
    wrong = []
    for path, tree in MODULES.items():
        lines = path.read_text(encoding="utf-8").splitlines()
        compiled = path.stem.endswith("kernels")
        if len(lines) > MOST_LINES and not compiled:
            wrong.append(f"{path.relative_to(REPOSITORY)}: {len(lines)} lines")
        for node in ast.walk(tree):
            if compiled or not isinstance(node, ast.FunctionDef):
                continue
            if (length := code_lines(node, lines)) > MOST_LINES_OF_A_FUNCTION:
                wrong.append(f"{place(path, node)} {node.name}: {length} lines")
    assert not wrong, "\n".join(wrong)


def code_lines(function: ast.FunctionDef, lines: list[str]) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    own = lines[body[0].lineno - 1 : function.end_lineno] if body else []
    return sum(bool(line.strip()) and not line.strip().startswith("#") for line in own)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("found = 1", ["found"]),
        ("[one for one in range(3)]", ["one"]),
        ("def f(given): ...", ["given"]),
        ("class A(Record):\n    made: int", []),
        ("class A:\n    made: int", ["made"]),
        ("if (kept := 1): ...", ["kept"]),
    ],
)
def test_the_lint_bites(source: str, names: list[str]) -> None:
    assert [n for n, _ in bound_names(ast.parse(source)) if n in NOT_NAMES] == names
