"""Techniques and votes: from images, or from votes that are there, to tables and evidence."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._storage.images import image_size
from theodolite.datasets.votes.rows import Vote, explanations_from
from theodolite.datasets.votes.voted import ShownExplanation, VotedExplanations
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.evidence.study_tables import concepts_from, concepts_text
from theodolite.evidence.subject import Subject
from theodolite.evidence.technique_columns import (
    BOXES,
    QUESTIONS,
    SCRIPTED,
    VOTES,
)
from theodolite.pipelines.saliency.map_tasks import ProbedImages
from theodolite_reproductions.acceptance.rendering import map_in
from theodolite_reproductions.acceptance.tables import votes_name, with_numbers
from theodolite_reproductions.datasets.votes.pasta_images import PastaImages
from theodolite_reproductions.datasets.votes.scripted import PlantedEffects, scripted_tables
from theodolite_reproductions.datasets.votes.technique_tables import technique_tables, with_source
from theodolite_reproductions.techniques.frames import frames_by_explanation, mean_numbers
from theodolite_reproductions.techniques.making import (
    NamedConcepts,
    TechniqueConcepts,
    TechniqueMaps,
    TechniqueNetwork,
    TechniqueWork,
    concepts_of,
    dealt_techniques,
    maps_of,
)

COLUMNS = (
    "explanation", "image", "data_set", "technique", "method", "network", "modality", "label",
    "predicted", "concepts",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class TechniquesPipeline:
    """Which techniques explain which images, and who votes on them.

    Of a data set of votes (``study_votes``, ``pasta_votes``) the explanations are there already,
    and no setting is used. Of images alone, explanations are made and the votes are
    scripted: a rehearsal.
    """

    root: Path | None = None
    """The folder that weights, class names and MonuMAI are below."""
    networks: tuple[TechniqueNetwork, ...] = ()
    methods: tuple[str, ...] = ()
    """Saliency methods, on each network unless it says otherwise."""
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    concepts: TechniqueConcepts | None = None
    each: int = 0
    """Techniques an image, dealt out so that all are used about as often; 0: all of them."""
    ways: tuple[str, ...] = ("road", "black", "uniform", "gaussian")
    percents: tuple[float, ...] = (5, 15, 30)
    noises: tuple[str, ...] = ("uniform", "gaussian")
    draws: int = 1
    radius: float = 0.2
    scripted: PlantedEffects | None = None
    """What scripted annotators are to say; needed for images without votes."""

    def make(self, data: VotedExplanations | PastaImages, context: WorkContext) -> Produced:
        """Votes as tables and evidence; of images alone, explanations and scripted votes."""
        if isinstance(data, VotedExplanations):
            voted = replace(data, numbers={**data.numbers, **_of_maps(data)})
            return self._produced(voted, [], ())
        if not isinstance(data, PastaImages):
            raise EvidenceError("dataset", type(data).__name__, "votes, or images of PASTA")
        if self.scripted is None or self.root is None:
            raise EvidenceError(
                "scripted", "nothing", "`scripted` and `root`", "Images alone have no votes."
            )
        return self._rehearsed(data, self.scripted, TechniqueWork(data, self.root, context))

    def _produced(
        self, data: VotedExplanations, maps: Sequence[ComparedModel], notes: Sequence[str]
    ) -> Produced:
        first, *others = data.questions
        questions = [
            ComparedModel(
                f"votes-{number}",
                {"kind": "votes", "votes": votes_name(data, name)},
                [[with_numbers(data, data.questions[name])]],
            )
            for number, name in enumerate(others, start=1)
        ]
        tables = technique_tables(data)
        return Produced(
            evidence=[[with_numbers(data, data.questions[first])]],
            about={"name": "votes", "kind": "votes", "votes": votes_name(data, first)},
            compared=[*questions, *maps],
            tables=tables,
            notes=(*data.notes, *notes),
            facts=(
                ("votes by", data.source),
                ("explanations", len(data)),
                ("techniques", len(set(tables["explanations"]["technique"]))),
                ("images", len(set(tables["explanations"]["image"]))),
            ),
            inputs=data.digests(),
            subject=Subject("the explanations that were voted on", outputs="none", data=data.name),
        )

    def _rehearsed(
        self, data: PastaImages, effects: PlantedEffects, work: TechniqueWork
    ) -> Produced:
        seed = work.seed
        probed = ProbedImages(
            ways=tuple(self.ways), percents=tuple(map(float, self.percents)),
            noises=tuple(self.noises), draws=self.draws, radius=self.radius, seed=seed,
        )  # fmt: skip
        maps, named = self._explained(work, probed)
        explanations = _explanations(data, maps, named)
        planted = scripted_tables(explanations, effects, seed)
        planted[BOXES] = with_source(_frames(data, explanations, planted[VOTES], seed), SCRIPTED)
        voted = _scripted_votes(data, explanations, planted)
        numbers = _of_frames(data, maps, explanations, planted[BOXES])
        voted = replace(voted, numbers=numbers)
        models = [
            ComparedModel(
                own.technique.replace(" / ", "-on-"),
                {"kind": "technique", "technique": own.technique},
                [[own.evidence(probed, [_id(data, row, own.technique) for row in own.rows])]],
            )
            for own in maps
        ]
        lost = [f"{m.technique} failed on {m.failed} images." for m in maps if m.failed]
        notes = (
            f"Votes, own words, frames and orders are by {SCRIPTED}.",
            "What is explained is the class that the network predicts, or the style that the "
            "bottleneck sees; scenes and facades have no class of ImageNet.",
            *lost,
        )
        return self._produced(voted, models, notes)

    def _explained(
        self, work: TechniqueWork, probed: ProbedImages
    ) -> tuple[list[TechniqueMaps], list[NamedConcepts]]:
        techniques = [
            (method, network.backbone)
            for network in self.networks for method in self.methods if method not in network.without
        ]  # fmt: skip
        by_concepts = [] if self.concepts is None else [
            (method, self.concepts.network) for method in self.concepts.methods
        ]  # fmt: skip
        names = [" / ".join(pair) for pair in (*techniques, *by_concepts)]
        if not techniques or len(set(names)) < len(names):
            raise EvidenceError("techniques", f"{len(names)}", "methods on networks, each once")
        chosen = dealt_techniques(names, len(work.data), self.each, work.seed)
        maps = []
        for network in self.networks:
            own = {m: chosen[f"{m} / {n}"] for m, n in techniques if n == network.backbone}
            maps += maps_of(work, network, own, self.options, probed)
        if self.concepts is None:
            return maps, []
        below = [n for n in self.networks if n.backbone == self.concepts.network]
        if not below:
            raise EvidenceError("concepts.network", repr(self.concepts.network), "one of networks")
        own = {m: chosen[f"{m} / {n}"] for m, n in by_concepts}
        return maps, concepts_of(work, self.concepts, below[0], own)


def _id(data: PastaImages, row: int, technique: str) -> str:
    return f"{Path(data.images[row]).stem} / {technique}"


def _explanations(
    data: PastaImages, maps: Sequence[TechniqueMaps], named: Sequence[NamedConcepts]
) -> dict[str, list[Any]]:
    """The table of explanations, technique by technique."""
    rows: list[tuple[int, str, str, str, str | None]] = []
    for own in maps:
        for at, row in enumerate(own.rows):
            rows.append((row, own.technique, "saliency", own.predicted(at), None))
    for other in named:
        for at, row in enumerate(other.rows):
            values = dict(zip(other.concepts, map(float, other.values[at]), strict=True))
            concepts = concepts_text(values)
            rows.append((row, other.technique, "concept", other.predicted[at], concepts))
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for row, technique, modality, predicted, concepts_or_none in rows:
        method, network = technique.split(" / ")
        cells = (
            _id(data, row, technique), Path(data.images[row]).stem, data.data_sets[row],
            technique, method, network, modality, data.labels[row], predicted, concepts_or_none,
        )  # fmt: skip
        for name, cell in zip(COLUMNS, cells, strict=True):
            columns[name].append(cell)
    return columns


def _scripted_votes(
    data: PastaImages,
    explanations: Mapping[str, Sequence[Any]],
    planted: Mapping[str, Mapping[str, Sequence[Any]]],
) -> VotedExplanations:
    """Scripted votes in the form of votes that people gave, named as scripted."""
    at = {key: row for row, key in enumerate(explanations["explanation"])}
    votes = planted[VOTES]
    rows = zip(votes["explanation"], votes["person"], *(votes[q] for q in QUESTIONS), strict=True)
    each = (
        Vote(key, person, question, float(rating), technique=explanations["technique"][at[key]],
             image=explanations["image"][at[key]])
        for key, person, *ratings in rows
        for question, rating in zip(QUESTIONS, ratings, strict=True)
    )  # fmt: skip
    seen = {
        key: ShownExplanation(
            concepts=None if text is None else concepts_from(text, "concepts"), label=predicted
        )
        for key, text, predicted in zip(
            *(explanations[n] for n in ("explanation", "concepts", "predicted")), strict=True
        )
    }
    voted = explanations_from(
        each, name=f"{data.name}, {SCRIPTED}", explanations=seen, scale=(1.0, 2.0, 3.0, 4.0, 5.0)
    )
    samples = voted.questions["Q1"].samples
    order = [at[samples.name(row)] for row in range(len(voted))]
    kinds = ("image", "data_set", "method", "network", "modality", "label")
    return replace(
        voted, source=SCRIPTED, kinds={k: [explanations[k][i] for i in order] for k in kinds},
        more={name: table for name, table in planted.items() if name != VOTES},
    )  # fmt: skip


def _frames(
    data: PastaImages,
    explanations: Mapping[str, Sequence[Any]],
    votes: Mapping[str, Any],
    seed: int,
) -> dict[str, list[Any]]:
    """A frame by each scripted annotator, somewhere in the image, half as wide and high."""
    random = np.random.default_rng([seed, 1])
    sizes = _sizes(data, explanations)
    frames: dict[str, list[Any]] = {
        n: [] for n in ("explanation", "person", "x", "y", "width", "height")
    }
    for key, person in zip(votes["explanation"], votes["person"], strict=True):
        down, across = sizes[key]
        x, y = random.uniform(0, 0.5, 2)
        cells = (key, person, x * across, y * down, across / 2, down / 2)
        for name, cell in zip(frames, cells, strict=True):
            frames[name].append(cell)
    return frames


def _sizes(
    data: PastaImages, explanations: Mapping[str, Sequence[Any]]
) -> dict[str, tuple[float, float]]:
    of_image = {Path(name).stem: image_size(data.path(row)) for row, name in enumerate(data.images)}
    pairs = zip(explanations["explanation"], explanations["image"], strict=True)
    return {key: of_image[image] for key, image in pairs}


def _of_frames(
    data: PastaImages,
    maps: Sequence[TechniqueMaps],
    explanations: Mapping[str, Sequence[Any]],
    boxes: Mapping[str, Sequence[Any]],
) -> dict[str, np.ndarray]:
    """Of each map, how much of it lies in the frames."""
    people = frames_by_explanation(boxes, _sizes(data, explanations))
    by_id = {
        key: mean_numbers(relevance.astype(float), people.get(key, []))
        for own in maps
        for row, relevance in zip(own.rows, own.arrays["maps"], strict=True)
        for key in [_id(data, row, own.technique)]
    }
    return _columns(by_id, list(explanations["explanation"]))


def _of_maps(data: VotedExplanations) -> dict[str, np.ndarray]:
    """The same of votes whose maps are there as numbers; nothing where none is."""
    evidence = next(iter(data.questions.values()))
    ids = [evidence.samples.name(at) for at in range(len(data))]
    files = {
        key: (shown_map, image)
        for key, explanation in zip(ids, data.explanations, strict=True)
        if (shown_map := explanation.map) is not None and shown_map.suffix == ".npy"
        for image in [explanation.image]
    }
    sizes = {key: image_size(image) for key, (_, image) in files.items() if image}
    people = frames_by_explanation(data.more.get(BOXES, {}), sizes)
    by_id = {key: mean_numbers(map_in(own), people.get(key, [])) for key, (own, _) in files.items()}
    return _columns(by_id, ids)


def _columns(by_id: Mapping[str, Mapping[str, float]], ids: Sequence[str]) -> dict[str, np.ndarray]:
    names = list(next(iter(by_id.values()), {}))
    columns = {
        name: np.array([by_id[key][name] if key in by_id else np.nan for key in ids])
        for name in names
    }
    return {name: values for name, values in columns.items() if not np.isnan(values).all()}
