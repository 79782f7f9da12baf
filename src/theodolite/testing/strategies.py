"""Define a Hypothesis strategy per kind of evidence, and one for the options of a metric."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, get_args, get_origin

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st

from theodolite._planted.tokens import planted_tokens
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import (
    Chances,
    Concepts,
    Judges,
    Latents,
    Noises,
    Removals,
    Samples,
    Tasks,
)
from theodolite.evidence.base import Evidence
from theodolite.evidence.kinds.attribution import AttributionEvidence
from theodolite.evidence.kinds.concept import ConceptEvidence
from theodolite.evidence.kinds.edit import EditEvidence
from theodolite.evidence.kinds.embedding import EmbeddingEvidence
from theodolite.evidence.kinds.intervention import InterventionEvidence
from theodolite.evidence.kinds.judgment import TASKS, JudgmentEvidence
from theodolite.evidence.kinds.location import LocationEvidence
from theodolite.evidence.kinds.rating import RatingEvidence
from theodolite.evidence.kinds.saliency import SaliencyEvidence
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.ragged import Ragged
from theodolite.metrics.base import Metric
from theodolite.metrics.options import strip_metadata


def _numbers(random: np.random.Generator, *, ties: bool) -> Callable[..., np.ndarray]:
    """Makes an array of a shape; with ties, many of its values are equal."""

    def numbers(*shape: int) -> np.ndarray:
        if ties:
            return random.integers(-2, 3, size=shape).astype(float)
        return np.asarray(random.normal(size=shape))

    return numbers


@st.composite
def concept_evidence(
    draw: st.DrawFn, *, ties: bool = False, max_samples: int = 9
) -> ConceptEvidence:
    """Values of concepts with truth, labels, predictions and a linear head."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, max_samples))
    k = draw(st.integers(5, 7))
    classes = draw(st.integers(2, 3))
    numbers = _numbers(random, ties=ties)
    return ConceptEvidence(
        values=numbers(n, k),
        truth=random.random((n, k)) < draw(st.floats(0, 1)),
        known=random.random((n, k)) < 0.7 if draw(st.booleans()) else None,
        labels=random.integers(0, classes, n),
        predicted=random.integers(0, classes, n),
        weights=numbers(k, classes),
        class_truth=random.random((k, classes)),
    )


@st.composite
def location_evidence(
    draw: st.DrawFn, *, ties: bool = False, max_samples: int = 6
) -> LocationEvidence:
    """Maps of concepts with points, and perhaps boxes and masks."""
    explained = draw(concept_evidence(ties=ties, max_samples=max_samples))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = explained.values.shape
    parts, places = k, draw(st.integers(1, 2))
    height, width = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    sizes = random.integers(1, 9, size=(n, 2))
    maps = random.normal(size=(n, k, height, width))
    if ties:
        maps = maps.round(0)
    shape = (n, parts, places)
    hidden = random.random(shape) < draw(st.floats(0, 1))
    points = random.random((*shape, 2)) * sizes[:, None, None, :]
    corners = np.sort(random.random((*shape, 2, 2)), axis=-2) * sizes[:, None, None, None, :]
    boxes = corners.reshape(*shape, 4)
    return LocationEvidence(
        explained=explained,
        maps=maps,
        sizes=sizes,
        part_of=random.permutation(parts),
        points=np.where(hidden[..., None], np.nan, points),
        boxes=np.where(hidden[..., None], np.nan, boxes) if draw(st.booleans()) else None,
        masks=random.random((n, parts, 3, 3)) < 0.4 if draw(st.booleans()) else None,
    )


