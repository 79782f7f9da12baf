"""Answer the questions about networks of the shelf, and keep each run as a row of a leaderboard.

    python -m benchmarks.shelf_rows dsprites dsprites-cnn-soft --out FOLDER
    python -m benchmarks.shelf_rows monumai monumai-lite0 --data MONUMAI --out FOLDER

Each explanation is a row: ``bottleneck`` (concept values of the network's own concept layer),
``concepts`` (a post-hoc concept bottleneck on the last layer with maps), ``units`` (logical
formulas of single units) and ``saliency`` (Grad-CAM). Explanations that a network does not allow
are left out. ``--explain bottleneck,maps`` takes saliency from the kept maps of frozen layers only,
without deletion of patches. One post-hoc model is fitted, with seed 0.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

import theodolite
from theodolite._runs.comparison.submissions import SPLIT, write_split, write_submission
from theodolite._storage.text import read_yaml, write_yaml
from theodolite.datasets.concept_data import ConceptData
from theodolite.datasets.folder import folder as read_folder
from theodolite.datasets.monumai import monumai
from theodolite.evidence.axes import Samples, Units
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.pipeline_output import WorkContext
from theodolite.evidence.subject import Outputs, Subject
from theodolite.explainers.concept_maps import concept_activation_maps
from theodolite.explainers.rendering import enlarge_map
from theodolite.models.features import FeatureExtractor
from theodolite.models.loaded_model import LoadedModel
from theodolite.models.loading import load_model
from theodolite.models.shelf import ModelCard, find_on_shelf, read_card
from theodolite.models.torch_threads import limit_to_one_thread
from theodolite.pipelines.posthoc.pipeline import PosthocPipeline
from theodolite_models.folders import write_images
from theodolite_reproductions.datasets.dsprites import dsprites

EXPLANATIONS = ("bottleneck", "concepts", "units", "saliency")
RESAMPLES, SIDE, UNITS = 200, 16, 128
"""Saliency maps and regions are kept at 16 x 16, and at most 128 units, drawn with seed 0."""
UNIT_ARRAYS = (
    "unit_pixels", "formula_pixels", "shared_pixels", "chance_unit_pixels", "chance_formula_pixels",
    "chance_shared_pixels", "fires", "annotated", "chance_annotated",
)  # fmt: skip
LOCATED = ("monumai-cbm-soft",)
"""Networks whose concept maps are kept; those of the others would take 5 MB each."""
_maps: dict[str, list[np.ndarray]] = {}
N_TRAIN, N_TEST = 1000, 300
"""Images of dSprites that are drawn for the board."""


def main() -> None:
    """Make the rows of some networks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("board", choices=("dsprites", "monumai"))
    parser.add_argument("models", nargs="+")
    parser.add_argument("--data", type=Path, help="Folder of MonuMAI")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--explain", default=",".join(EXPLANATIONS))
    arguments = parser.parse_args()
    with TemporaryDirectory() as scratch, limit_to_one_thread():
        data = read_board(arguments.board, arguments.data, Path(scratch))
        for model in arguments.models:
            card = read_card(find_on_shelf(model))
            network = load_model(f"shelf:{model}")
            started = time.process_time()
            rows = explain(card, network, data, arguments.explain.split(","), Path(scratch))
            for name, bundles, outputs in rows:
                subject = Subject(name, f"shelf:{model}", outputs, data=data.name)
                result = theodolite.audit(bundles, resamples=RESAMPLES, subject=subject)
                for verdict in result.verdicts:
                    print(model, name, verdict.question, verdict.answer, verdict.summary)
                run = result.save(Path(scratch) / "runs" / model / name).parent
                minutes = (time.process_time() - started) / 60
                keep(run, arguments.out / arguments.board, card, name, minutes)
                started = time.process_time()


def read_board(board: str, data: Path | None, scratch: Path) -> ConceptData:
    """Return the images of a board."""
    if board == "monumai":
        assert data is not None, "--data: the folder of MonuMAI"
        return monumai(data)
    write_images(dsprites(), scratch / "dsprites", n_train=N_TRAIN, n_test=N_TEST)
    return read_folder(scratch / "dsprites")


