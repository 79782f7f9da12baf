"""Formats of the files of a run folder: which this version writes, and how older ones are read."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from theodolite.errors import EvidenceError, RefusedInput
from theodolite.io.text import read_json
from theodolite.questions import FORMER

FORMAT_VERSION = 2
PRODUCED, FINDINGS = "produced.json", "findings.json"
FORMER_NAMES = {PRODUCED: "made.json", FINDINGS: "studies.json"}
"""What files were called in format 1."""

Content = dict[str, Any]


def file_in(folder: Path, name: str) -> Path:
    """A file of a run folder, by the name it has there: that of format 1 where only that is."""
    former = FORMER_NAMES.get(name)
    if former and not (folder / name).is_file() and (folder / former).is_file():
        return folder / former
    return folder / name


def current(content: Any, path: Path) -> Any:
    """What a file holds, as format 2 has it; a file of a newer theodolite is refused in words."""
    if not isinstance(content, dict) or "format_version" not in content:
        return content  # a manifest, or made.json, which did not say
    version = content["format_version"]
    if type(version) is not int or version < 1:
        raise RefusedInput(f"record {path.name!r}", "no format version", "1 or 2")
    if version > FORMAT_VERSION:
        raise RefusedInput(
            f"record {path.name!r}, written by a newer theodolite (format {version}); this one "
            f"reads up to {FORMAT_VERSION}",
            do=_who_reads(path),
        )
    return v1_to_v2(content) if version == 1 else content


def format_of(path: Path) -> int:
    """The format that a file says it has; this one, where it says none."""
    content = read_json(path, "record")
    version = content.get("format_version") if isinstance(content, dict) else None
    return version if type(version) is int else FORMAT_VERSION


def v1_to_v2(content: Mapping[str, Any]) -> Content:
    """A file of format 1 as format 2 has it. The question leaks is leak_free; yes stays yes."""
    of_format = _CHANGES.get(str(content.get("format")), dict)
    return of_format(content) | {"format_version": 2}


def _run(content: Mapping[str, Any]) -> Content:
    spec = content.get("spec")
    if not isinstance(spec, dict) or not isinstance(spec.get("headlines"), dict):
        return dict(content)
    headlines = {FORMER.get(name, name): value for name, value in spec["headlines"].items()}
    return {**content, "spec": {**spec, "headlines": headlines}}


def _scores(content: Mapping[str, Any]) -> Content:
    names = [name for name in ("verdicts", "scores") if name in content]
    return {**content, **{name: _each(content[name], _item) for name in names}}


def _compared(content: Mapping[str, Any]) -> Content:
    return {**content, "models": _each(content.get("models"), _scores)}


def _findings(content: Mapping[str, Any]) -> Content:
    rest = {name: value for name, value in content.items() if name != "studies"}
    return {**rest, "format": "theodolite-findings", "findings": content.get("studies")}


def _conflicts(content: Mapping[str, Any]) -> Content:
    names = [name for name in ("verdicts", "judged", "conflicts") if name in content]
    return {**content, **{name: _each(content[name], _item) for name in names}}


def _item(item: Mapping[str, Any]) -> Content:
    """A score, verdict or conflict: questions by their names of today."""
    names = [name for name in ("question", "good", "bad") if isinstance(item.get(name), str)]
    return {**item, **{name: FORMER.get(item[name], item[name]) for name in names}}


def _each(items: Any, change: Callable[[Mapping[str, Any]], Content]) -> Any:
    """What is no list of objects stays as it is, to be refused with its place."""
    if not isinstance(items, list):
        return items
    return [change(item) if isinstance(item, dict) else item for item in items]


_CHANGES: dict[str, Callable[[Mapping[str, Any]], Content]] = {
    "theodolite-run": _run,
    "theodolite-scores": _scores,
    "theodolite-compared": _compared,
    "theodolite-studies": _findings,
    "theodolite-conflicts": _conflicts,
}


def _who_reads(path: Path) -> str:
    """The version that wrote the folder, if its run.json says so."""
    try:
        version = read_json(path.with_name("run.json"))["packages"]["theodolite"]
    except (EvidenceError, KeyError, TypeError, ValueError):
        version = ""
    if not isinstance(version, str) or not re.fullmatch(r"[0-9][0-9A-Za-z.+-]{0,30}", version):
        return "Install a newer theodolite."
    return f"Install theodolite {version} or newer."
