"""Evidence about latents of a language model at every token of texts."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import (
    Chances,
    Classes,
    Concepts,
    LatentExplanations,
    Latents,
    Predicates,
    Removals,
)
from theodolite.evidence.base import Evidence, array, ragged
from theodolite.evidence.ragged import Ragged
from theodolite.questions import Question

MAX_DENSE_LATENTS = 4096
"""Largest number of latents with a dense value at every token."""
MIN_DEAD_FRACTION = 0.99
"""Smallest fraction of latents that are never active to warn about."""
REQUIRED_WITH = {
    "latent": "value", "value": "latent", "loss_spliced": "loss", "loss_ablated": "loss",
    "loss_zeroed": "loss", "chance_loss_spliced": "loss", "known": "truth",
    "predicate_of": "explained", "concept_of": "explained", "projections": "probes",
    "chance_on_formula": "chance_activation", "chance_activation": "chance_on_formula",
    "simulated": "explained", "chance_simulated": "simulated", "picked": "simulated",
}  # fmt: skip
"""Array that each of these arrays requires."""
PROBABILITIES = ("clean", "removed", "only", "chance_removed", "chance_only")


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class TokenEvidence(Evidence):
    """What the latents of a language model do at every token of texts.

    A row is a sequence of tokens; the start token and padding are left out. Sequences that were
    cut from one document are not independent: give the documents as ``Samples(clusters=...)``.
    Rows have unequal lengths and are given as lists, or as ``Ragged``. Only ``tokens`` is needed;
    each score says which of the others it uses. What is called chance is the same made with a
    dictionary that knows nothing of the network, such as one of random directions.
    """

    kind = "token"
    version = 1
    marker = "tokens"
    samples_are = "sequences"
    ways: ClassVar[Mapping[Question, str]] = {
        "detects": "at every token which latents are active and what holds of it "
        "(`latent`, `value`, `holds`), and what latents are explained by (`explained`, "
        "`predicate_of`)",
        "exists": "latents' values and whether concepts are in each sequence "
        "(`latent`, `value`, `truth`)",
        "leak_free": "latents' values, the decoder and probes of concepts "
        "(`decoder`, `probes`, `projections`)",
        "faithful": "losses of the next token as it is, with the explanation put in, and ablated "
        "(`loss`, `loss_spliced`, `loss_ablated`)",
        "located": "relevance of tokens and those that annotators marked "
        "(`relevance`, `rationale`)",
    }

    tokens: Ragged = ragged("samples", "tokens", content="index")
    """Ids of the tokens of each sequence."""
    latent: Ragged | None = ragged(
        "samples", "tokens", "active", depth=2, content="index", points_to="latents", optional=True
    )
    """The latents that are active at each token, rising."""
    value: Ragged | None = ragged("samples", "tokens", "active", depth=2, optional=True)
    """How active each of them is there: never 0, and below 0 only if ``signed``."""
    signed: Bool[np.ndarray, " 1"] | None = array("1", content="flag", optional=True)
    """Whether latents may be below 0."""
    dense: Ragged | None = ragged("samples", "tokens", "latents", optional=True)
    """In place of these two, a value of every latent at every token: for neurons."""
    holds: Ragged | None = ragged(
        "samples", "tokens", "facts", depth=2, content="index", points_to="predicates",
        optional=True,
    )  # fmt: skip
    """The predicates that hold of each token, rising."""
    truth: Bool[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", content="flag", optional=True
    )
    """Whether each concept is in the sequence: a topic, a language."""
    known: Bool[np.ndarray, "samples concepts"] | None = array(
        "samples", "concepts", content="flag", optional=True
    )
    """Where ``truth`` is known; everywhere if not given."""
    labels: Int[np.ndarray, " samples"] | None = array(
        "samples", content="index", points_to="classes", optional=True
    )
    """The true class of each sequence."""
    explained: Int[np.ndarray, " explanations"] | None = array(
        "explanations", content="index", points_to="latents", optional=True
    )
    """The latent that each explanation is of."""
    predicate_of: Int[np.ndarray, " explanations"] | None = array(
        "explanations", content="index", points_to="predicates", none_is=-1, optional=True
    )
    """What the latent is said to stand for: a predicate of tokens; -1 for none."""
    concept_of: Int[np.ndarray, " explanations"] | None = array(
        "explanations", content="index", points_to="concepts", none_is=-1, optional=True
    )
    """What it is said to stand for: a concept of sequences; -1 for none."""
    rationale: Ragged | None = ragged("samples", "tokens", content="flag", optional=True)
    """The tokens that annotators marked."""
    relevance: Ragged | None = ragged("samples", "tokens", optional=True)
    """Relevance of each token for the output."""
    importance: Ragged | None = ragged(
        "samples", "tokens", "active", depth=2, optional=True, may_be_nan=True
    )
    """Claimed contribution of each active latent to the output there; NaN if not computed."""
    effect: Ragged | None = ragged(
        "samples", "tokens", "active", depth=2, optional=True, may_be_nan=True
    )
    """Change of the output when the latent is ablated there; NaN if not computed."""
    loss: Ragged | None = ragged("samples", "tokens", optional=True, may_be_nan=True)
    """Cross-entropy of the next token; NaN if there is no next token."""
    loss_spliced: Ragged | None = ragged("samples", "tokens", optional=True, may_be_nan=True)
    """Cross-entropy of the next token with the SAE reconstruction as activations."""
    loss_ablated: Ragged | None = ragged("samples", "tokens", optional=True, may_be_nan=True)
    """Cross-entropy of the next token with the mean activation."""
    loss_zeroed: Ragged | None = ragged("samples", "tokens", optional=True, may_be_nan=True)
    """Cross-entropy of the next token with zeros as activations."""
    chance_loss_spliced: Ragged | None = ragged(
        "samples", "tokens", "chances", optional=True, may_be_nan=True
    )
    """As ``loss_spliced``, for random SAEs."""
    divergence_spliced: Ragged | None = ragged("samples", "tokens", optional=True, may_be_nan=True)
    """Divergence (KL) of the next token's distribution with the SAE reconstruction from the
    original distribution."""
    divergence_ablated: Ragged | None = ragged("samples", "tokens", optional=True, may_be_nan=True)
    """Divergence of the next token's distribution with the mean activation."""
    divergence_zeroed: Ragged | None = ragged("samples", "tokens", optional=True, may_be_nan=True)
    """Divergence of the next token's distribution with zeros as activations."""
    chance_divergence_spliced: Ragged | None = ragged(
        "samples", "tokens", "chances", optional=True, may_be_nan=True
    )
    """As ``divergence_spliced``, for random SAEs."""
    decoder: Float[np.ndarray, "latents dimensions"] | None = array(
        "latents", "dimensions", optional=True
    )
    """The direction that each latent writes."""
    encoder: Float[np.ndarray, "latents dimensions"] | None = array(
        "latents", "dimensions", optional=True
    )
    """The direction that each latent reads."""
    probes: Float[np.ndarray, "concepts dimensions"] | None = array(
        "concepts", "dimensions", optional=True
    )
    """The direction of a linear probe of each concept."""
    projections: Ragged | None = ragged(
        "samples", "tokens", "concepts", optional=True, may_be_nan=True
    )
    """The activation along each probe, of length 1, at tokens where the concept is and the probe
    says so; NaN elsewhere."""
    chance_pooled: Float[np.ndarray, "samples chances kept"] | None = array(
        "samples", "chances", "kept", optional=True
    )
    """The largest value in each sequence of latents of dictionaries that know nothing: of all, or
    of those that tell the concepts best where latents are chosen."""
    chance_activation: Float[np.ndarray, "samples chances explanations"] | None = array(
        "samples", "chances", "explanations", optional=True
    )
    """The sum over each sequence of the latent of such a dictionary that fits the explanation
    best."""
    chance_on_formula: Float[np.ndarray, "samples chances explanations"] | None = array(
        "samples", "chances", "explanations", optional=True
    )
    """The part of it at tokens where the explanation holds."""
    simulated: Ragged | None = ragged(
        "samples", "tokens", "explanations", optional=True, may_be_nan=True
    )
    """Activation of the latent predicted by a simulator from the explanation; NaN if not
    simulated."""
    chance_simulated: Ragged | None = ragged(
        "samples", "tokens", "explanations", optional=True, may_be_nan=True
    )
    """Activation predicted from token identity only: the token's mean in other sequences."""
    picked: Int[np.ndarray, "samples explanations"] | None = array(
        "samples", "explanations", content="index", optional=True
    )
    """Why a sequence was simulated: 0 at random, 1 because the latent is most active in it, 2 for
    another reason. Default: at random."""
    clean: Float[np.ndarray, " samples"] | None = array("samples", optional=True)
    """Probability of the explained answer for the original text."""
    removed: Float[np.ndarray, "samples removals steps"] | None = array(
        "samples", "removals", "steps", optional=True, may_be_nan=True
    )
    """Probability without the most relevant tokens, for each percentage and way of removal."""
    only: Float[np.ndarray, "samples removals steps"] | None = array(
        "samples", "removals", "steps", optional=True, may_be_nan=True
    )
    """Probability with only the most relevant tokens."""
    chance_removed: Float[np.ndarray, "samples chances removals steps"] | None = array(
        "samples", "chances", "removals", "steps", optional=True, may_be_nan=True
    )
    """As ``removed``, with the same number of random tokens in runs of the same lengths."""
    chance_only: Float[np.ndarray, "samples chances removals steps"] | None = array(
        "samples", "chances", "removals", "steps", optional=True, may_be_nan=True
    )
    """As ``only``, with these random tokens."""
    percents: Float[np.ndarray, " steps"] | None = array("steps", optional=True)
    """Percentage of tokens in each step, increasing."""
    latents: Latents = Latents()
    predicates: Predicates = Predicates()
    explanations: LatentExplanations = LatentExplanations()
    concepts: Concepts = Concepts()
    classes: Classes = Classes()
    removals: Removals = Removals()
    chances: Chances = Chances()

    def __post_init__(self) -> None:
        if isinstance(self.signed, bool):
            object.__setattr__(self, "signed", np.array([self.signed]))
        super().__post_init__()

    def check(self) -> None:
        for name, other in REQUIRED_WITH.items():
            if self.has(name) and not self.has(other):
                raise EvidenceError(other, f"none, but `{name}`", f"`{other}` as well")
        self._check_codes()
        if self.holds is not None:
            _check_rising("holds", self.holds)
        for name in PROBABILITIES:
            values = getattr(self, name)
            if values is not None and ((values < -1e-6) | (values > 1 + 1e-6)).any():
                got = f"values from {np.nanmin(values):g} to {np.nanmax(values):g}"
                raise EvidenceError(name, got, "probabilities")

    def _check_codes(self) -> None:
        if self.dense is not None and self.value is not None:
            raise EvidenceError("dense", "it and `value`", "either")
        if self.dense is not None and self.dense.flat.shape[1] > MAX_DENSE_LATENTS:
            got = f"{self.dense.flat.shape[1]:,} latents"
            raise EvidenceError(
                "dense", got, f"at most {MAX_DENSE_LATENTS:,}", "Give sparse codes."
            )
        if self.latent is None or self.value is None:
            return
        _check_rising("latent", self.latent)
        values = self.value.flat
        if (values == 0).any():
            row = int(self.value.row[np.flatnonzero(values == 0)[0]])
            raise EvidenceError("value", f"0 in sequence {row}", "active latents only")
        if not self.is_signed and (values < 0).any():
            do = "Pass signed=True if latents may be below 0."
            raise EvidenceError("value", f"{values.min():g}", "values above 0", do)

    @property
    def is_signed(self) -> bool:
        """Whether latents may be negative."""
        return self.signed is not None and bool(self.signed[0])

    def warnings(self) -> list[str]:
        lines = []
        if self.latent is not None:
            silent = len(self.latents) - len(np.unique(self.latent.flat))
            if silent > MIN_DEAD_FRACTION * len(self.latents):
                lines.append(f"{silent:,} of {len(self.latents):,} latents are never active")
        if self.decoder is not None:
            dead = int((~self.decoder.any(axis=1)).sum())
            if dead:
                lines.append(f"{dead:,} of {len(self.latents):,} rows of the decoder are all 0")
        return lines


def _check_rising(name: str, values: Ragged) -> None:
    """Raise unless numbers rise strictly within each token."""
    token = values.inner_row
    wrong = (np.diff(values.flat) <= 0) & (np.diff(token) == 0)
    if wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        got = f"{values.flat[at]}, then {values.flat[at + 1]} in sequence {values.row[at]}"
        raise EvidenceError(name, got, "numbers that rise within each token", "Sort them.")
