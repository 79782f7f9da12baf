"""Commands about a score that is learned from people's ratings."""

import json
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite._storage.cache_folder import get_default_cache
from theodolite.cli.options import Cache, Json, Quiet, check_there

if TYPE_CHECKING:
    from theodolite._runs.folder.spec import RunSpec
    from theodolite.results import Score
    from theodolite_reproductions.acceptance.embedding import Embedder, StandsIn
    from theodolite_reproductions.acceptance.pipeline import AcceptancePipeline, Learned
    from theodolite_reproductions.acceptance.score_file import LearnedScore, ScoreCard

Model = Annotated[Path, typer.Option(help="Folder of a learned score (accept train)")]
Weights = Annotated[
    Path | None, typer.Option(help="Folder or file of the embedding, if the score needs one")
]
Classifier = Annotated[str, typer.Option(help="Model of the embedding stand_in")]
ClassifierWeights = Annotated[
    Path | None, typer.Option(help="Weights of that model (.safetensors)")
]

ClassNames = Annotated[
    Path | None,
    typer.Option(help="JSON list of its class names. Default: its library's"),
]


def accept_train(
    spec: Annotated[Path, typer.Argument(help="Run spec with the pipeline 'acceptance'")],
    out: Annotated[Path, typer.Option(help="Folder to write the score into")],
    data: Annotated[Path, typer.Option(help="Folder that the spec's paths are in")] = Path(),
    cache: Cache = None,
    quiet: Quiet = False,
) -> None:
    """Train a model of ratings, with a card of its accuracy."""
    from theodolite._runs.folder.preparation import create_empty_folder
    from theodolite._runs.folder.protocols import find_protocol_file
    from theodolite._runs.folder.registry import build_registered
    from theodolite._runs.folder.spec import read_spec
    from theodolite._runs.run_content import score_evidence
    from theodolite.cli.progress import show_progress
    from theodolite.errors import EvidenceError
    from theodolite.evidence.pipeline_output import WorkContext
    from theodolite_reproductions.acceptance.score_file import save_scorer

    run_spec = read_spec(find_protocol_file(spec))
    check_there(data)
    pipeline, dataset = run_spec.pipeline, run_spec.dataset
    if pipeline is None or dataset is None or pipeline.name != "acceptance":
        raise EvidenceError("spec", "another pipeline", "the pipeline 'acceptance'")
    create_empty_folder(out)
    maker = build_registered("pipelines", pipeline, data).first_only()
    with show_progress(quiet=quiet) as progress:
        votes = build_registered("datasets", dataset, data)
        context = WorkContext(run_spec.seeds, cache or get_default_cache(), progress)
        learned = maker.learn(votes, context)
        scores = score_evidence(run_spec, learned.produced.evidence, progress).scores
    save_scorer(out, _learned(run_spec, maker, learned, [*map(_held_out, scores)]))
    from theodolite.cli.tables import print_scores

    print_scores(scores)


def accept_score(
    explanations: Annotated[
        Path,
        typer.Argument(help="Table (.csv, .jsonl) with a column 'text', or image folder"),
    ],
    model: Model,
    weights: Weights = None,
    classifier: Classifier = "",
    classifier_weights: ClassifierWeights = None,
    class_names: ClassNames = None,
    cache: Cache = None,
    as_json: Json = False,
) -> None:
    """Predict how people would rate explanations.

    A table may also have the columns 'context' and 'label'. A folder has images/ and either maps/
    or concepts/.
    """
    from theodolite.cli.tables import print_table
    from theodolite_reproductions.acceptance.embedding import StandsIn
    from theodolite_reproductions.acceptance.scoring import (
        load_learned,
        numbers_of,
        rate_explanations,
        read_explanations,
    )

    learned = load_learned(model)
    unrated = read_explanations(explanations, numbers_of(learned.card))
    stands_in = StandsIn(classifier, classifier_weights, class_names)
    embedder = _embedder(learned.card, weights, stands_in, cache)
    ratings = rate_explanations(learned, unrated.explanations, embedder)
    places = learned.percentile(ratings)
    rows = [
        {"id": name, "rating": float(value), "percentile": float(place)}
        for name, value, place in zip(unrated.ids, ratings, places, strict=True)
    ]
    if as_json:
        typer.echo(json.dumps(rows, indent=1))
        return
    cells = [(str(r["id"]), f"{r['rating']:.3f}", f"{r['percentile']:.0f}") for r in rows]
    print_table(("explanation", "expected rating", "percentile"), cells, right=(1, 2))


