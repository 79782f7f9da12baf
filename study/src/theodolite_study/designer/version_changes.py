"""Describe the changes between two versions of a study in plain sentences."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from theodolite_study.model.instrument import STAGES, Instrument

MAX_QUOTED_CHARACTERS = 60


@dataclass(frozen=True)
class VersionContent:
    """Content of a version, without its number and state."""

    instrument: Instrument
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings, with votes, quota and the other columns."""
    texts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """Texts by key and language, including the consent."""
    outcomes: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    conditions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def describe_changes(old: VersionContent, new: VersionContent) -> list[str]:
    """List the changes as sentences; empty if there are none."""
    return [
        *_block_changes(old.instrument, new.instrument),
        *_part_changes("Setting", _flatten(old.settings), _flatten(new.settings)),
        *_part_changes("Outcome", _flatten(old.outcomes), _flatten(new.outcomes)),
        *_part_changes("Condition", _flatten(old.conditions), _flatten(new.conditions)),
        *_text_changes(old.texts, new.texts),
    ]


def _block_changes(old: Instrument, new: Instrument) -> Iterator[str]:
    before, after = _blocks(old), _blocks(new)
    for name in before.keys() - after.keys():
        yield f"Block “{name}” was taken out of “{before[name][0]}”."
    for name, (stage, block) in after.items():
        if name not in before:
            yield f"Block “{name}” ({block['kind']}) is new in “{stage}”."
            continue
        if before[name][0] != stage:
            yield f"Block “{name}” moved from “{before[name][0]}” to “{stage}”."
        yield from _part_changes(f"Block “{name}”,", _flatten(before[name][1]), _flatten(block))
    for stage in STAGES:
        orders = [
            [n for n, (s, _) in blocks.items() if s == stage and n in before and n in after]
            for blocks in (before, after)
        ]
        if orders[0] != orders[1]:
            yield f"The order in “{stage}” is now {', '.join(orders[1])}."
        if _describe_shuffling(old.pages(stage)) != _describe_shuffling(new.pages(stage)):
            yield f"Pages of “{stage}” that are shuffled: {_describe_shuffling(new.pages(stage))}."


def _describe_shuffling(pages: Sequence[Any]) -> str:
    numbers = [str(number) for number, page in enumerate(pages, 1) if page.shuffle]
    return ", ".join(numbers) or "none"


def _blocks(instrument: Instrument) -> dict[str, tuple[str, dict[str, Any]]]:
    stored = instrument.stored()
    return {block["name"]: (stage, block)
            for stage in STAGES for page in stored[stage] for block in page["blocks"]}  # fmt: skip


def _flatten(tree: Any, place: str = "") -> dict[str, Any]:
    """Return the leaves of nested mappings by their path."""
    if not isinstance(tree, Mapping) or not tree:
        return {} if tree in ({}, None) else {place: tree}
    leaves: dict[str, Any] = {}
    for key, value in tree.items():
        leaves |= _flatten(value, f"{place}.{key}" if place else str(key))
    return leaves


def _part_changes(what: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted(old.keys() | new.keys()):
        if name not in old:
            yield f"{what} {name} is new: {_shorten(new[name])}."
        elif name not in new:
            yield f"{what} {name} is gone; it was {_shorten(old[name])}."
        elif old[name] != new[name]:
            yield f"{what} {name} was {_shorten(old[name])}, is {_shorten(new[name])}."


def _text_changes(
    old: Mapping[tuple[str, str], str], new: Mapping[tuple[str, str], str]
) -> Iterator[str]:
    for key, language in sorted(old.keys() | new.keys()):
        before, after = old.get((key, language)), new.get((key, language))
        if before is None:
            yield f"Text {key} ({language}) is new: {_shorten(after)}."
        elif after is None:
            yield f"Text {key} ({language}) is gone; it was {_shorten(before)}."
        elif before != after:
            yield f"Text {key} ({language}) was {_shorten(before)}, is {_shorten(after)}."


def _shorten(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    text = " ".join(str(value).split())
    text = text if len(text) <= MAX_QUOTED_CHARACTERS else f"{text[: MAX_QUOTED_CHARACTERS - 1]}…"
    return f"“{text}”" if isinstance(value, str) else text
