"""Measure the repository against its line budget.

python -m tools.mass
"""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = "src/theodolite/"
COMPATIBILITY = (
    "_moved.py", "docs/moved.md", "docs/migrating.md", "null_words.py", "store_v1.py",
    "runs/upgrade.py", "before_seals", "moved.sql", "fixtures/v1", "format_1.py", "test_moved.py",
    "test_upgrade.py",
)  # fmt: skip
"""Parts of paths that serve versions which nobody has."""
FOLDERS = (
    "accepted", "detects", "exists", "faithful", "language", "leak_free", "located", "shared",
    "tables",
)  # fmt: skip
EXCLUDED = {
    "  report and templates": (f"{SOURCE}report/dossier/",),
    "  _runs": (f"{SOURCE}_runs/comparison/",),
    "  _planted, generators": (f"{SOURCE}_planted/validation/",),
}
"""Subfolders that are not part of a budget."""
BUDGET: tuple[tuple[str, tuple[str, ...], tuple[str, ...], int | None], ...] = (
    ("src, Python", (SOURCE,), (".py",), 82_000),
    ("src, C", (SOURCE,), (".c", ".h"), None),
    ("src, generated functions", (f"{SOURCE}metrics/functions/",), (".py",), 0),
    ("src, JSON", (SOURCE,), (".json",), 3_000),
    ("  report and templates", (f"{SOURCE}report/",), (".py", ".j2", ".js", ".css"), 8_500),
    ("  metrics, by question", tuple(f"{SOURCE}metrics/{q}/" for q in FOLDERS), (".py",), 9_000),
    ("  _runs", (f"{SOURCE}_runs/",), (".py",), 5_400),
    ("  _planted, generators", (f"{SOURCE}_planted/",), (".py",), 2_000),
    ("  _planted, validation", (f"{SOURCE}_planted/validation/",), (".py",), 2_200),
    ("  bridges", (f"{SOURCE}bridges/",), (".py",), 1_700),
    ("  cli", (f"{SOURCE}cli/",), (".py",), 2_500),
    ("reproductions", ("reproductions/src/",), (".py",), None),
    ("models", ("models/src/",), (".py",), None),
    ("study", ("study/src/",), (".py",), None),
    ("tests of src", ("tests/",), (".py",), 40_000),
    ("tests of reproductions", ("reproductions/tests/",), (".py",), None),
    ("tests of study", ("study/tests/",), (".py",), None),
)  # fmt: skip
"""Part, where it is, which files count, and how many lines it may have."""


def list_files() -> list[str]:
    """Return the paths that git tracks and that still exist."""
    listed = subprocess.check_output(["git", "ls-files"], cwd=ROOT, text=True)
    return [name for name in listed.splitlines() if (ROOT / name).is_file()]


def count_lines(names: Iterable[str]) -> int:
    """Count the lines of some files."""
    return sum((ROOT / name).read_bytes().count(b"\n") for name in names)


def main() -> int:
    """Print the table; exit with 1 if a part is over its budget."""
    files = list_files()
    over = False
    print(f"{'part':28}{'files':>7}{'lines':>9}{'budget':>9}")
    for part, places, endings, budget in BUDGET:
        names = [n for n in files if n.startswith(places) and n.endswith(endings)]
        names = [n for n in names if not n.startswith(EXCLUDED.get(part, "\0"))]
        lines = count_lines(names)
        exceeds = budget is not None and lines > budget
        over |= exceeds
        limit = "" if budget is None else f"{budget:,}"
        print(f"{part:28}{len(names):7,}{lines:9,}{limit:>9}{'  over' if exceeds else ''}")
    old = [name for name in files if any(part in name for part in COMPATIBILITY)]
    print(f"{'compatibility':28}{len(old):7,}{count_lines(old):9,}{0:>9}")
    return int(over or bool(old))


if __name__ == "__main__":
    sys.exit(main())
