"""Details of faithfulness from evidence: errors by class, outputs and single concepts."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from theodolite._runs.folder.run_records import ConceptCardRecord
from theodolite._runs.folder.spec import RunSpec
from theodolite._runs.report_material import RunMaterial
from theodolite.evidence.kinds.surrogate import SurrogateEvidence
from theodolite.evidence.subject import WORDINGS, Wording
from theodolite.evidence.surrogate_settings import compute_outputs, predict_constant_mean
from theodolite.metrics.faithful.frame import compute_surrogate_outputs
from theodolite.report.figures.bars import Bar, bar_rows, small_bar
from theodolite.report.figures.points import Pairs, dot_swatch, scatter
from theodolite.report.figures.scales import Scale, round_scale
from theodolite.report.figures.svg import Figure
from theodolite.report.overlays import data_address

ENDS = 20
"""Number of best and of worst classes that are shown, of more than twice as many."""
MOST_OWN, MOST_POINTS = 500, 1500
PATCHES = 4
Outputs = Float[np.ndarray, "samples classes"]


def stored_evidence(
    material: RunMaterial, spec: RunSpec, model: str = ""
) -> SurrogateEvidence | None:
    """The first seed's evidence; None if there is none."""
    evidence = material.evidence(SurrogateEvidence.kind, spec.seeds[0], model)
    return evidence if isinstance(evidence, SurrogateEvidence) else None


# class by class


def class_panels(evidence: SurrogateEvidence) -> dict[str, Any] | None:
    """Return how far each class's output is off, beside always saying its average."""
    network = compute_outputs(evidence)
    if not network.size:
        return None
    errors = np.abs(network - compute_surrogate_outputs(evidence)).mean(axis=0)
    nulls = np.abs(network - compute_surrogate_outputs(predict_constant_mean(evidence))).mean(
        axis=0
    )
    order = np.argsort(errors, kind="stable")
    lacking = np.isnan(np.asarray(evidence.importances)).all(axis=0)
    names = [
        f"{name} (no concepts)" if lacking[i] else name
        for i, name in enumerate(evidence.classes.names)
    ]
    scale = round_scale(np.r_[errors, nulls], (0.0, np.inf))
    bars = [_error_bar(*row) for row in zip(names, errors.tolist(), nulls.tolist(), strict=True)]
    panels = [
        Figure(bar_rows([(names[i], [bars[i]]) for i in rows], scale, title), title)
        for title, rows in _ends(order)
    ]
    n_shown = sum(len(rows) for _, rows in _ends(order))
    worse = int((errors > nulls).sum())
    return {
        "panels": panels,
        "note": "" if n_shown == len(order) else f"{n_shown} of {len(order)} classes are shown. ",
        "worse": f"{worse} of {len(order)}",
        "any_worse": worse > 0,
    }


def _error_bar(name: str, error: float, null: float) -> Bar:
    css = "bar down" if error > null else "bar"
    title = f"{name}: {error:.2f}; constant mean: {null:.2f}"
    return Bar(css, error, title, null=null, number=f"{error:,.2f}")


def _ends(order: Int[np.ndarray, " classes"]) -> list[tuple[str, Int[np.ndarray, " _shown"]]]:
    if len(order) <= ENDS:
        return [("Mean absolute error of each class's output", order)]
    if len(order) <= 2 * ENDS:
        half = (len(order) + 1) // 2
        return [("The better half of the classes", order[:half]),
                ("The worse half of the classes", order[half:])]  # fmt: skip
    return [
        (f"The {ENDS} best classes", order[:ENDS]),
        (f"The {ENDS} worst classes", order[-ENDS:]),
    ]


# outputs against outputs


