"""The format of the files of a run folder."""

import re
from pathlib import Path
from typing import Any

from theodolite.errors import EvidenceError, RefusedInput
from theodolite.io.text import read_json

FORMAT_VERSION = 2
PRODUCED, FINDINGS = "produced.json", "findings.json"


def current(content: Any, path: Path) -> Any:
    """Return the content of a file, or refuse another format in words."""
    if not isinstance(content, dict) or "format_version" not in content:
        return content  # a manifest
    version = content["format_version"]
    if type(version) is not int or version < FORMAT_VERSION:
        got = f"format version {version}"[:60]
        raise RefusedInput(f"record {path.name!r}", got, f"{FORMAT_VERSION}")
    if version > FORMAT_VERSION:
        raise RefusedInput(
            f"record {path.name!r}, written by a newer theodolite (format {version}); this one "
            f"reads up to {FORMAT_VERSION}",
            do=_who_reads(path),
        )
    return content


def _who_reads(path: Path) -> str:
    """The version that wrote the folder, if its run.json says so."""
    try:
        version = read_json(path.with_name("run.json"))["packages"]["theodolite"]
    except (EvidenceError, KeyError, TypeError, ValueError):
        version = ""
    if not isinstance(version, str) or not re.fullmatch(r"[0-9][0-9A-Za-z.+-]{0,30}", version):
        return "Install a newer theodolite."
    return f"Install theodolite {version} or newer."
