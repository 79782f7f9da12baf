"""A dictionary of a language model's activations, and what must be asked beside it: random
directions, coordinates and neurons, a dictionary half trained, and the same network untrained."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.datasets.labelled_texts import LabelledTexts
from theodolite.errors import EvidenceError, RefusedInput
from theodolite.evidence.produced import ComparedModel, Produced, WorkContext
from theodolite.io.arrays import read_npy, write_npy
from theodolite.models.language.hooked import HookedModel, Ids
from theodolite.models.language.loading import LoadedModel, load_language_model, untrained
from theodolite.models.language.token_evidence import SequenceLabels, TokenSettings, token_ids
from theodolite.models.language.trained_dictionaries import train_dictionary, unexplained
from theodolite.pipelines.compared_dictionaries import (
    BESIDE,
    WHAT,
    Beside,
    ComparedDictionaries,
    Layer,
)
from theodolite.pipelines.features import weights_digest
from theodolite.subject import Subject


@dataclass(frozen=True, kw_only=True)
class LanguageFeaturesPipeline:
    """Which network, where in it, and the dictionary that is trained there."""

    model: Path
    """A folder of transformers or a .gguf file."""
    module: str
    """Such as ``model.layers.5``: its output is explained."""
    start_token: str | None = None
    """Put before every text and left out again; the tokenizer's own if not given."""
    most_tokens: int = 24
    latents: int = 1152
    active: int = 16
    steps: int = 1000
    """Of training, with 256 tokens each."""
    random_dictionaries: int = 20
    spliced_sequences: int = 32
    beside: Sequence[Beside] = BESIDE
    """What is compared with the dictionary."""

    def make(self, data: LabelledTexts, context: WorkContext) -> Produced:
        """Activations, dictionaries, codes, and the next token with reconstructions put in."""
        if len(context.seeds) != 1:
            raise EvidenceError("seeds", f"{len(context.seeds)}", "one: a dictionary is one")
        seed = context.seeds[0]
        loaded = load_language_model(self.model)
        ids = _ids(loaded, data, self.most_tokens)
        network = HookedModel(loaded.model, self.module, loaded.start(self.start_token))
        layer = self._layer(network, ids, "trained", context)
        context.progress("dictionaries", 0, 1 + len(self.beside))
        dictionary = train_dictionary(
            layer.activations, self.latents, self.active, steps=self.steps, seed=seed
        )
        others = ComparedDictionaries(
            layer,
            SequenceLabels(truth=data.truth, known=data.known, concepts=data.concepts),
            self._settings(seed),
            self.steps,
            seed,
            look=lambda other, which: self._layer(other, ids, f"{which} {seed}", context),
            untrained=lambda: replace(network, model=untrained(loaded.model, seed)),
        )
        evidence = others.evidence(dictionary, self.active, self.beside)
        compared = [
            ComparedModel(name, {"what": WHAT[name]}, [[evidence[name]]]) for name in self.beside
        ]
        return Produced(
            evidence=[[evidence["dictionary"]]],
            compared=compared,
            about={"name": "dictionary", "what": "the dictionary that is asked about"},
            notes=(*data.notes, *self._notes(data)),
            facts=(
                ("sequences", len(ids)),
                ("tokens", len(layer.activations)),
                ("share of variance not rebuilt", unexplained(dictionary, layer.activations)),
            ),
            inputs={**(data.digests or {}), **weights_digest(self.model)},
            subject=self._subject(data),
        )

    def _subject(self, data: LabelledTexts) -> Subject:
        return Subject(
            f"a dictionary of {self.latents:,} latents, {self.active} active at a token,",
            f"{self.model.stem}, {self.module}",
            "network",
            data=data.name,
        )

    def _settings(self, seed: int) -> TokenSettings:
        return TokenSettings(
            random_dictionaries=self.random_dictionaries,
            spliced_sequences=self.spliced_sequences,
            seed=1000 * (seed + 1),
        )

    def _layer(self, network: HookedModel, ids: Ids, which: str, context: WorkContext) -> Layer:
        """With activations that are computed once, and found again in the cache."""
        identity: list[Any] = [weights_digest(self.model), network.module, network.start, which]
        key = hashlib.sha256(json.dumps([identity, list(map(list, ids))]).encode()).hexdigest()
        path = context.cache.resolve() / "activations" / f"{key}.npy"
        n = sum(len(own) for own in ids)
        try:
            if path.is_file():
                known = read_npy(path)
                if len(known) == n and np.isfinite(known).all():
                    return Layer(network, ids, np.asarray(known, np.float64))
        except RefusedInput:
            pass  # a file that was cut off is made again
        context.progress("activations", 0, 1)
        activations = network.activations(ids).astype(np.float32)
        write_npy(path, activations)
        return Layer(network, ids, activations.astype(np.float64))

    def _notes(self, data: LabelledTexts) -> tuple[str, ...]:
        return (
            f"Texts are cut to {self.most_tokens} tokens; {int(data.last_tokens.sum())} of "
            f"{len(data.concepts)} concepts sit at the end of their texts and keep the last ones.",
            f"The next token was predicted anew for {self.spliced_sequences} sequences.",
            "The dictionary was trained here, on the texts that it is asked about, for "
            f"{self.steps:,} steps of 256 tokens: a small one.",
        )


def _ids(loaded: LoadedModel, data: LabelledTexts, most: int) -> list[list[int]]:
    last = data.last_tokens[data.concept]
    ids = [
        token_ids(loaded.tokenizer, [text], most, "left" if at_end else "right")[0]
        for text, at_end in zip(data.texts, last.tolist(), strict=True)
    ]
    empty = sum(not own for own in ids)
    if empty:
        raise EvidenceError("texts", f"{empty} without any token", "one or more in each")
    return ids
