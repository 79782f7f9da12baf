"""Concepts and single latents in a run: answers, and measured effects."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theodolite._stats.ranks import rank_correlations
from theodolite._stats.sampling import select_half
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import require_ragged
from theodolite.language.attributions import attribution_arrays
from theodolite.language.causal_effects import CausalEffect, causal_effects, choose_target
from theodolite.language.concept_answers import ConceptAnswers
from theodolite.language.concept_probes import ConceptProbes, fit_concept_probes
from theodolite.language.dictionaries.torch_codes import TokenDictionary
from theodolite.language.models.token_evidence import SequenceLabels
from theodolite.language.sae_baselines import Layer

ACTS = ("ablation", "steering")
FEWEST_PAIRS = 3
MAX_SENTENCES = 20
"""Concepts of which the report has a sentence; the table has all."""


@dataclass(frozen=True, eq=False)
class ToldConcepts:
    """Answers for concepts, or effects of their latents, as the report and the run folder have
    them."""

    facts: list[tuple[str, float | int | str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tables: dict[str, dict[str, list[Any]]] = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)
    """Arrays of the evidence that were measured with them."""


def answer_concepts(answers: ConceptAnswers | None) -> ToldConcepts:
    """Return the answers for all concepts; nothing where there are no random dictionaries."""
    if answers is None:
        return ToldConcepts()
    facts: list[tuple[str, float | int | str]] = [("concepts told", answers.headline)]
    sentences = [own.sentence for own in answers.answers]
    return ToldConcepts(facts, sentences[:MAX_SENTENCES], {"concepts": answers.to_columns()})


def measure_latents(
    layer: Layer,
    dictionary: TokenDictionary,
    labels: SequenceLabels,
    answers: ConceptAnswers,
    evidence: TokenEvidence,
    seed: int,
) -> ToldConcepts:
    """Ablate and steer the best latent of each concept, beside latents as often active.

    The evidence gets what is said and measured of other latents too, and probes of the concepts.
    """
    if layer.network.rebuilt is not None:
        why = "Effects were not measured: the dictionary rebuilds another activation."
        return ToldConcepts(notes=[why])
    truth = np.asarray(labels.truth)
    known = np.ones(truth.shape, bool) if labels.known is None else np.asarray(labels.known)
    first = select_half(Samples(np.arange(len(truth)), clusters=labels.documents), 0)
    named: dict[int, int] = {}
    targets: dict[int, list[int]] = {}
    for concept in np.argsort([-own.value for own in answers.answers]).tolist():
        latent, rows = answers.answers[concept].latent, first & known[:, concept]
        if latent >= 0 and latent not in named:
            targets[concept] = choose_target(layer.ids, truth[:, concept], rows)
            named |= {latent: concept} if targets[concept] else {}
    effects = causal_effects(
        layer.network, layer.ids, dictionary, truth, named, targets=targets,
        activations=layer.activations, known=known, documents=labels.documents, seed=seed,
    )  # fmt: skip
    names = [answers.answers[named[own.latent]].concept for own in effects]
    yes = [sum(own.answer == "yes" for own in effects if own.act == act) for act in ACTS]
    facts: list[tuple[str, float | int | str]] = [
        (f"latents whose {act} moves what they are named after", f"{n} of {len(named)}")
        for act, n in zip(ACTS, yes, strict=True)
    ]
    notes = [own.sentence for own in effects if own.answer == "yes"]
    without = [answers.answers[c].concept for c, own in targets.items() if not own]
    if without:
        notes.append(f"No token is typical of {', '.join(without)}: no effect was measured.")
    probes = fit_concept_probes(layer.activations, layer.ids, labels)
    tried = attribution_arrays(layer.network, layer.ids, dictionary, evidence, targets, seed)
    pairs, agreement = _to_pairs(tried, evidence)
    if not math.isnan(agreement):
        facts.append(("attributions against ablations, rank correlation", agreement))
    arrays = probes.absorption_arrays(layer.activations, layer.ids, labels, named)
    tables = {
        "causal_effects": _to_columns(effects, names),
        "probes": _probe_columns(answers, probes),
        "attributions": pairs,
    }
    return ToldConcepts(facts, notes, tables, arrays)


def _to_pairs(
    tried: Mapping[str, Any], evidence: TokenEvidence
) -> tuple[dict[str, list[Any]], float]:
    """Return the pairs of a token and a latent that were ablated, and how far claims and effects
    are in one order. They are a table, so that no answer of the dictionary is read from them."""
    claims, effects = tried["importance"], tried["effect"]
    rows = np.flatnonzero(~np.isnan(claims.flat))
    claim, effect = claims.flat[rows], effects.flat[rows]
    table = {
        "text": claims.row[rows].tolist(),
        "token": (claims.inner_row[rows] - claims.starts[claims.row[rows]]).tolist(),
        "latent": require_ragged(evidence.latent).flat[rows].tolist(),
        "claim": claim.tolist(), "effect": effect.tolist(),
    }  # fmt: skip
    few = len(rows) < FEWEST_PAIRS
    return table, math.nan if few else float(rank_correlations(claim, effect))


def _probe_columns(answers: ConceptAnswers, probes: ConceptProbes) -> dict[str, list[Any]]:
    """Return what probes reach on the same concepts, and a latent's share of their advantage."""
    columns = answers.to_columns()
    mean, value = (np.array(columns[name], float) for name in ("mean", "value"))
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.where(probes.aurocs > mean, (value - mean) / (probes.aurocs - mean), np.nan)
    return {
        "concept": columns["concept"], "latent": columns["latent"], "value": columns["value"],
        "mean": columns["mean"], "probe": probes.aurocs.tolist(),
        "difference_of_means": probes.difference_aurocs.tolist(), "share": share.tolist(),
    }  # fmt: skip


def _to_columns(effects: Sequence[CausalEffect], concepts: Sequence[str]) -> dict[str, list[Any]]:
    names = ("latent", "act", "effect", "low", "high", "difference_of_means", "p", "adjusted_p",
             "answer", "texts", "sentence")  # fmt: skip
    return {
        "concept": [*concepts],
        **{name: [getattr(own, name) for own in effects] for name in names},
        "matched": [len(own.matched) for own in effects],
        "best_matched": [float(own.matched.max(initial=-np.inf)) for own in effects],
    }
