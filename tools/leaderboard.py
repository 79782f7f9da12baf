"""The page of the leaderboard: ``python -m tools.leaderboard`` writes it from the kept runs.

Each folder of ``benchmarks/leaderboard`` is a board: the file of its test rows, and submissions.
The page names a digest of all of them, so that `is_current` needs no scores computed again.
"""

import hashlib
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


def digest_kept() -> str:
    """Digest of all that the page is made from: the runs, the stated fields, metric versions."""
    names = (MANIFEST, "*.yaml", SPLIT)
    paths = sorted(path for name in names for path in KEPT.rglob(name))
    parts = [f"{path.relative_to(KEPT).as_posix()} {path.read_text('utf-8')}" for path in paths]
    parts += [f"{m.name} {m.version}" for m in catalogue().values() if m.decides]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def is_current() -> bool:
    """Whether the page is that of the kept runs."""
    return f"<!-- kept runs: {digest_kept()} -->" in PAGE.read_text("utf-8")


def write() -> None:
    """Check all submissions, rank them, and write the page."""
    lines = [
        "---", "hide-toc: true", "---", "",
        f"<!-- kept runs: {digest_kept()} -->", "# Leaderboard", "",
        "This page is for authors and users of explanation methods. It compares explanations of "
        "networks on the same test images. Scores are computed again from stored evidence. To add "
        "yours, see [Submit to a leaderboard](submissions.md).", "",
        *(f"- {note}" for note in NOTES), "",
    ]  # fmt: skip
    css = (TEMPLATES / "leaderboard.css").read_text("utf-8").partition("\n")[2]
    colors = " ".join(f"--{ours}: var(--color-{theirs});" for ours, theirs in COLORS.items())
    style = f"<style>.board {{ {colors} }} {FRAME} {css}</style>"
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
        sys.exit(not is_current())
    write()