@st.composite
def unit_evidence(draw: st.DrawFn, *, max_samples: int = 9) -> UnitEvidence:
    """Counts of pixels of units and formulas."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, units = draw(st.integers(1, max_samples)), draw(st.integers(1, 6))
    often = draw(st.floats(0, 1))

    def counts(before: str) -> dict[str, Any]:
        only_unit, only_formula, shared = (
            random.integers(0, 9, (n, units)) * (random.random((n, units)) < often)
            for _ in range(3)
        )
        return {
            f"{before}unit_pixels": only_unit + shared,
            f"{before}formula_pixels": only_formula + shared,
            f"{before}shared_pixels": shared,
        }

    own = counts("")
    return UnitEvidence(
        **own,
        **counts("chance_"),
        fires=(own["unit_pixels"] > 0) | (random.random((n, units)) < 0.1)
        if draw(st.booleans())
        else None,
        annotated=(own["formula_pixels"] > 0) | (random.random((n, units)) < 0.5),
        chance_annotated=random.random((n, units)) < 0.7,
        right=random.random(n) < 0.6,
    )


@st.composite
def embedding_evidence(draw: st.DrawFn, *, max_samples: int = 12) -> EmbeddingEvidence:
    """Draw evidence with vectors of concepts."""
    explained = draw(concept_evidence(max_samples=max_samples))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (*explained.values.shape, draw(st.integers(1, 3)))
    return EmbeddingEvidence(
        explained=explained,
        vectors=random.normal(size=shape),
        positive=random.normal(size=shape),
        negative=random.normal(size=shape),
    )


@st.composite
def intervention_evidence(draw: st.DrawFn, *, max_samples: int = 9) -> InterventionEvidence:
    """Generate evidence of outputs as concepts are corrected."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, steps = draw(st.integers(1, max_samples)), draw(st.integers(1, 5))
    return InterventionEvidence(
        right_after=random.random((n, 2, steps)) < 0.6, right_reference=random.random(n) < 0.8
    )


@st.composite
def surrogate_evidence(
    draw: st.DrawFn, *, ties: bool = False, max_samples: int = 9
) -> SurrogateEvidence:
    """Draw concepts and importances, with the embeddings and the head that they explain."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(1, max_samples)), draw(st.integers(1, 6))
    classes, dimensions = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    numbers = _numbers(random, ties=ties)
    importances = numbers(k, classes)
    first = importances[0, 0]
    importances[random.random((k, classes)) < draw(st.sampled_from([0.0, 0.5, 1.0]))] = np.nan
    importances[0, 0] = first  # one concept explains one class at least
    return SurrogateEvidence(
        importances=importances,
        embeddings=numbers(n, dimensions),
        head=numbers(classes, dimensions),
        bias=numbers(classes) if draw(st.booleans()) else None,
        vectors=numbers(k, dimensions),
        projections=numbers(n, k) if draw(st.booleans()) else None,
        constant=numbers(classes) if draw(st.booleans()) else None,
        rebuilt=numbers(n, classes) if draw(st.booleans()) else None,
        learned=numbers(n, classes),
        linearized=numbers(n, classes),
        labels=random.integers(0, classes, n),
    )


@st.composite
def saliency_evidence(
    draw: st.DrawFn, *, ties: bool = False, max_samples: int = 7
) -> SaliencyEvidence:
    """Draw saliency maps, and outputs of the model as pixels are removed."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, rows, columns = (
        draw(st.integers(1, max_samples)),
        draw(st.integers(1, 5)),
        draw(st.integers(1, 5)),
    )
    steps, ways = draw(st.integers(1, 6)), ("road", "black", "uniform", "gaussian")
    maps = random.normal(size=(n, rows, columns))
    if ties or draw(st.booleans()):
        maps = maps.round(0)
    changes = random.random((n, 2, 3))
    changes[random.random(n) < 0.3] = np.nan
    similarity = random.uniform(-1, 1, n)
    similarity[random.random(n) < 0.2] = np.nan
    chances = (n, 3, len(ways), steps)
    patches = draw(st.integers(1, rows)), draw(st.integers(1, columns))
    return SaliencyEvidence(
        maps=maps,
        **_removed_patches(random, n, patches, images=maps.shape if draw(st.booleans()) else None),
        objects=random.random((n, rows, columns)) < draw(st.floats(0, 1)),
        clean=random.random(n),
        percents=np.sort(random.choice(np.arange(1, 60), steps, replace=False)).astype(float),
        most_first=random.random((n, len(ways), steps)),
        least_first=random.random((n, len(ways), steps)),
        chance_most_first=random.random(chances),
        chance_least_first=random.random(chances),
        chances=Chances(
            ("random", "smooth", "center") if draw(st.booleans()) else ("random", "a", "b")
        ),
        removals=Removals(ways),
        norms=random.random(n) * (random.random(n) < 0.8),
        changes=changes,
        chance_changes=random.random(n),
        noises=Noises(("uniform", "gaussian")),
        randomized_similarity=similarity,
        randomized=~np.isnan(similarity) if draw(st.booleans()) else None,
    )


