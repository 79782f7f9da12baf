"""Groups of commands. A command's module is imported when the command is used, not before."""

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import typer
from typer.core import TyperGroup

Loaders = Mapping[str, Callable[[str], Any]]
"""Names of commands, and what returns each command, or None if it cannot be loaded."""


class LazyGroup(TyperGroup):
    """A group that lists its commands without loading them."""

    loaders: Loaders
    sections: Mapping[str, Mapping[str, str]]
    """Headings of the help; below each, names and descriptions."""
    default: str
    """The command that takes a word which is no command, such as `metrics NAME`; empty if none."""

    @classmethod
    def of(
        cls, app: typer.Typer, loaders: Loaders, sections: Mapping[str, Mapping[str, str]],
        default: str = "",
    ) -> "LazyGroup":  # fmt: skip
        """Make the group of a program that has no commands yet."""
        group = typer.main.get_group(app)
        assert isinstance(group, cls)  # noqa: S101  as `new_program` makes it
        names: dict[str, Any] = dict.fromkeys(loaders)
        group.commands = names  # each is loaded on use; until then, a name to suggest
        group.loaders, group.sections, group.default = loaders, sections, default
        return group

    def list_commands(self, ctx: Any) -> list[str]:
        """Return all names, in order."""
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Load a command when it is first used; forget one that cannot be loaded."""
        if cmd_name in self.commands and self.commands[cmd_name] is None:
            command = self.loaders[cmd_name](cmd_name)
            if command is None:
                del self.commands[cmd_name]
            else:
                self.commands[cmd_name] = command
        return self.commands.get(cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the default command in front of a word that is none."""
        if self.default and args and args[0] not in self.loaders and not args[0].startswith("-"):
            args = [self.default, *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write every summary in full."""
        width = max(len(name) for rows in self.sections.values() for name in rows)
        for heading, rows in self.sections.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), text) for name, text in rows.items()])


class Command(NamedTuple):
    """A command of theodolite: where its function is, and its help text."""

    place: str
    """Module below ``theodolite.cli.commands`` and function, such as ``data:data_list``."""
    summary: str

    def load(self, name: str) -> Any:
        """Import the command. Its help is the summary and what follows in the docstring."""
        module, _, function = self.place.partition(":")
        command = getattr(importlib.import_module(f"theodolite.cli.commands.{module}"), function)
        more = (inspect.getdoc(command) or "").partition("\n\n")[2]
        return as_command(name, command, help=f"{self.summary}\n\n{more}".strip())


class SubGroup(NamedTuple):
    """A group of our commands, such as ``theodolite data``."""

    entries: "Commands"
    summary: str
    default: str = ""

    def load(self, name: str) -> LazyGroup:
        """Make the group; none of its commands is imported."""
        app = new_program(self.summary, name=name, no_args_is_help=True)
        loaders = {name: entry.load for name, entry in self.entries.items()}
        return LazyGroup.of(app, loaders, {"Commands": summaries(self.entries)}, self.default)


Commands = dict[str, Command | SubGroup]


def summaries(entries: Commands) -> dict[str, str]:
    """Return the help text of each command."""
    return {name: entry.summary for name, entry in entries.items()}


def new_program(text: str, **settings: Any) -> typer.Typer:
    """Return a program without commands, with plain help."""
    return typer.Typer(
        cls=LazyGroup, help=text, rich_markup_mode=None, add_completion=False, **settings
    )


def as_command(name: str, commands: Any, **settings: Any) -> Any:
    """Make one command of a function, or a group of a Typer program."""
    holder = typer.Typer(rich_markup_mode=None)
    if isinstance(commands, typer.Typer):
        holder.add_typer(commands, name=name)
    else:
        holder.command(name, **settings)(commands)
    return typer.main.get_group(holder).commands[name]