def keep(run: Path, board: Path, card: ModelCard, explanation: str, minutes: float) -> None:
    """Copy a run into the board and state what it is."""
    board.mkdir(parents=True, exist_ok=True)
    stated = write_submission(run, board / f"{card.name}__{explanation}")
    content = read_yaml(stated) | {
        "name": f"{explanation} of {card.name}",
        "authors": ["The theodolite developers"],
        "model": {"digest": card.sha256, "url": f"shelf:{card.name}", "license": card.license},
        "explanation": explanation,
        "division": "fixed model",
        "code": "benchmarks/shelf_rows.py",
        "contact": "SUPPORT.md",
        "cpu_minutes": round(minutes, 2),
    }
    write_yaml(stated, content)
    if not (board / SPLIT).exists():
        write_split(run, board / SPLIT)


def explain(
    card: ModelCard, network: LoadedModel, data: ConceptData, chosen: Sequence[str], scratch: Path
) -> Iterator[tuple[str, list[Evidence], Outputs]]:
    """Yield the evidence of each explanation that the network allows."""
    test = np.flatnonzero(data.is_test)
    if card.concepts and "bottleneck" in chosen:
        yield "bottleneck", read_bottleneck(card, network, data, test), "concept_model"
    if "maps" in chosen and network.gradients:
        yield "saliency", [explain_by_maps(card, network, data, test)], "model"
        return
    if not {*chosen} - {"bottleneck", "maps"}:
        return
    saliency = len(test) if "saliency" in chosen and network.gradients else 0
    pipeline = PosthocPipeline(
        backbone=network.name, units="units" in chosen,
        saliency_images=saliency if data.name != "MonuMAI" else 0,
    )  # fmt: skip
    produced = pipeline.make_with(network, data, WorkContext((0,), scratch / "cache"))
    units = [bundle for bundle in produced.evidence[0] if isinstance(bundle, UnitEvidence)]
    concepts = [bundle for bundle in produced.evidence[0] if bundle not in units]
    assert produced.subject is not None
    if "concepts" in chosen:
        yield "concepts", concepts, produced.subject.outputs
    if units:
        yield "units", [draw_units(bundle) for bundle in units], "none"
    for model in produced.compared:
        yield "saliency", [reduce(model.evidence[0][0])], "model"


def read_bottleneck(
    card: ModelCard, network: LoadedModel, data: ConceptData, rows: np.ndarray
) -> list[Evidence]:
    """Return the concept values of a network's own concept layer on the test images.

    Where the layer is linear in the means of maps, its weights say where a concept is active.
    """
    module: Any = network.network
    body = module.bottleneck
    values, predicted, maps = [], [], []
    shared = card.recipe.get("frozen") == "conv_stem to bn2"
    for at, images in enumerate(read_maps(network, data, rows) if shared else ()):
        if not at:
            body.encoder = find_head(body.encoder)
        values_of, scores = ask(body, images.mean(axis=(2, 3)))
        values.append(values_of)
        predicted.append(scores.argmax(axis=1))
        if card.name in LOCATED:
            weights = body.encoder.weight.detach().numpy()
            maps.append(concept_activation_maps(images, weights))
    for at in range(0, 0 if shared else len(rows), 32):
        images = np.stack([network.preprocessing(data.image(int(r))) for r in rows[at : at + 32]])
        values_of, scores = ask(module.read_concepts, images)
        values.append(values_of)
        predicted.append(scores.argmax(axis=1))
    head = body.head if hasattr(body, "encoding") and hasattr(body.head, "weight") else None
    concept = ConceptEvidence(
        values=np.concatenate(values),
        truth=data.presence[rows],
        labels=data.labels[rows],
        predicted=np.concatenate(predicted),
        weights=None if head is None else head.weight.detach().double().numpy().T,
        class_truth=data.class_truth,
        concepts=data.concepts,
        classes=data.classes,
        samples=Samples(index=rows, ids=np.array([data.images[row] for row in rows])),
    )
    if not maps:
        return [concept]
    sizes = data.sizes(rows)
    places = data.places(rows, sizes)
    where = LocationEvidence(
        explained=concept, maps=np.concatenate(maps).astype(np.float32), sizes=sizes,
        part_of=data.part_of, parts=data.parts, boxes=places["boxes"],
    )  # fmt: skip
    return [concept, where]


