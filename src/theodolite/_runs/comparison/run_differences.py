"""Describe how two runs differ apart from their scores: spec, inputs and software."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from theodolite._runs.comparison.loaded_runs import LoadedRun
from theodolite.errors import printable

ABSENT = "–"
IGNORED = ("name", "title", "report")
"""Parts of a spec that change no number."""


@dataclass(frozen=True)
class RunDifference:
    """One thing that is not the same in both runs."""

    group: str
    what: str
    first: str
    second: str


def list_differences(first: LoadedRun, second: LoadedRun) -> list[RunDifference]:
    """List all reasons why two runs may score differently; empty if they should not."""
    specs = [_flatten(_flatten_spec(run)) for run in (first, second)]
    records = [run.record for run in (first, second)]
    packages = [record.packages for record in records]
    other = [
        ("Python", records[0].python, records[1].python),
        ("machine", records[0].machine, records[1].machine),
    ]
    inputs = [_list_inputs(run) for run in (first, second)]
    return [
        *_differences("What was asked", specs[0], specs[1]),
        *_differences("What was read", inputs[0], inputs[1]),
        *_differences("Software", packages[0], packages[1]),
        *(RunDifference("Software", what, a, b) for what, a, b in other if a != b),
    ]


def _differences(
    group: str, first: Mapping[str, str], second: Mapping[str, str]
) -> Iterator[RunDifference]:
    for name in dict.fromkeys([*first, *second]):
        value, other = first.get(name, ABSENT), second.get(name, ABSENT)
        if value != other:
            yield RunDifference(
                group, printable(name, 120), printable(value, 160), printable(other, 160)
            )


def _flatten_spec(run: LoadedRun) -> dict[str, Any]:
    parts = run.record.spec.model_dump(mode="json")
    return {name: part for name, part in parts.items() if name not in IGNORED}


def _flatten(part: Any, before: str = "") -> dict[str, str]:
    """Nested names joined by dots; a list that is not of names and values is one thing."""
    if isinstance(part, dict) and part:
        inside = [
            _flatten(value, f"{before} · {name}".removeprefix(" · "))
            for name, value in part.items()
        ]
        return {name: text for texts in inside for name, text in texts.items()}
    if isinstance(part, list) and part and all(isinstance(element, dict) for element in part):
        named = {
            f"{element.get('name', number)} {number + 1}": element
            for number, element in enumerate(part)
        }
        return _flatten(named, before)
    return {before.replace("_", " "): _to_text(part)}


def _to_text(value: Any) -> str:
    if value is None or value in ([], {}, ""):
        return ABSENT
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _list_inputs(run: LoadedRun) -> dict[str, str]:
    """Files by name, each with the beginning of its digest."""
    return {name: digest[:12] for name, digest in sorted(run.made_record.inputs.items())}