def _removed_patches(
    random: np.random.Generator,
    n: int,
    patches: tuple[int, int],
    images: tuple[int, ...] | None,
) -> dict[str, Any]:
    """Falls without patches, with two fills; of some images also maps that need no model."""
    subsets, best_fit = int(random.integers(1, 7)), random.uniform(-1, 1, (n, 2))
    best_fit[random.random(n) < 0.5] = np.nan
    return {
        "removed": random.random((n, subsets, *patches)) < 0.5, "best_fit": best_fit,
        "drop": random.integers(-2, 3, (n, 2, subsets)) / 2,
        "saturation": None if images is None else random.random(images),
        "edges": None if images is None else random.random(images),
    }  # fmt: skip


@st.composite
def rating_evidence(draw: st.DrawFn, *, max_samples: int = 9) -> RatingEvidence:
    """Draw ratings with missing entries."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, raters = draw(st.integers(1, max_samples)), draw(st.integers(1, 5))
    scale = np.cumsum(random.choice([0.5, 1.0, 2.0], draw(st.integers(2, 7))))
    ratings = random.choice(scale[: draw(st.integers(1, len(scale)))], (n, raters))
    ratings[random.random((n, raters)) < draw(st.sampled_from([0.0, 0.3, 0.9]))] = np.nan
    ratings[0, 0] = scale[0]
    predicted = random.uniform(scale[0] - 1, scale[-1] + 1, n)
    predicted[random.random(n) < draw(st.sampled_from([0.0, 0.3]))] = np.nan
    return RatingEvidence(ratings=ratings, scale=scale, predicted=predicted)


@st.composite
def edit_evidence(draw: st.DrawFn, *, max_samples: int = 9) -> EditEvidence:
    """Concepts and answers before and after edits, some of which move nothing."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k, classes = (draw(st.integers(1, most)) for most in (max_samples, 4, 3))
    before, after = random.integers(0, 3, (2, n, k)) / 2  # ties, and values that do not move
    answers = random.integers(0, 3, (4, n, classes)) + 0.25
    answers /= answers.sum(axis=2, keepdims=True)
    return EditEvidence(
        before=before, after=after, edited=random.integers(0, k, n),
        direction=random.choice([-1.0, 1.0], n), output_before=answers[0],
        output_after=answers[1], surrogate_before=answers[2], surrogate_after=answers[3],
        concepts=Concepts.numbered(k),
    )  # fmt: skip


@st.composite
def token_evidence(draw: st.DrawFn, *, max_samples: int = 9) -> TokenEvidence:
    """Sequences some of which are empty, codes with ties, and gaps in what may have gaps."""
    seed = draw(st.integers(0, 2**32 - 1))
    random = np.random.default_rng(seed)
    whole: Any = planted_tokens(draw(st.integers(1, max_samples)), alignment=0.5, seed=seed)
    changed: dict[str, Any] = {}
    gaps = draw(st.sampled_from([0.0, 0.3, 1.0]))
    for name in ("importance", "effect", "loss", "divergence_spliced", "divergence_ablated"):
        ragged = getattr(whole, name)
        missing = random.random(len(ragged.flat)) < gaps
        changed[name] = replace(ragged, flat=np.where(missing, np.nan, ragged.flat.round(1)))
    if draw(st.booleans()):
        value = whole.value
        changed["value"] = replace(value, flat=np.ceil(value.flat * 3).astype(np.float16))
        changed["relevance"] = replace(whole.relevance, flat=whole.relevance.flat.round(0))
    if draw(st.booleans()):
        changed["known"] = random.random(whole.truth.shape) < draw(st.sampled_from([0.0, 0.6]))
    if draw(st.booleans()):
        clusters = random.integers(0, 3, len(whole))
        changed["samples"] = Samples(index=whole.samples.index, clusters=clusters)
    changed_evidence: TokenEvidence = replace(whole, **changed)
    return changed_evidence


