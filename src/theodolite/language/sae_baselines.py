"""Baselines that an SAE of a language model is compared with, computed on the same texts.
Used by :mod:`.sae_pipeline`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import compute_starts
from theodolite.language.dictionaries.objects import dictionary as as_dictionary
from theodolite.language.dictionaries.torch_codes import TokenDictionary
from theodolite.language.models.altered_codes import PermutedDecoder, plant_concepts
from theodolite.language.models.dictionaries import compute_sparse_codes, random_dictionary
from theodolite.language.models.hooked import HookedModel, Ids
from theodolite.language.models.neurons import find_neuron_reader
from theodolite.language.models.token_evidence import (
    SequenceLabels,
    TokenSettings,
    coded_evidence,
    compared_evidence,
)
from theodolite.language.models.trained_dictionaries import coordinate_dictionary, train_dictionary

Baseline = Literal[
    "random", "coordinates", "neurons", "frozen_decoder", "permuted_decoder", "planted", "untrained"
]
BASELINES: tuple[Baseline, ...] = get_args(Baseline)
BASELINE_DESCRIPTIONS: dict[Baseline, str] = {
    "random": "directions drawn at random",
    "coordinates": "the activations' own coordinates, either sign",
    "neurons": "neurons of the block's MLP, either sign",
    "frozen_decoder": "random directions, encoder trained",
    "permuted_decoder": "the dictionary's codes, its directions dealt out",
    "planted": "random directions, and a noisy sign of each concept put in",
    "untrained": "a dictionary of the network with weights drawn anew",
}
"""Descriptions for the table of a report."""
HITS, FALSE_ALARMS = 0.9, 0.05
"""Probability that a planted latent is active with its concept, and without it."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A language model, the texts, and the activations of the studied layer."""

    network: HookedModel
    ids: Ids
    activations: Any
    """Rows of all tokens, in memory or in files."""


def find_unavailable_baselines(layer: Layer, *, concepts: int, splice: bool) -> dict[Baseline, str]:
    """Return the baselines that cannot be computed here, with the reason."""
    network, reasons = layer.network, {}
    if find_neuron_reader(network.model, network.module) is None:
        reasons["neurons"] = f"no matrix that reads neurons is known in {network.module}"
    if not concepts:
        reasons["planted"] = "there is no concept"
    if not splice:
        reasons["permuted_decoder"] = "the next token is not predicted"
    return reasons  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class ComparedDictionaries:
    """Builder of baselines that are as wide, sparse and long trained as the SAE."""

    layer: Layer
    labels: SequenceLabels
    settings: TokenSettings
    steps: int
    seed: int
    look: Callable[[HookedModel, str], Layer]
    """Function that returns the activations of a model, cached by a name."""
    untrained: Callable[[], HookedModel]
    """Function that returns the model with random weights."""

    def evidence(
        self, dictionary: TokenDictionary, active: int, beside: Sequence[Baseline]
    ) -> dict[str, TokenEvidence]:
        """Return evidence of the SAE (under ``dictionary``) and of each baseline by name."""
        latents = dictionary.latents
        others = {name: self._of_layer(name, dictionary, active) for name in beside}
        own = {"dictionary": dictionary} | {n: d for n, d in others.items() if d is not None}
        made_here = compared_evidence(
            self.layer.network, self.layer.ids, own, self.labels, self.settings,
            self.layer.activations,
        )  # fmt: skip
        for name in beside:
            if name == "neurons":
                made_here[name] = self._neurons(active / latents)
            elif name == "planted":
                made_here[name] = self._planted(latents, active)
            elif name == "permuted_decoder":
                made_here[name] = _next_tokens_only(made_here[name])
            elif name == "untrained":
                made_here[name] = self._untrained(latents, active)
        return {name: made_here[name] for name in ("dictionary", *beside)}

    def _of_layer(
        self, name: Baseline, dictionary: TokenDictionary, active: int
    ) -> TokenDictionary | None:
        """Return a baseline SAE of the same activations, or None for other baselines."""
        activations, latents = self.layer.activations, dictionary.latents
        if name == "random":
            return as_dictionary(random_dictionary(activations, latents, active, self.seed))
        if name == "coordinates":
            return as_dictionary(coordinate_dictionary(activations, active / latents))
        if name == "frozen_decoder":
            return as_dictionary(train_dictionary(
                activations, latents, active, steps=self.steps, seed=self.seed, frozen=True
            ))  # fmt: skip
        if name == "permuted_decoder":
            return PermutedDecoder.of(dictionary, self.seed)
        return None

    def _neurons(self, share: float) -> TokenEvidence:
        network = self.layer.network
        reader = find_neuron_reader(network.model, network.module)
        if reader is None:
            raise EvidenceError(
                "beside", f"neurons, but no matrix that reads them in {network.module}",
                "a whole block of the network", "Leave `neurons` out.",
            )  # fmt: skip
        inside = HookedModel(network.model, reader, network.start, inputs=True, end=network.end)
        layer = self.look(inside, "neurons")
        neurons = coordinate_dictionary(layer.activations, share)
        codes = compute_sparse_codes(neurons, layer.activations)
        return coded_evidence(layer.ids, codes, neurons.latents, self.labels)

    def _planted(self, latents: int, active: int) -> TokenEvidence:
        """Return latents with a known meaning, which every score must detect."""
        truth = self.labels.truth
        if truth is None or truth.shape[1] > latents:
            n = 0 if truth is None else truth.shape[1]
            raise EvidenceError("beside", f"planted, with {n} concepts", f"1 to {latents} concepts")
        layer = self.layer
        random = random_dictionary(layer.activations, latents, active, self.seed)
        starts = compute_starts([len(own) for own in layer.ids])
        codes = plant_concepts(
            compute_sparse_codes(random, layer.activations), starts, truth,
            hits=HITS, false_alarms=FALSE_ALARMS, seed=self.seed,
        )  # fmt: skip
        return coded_evidence(layer.ids, codes, latents, self.labels)

    def _untrained(self, latents: int, active: int) -> TokenEvidence:
        layer = self.look(self.untrained(), "untrained")
        dictionary = train_dictionary(
            layer.activations, latents, active, steps=self.steps, seed=self.seed
        )
        evidence = compared_evidence(
            layer.network, layer.ids, {"untrained": dictionary}, self.labels,
            self.settings.without_chance(), layer.activations,
        )  # fmt: skip
        return evidence["untrained"]


def _next_tokens_only(evidence: TokenEvidence) -> TokenEvidence:
    own = {name: getattr(evidence, name) for name in ("loss", "tokens", "samples")} | {
        f"{what}_{how}": getattr(evidence, f"{what}_{how}")
        for what in ("loss", "divergence")
        for how in ("spliced", "ablated", "zeroed")
    }
    return TokenEvidence(**own)
