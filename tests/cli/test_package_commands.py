"""Commands of other packages: added, left out where they cannot be used, named where missing."""

import importlib.metadata
from collections.abc import Callable

import pytest
import typer
from typer.testing import CliRunner

from theodolite.cli import package_commands
from theodolite.cli.package_commands import add_package_commands
from theodolite.errors import EvidenceError
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
def program(monkeypatch: pytest.MonkeyPatch) -> Callable[..., typer.Typer]:
    """The program of a machine with these packages."""
    monkeypatch.setattr(plugins, "_left_out", {})

    def make(**values: str) -> typer.Typer:
        points = [
            ("a package 1", EntryPoint(n, v, "theodolite.commands")) for n, v in values.items()
        ]
        monkeypatch.setattr(package_commands, "entry_points", lambda group: points)
        app = typer.Typer()
        app.command("run")(lambda: typer.echo("ours"))
        add_package_commands(app, {"run"})
        return app

    return make


def test_a_package_brings_commands(program: Callable[..., typer.Typer]) -> None:
    app = program(greet=f"{__name__}:greeting")
    assert CliRunner().invoke(app, ["greet", "hello"]).output == "hello\n"
    assert "greet" in CliRunner().invoke(app, ["--help"]).output
    single = program(hello=f"{__name__}:hello")
    assert CliRunner().invoke(single, ["hello"]).output == "hello\n"


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("run", f"{__name__}:greeting", "there is a command of this name"),
        ("greet", f"{__name__}:NOTHING", "NoneType is no typer.Typer and no function"),
        ("greet", "no_such_package:app", "ModuleNotFoundError"),
    ],
)
def test_what_cannot_be_used_is_left_out_and_named(
    program: Callable[..., typer.Typer], name: str, value: str, why: str
) -> None:
    with pytest.warns(RuntimeWarning, match=f"a package 1: '{name}' .* is left out: .*{why}"):
        app = program(**{name: value})
    assert CliRunner().invoke(app, ["run"]).output == "ours\n"


def test_without_the_study_server_one_line_says_what_to_install(
    program: Callable[..., typer.Typer],
) -> None:
    for arguments in (["study"], ["study", "serve", "here", "--port", "1"], ["study", "--help"]):
        error = CliRunner().invoke(program(), arguments).exception
        assert isinstance(error, EvidenceError) and error.exit_code == 2
        assert str(error).count("\n") == 0
        assert "pip install 'theodolite[study]'" in str(error)


def test_with_it_the_line_is_gone(program: Callable[..., typer.Typer]) -> None:
    assert (
        CliRunner().invoke(program(study=f"{__name__}:greeting"), ["study", "bye"]).output
        == "bye\n"
    )


def test_commands_of_the_reproductions_are_hidden_until_installed(
    program: Callable[..., typer.Typer],
) -> None:
    assert "findings" not in CliRunner().invoke(program(), ["--help"]).output
    error = CliRunner().invoke(program(), ["findings", "list"]).exception
    assert "pip install theodolite-reproductions" in str(error)
