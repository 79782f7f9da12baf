"""No code of the study server removes or replaces what it did not create itself."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import theodolite_study

SOURCE = Path(theodolite_study.__file__).parent
METHODS = {"rmtree", "unlink", "rename", "rmdir", "move", "remove", "removedirs", "truncate"}
STATEMENT = re.compile(
    r"\b(drop|truncate)\s+(table|database|schema|view|index|role|owned|function|column)", re.I
)
ALLOWED = {
    # a new file that stayed empty
    "cli/study_folder.py create_private_file unlink",
    # folders of tempfile.mkdtemp in the same function
    "designer/upload_routes.py _unpacked rmtree",
    "serve/run.py publish_counts rmtree",
    # names with random parts, given their final name when they are complete
    "export/study_export.py export_study rename",
    "export/study_export.py export_study rmtree",
    "local_postgres.py create_cluster rename",
    "local_postgres.py write_logins replace",
    "operate/request_meter.py write_atomically replace",
    "supervisor.py write_state replace",
    # who holds a lock, written by the holder
    "supervisor.py hold_folder truncate",
    # a scratch database with a random name
    "operate/postgres_programs.py create_scratch_database drop database",
    # the content of a buffer in memory
    "desk/export_routes.py taken truncate",
}


def find_removals() -> Iterator[str]:
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        for function in (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)):
            for node in ast.walk(function):
                name = _name_removal(node)
                if name:
                    yield f"{path.relative_to(SOURCE)} {function.name} {name}"
    for path in sorted(SOURCE.rglob("*.sql")):
        if STATEMENT.search(path.read_text()):
            yield str(path.relative_to(SOURCE))


def _name_removal(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = STATEMENT.search(node.value)
        return found[0].lower() if found else ""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return ""
    called = node.func
    if called.attr in METHODS:
        return called.attr
    # `str.replace` takes two arguments, `Path.replace` one
    is_file = called.attr == "replace" and (
        len(node.args) == 1 or (isinstance(called.value, ast.Name) and called.value.id == "os")
    )
    return "replace" if is_file and not node.keywords else ""


def test_nothing_is_removed_outside_the_list() -> None:
    assert set(find_removals()) == ALLOWED
