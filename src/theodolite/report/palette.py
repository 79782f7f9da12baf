"""The colors of our pages, read from their style so that nothing else has to repeat them."""

import functools
import re

from theodolite.report.page import TEMPLATES

_ROOT = re.compile(r":root\s*\{([^}]*)\}")
_COLOR = re.compile(r"--([a-z0-9-]+):\s*(#[0-9a-f]{6})")


@functools.cache
def palette(*, dark: bool = False) -> dict[str, str]:
    """Colors by name, for light surroundings or dark ones.

    >>> palette()["score"], palette(dark=True)["score"]
    ('#1f4f8f', '#8db8f2')
    """
    light_block, dark_block = _ROOT.findall((TEMPLATES / "report.css").read_text("utf-8"))[:2]
    return dict(_COLOR.findall(dark_block if dark else light_block))


def declared(*, dark: bool = False) -> str:
    """Return the palette as CSS declarations."""
    return "".join(f"--{name}:{color};" for name, color in palette(dark=dark).items())
