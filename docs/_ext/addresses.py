"""Where the project is to be found: said once, in ``[project.urls]`` of pyproject.toml."""

import re
from pathlib import Path

PROJECT = Path(__file__).parents[2] / "pyproject.toml"


def urls() -> dict[str, str]:
    """Addresses by name, as PyPI lists them (Python 3.10 has no reader of TOML)."""
    (block,) = re.findall(r"^\[project\.urls\]\n((?:\w+ = \".+\"\n)+)", PROJECT.read_text(), re.M)
    return dict(re.findall(r'^(\w+) = "(.+)"$', block, re.M))


def documentation() -> str:
    """The root of the site, with all versions below it."""
    return urls()["Documentation"]
