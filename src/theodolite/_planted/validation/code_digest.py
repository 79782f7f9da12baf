"""A digest of the code that a score's numbers come from: its own, what it imports, and scoring."""

import ast
import hashlib
import sys
from functools import cache
from pathlib import Path

from theodolite._planted.generators import Generator
from theodolite.metrics.catalogue import find_metric

ROOT = Path(__file__).parents[2]
WHOLE_PACKAGES = ("_stats", "_scoring")
"""Rooms of which everything counts."""
VERDICTS = ("rules.py", "draws.py", "leakage.py")
"""Modules that decide answers."""
FOLLOWED_IMPORTS = ("theodolite.metrics.",)
"""Rooms of which what is imported counts."""
NOT_CODE = (
    "theodolite.metrics.catalogue",
    "theodolite.metrics.cards",
    "theodolite.metrics.validation",
)


@cache
def compute_code_digest(metric: str) -> str:
    """Return the digest of the code behind a metric of the catalogue."""
    module = find_metric(metric).state.__module__
    digest = hashlib.sha256()
    paths = [path for room in WHOLE_PACKAGES for path in (ROOT / room).rglob("*.py")]
    paths += (ROOT / "_stats" / "native").glob("*.[ch]")
    paths += [ROOT / "_verdicts" / name for name in VERDICTS]
    paths += _find_followed_files(module)
    for path in sorted(set(paths)):
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else path.name
        digest.update(name.encode() + b"\0" + _strip_words(path))
    return digest.hexdigest()


def compute_planted_digest(generator: Generator) -> str:
    """Return the digest of the code that draws planted evidence."""
    module = sys.modules[generator.make.__module__]
    names = ("conditions.py", "draws.py", "generators.py", "information.py")
    paths = [ROOT / "_planted" / name for name in names]
    digest = hashlib.sha256()
    for path in [*paths, Path(str(module.__file__))]:
        digest.update(path.name.encode() + b"\0" + _strip_words(path))
    return digest.hexdigest()


def _strip_words(path: Path) -> bytes:
    """Code without comments and docstrings: words about it do not change its numbers."""
    if path.suffix != ".py":
        return path.read_bytes()
    tree = ast.parse(path.read_bytes())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if not isinstance(body, list):
            continue
        node.body = [line for line in body if not _is_text(line)]  # type: ignore[attr-defined]
    return ast.dump(tree).encode()


def _is_text(line: ast.stmt) -> bool:
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )


def _find_followed_files(module: str) -> set[Path]:
    """Files of a module and of what it imports, as far as these are scores."""
    files: set[Path] = set()
    left, seen = [module], set(NOT_CODE)
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is None:
            continue
        files.add(Path(file))
        for node in ast.walk(ast.parse(Path(file).read_bytes())):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
                left += [n for n in names if n.startswith(FOLLOWED_IMPORTS)]
    return files