def find_head(encoder: Any) -> Any:
    """Return what follows the pooled maps; layers before it are frozen in each of the networks."""
    return getattr(encoder, "classifier", encoder)


def explain_by_maps(
    card: ModelCard, network: LoadedModel, data: ConceptData, rows: np.ndarray
) -> SaliencyEvidence:
    """Return Grad-CAM maps of networks on frozen layers, without asking them again.

    Gradients are those of the predicted class's score for the pooled maps.
    """
    batches = read_maps(network, data, rows)
    module: Any = network.network
    body: Any = getattr(module, "bottleneck", None)
    if body is not None:
        body.encoder = find_head(body.encoder)
    enlarged: list[np.ndarray] = []
    predicted: list[np.ndarray] = []
    for maps in batches:
        pooled = torch.from_numpy(maps.mean(axis=(2, 3))).requires_grad_()
        scores = module.classifier(pooled) if body is None else body(pooled).scores
        predicted.append(scores.argmax(dim=1).numpy())
        scores.max(dim=1).values.sum().backward()
        assert pooled.grad is not None
        cams = np.einsum("nc,nchw->nhw", pooled.grad.numpy(), maps).clip(min=0)
        enlarged += [enlarge_map(cam, (SIDE, SIDE)) for cam in cams]
    return SaliencyEvidence(
        maps=np.stack(enlarged).astype(np.float32),
        objects=np.stack([data.regions(int(row), (SIDE, SIDE)).any(axis=0) for row in rows]),
        predicted=np.concatenate(predicted),
        classes=data.classes,
        samples=Samples(index=rows, ids=np.array([data.images[row] for row in rows])),
    )


def ask(network: Any, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return concept values and class scores."""
    with torch.inference_mode():
        output = network(torch.from_numpy(inputs))
    return output.values.double().numpy(), output.scores.numpy()


def read_maps(network: LoadedModel, data: ConceptData, rows: np.ndarray) -> Sequence[np.ndarray]:
    """Return maps of the last layer in batches, computed once for networks that share it."""
    key = network.name if network.name.startswith("shelf:monumai-lite") else "frozen"
    if key not in _maps:
        _maps[key] = []
        extract = FeatureExtractor(network.network, network.layer)
        for at in range(0, len(rows), 32):
            own = [network.preprocessing(data.image(int(r))) for r in rows[at : at + 32]]
            _maps[key].append(extract(np.stack(own)).astype(np.float32))
    return _maps[key]


def draw_units(evidence: UnitEvidence) -> UnitEvidence:
    """Return the evidence of at most UNITS units, drawn with seed 0."""
    n = len(evidence.units)
    chosen = np.sort(np.random.default_rng(0).permutation(n)[:UNITS])
    arrays: dict[str, Any] = {
        name: np.asarray(array)[:, chosen]
        for name in UNIT_ARRAYS
        if (array := getattr(evidence, name)) is not None
    }
    return replace(evidence, **arrays, units=Units(tuple(evidence.units.names[k] for k in chosen)))


def reduce(evidence: Evidence) -> SaliencyEvidence:
    """Return saliency evidence with smaller maps, and without those of edges and saturation."""
    assert isinstance(evidence, SaliencyEvidence)
    assert evidence.objects is not None
    n, rows, columns = evidence.maps.shape
    blocks = (n, SIDE, rows // SIDE, SIDE, columns // SIDE)
    return replace(
        evidence,
        maps=evidence.maps.reshape(blocks).mean(axis=(2, 4)),
        objects=evidence.objects.reshape(blocks).mean(axis=(2, 4)) >= 0.5,
        edges=None, saturation=None,
    )  # fmt: skip


if __name__ == "__main__":
    main()
