"""Commands of the model shelf: list, info and train."""

import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.cli import options as opt
from theodolite.cli.options import argument, option
from theodolite.cli.progress import show_progress
from theodolite.cli.tables import print_json, print_table
from theodolite.errors import EvidenceError, did_you_mean
from theodolite.evidence.plugins import load_plugins
from theodolite.models.shelf import (
    ModelCard,
    TrainingInputs,
    find_on_shelf,
    get_shelf,
    list_shelf,
    read_card,
    write_on_shelf,
)

INSTALL = "Install them: pip install 'theodolite-models[all]'."
Name = Annotated[str, argument("Name of a model")]


def models_list(as_json: opt.Json = False) -> None:
    """List the networks on the shelf, and those that can be trained."""
    recipes = _load_recipes()
    cards = list_shelf()
    missing = [name for name in recipes if name not in {card.name for card in cards}]
    if as_json:
        print_json({"trained": [card.model_dump() for card in cards], "recipes": list(recipes)})
        return
    rows = [(card.name, card.architecture, _accuracy(card), f"{card.cpu_minutes:g}")
            for card in cards]  # fmt: skip
    rows += [(name, "", f"not trained: theodolite models train {name}", "") for name in missing]
    print_table(("name", "architecture", "test accuracy", "CPU min"), rows)


def models_info(name: Name, as_json: opt.Json = False) -> None:
    """Show the card of a network on the shelf."""
    if name in _load_recipes() and name not in {card.name for card in list_shelf()}:
        typer.echo(f"{name} is not trained: theodolite models train {name}")
        return
    card = read_card(find_on_shelf(name))
    if as_json:
        print_json(card.model_dump())
        return
    content = card.model_dump() | {"accuracy": _accuracy(card)}
    print_table(("", ""), [(key, _text(value)) for key, value in content.items()])


def models_train(
    name: Name,
    data: Annotated[Path | None, option("Data set; rendered data need none")] = None,
    weights: opt.Weights = None,
    seed: opt.Seed = 0,
    out: Annotated[Path | None, option("Folder to write. Default: the model shelf")] = None,
    overwrite: Annotated[bool, option("Replace an earlier model", "--overwrite")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Train a network by its recipe and write it on the shelf.

    --weights are those of the network that training starts from. The same command resumes a
    training that was cut off.
    """
    recipes = _load_recipes()
    if name not in recipes:
        close = did_you_mean(name, recipes) if recipes else INSTALL
        raise EvidenceError("recipe", repr(name), f"one of {', '.join(recipes)}", close)
    folder = out or get_shelf() / name
    if folder.exists() and any(folder.iterdir()) and not overwrite:
        raise EvidenceError(f"folder {str(folder)!r}", "files in it", "an empty or new one",
                            "Add --overwrite to replace them.")  # fmt: skip
    work = get_shelf() / "training" / f"{name}-{seed}"
    with show_progress(quiet=quiet) as progress:
        card, arrays = recipes[name](TrainingInputs(data, weights, seed, work, progress))
    card = write_on_shelf(folder, card, arrays)
    shutil.rmtree(work, ignore_errors=True)
    print_table(("name", "test accuracy", "CPU min", "folder"),
                [(card.name, _accuracy(card), f"{card.cpu_minutes:g}", str(folder))])  # fmt: skip


def _load_recipes() -> dict[str, Any]:
    """Return the recipes of installed packages by name."""
    recipes: dict[str, Any] = {}
    for *_, own in load_plugins("recipes", nullcontext):
        recipes |= own
    return recipes


def _accuracy(card: ModelCard) -> str:
    own = card.accuracy
    return (
        f"{100 * own.value:.1f} % (95 % CI {100 * own.low:.1f}–{100 * own.high:.1f} %, n = {own.n})"
    )


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(item)}" for key, item in value.items())
    return ", ".join(map(str, value)) if isinstance(value, tuple | list) else str(value)
