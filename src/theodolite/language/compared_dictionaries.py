"""What a dictionary of a language model is compared with, on the same texts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import compute_starts
from theodolite.language.models.altered_codes import PermutedDecoder, with_planted
from theodolite.language.models.dictionaries import (
    FeatureDictionary,
    RandomDictionary,
    sparse_codes,
)
from theodolite.language.models.hooked import HookedModel, Ids
from theodolite.language.models.neurons import reader_of_neurons
from theodolite.language.models.token_evidence import (
    SequenceLabels,
    TokenSettings,
    coded_evidence,
    compared_evidence,
)
from theodolite.language.models.trained_dictionaries import CoordinateDictionary, train_dictionary

Beside = Literal[
    "random", "coordinates", "neurons", "frozen_decoder", "permuted_decoder", "planted", "untrained"
]
BESIDE: tuple[Beside, ...] = get_args(Beside)
WHAT: dict[Beside, str] = {
    "random": "directions drawn at random",
    "coordinates": "the activations' own coordinates, either sign",
    "neurons": "neurons of the block's MLP, either sign",
    "frozen_decoder": "random directions, encoder trained",
    "permuted_decoder": "the dictionary's codes, its directions dealt out",
    "planted": "random directions, and a noisy sign of each concept put in",
    "untrained": "a dictionary of the network with weights drawn anew",
}
"""For the table of a report."""
HITS, FALSE_ALARMS = 0.9, 0.05
"""How often a planted latent is active with its concept, and without."""


@dataclass(frozen=True, eq=False)
class Layer:
    """A network that is looked at in one place, and what it computes there at all tokens."""

    network: HookedModel
    ids: Ids
    activations: np.ndarray


def left_out(layer: Layer, *, concepts: int, splice: bool) -> dict[Beside, str]:
    """What cannot be compared here, and why."""
    network, reasons = layer.network, {}
    if reader_of_neurons(network.model, network.module) is None:
        reasons["neurons"] = f"no matrix that reads neurons is known in {network.module}"
    if not concepts:
        reasons["planted"] = "there is no concept"
    if not splice:
        reasons["permuted_decoder"] = "the next token is not predicted"
    return reasons  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class ComparedDictionaries:
    """Makes them as wide, as sparse and as long trained as the dictionary that is asked about."""

    layer: Layer
    labels: SequenceLabels
    settings: TokenSettings
    steps: int
    seed: int
    look: Callable[[HookedModel, str], Layer]
    """Activations of a network at a place, which are kept under a name."""
    untrained: Callable[[], HookedModel]
    """The network with weights drawn anew."""

    def evidence(
        self, dictionary: FeatureDictionary, active: int, beside: Sequence[Beside]
    ) -> dict[str, TokenEvidence]:
        """Of the dictionary itself (under ``dictionary``), and of each that is named."""
        latents = len(dictionary.rows)
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
        self, name: Beside, dictionary: FeatureDictionary, active: int
    ) -> FeatureDictionary | None:
        """A dictionary of the same activations; None for what is made in another way."""
        activations, latents = self.layer.activations, len(dictionary.rows)
        if name == "random":
            return RandomDictionary.drawn_for(activations, latents, active, self.seed)
        if name == "coordinates":
            return CoordinateDictionary.fitted_to(activations, active / latents)
        if name == "frozen_decoder":
            return train_dictionary(
                activations, latents, active, steps=self.steps, seed=self.seed, frozen=True
            )
        if name == "permuted_decoder":
            return PermutedDecoder.of(dictionary, self.seed)
        return None

    def _neurons(self, share: float) -> TokenEvidence:
        network = self.layer.network
        reader = reader_of_neurons(network.model, network.module)
        if reader is None:
            raise EvidenceError(
                "beside", f"neurons, but no matrix that reads them in {network.module}",
                "a whole block of the network", "Leave `neurons` out.",
            )  # fmt: skip
        inside = HookedModel(network.model, reader, network.start, inputs=True, end=network.end)
        layer = self.look(inside, "neurons")
        neurons = CoordinateDictionary.fitted_to(layer.activations, share)
        codes = sparse_codes(neurons, layer.activations)
        return coded_evidence(layer.ids, codes, len(neurons.rows), self.labels)

    def _planted(self, latents: int, active: int) -> TokenEvidence:
        """Latents whose meaning is known: what any score of dictionaries must find."""
        truth = self.labels.truth
        if truth is None or truth.shape[1] > latents:
            n = 0 if truth is None else truth.shape[1]
            raise EvidenceError("beside", f"planted, with {n} concepts", f"1 to {latents} concepts")
        layer = self.layer
        random = RandomDictionary.drawn_for(layer.activations, latents, active, self.seed)
        starts = compute_starts([len(own) for own in layer.ids])
        codes = with_planted(
            sparse_codes(random, layer.activations), starts, truth,
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
    """The codes are those of the dictionary: nothing but what is rebuilt differs."""
    own = {name: getattr(evidence, name) for name in ("loss", "tokens", "samples")} | {
        f"{what}_{how}": getattr(evidence, f"{what}_{how}")
        for what in ("loss", "divergence")
        for how in ("spliced", "ablated", "zeroed")
    }
    return TokenEvidence(**own)
