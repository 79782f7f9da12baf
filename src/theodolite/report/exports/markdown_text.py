"""Any text as Markdown that shows it and does nothing else."""

import re

from theodolite.errors import printable

HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
MEANT = re.compile(r"[\\`*_{}\[\]#|~$!@]")
"""Punctuation that Markdown, its tables or its formulas give a meaning."""
LINKS = re.compile(r":(?=//)|(?<=www)\.", re.IGNORECASE)
"""What makes a bare address a link."""
LINE_START = re.compile(r"^(\s*)([-+=]|\d+(?=[.)](?:\s|$)))")
"""What makes a line a list or a heading."""


def markdown_text(text: str) -> str:
    r"""One line of text with everything escaped.

    >>> markdown_text("a|b <b>*c*</b>")
    'a\\|b &lt;b&gt;\\*c\\*&lt;/b&gt;'
    """
    line = MEANT.sub(r"\\\g<0>", printable(text, 4000))
    line = "".join(HTML.get(character, character) for character in line)
    line = LINKS.sub(r"\\\g<0>", line)
    return LINE_START.sub(_started, line)


def _started(match: re.Match[str]) -> str:
    begins = match[2]
    return match[1] + (begins + "\\" if begins.isdigit() else "\\" + begins)


def markdown_code(text: str, language: str = "") -> str:
    """A block of code; its fence is longer than any in the text."""
    lines = "\n".join(printable(line, 4000) for line in text.split("\n"))
    longest = max((len(run) for run in re.findall("`+", lines)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{lines}\n{fence}"
