"""Commands of other packages: added, left out where they cannot be used, named where missing."""

import importlib.metadata
from collections.abc import Callable, Iterator

import pytest
import typer

from support.runs.command_line import theodolite
from theodolite.cli import package_commands, program
from theodolite.evidence import plugins

EntryPoint = importlib.metadata.EntryPoint
greeting = typer.Typer(help="Says something.")
NOTHING = None


@greeting.command("hello")
def hello() -> None:
    """Say hello."""
    typer.echo("hello")


@greeting.command("bye")
def bye() -> None:
    """Say goodbye."""
    typer.echo("bye")


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Make the program that of a machine with these packages."""
    monkeypatch.setattr(plugins, "_left_out", {})

    def install_only(**values: str) -> None:
        points = [
            ("a package 1", EntryPoint(n, v, "theodolite.commands")) for n, v in values.items()
        ]
        monkeypatch.setattr(package_commands, "list_entry_points", lambda group: points)
        program.program.cache_clear()

    yield install_only
    program.program.cache_clear()


def test_package_commands_added(install: Callable[..., None]) -> None:
    install(greet=f"{__name__}:greeting")
    assert theodolite("greet", "hello").stdout == "hello\n"
    assert "Packages     greet" in theodolite("--help").stdout
    install(hello=f"{__name__}:hello")
    assert theodolite("hello").stdout == "hello\n"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("doctor", f"{__name__}:greeting", "a command with this name exists"),
        ("greet", f"{__name__}:NOTHING", "NoneType is neither a typer.Typer nor a function"),
        ("greet", "no_such_package:app", "ModuleNotFoundError"),
    ],
)
def test_unusable_package_commands_left_out_and_named(
    install: Callable[..., None], name: str, value: str, why: str
) -> None:
    install(**{name: value})
    result = theodolite(name, "--help")
    [left] = plugins.list_left_out("commands")
    assert str(left).startswith(f"a package 1: '{name}' (commands) is left out: {why}")
    assert result.returncode == (0 if name == "doctor" else 2)
    assert theodolite("data", "--help").returncode == 0


def test_missing_study_server_named_in_one_line(install: Callable[..., None]) -> None:
    install()
    for arguments in (["study"], ["study", "serve", "here", "--port", "1"], ["study", "--help"]):
        result = theodolite(*arguments)
        assert result.returncode == 2 and result.stderr.count("\n") == 1
        assert "pip install 'theodolite[study]'" in result.stderr
    install(study=f"{__name__}:greeting")
    assert theodolite("study", "bye").stdout == "bye\n"


def test_commands_of_reproductions_hidden_until_installed(install: Callable[..., None]) -> None:
    install()
    assert "Papers" not in theodolite("--help").stdout
    assert "pip install theodolite-reproductions" in theodolite("papers", "findings", "list").stderr
    install(papers=f"{__name__}:greeting")
    assert "Papers       papers" in theodolite("--help").stdout
