"""Count words of the glossary that have a term of the field; `tests/public` holds the lists."""

import csv
import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = ROOT / "tests/public"
SUFFIXES = {".md", ".rst", ".py", ".j2", ".js", ".html", ".yaml", ".toml", ".ipynb"}
EXCLUDED = {"CHANGELOG.md", "tests/public/test_words.py", "tests/public/test_wording.py"}
LINK = re.compile(r"\]\([^)\s]+\)|https?://\S+")
NAME = re.compile(r"(?<!`)`[\w./:*-]+`")
"""Code in a page: names of functions, columns and files stay as they are."""
BREAK = re.compile(r"\"?[ \t]*\n[ \t]*(?:#[: ]|f?\"(?!\"\"))?[ \t]*")


def read_rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


WORDS = read_rows("words.csv")
USE = {row["word"]: row["use"] for row in WORDS}


def compile_rows() -> list[tuple[str, str, re.Pattern[str]]]:
    """Return word, literal beginning and expression: a literal is found much faster."""
    rows = []
    for row in WORDS:
        bare = re.sub(r"\(\?<[!=].*?\)", "", row["pattern"])
        literal = re.match(r"[a-z0-9_\" -]*(?![?*])", bare)
        assert literal and len(literal[0]) > 1, row
        boundary = "" if row["pattern"].startswith("(?<=") else "(?<![a-z0-9])"
        rows.append((row["word"], literal[0], re.compile(boundary + row["pattern"])))
    return rows


PATTERNS = compile_rows()


def count_words(text: str) -> Counter[str]:
    """Count the words of the list in a text; links are ignored and broken lines joined."""
    text = BREAK.sub(" ", LINK.sub("]", text)).lower()
    counts: Counter[str] = Counter()
    for word, literal, pattern in PATTERNS:
        start = text.find(literal)
        while start >= 0:
            counts[word] += pattern.match(text, start) is not None
            start = text.find(literal, start + 1)
    return +counts


def count_areas() -> dict[tuple[str, str], Counter[str]]:
    """Count hits per area, word and file."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    counts: dict[tuple[str, str], Counter[str]] = {}
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if path.suffix not in SUFFIXES or name in EXCLUDED or not path.is_file():
            continue
        parts = name.split("/")
        area = "pages" if len(parts) == 1 else parts[0]
        if area == "docs" and len(parts) > 2:
            area = f"docs/{parts[1]}"
        text = path.read_text("utf-8")
        if path.suffix == ".md":
            text = NAME.sub("", text)
        for word, n in count_words(text).items():
            counts.setdefault((area, word), Counter())[name] += n
    return counts


def lower_counts() -> None:
    """Write the counts of now to the list where they fell: ``python tests/support/words.py``."""
    counts = {key: files.total() for key, files in count_areas().items()}
    path = HERE / "words_allowed.csv"
    rows = read_rows(path.name)
    for row in rows:
        now = counts.get((row["area"], row["word"]), 0)
        row["count"] = str(min(int(row["count"]), now))
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(row for row in rows if row["count"] != "0")


if __name__ == "__main__":
    lower_counts()
