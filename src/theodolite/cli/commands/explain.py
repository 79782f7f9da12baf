"""The command that explains images, and lists the ways to."""

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
    from theodolite.models.classifier import Classifier


def explain(
    images: Annotated[
        list[Path] | None, typer.Argument(help="Images to explain.", show_default=False)
    ] = None,
    backbone: Annotated[
        str | None,
        typer.Option(
            help="The network: resnet18 (timm), torchvision:resnet18, transformers:FOLDER, "
            "open_clip:MODEL@TAG."
        ),
    ] = None,
    weights: Annotated[
        Path | None, typer.Option(help="Its weights (.safetensors); else its library fetches them.")
    ] = None,
    class_names: Annotated[
        Path | None, typer.Option(help="A JSON list of its classes; CLIP needs it.")
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
    """Explain images: one map (.npy) and one overlay (.png) per image and method."""
    if listed:
        _list(as_json=as_json)
        return
    from theodolite.errors import EvidenceError

    if not (images and backbone and method and out):
        options = {"IMAGE": images, "--backbone": backbone, "--method": method, "--out": out}
        lacking = ", ".join(name for name, value in options.items() if not value)
        raise EvidenceError("explain", f"no {lacking}", "all of these", "Or ask for --list.")
    _check_methods(method)
    places = _places(images, method, out)
    rows = _explained(
        images, (backbone, weights, class_names), method, (layer, target, seed), places
    )
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    from theodolite.cli.tables import print_table

    heads = ("image", "method", "target class", "probability")
    cells = [
        (
            r["image"],
            r["method"],
            f"{r['target']} {r['class']}".strip(),
            f"{r['probability']:.4f}",
        )
        for r in rows
    ]
    print_table(heads, cells, right=(3,))


def techniques() -> "list[Technique]":
    """All ways of explaining: on images, then on concepts."""
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
    from theodolite.explainers.concepts.methods import TECHNIQUES as ON_CONCEPTS
    from theodolite.explainers.saliency.methods import TECHNIQUES

    for name in methods:
        if name in ON_CONCEPTS:
            raise EvidenceError(
                "--method", f"{name!r}, which explains by concepts", "one for images",
                "From Python: theodolite.explainers.concepts.methods.concept_explainer.",
            )  # fmt: skip
        if name not in TECHNIQUES:
            raise EvidenceError("--method", repr(name), f"one of {', '.join(TECHNIQUES)}")


def _places(
    images: Sequence[Path], methods: Sequence[str], out: Path
) -> dict[tuple[Path, str], Path]:
    """Where each map goes, without its ending; refused if anything is there."""
    from theodolite.errors import EvidenceError

    places: dict[tuple[Path, str], Path] = {}
    for image in images:
        for method in methods:
            place = out / f"{image.stem}_{method}"
            if place in places.values():
                raise EvidenceError(
                    "explain", f"{image.stem!r} and {method!r} twice", "images of other names"
                )
            for ending in (".npy", ".png"):
                if place.with_name(place.name + ending).exists():
                    raise EvidenceError(
                        "--out", f"a folder with {place.name + ending!r} in it", "none of the maps",
                        "Choose another folder.",
                    )  # fmt: skip
            places[image, method] = place
    return places


def _explained(
    images: Sequence[Path],
    network: tuple[str, Path | None, Path | None],
    methods: Sequence[str],
    how: tuple[str | None, int | None, int],
    places: dict[tuple[Path, str], Path],
) -> list[dict[str, Any]]:
    """Write all maps; what was explained, for the table."""
    from theodolite._storage.arrays import write_npy
    from theodolite._storage.images import read_image
    from theodolite.explainers.saliency.methods import explainer
    from theodolite.models.classifiers import load_classifier

    layer, target, seed = how
    opened = [read_image(path) for path in images]
    name, weights, class_names = network
    classifier = load_classifier(name, weights, classes=_names(class_names))
    numbers, targets, chances = _predict_targets(classifier, opened, target)
    rows = []
    for method in methods:
        run = explainer(method, classifier.network, layer=layer, grid=classifier.grid, seed=seed)
        for i, path in enumerate(images):
            relevance = run(numbers[i : i + 1], targets[i : i + 1])[0]
            place = places[path, method]
            write_npy(place.with_name(place.name + ".npy"), relevance)
            _draw(place.with_name(place.name + ".png"), opened[i], relevance)
            rows.append(
                {"image": str(path), "method": method, "target": int(targets[i]),
                 "class": classifier.classes[targets[i]] if classifier.classes else "",
                 "probability": float(chances[i])}
            )  # fmt: skip
    return sorted(rows, key=lambda row: [str(path) for path in images].index(row["image"]))


def _names(path: Path | None) -> tuple[str, ...]:
    from theodolite._storage.text import read_json
    from theodolite.errors import EvidenceError

    names = [] if path is None else read_json(path, "class names")
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise EvidenceError("--class-names", type(names).__name__, "a JSON list of names")
    return tuple(names)


def _predict_targets(
    classifier: "Classifier", opened: "Sequence[Image.Image]", target: int | None
) -> "tuple[np.ndarray, np.ndarray, np.ndarray]":
    """The images as the network wants them, the class of each, and its probability."""
    import numpy as np

    from theodolite.errors import EvidenceError

    numbers = np.stack([classifier.preprocessing(image) for image in opened])
    chances = classifier.probabilities(numbers)
    if target is not None and target >= chances.shape[1]:
        raise EvidenceError("--target", f"{target}", f"0 to {chances.shape[1] - 1}")
    targets = chances.argmax(axis=1) if target is None else np.full(len(numbers), target)
    return numbers, targets, chances[np.arange(len(numbers)), targets]


def _draw(path: Path, image: "Image.Image", relevance: "np.ndarray") -> None:
    """The map over the pale image: orange for the class, blue against it."""
    from theodolite._storage.paths import all_or_nothing
    from theodolite.report.overlays import relevance_overlay

    with all_or_nothing(path) as stream:
        width = min(image.width, 640)
        relevance_overlay(image, relevance, width=width).save(stream, "PNG")
