"""The page of the leaderboard: ``python -m tools.leaderboard`` writes it from the kept runs.

Each folder of ``benchmarks/leaderboard`` is a board: the file of its test rows, and submissions.
The page names a digest of each, so that `--check` needs no scores computed again.
"""

import hashlib
import re
import sys
from pathlib import Path

from theodolite._runs.comparison.leaderboard import build_leaderboard
from theodolite._runs.comparison.submissions import SPLIT
from theodolite._runs.folder.checksums import MANIFEST
from theodolite.cli.progress import show_progress
from theodolite.metrics.catalogue import catalogue
from theodolite.report.page import TEMPLATES
from theodolite.report.pages.leaderboard import NOTES, render_board, sentences

ROOT = Path(__file__).parents[1]
KEPT, PAGE = ROOT / "benchmarks" / "leaderboard", ROOT / "docs" / "leaderboard.md"
COLORS = {
    "soft": "foreground-muted", "ink": "foreground-primary", "line": "background-border",
    "panel": "background-secondary", "yes": "yes", "partly": "partly", "no": "no",
}  # fmt: skip
"""Colors of our pages, and those of the documentation."""
FRAME = (
    ".scroll { overflow-x: auto; } "
    "@media (min-width: 64em) { .main > .content { width: min(66rem, calc(100vw - 22rem)); } }"
)

NARROW = "@media (min-width: 43.75em) { .board { min-width: 56rem; } }"


def digest_kept() -> dict[str, str]:
    """Of each kept run a digest of what its row is made from: files, fields and metric versions."""
    versions = [f"{m.name} {m.version}" for m in catalogue().values() if m.decides]
    digests = {}
    for path in sorted(KEPT.glob(f"*/*/{MANIFEST}")):
        run = path.parent
        files = (path, run.with_name(f"{run.name}.yaml"), run.parent / SPLIT)
        parts = [*(file.read_text("utf-8") for file in files), *versions]
        name = run.relative_to(KEPT).as_posix()
        digests[name] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return digests


def read_listed() -> dict[str, str]:
    """Return the runs that the page was made from, with their digests."""
    return dict(re.findall(r"<!-- made from (\S+) (\w{64}) -->", PAGE.read_text("utf-8")))


def write() -> None:
    """Check all submissions, rank them, and write the page."""
    lines = [
        "---", "hide-toc: true", "---", "",
        *(f"<!-- made from {name} {digest} -->" for name, digest in digest_kept().items()),
        "# Leaderboard", "",
        "This page is for authors and users of explanation methods. It compares explanations of "
        "networks on the same test images. Scores are computed again from stored evidence. To add "
        "yours, see [Submit to a leaderboard](submissions.md).", "",
        *(f"- {note}" for note in NOTES), "",
    ]  # fmt: skip
    css = (TEMPLATES / "leaderboard.css").read_text("utf-8").partition("\n")[2]
    colors = " ".join(f"--{ours}: var(--color-{theirs});" for ours, theirs in COLORS.items())
    style = f"<style>.board {{ {colors} }} {FRAME} {css} {NARROW}</style>"
    for folder in sorted(path for path in KEPT.iterdir() if path.is_dir()):
        with show_progress(quiet=False) as progress:
            boards, left = build_leaderboard(folder, progress)
        for board in boards:
            lines += [f"## {folder.name}", "", *(f"- {text}" for text in sentences(board)), ""]
            lines += ["```{raw} html", style, render_board(board).strip(), "```", ""]
            style = ""
        lines += [f"Refused: {one.name}. {one.why}\n" for one in left]
    PAGE.write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(read_listed() != digest_kept())
    write()