def accept_tune(
    images: Annotated[list[Path], typer.Argument(help="Images to explain")],
    model: Model,
    backbone: Annotated[str, typer.Option(help="Explained model of timm")],
    space: Annotated[
        list[str],
        typer.Option(help="Setting and range, such as kernel_width=0.05:0.5; repeatable"),
    ],
    method: Annotated[str, typer.Option(help="Explainer to tune")] = "lime",
    backbone_weights: Annotated[
        Path | None, typer.Option(help="Weights (.safetensors). Default: downloaded")
    ] = None,
    trials: Annotated[int, typer.Option(help="Number of settings to try", min=1)] = 20,
    seed: Annotated[
        int, typer.Option(help="Random seed of the search and the explainer", min=0)
    ] = 0,
    weights: Weights = None,
    classifier: Classifier = "",
    classifier_weights: ClassifierWeights = None,
    class_names: ClassNames = None,
    as_json: Json = False,
) -> None:
    """Find the explainer settings with the highest rating."""
    from theodolite.cli.tables import print_table
    from theodolite.errors import EvidenceError
    from theodolite_reproductions.acceptance.embedding import StandsIn
    from theodolite_reproductions.acceptance.scoring import load_learned
    from theodolite_reproductions.acceptance.tuning import space_from, tune
    from theodolite_reproductions.acceptance.tuning_columns import explained_and_rated

    learned = load_learned(model)
    stands_in = StandsIn(classifier, classifier_weights, class_names)
    embedder = _embedder(learned.card, weights, stands_in, None)
    if embedder is None:
        raise EvidenceError("--model", "a score of words alone", "one that takes images")
    explain, score = explained_and_rated(
        images, (backbone, backbone_weights), (method, seed), learned, embedder
    )
    tuning = tune(explain, space_from(space), score, trials=trials, seed=seed)
    if as_json:
        content: dict[str, Any] = {
            "best": tuning.best,
            "value": tuning.value,
            "trials": tuning.trials,
        }
        typer.echo(json.dumps(content, indent=1))
        return
    heads = tuple(tuning.trials)
    rows = [
        tuple(_cell(value) for value in row) for row in zip(*tuning.trials.values(), strict=True)
    ]
    print_table(heads, rows)
    settings = ", ".join(f"{name}={_cell(value)}" for name, value in tuning.best.items())
    typer.echo(f"best: {settings}: {tuning.value:.4f}")


def _embedder(
    card: "ScoreCard", weights: Path | None, classifier: "StandsIn", cache: Path | None
) -> "Embedder | None":
    from theodolite.errors import EvidenceError, printable
    from theodolite.evidence.pipeline_output import WorkContext
    from theodolite.pipelines.feature_pass import compute_weights_digest
    from theodolite_reproductions.acceptance.embedding import embedder_for
    from theodolite_reproductions.acceptance.scoring import needs_embedding

    if not needs_embedding(card):
        return None
    context = WorkContext((0,), cache or get_default_cache())
    embedder = embedder_for(card.embedding, weights, classifier, context)
    files = {*compute_weights_digest(weights).values(), *classifier.digests().values()}
    other = sorted(name for name, digest in card.embedding_files.items() if digest not in files)
    if other:
        raise EvidenceError(
            f"embedding file {printable(other[0], 80)!r}",
            "none, or another than the score was learned with",
            "the same",
        )
    return embedder


def _learned(
    spec: "RunSpec",
    pipeline: "AcceptancePipeline",
    learned: "Learned",
    held_out: list[dict[str, Any]],
) -> "LearnedScore":
    from dataclasses import asdict

    import numpy as np

    from theodolite import __version__
    from theodolite.errors import EvidenceError
    from theodolite_reproductions.acceptance.score_file import HeldOut, LearnedScore, ScoreCard

    evidence, model = learned.evidence, learned.model
    groups = evidence.samples.clusters
    settings = asdict(model)
    features, straight = settings.pop("features"), settings.pop("straight")
    says = next((n for n in learned.produced.notes if n.startswith("Embedding: ")), "")
    card = ScoreCard(
        name=spec.name,
        kind=learned.scorer.kind,
        trained_on=learned.trained_on,
        question=learned.question,
        explanations=len(evidence),
        groups=None if groups is None else len(np.unique(groups)),
        apart=pipeline.apart,
        folds=pipeline.parts,
        scale=tuple(float(answer) for answer in evidence.scale),
        aggregate=pipeline.aggregate,
        license=pipeline.license,
        embedding=pipeline.embedding,
        embedding_says=says.removeprefix("Embedding: "),
        embedding_files=pipeline.digests(),
        classifier=pipeline.classifier,
        features=features,
        straight=straight,
        labels=learned.labels,
        takes=dict(learned.takes),
        rendering=asdict(pipeline.rendering),
        settings=settings,
        held_out=tuple(HeldOut.model_validate(record) for record in held_out),
        inputs=dict(learned.produced.inputs),
        made_with=f"theodolite {__version__}",
    )
    predicted = np.asarray(evidence.predicted)
    if np.isnan(predicted).all():
        raise EvidenceError("test", "no explanation that was not learned from", "at least one")
    return LearnedScore(learned.scorer, card, np.nanpercentile(predicted, np.arange(101)))


def _held_out(score: "Score") -> dict[str, Any]:
    record: dict[str, Any] = {"metric": score.metric, "options": score.options}
    quoted = {"value": score.value}
    if score.interval is not None:
        quoted |= {name: getattr(score.interval, name) for name in ("low", "high", "level")}
    return record | {name: None if isnan(value) else value for name, value in quoted.items()}


def _cell(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