def scatter_panels(
    explanations: Sequence[tuple[str, str, SurrogateEvidence]], wording: Wording = WORDINGS["given"]
) -> dict[str, Any] | None:
    """A panel for each explanation, given as name, scores in words, and evidence: the same samples
    and classes in all that have the same, on one scale."""
    subsamples = [
        (name, scores_text, *_subsample_outputs(evidence))
        for name, scores_text, evidence in explanations
    ]
    subsamples = [subsample for subsample in subsamples if len(subsample[2].own)]
    if not subsamples:
        return None
    scale = _common_scale([pairs for _, _, pairs, _ in subsamples])
    panels = []
    for name, scores_text, pairs, _ in subsamples:
        both = np.stack([pairs.network, pairs.explanation])
        beyond = int(((both < scale.low) | (both > scale.high)).any(axis=0).sum())
        notes = [scores_text, f"{beyond:,} outside the range, drawn at the edge" if beyond else ""]
        caption = f"The explanation and {wording.puts_out}{': ' + name if name else ''}"
        svg = scatter(pairs, scale, caption, wording.axis)
        panels.append(Figure(svg, name, "; ".join(n for n in notes if n)))
    key = [(dot_swatch(own=False), "an output")]
    if subsamples[0][2].own.any():
        key = [(dot_swatch(own=True), "output of the true class"),
               (dot_swatch(own=False), "outputs of other classes")]  # fmt: skip
    return {
        "panels": panels,
        "drawn": subsamples[0][3],
        "key": key,
    }


def _subsample_outputs(evidence: SurrogateEvidence) -> tuple[Pairs, str]:
    """Outputs drawn at random, those of true classes more often; and how many of how many."""
    network, explanation = compute_outputs(evidence), compute_surrogate_outputs(evidence)
    own = np.zeros(network.shape, bool)
    if evidence.labels is not None:
        own[np.arange(len(own)), np.asarray(evidence.labels)] = True
    random = np.random.default_rng(0)
    true, others = np.flatnonzero(own), np.flatnonzero(~own)
    most = MOST_OWN if network.size > MOST_POINTS else len(true)
    first = random.permutation(true)[: max(most, MOST_POINTS - len(others))]
    rest = random.permutation(others)[: max(MOST_POINTS - len(first), 0)]
    rows = np.concatenate([first, rest])
    pairs = Pairs(network.ravel()[rows], explanation.ravel()[rows], own.ravel()[rows])
    if len(rows) == network.size:
        return pairs, f"All {len(rows):,} outputs"
    sentence = f"{len(rows):,} of {network.size:,} outputs, drawn at random"
    if len(true):
        sentence += (
            f": {len(first):,} of {len(true):,} of the true class and "
            f"{len(rest):,} of {len(others):,} of other classes"
        )
    return pairs, sentence


def _common_scale(panels: Sequence[Pairs]) -> Scale:
    """One scale for all; an explanation that is far off does not squeeze the others."""
    network = np.concatenate([pairs.network for pairs in panels])
    low, high = float(network.min()), float(network.max())
    reach = max(high - low, 1e-6)
    explanation = np.concatenate([pairs.explanation for pairs in panels])
    inside = np.clip(explanation, low - reach / 2, high + reach / 2)
    return round_scale(np.concatenate([network, inside]), (-np.inf, np.inf), zero=False)


# concepts to look at


def concept_cards(
    material: RunMaterial, cards: Sequence[ConceptCardRecord], evidence: SurrogateEvidence | None
) -> list[dict[str, Any]]:
    """A card per class: its concepts, the one that adds most first, with patches that show them."""
    low = min([card.adds for card in cards] + [0.0])
    high = max([card.adds for card in cards] + [0.0])
    class_cards = []
    for of in dict.fromkeys(card.of for card in cards):
        own = sorted((c for c in cards if c.of == of), key=lambda c: -abs(c.adds))
        concepts = [
            {
                "name": _short(card),
                "importance": _signed(card.importance).removeprefix("+"),
                "adds": _signed(card.adds),
                "bar": small_bar(card.adds, low, high),
                "patches": [data_address(material.image(file)) for file in card.files[:PATCHES]],
            }
            for card in own
        ]
        class_cards.append({"of": of, "concepts": concepts, "sums": _sums(of, evidence)})
    return class_cards


def _short(card: ConceptCardRecord) -> str:
    """Without the class, which stands over it."""
    own = card.concept.removeprefix(f"{card.of}: ")
    return f"concept {own}" if own.isdigit() else own


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def _sums(of: str, evidence: SurrogateEvidence | None) -> tuple[str, str] | None:
    """Return the mean outputs of model and explanation for a class, over its samples."""
    if evidence is None or evidence.labels is None or of not in evidence.classes.names:
        return None
    column = evidence.classes.names.index(of)
    rows = np.flatnonzero(np.asarray(evidence.labels) == column)
    if not len(rows):
        return None
    own = evidence[rows]
    both = (compute_outputs(own), compute_surrogate_outputs(own))
    network, explanation = (_signed(float(outputs[:, column].mean())) for outputs in both)
    return network, explanation
