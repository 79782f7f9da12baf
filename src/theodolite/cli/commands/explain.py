"""The command that explains images, and lists the methods."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from PIL import Image

from theodolite._storage.arrays import write_npy
from theodolite._storage.images import read_image
from theodolite._storage.paths import all_or_nothing
from theodolite.cli import options as opt
from theodolite.cli.models import ModelOptions
from theodolite.cli.options import argument, option
from theodolite.cli.tables import print_json, print_table
from theodolite.errors import EvidenceError
from theodolite.explainers.concepts.methods import TECHNIQUES as ON_CONCEPTS
from theodolite.explainers.saliency.methods import TECHNIQUES, explainer
from theodolite.report.overlays import relevance_overlay

if TYPE_CHECKING:
    from theodolite.models.loaded_model import LoadedModel


def explain(
    images: Annotated[list[Path] | None, argument("Images to explain")] = None,
    model: Annotated[str | None, option("Model, such as resnet18 or torchvision:NAME")] = None,
    weights: opt.Weights = None,
    classes: opt.Classes = None,
    preprocess: opt.Preprocess = None,
    trust_model: opt.TrustModel = False,
    method: Annotated[list[str] | None, option("Method of --list; repeatable")] = None,
    layer: Annotated[str | None, option("Layer of a CAM. Default: found")] = None,
    target: Annotated[
        int | None, option("Class to explain. Default: the predicted class", min=0)
    ] = None,
    seed: opt.Seed = 0,
    out: Annotated[Path | None, option("Folder to write maps into")] = None,
    listed: Annotated[bool, option("List the methods and stop", "--list")] = False,
    as_json: opt.Json = False,
) -> None:
    """Write saliency maps of images: a map (.npy) and an overlay (.png) per image and method.

    Models: resnet18 (timm), torchvision:resnet18, hf:FOLDER, open_clip:MODEL@TAG.
    """
    if listed:
        _list(as_json=as_json)
        return
    if not (images and model and method and out):
        options = {"IMAGES": images, "--model": model, "--method": method, "--out": out}
        lacking = ", ".join(name for name, value in options.items() if not value)
        raise EvidenceError("explain", f"no {lacking}", "all of these", "Or list them with --list.")
    _check_methods(method)
    places = _places(images, method, out)
    chosen = ModelOptions(model, weights, classes, preprocess, trust_model)
    chosen.check_trust()
    rows = _explain(images, chosen, method, (layer, target, seed), places)
    if as_json:
        print_json(rows)
        return
    cells = [
        (r["image"], r["method"], f"{r['target']} {r['class']}".strip(),
         f"{r['probability']:.4f}")
        for r in rows
    ]  # fmt: skip
    print_table(("image", "method", "target class", "probability"), cells, right=(3,))


def _list(*, as_json: bool) -> None:
    techniques = TECHNIQUES.values()
    if as_json:
        print_json([dataclasses.asdict(technique) for technique in techniques])
        return
    rows = [
        (t.name, t.functioning, t.attribution_on, t.stage, ", ".join(t.applies_to), t.library)
        for t in techniques
    ]
    print_table(("name", "functioning", "attribution on", "stage", "applies to", "library"), rows)
    typer.echo(f"From Python, by concepts: {', '.join(ON_CONCEPTS)}")


def _check_methods(methods: Sequence[str]) -> None:
    for name in methods:
        if name in ON_CONCEPTS:
            raise EvidenceError(
                "--method", f"{name!r}, a concept method", "a method for images",
                "From Python: theodolite.explainers.concepts.methods.concept_explainer.",
            )  # fmt: skip
        if name not in TECHNIQUES:
            raise EvidenceError("--method", repr(name), f"one of {', '.join(TECHNIQUES)}")


def _places(
    images: Sequence[Path], methods: Sequence[str], out: Path
) -> dict[tuple[Path, str], Path]:
    """Where each map goes, without its ending; refused if anything is there."""
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


def _explain(
    images: Sequence[Path],
    options: ModelOptions,
    methods: Sequence[str],
    how: tuple[str | None, int | None, int],
    places: dict[tuple[Path, str], Path],
) -> list[dict[str, Any]]:
    from theodolite.models.loading import load_model

    layer, target, seed = how
    opened = [read_image(path) for path in images]
    name, weights = options.split()
    classifier = load_model(
        name, weights=weights, classes=options.classes, preprocessing=options.read_preprocessing()
    )
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


def _predict_targets(
    classifier: "LoadedModel", opened: Sequence[Image.Image], target: int | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The images as the network wants them, the class of each, and its probability."""
    numbers = np.stack([classifier.preprocessing(image) for image in opened])
    chances = classifier.probabilities(numbers)
    if target is not None and target >= chances.shape[1]:
        raise EvidenceError("--target", f"{target}", f"0 to {chances.shape[1] - 1}")
    targets = chances.argmax(axis=1) if target is None else np.full(len(numbers), target)
    return numbers, targets, chances[np.arange(len(numbers)), targets]


def _draw(path: Path, image: Image.Image, relevance: np.ndarray) -> None:
    with all_or_nothing(path) as stream:
        width = min(image.width, 640)
        relevance_overlay(image, relevance, width=width).save(stream, "PNG")