@st.composite
def judgment_evidence(draw: st.DrawFn, *, max_samples: int = 24) -> JudgmentEvidence:
    """Answers about few latents and sequences: ties, some unread, some of other explanations."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, latents, judges = (draw(st.integers(1, most)) for most in (max_samples, 3, 2))
    task, latent = random.integers(0, len(TASKS), n), random.integers(0, latents, n)
    answer = random.integers(0, 5, n) / 4
    active = (random.random(n) < draw(st.floats(0, 1))) & (TASKS.index("intruder") != task)
    return JudgmentEvidence(
        latent=latent, sequence=random.integers(0, 4, n), active=active, task=task,
        tasks=Tasks(TASKS),
        answer=np.where(random.random(n) < draw(st.floats(0, 0.5)), np.nan, answer),
        judge=random.integers(0, judges, n), judges=Judges.numbered(judges),
        explanation=random.integers(0, latents, n) if draw(st.booleans()) else None,
        frequency=random.random(latents) if draw(st.booleans()) else None,
        latents=Latents.numbered(latents), written_from=np.zeros(n, bool),
    )  # fmt: skip


@st.composite
def attribution_evidence(draw: st.DrawFn, *, max_samples: int = 9) -> AttributionEvidence:
    """Attributions with ties and zeros, and a model that rounds: answers with ties too."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, k = draw(st.integers(1, max_samples)), draw(st.integers(2, 6))
    weights = random.integers(-1, 2, k)
    values, repeat, other, randomized = random.integers(-2, 3, (4, n, k)) / 2
    return AttributionEvidence(
        values=values, inputs=random.integers(0, 3, (n, k)), repeat_values=repeat,
        background=random.integers(0, 3, (draw(st.integers(1, 4)), k)), base=random.random(n),
        groups=np.arange(k) // 2 if k > 3 and draw(st.booleans()) else None,
        other_method_values=other, randomized_values=randomized,
        respond=lambda rows: np.rint(rows @ weights / 2),
    )  # fmt: skip


FOR: dict[type, st.SearchStrategy[Any]] = {
    ConceptEvidence: concept_evidence(),
    LocationEvidence: location_evidence(),
    UnitEvidence: unit_evidence(),
    EmbeddingEvidence: embedding_evidence(),
    InterventionEvidence: intervention_evidence(),
    SurrogateEvidence: surrogate_evidence(),
    RatingEvidence: rating_evidence(),
    SaliencyEvidence: saliency_evidence(),
    EditEvidence: edit_evidence(),
    TokenEvidence: token_evidence(),
    JudgmentEvidence: judgment_evidence(),
    AttributionEvidence: attribution_evidence(),
}


def evidence_of(kind: type[Evidence]) -> st.SearchStrategy[Any]:
    """Return the strategy of a kind: hand-written for ours, else from its declaration."""
    return FOR[kind] if kind in FOR else declared_evidence(kind)


@st.composite
def declared_evidence(draw: st.DrawFn, kind: type[Evidence], *, max_samples: int = 9) -> Evidence:
    """Any arrays that the declaration of a kind allows; what must hold between them is not known
    here, so a kind that checks more has a strategy of its own, or draws are left out."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    lengths = {"samples": draw(st.integers(1, max_samples))}
    members: dict[str, Any] = {name: draw(evidence_of(inner)) for name, inner in kind.inner_kinds()}
    for bundle in members.values():
        lengths["samples"] = len(bundle)
        lengths |= {name: len(axis) for name, axis in bundle._axes()}
    layouts = dict(kind.layouts())
    pointed = {layout.points_to for layout in layouts.values() if layout.points_to}
    for axis in [*pointed, *(axis for layout in layouts.values() for axis in layout.axes)]:
        lengths.setdefault(axis, int(axis) if axis.isdigit() else draw(st.integers(1, 5)))
    for name, layout in layouts.items():
        shape = tuple(lengths[axis] for axis in layout.axes)
        values: np.ndarray
        if layout.content == "flag":
            values = random.random(shape) < 0.5
        elif layout.content == "index":
            values = random.integers(0, lengths.get(layout.points_to or "", 5), shape)
        else:
            values = random.normal(size=shape)
        depth = len(layout.ragged)
        members[name] = Ragged.from_rows(list(values), depth) if depth else values
    try:
        return kind(**members)
    except EvidenceError:
        reject()


def options_of(entry: Metric) -> st.SearchStrategy[dict[str, Any]]:
    """Generate any combination of a metric's options."""
    choices: dict[str, st.SearchStrategy[Any]] = {}
    for name, hint in entry.hints().items():
        if get_origin(strip_metadata(hint)) is Literal:
            choices[name] = st.sampled_from(get_args(strip_metadata(hint)))
    choices.pop("target", None)  # which places there are depends on the evidence
    return st.fixed_dictionaries(choices)
