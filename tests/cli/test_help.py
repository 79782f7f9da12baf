"""Help pages of all commands: nothing is cut at 80 columns, and every text is short."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from support.runs.command_line import theodolite
from theodolite.cli.package_commands import INSTALL
from theodolite.cli.program import program


def pages(group: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All groups and commands of this package, by their words."""
    yield words, group
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            if name not in INSTALL:
                yield from pages(command, (*words, name))
        elif name not in INSTALL:
            yield (*words, name), command


PAGES = dict(pages(program()))


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_not_cut_at_80_columns(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = theodolite(*words, "--help")
    assert result.returncode == 0
    usage, *lines = result.stdout.splitlines()
    assert usage.startswith("Usage: theodolite")
    assert all(len(line) <= 80 for line in lines)
    assert not [line for line in lines if re.search(r"(\.\.\.|…)$", line)]


@pytest.mark.parametrize("words", PAGES, ids=" ".join)
def test_help_texts_short_without_final_period(words: tuple[str, ...]) -> None:
    command = PAGES[words]
    texts = [command.help.partition("\n")[0]]
    texts += [p.help for p in command.params if p.name != "help"]
    for text in texts:
        assert text and len(text) <= 60 and not text.endswith("."), text
        assert text[0].isupper() or not text[0].isalpha() or text.startswith("tokenizer"), text


def test_top_level_help_describes_ten_commands() -> None:
    described = [
        name for heading, rows in program().sections.items() for name in rows
        if not heading.startswith("More")
    ]  # fmt: skip
    assert len(described) == 10
    assert not [
        name for name in program().list_commands(None) if name not in theodolite("--help").stdout
    ]
