"""What is public, one line each: ``python -m tests.public.snapshot`` writes it to ``api.txt``.

Names are read from the source, so that a line does not depend on versions of Python or numpy.
"""

import ast
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from theodolite.cli.program import program
from theodolite.conflicts.record import ConflictsFile
from theodolite.findings.leakage import FindingsFile
from theodolite.run_folder.run_file import MadeRecord, ManifestRecord, RunRecord
from theodolite.run_folder.scores_file import ComparedFile, ScoresFile
from theodolite.run_folder.spec import RunSpec
from theodolite.thresholds.file import Thresholds

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"
API = Path(__file__).with_name("api.txt")
MODULES = (
    "theodolite", "theodolite.metrics", "theodolite.ext", "theodolite.testing",
    "theodolite.ext.studies", "theodolite.ext.commands", "theodolite.judges",
)  # fmt: skip
FILES = {
    "compared.json": ComparedFile, "conflicts.json": ConflictsFile, "produced.json": MadeRecord,
    "manifest.json": ManifestRecord, "run.json": RunRecord, "scores.json": ScoresFile,
    "spec": RunSpec, "findings.json": FindingsFile, "thresholds": Thresholds,
}  # fmt: skip


def dump() -> list[str]:
    """Every line, sorted."""
    homes.clear()
    lines = [line for module in MODULES for line in module_lines(module)]
    for path in (SOURCE / "theodolite/bridges").glob("[a-z]*.py"):
        for name in (
            n.name for n in tree(path).body if isinstance(n, ast.FunctionDef | ast.ClassDef)
        ):
            lines += lines_of(f"theodolite.bridges.{path.stem}.{name}", path, name)
    lines += command_lines("theodolite", program())
    keys: dict[str, str] = {}
    for file, model in FILES.items():  # a record in several files is written down once
        keys = {**dict(file_lines(file, model)), **keys}
    lines += keys.values()
    return sorted(line for line in set(lines) if "._" not in line.partition("(")[0])


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def file_of(module: str) -> Path:
    path = SOURCE.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def imports(path: Path) -> dict[str, tuple[str, str]]:
    """Names that a file imports from ours, and where from."""
    return {
        alias.asname or alias.name: (node.module, alias.name)
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("theodolite")
        for alias in node.names
    }


def module_lines(module: str) -> Iterator[str]:
    """The names that a public module has in ``__all__``."""
    path = file_of(module)
    for node in tree(path).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            for name in ast.literal_eval(node.value):
                home, own = imports(path).get(name, (module, name))
                submodule = f"{module}.{name}" in MODULES
                yield from [] if submodule else lines_of(f"{module}.{name}", file_of(home), own)


homes: dict[tuple[Path, str], str] = {}
"""Under which name a class was written down first: there its members are."""


def lines_of(public: str, path: Path, name: str) -> Iterator[str]:
    """A function with its signature, a class with its members, or a name alone."""
    for node in tree(path).body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield public + signature(node)
            return
        if isinstance(node, ast.ClassDef) and node.name == name:
            first = homes.setdefault((path, name), public)
            yield public if first == public else f"{public} = {first}"
            yield from members(public, path, node) if first == public else ()
            return
    home, own = imports(path).get(name, ("", ""))
    if home and file_of(home) != path:
        yield from lines_of(public, file_of(home), own)
    else:
        yield public


def signature(node: ast.FunctionDef) -> str:
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"({ast.unparse(node.args)}){returns}"


def members(public: str, path: Path, node: ast.ClassDef) -> Iterator[str]:
    """Fields and methods, those of our own bases too."""
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            yield f"{public}.{ast.unparse(item.target)}: {ast.unparse(item.annotation)}"
        elif isinstance(item, ast.FunctionDef):
            yield f"{public}.{item.name}{signature(item)}"
    for base in filter(lambda base: isinstance(base, ast.Name), node.bases):
        home, own = imports(path).get(base.id, ("", base.id))
        of_base = file_of(home) if home else path
        for item in tree(of_base).body:
            if isinstance(item, ast.ClassDef) and item.name == own:
                yield from members(public, of_base, item)


def command_lines(words: str, command: Any) -> Iterator[str]:
    """Commands with their options and arguments."""
    yield words
    for parameter in command.params:
        flag = ", a flag" if getattr(parameter, "is_flag", False) else ""
        yield f"{words} {parameter.opts[0]}: {'required' if parameter.required else 'optional'}{flag}"
    for name, inner in getattr(command, "commands", {}).items():
        yield from command_lines(f"{words} {name}", inner)


def file_lines(file: str, model: Any) -> Iterator[tuple[str, str]]:
    """Keys of a file by what they belong to, with the shortest form of their type."""
    schema = model.model_json_schema()
    for name, part in {model.__name__: schema, **schema.get("$defs", {})}.items():
        for key, about in part.get("properties", {}).items():
            yield f"{name}.{key}", f"{file} {name}.{key}: {short(about)}"


def short(about: dict[str, Any]) -> str:
    if "$ref" in about:
        return about["$ref"].rpartition("/")[2]
    if "const" in about or "enum" in about:
        return " | ".join(map(repr, about.get("enum", [about.get("const")])))
    if "anyOf" in about:
        return " | ".join(map(short, about["anyOf"]))
    inside = about.get("items") or about.get("additionalProperties")
    return about.get("type", "any") + (f"[{short(inside)}]" if isinstance(inside, dict) else "")


def lost(before: list[str], after: list[str]) -> list[str]:
    """Lines that went or changed and that no fragment in ``changes/`` names."""
    fragments = " ".join(path.read_text("utf-8") for path in (ROOT / "changes").glob("*.md"))
    noted = set(re.findall(r"`([^`\n]+)`", fragments))
    gone = [line for line in before if line not in set(after)]
    return [line for line in gone if not any(names(note, line) for note in noted)]


def names(note: str, line: str) -> bool:
    """Whether a word in backticks is the end of what a line is about."""
    key = re.split(r"[(:]| = ", line)[0]
    return key == note or key.endswith((f".{note}", f" {note}"))


if __name__ == "__main__":
    now = dump()
    missing = lost(API.read_text("utf-8").splitlines() if API.exists() else [], now)
    if missing:
        sys.exit("\n".join(["name these in a fragment in changes/, in backticks:", *missing]))
    API.write_text("\n".join(now) + "\n", encoding="utf-8")
