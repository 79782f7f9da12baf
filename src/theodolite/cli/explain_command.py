"""The command that explains pictures, and lists the ways to."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.cli.options import Json

if TYPE_CHECKING:
    import numpy as np
    from PIL import Image

    from theodolite.explainers.saliency.technique import Technique
    from theodolite.models.backbones import Backbone


def explain(
    pictures: Annotated[
        list[Path] | None, typer.Argument(help="Pictures to explain.", show_default=False)
    ] = None,
    backbone: Annotated[
        str | None, typer.Option(help="A network of timm, such as resnet18.")
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Its weights (.safetensors); else timm fetches them.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="How to explain; give it again for more methods.")
    ] = None,
    layer: Annotated[
        str | None, typer.Option(help="The layer that a CAM is made of; else it is found.")
    ] = None,
    target: Annotated[
        int | None, typer.Option(help="The class to explain; else the predicted one.", min=0)
    ] = None,
    seed: Annotated[int, typer.Option(help="For methods that draw.", min=0)] = 0,
    out: Annotated[Path | None, typer.Option(help="The folder to write maps into.")] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the methods, and stop.")] = False,
    as_json: Json = False,
) -> None:
    """Explain pictures: one map (.npy) and one overlay (.png) per picture and method."""
    if listed:
        _list(as_json=as_json)
        return
    from theodolite.errors import EvidenceError

    if not (pictures and backbone and method and out):
        given = {"PICTURE": pictures, "--backbone": backbone, "--method": method, "--out": out}
        lacking = ", ".join(name for name, value in given.items() if not value)
        raise EvidenceError("explain", f"no {lacking}", "all of these", "Or ask for --list.")
    _check_methods(method)
    places = _places(pictures, method, out)
    rows = _explained(pictures, (backbone, weights), method, (layer, target, seed), places)
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    from theodolite.cli.tables import print_table

    heads = ("picture", "method", "target class", "probability")
    cells = [(r["picture"], r["method"], str(r["target"]), f"{r['probability']:.4f}") for r in rows]
    print_table(heads, cells, right=(2, 3))


def techniques() -> "list[Technique]":
    """All ways of explaining: on pictures, then on concepts."""
    from theodolite.explainers.concepts.methods import TECHNIQUES as ON_CONCEPTS
    from theodolite.explainers.saliency.methods import TECHNIQUES

    return [*TECHNIQUES.values(), *ON_CONCEPTS.values()]


def _list(*, as_json: bool) -> None:
    from theodolite.cli.tables import print_table

    rows = techniques()
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(row) for row in rows], indent=1))
        return
    heads = ("name", "functioning", "attribution on", "stage", "applies to", "library")
    print_table(
        heads,
        [
            (r.name, r.functioning, r.attribution_on, r.stage, ", ".join(r.applies_to), r.library)
            for r in rows
        ],
    )


def _check_methods(methods: Sequence[str]) -> None:
    from theodolite.errors import EvidenceError
    from theodolite.explainers.saliency.methods import TECHNIQUES

    for name in methods:
        if name not in TECHNIQUES:
            raise EvidenceError("--method", repr(name), f"one of {', '.join(TECHNIQUES)}")


def _places(
    pictures: Sequence[Path], methods: Sequence[str], out: Path
) -> dict[tuple[Path, str], Path]:
    """Where each map goes, without its ending; refused if anything is there."""
    from theodolite.errors import EvidenceError

    places: dict[tuple[Path, str], Path] = {}
    for picture in pictures:
        for method in methods:
            place = out / f"{picture.stem}_{method}"
            if place in places.values():
                raise EvidenceError(
                    "explain", f"{picture.stem!r} and {method!r} twice", "pictures of other names"
                )
            for ending in (".npy", ".png"):
                if place.with_name(place.name + ending).exists():
                    raise EvidenceError(
                        "--out", f"a folder with {place.name + ending!r} in it", "none of the maps",
                        "Choose another folder.",
                    )  # fmt: skip
            places[picture, method] = place
    return places


def _explained(
    pictures: Sequence[Path],
    network: tuple[str, Path | None],
    methods: Sequence[str],
    how: tuple[str | None, int | None, int],
    places: dict[tuple[Path, str], Path],
) -> list[dict[str, Any]]:
    """Write all maps; what was explained, for the table."""
    from theodolite.explainers.saliency.methods import explainer
    from theodolite.io.arrays import write_npy
    from theodolite.io.pictures import read_picture
    from theodolite.models.backbones import load_backbone

    layer, target, seed = how
    opened = [read_picture(path) for path in pictures]
    backbone = load_backbone(*network)
    numbers, targets, chances = _asked(backbone, opened, target)
    rows = []
    for method in methods:
        run = explainer(method, backbone.network, layer=layer, seed=seed)
        for i, path in enumerate(pictures):
            found = run(numbers[i : i + 1], targets[i : i + 1])[0]
            place = places[path, method]
            write_npy(place.with_name(place.name + ".npy"), found)
            _draw(place.with_name(place.name + ".png"), opened[i], found)
            rows.append(
                {"picture": str(path), "method": method, "target": int(targets[i]),
                 "probability": float(chances[i])}
            )  # fmt: skip
    return sorted(rows, key=lambda row: [str(path) for path in pictures].index(row["picture"]))


def _asked(
    backbone: "Backbone", opened: "Sequence[Image.Image]", target: int | None
) -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
    """The pictures as the network wants them, the class of each, and its probability."""
    import numpy as np
    import torch

    from theodolite.errors import EvidenceError

    numbers = np.stack([backbone.preprocessing(picture) for picture in opened])
    with torch.inference_mode():
        chances = torch.cat(
            [backbone.network(torch.from_numpy(one[None])).softmax(dim=1) for one in numbers]
        ).numpy()
    if target is not None and target >= chances.shape[1]:
        raise EvidenceError("--target", f"{target}", f"0 to {chances.shape[1] - 1}")
    targets = chances.argmax(axis=1) if target is None else np.full(len(numbers), target)
    return numbers, targets, chances[np.arange(len(numbers)), targets]


def _draw(path: Path, picture: "Image.Image", found: "np.ndarray") -> None:
    """The map over the picture. Colours go from the map's least to its largest value."""
    from theodolite.io.paths import all_or_nothing
    from theodolite.report.overlays import overlay

    with all_or_nothing(path) as stream:
        overlay(picture, found, (), width=min(picture.width, 640)).save(stream, "PNG")
