"""Pipeline that audits an SAE of a language model against baselines: random directions, neurons,
coordinates, an SAE with frozen rows, and the same model with random weights.

Behind ``theodolite sae audit``. The SAE is read from a SAELens folder or trained here."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from theodolite._storage.arrays import read_npy, write_npy
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.evidence.subject import Claim, Subject
from theodolite.language.models.dictionaries import FeatureDictionary, compute_sparse_codes
from theodolite.language.models.hooked import HookedModel, Ids
from theodolite.language.models.loading import LanguageModel, load_language_model, randomize_weights
from theodolite.language.models.sae_lens import read_sae_lens_folder
from theodolite.language.models.token_evidence import SequenceLabels, TokenSettings, token_ids
from theodolite.language.models.trained_dictionaries import (
    compute_unexplained_variance,
    train_dictionary,
)
from theodolite.language.sae_baselines import (
    BASELINE_DESCRIPTIONS,
    BASELINES,
    Baseline,
    ComparedDictionaries,
    Layer,
    find_unavailable_baselines,
)
from theodolite.pipelines.feature_pass import compute_weights_digest

LATENTS_PER_ACTIVE = 72
"""Number of latents per active one, if ``active`` is not given."""


@runtime_checkable
class ConceptTexts(Protocol):
    """Data set of texts with concept labels."""

    @property
    def name(self) -> str: ...
    @property
    def texts(self) -> Sequence[str]: ...
    @property
    def concepts(self) -> Sequence[str]: ...
    @property
    def truth(self) -> Bool[np.ndarray, "texts concepts"]: ...
    @property
    def known(self) -> Bool[np.ndarray, "texts concepts"]: ...
    @property
    def at_end(self) -> Bool[np.ndarray, " texts"]:
        """Whether a text that is too long loses its beginning."""

    @property
    def documents(self) -> Int[np.ndarray, " texts"] | None: ...
    @property
    def notes(self) -> Sequence[str]: ...
    @property
    def digests(self) -> Mapping[str, str] | None: ...


@dataclass(frozen=True, kw_only=True)
class LanguageFeaturesPipeline:
    """Pipeline for one layer of a language model and an SAE of it."""

    model: Path
    """Folder of transformers or a .gguf file."""
    module: str
    """Module whose output is explained, such as ``model.layers.5``."""
    dictionary: Path | None = None
    """Folder of an SAE written by SAELens; None trains a small SAE."""
    start_token: str | None = None
    """Token put before every text and excluded again; default: the tokenizer's own."""
    most_tokens: int = 24
    latents: int | None = None
    """Number of latents of a trained SAE; default: twice the dimensions."""
    active: int | None = None
    """Number of active latents per token; default: one of 72."""
    steps: int = 1000
    """Number of training steps of 256 tokens each."""
    random_dictionaries: int = 20
    spliced_sequences: int = 32
    beside: Sequence[Baseline] | None = None
    """Baselines to compare with; default: all that can be computed."""

    def make(self, data: ConceptTexts, context: WorkContext) -> Produced:
        """Return the evidence of the SAE and of its baselines."""
        if len(context.seeds) != 1:
            raise EvidenceError("seeds", f"{len(context.seeds)}", "one: a dictionary is one")
        seed = context.seeds[0]
        saved = None if self.dictionary is None else read_sae_lens_folder(self.dictionary)
        loaded = load_language_model(self.model)
        rows, ids = _ids(loaded, data, self.most_tokens)
        splice = loaded.causal and not (saved is not None and saved.normalized)
        if not splice and not len(data.concepts):
            needed = "a column of 0 and 1 for a concept"
            raise EvidenceError("texts", "no concepts, and no next token to predict", needed)
        start = loaded.start(self.start_token)
        network = HookedModel(loaded.model, self.module, start, end=loaded.end())
        self._check(network, ids, None if saved is None else saved.rows)
        layer = self._layer(network, ids, "trained", context)
        reasons = find_unavailable_baselines(layer, concepts=len(data.concepts), splice=splice)
        beside = [n for n in BASELINES if n not in reasons] if self.beside is None else self.beside
        context.progress("dictionaries", 0, 1 + len(beside))
        dictionary = saved or self._trained(layer, seed)
        active = _mean_active(dictionary, layer)
        others = ComparedDictionaries(
            layer, _labels(data, rows), self._settings(seed, splice=splice), self.steps, seed,
            look=lambda other, which: self._layer(other, ids, f"{which} {seed}", context),
            untrained=lambda: replace(network, model=randomize_weights(loaded.model, seed)),
        )  # fmt: skip
        evidence = others.evidence(dictionary, active, beside)
        missing = (f"Not compared with {n}: {reason}." for n, reason in reasons.items())
        return Produced(
            evidence=[[evidence["dictionary"]]],
            compared=[
                ComparedModel(n, {"what": BASELINE_DESCRIPTIONS[n]}, [[evidence[n]]])
                for n in beside
            ],
            about={"name": "dictionary", "what": "the dictionary that is asked about"},
            notes=(*data.notes, *self._notes(data, loaded, len(rows), splice=splice), *missing),
            facts=_facts(layer, dictionary, active, rebuilds=splice or saved is None),
            inputs=self._digests(data),
            subject=self._subject(data, len(dictionary.rows), active),
            claim=Claim("These latents tell these concepts", samples="sequences"),
        )

    def _subject(self, data: ConceptTexts, latents: int, active: int) -> Subject:
        what = f"a dictionary of {latents:,} latents, {active} active at a token,"
        return Subject(what, f"{self.model.stem}, {self.module}", "model", data=data.name)

    def _check(self, network: HookedModel, ids: Ids, rows: np.ndarray | None) -> None:
        """Raise for settings that cannot work, before hours of computation."""
        wide = network.activations(ids[:1]).shape[1]
        if rows is not None and rows.shape[1] != wide:
            raise EvidenceError(
                "dictionary", f"{rows.shape[1]} dimensions", f"{wide}, as {self.module} has",
                "Is it a dictionary of this place of this network?",
            )  # fmt: skip

    def _trained(self, layer: Layer, seed: int) -> FeatureDictionary:
        latents = self.latents or 2 * layer.activations.shape[1]
        active = self.active or max(latents // LATENTS_PER_ACTIVE, 1)
        return train_dictionary(layer.activations, latents, active, steps=self.steps, seed=seed)

    def _digests(self, data: ConceptTexts) -> dict[str, str]:
        own = {} if self.dictionary is None else compute_weights_digest(self.dictionary)
        of_dictionary = {f"dictionary/{name}": digest for name, digest in own.items()}
        return {**(data.digests or {}), **compute_weights_digest(self.model), **of_dictionary}

    def _settings(self, seed: int, *, splice: bool) -> TokenSettings:
        return TokenSettings(
            random_dictionaries=self.random_dictionaries,
            splice=splice,
            spliced_sequences=self.spliced_sequences,
            seed=1000 * (seed + 1),
        )

    def _layer(self, network: HookedModel, ids: Ids, which: str, context: WorkContext) -> Layer:
        """Return the layer with its activations, computed once and cached."""
        ends = [network.start, network.end]
        identity: list[Any] = [compute_weights_digest(self.model), network.module, *ends, which]
        key = hashlib.sha256(json.dumps([identity, list(map(list, ids))]).encode()).hexdigest()
        path = context.cache.resolve() / "activations" / f"{key}.npy"
        n = sum(len(own) for own in ids)
        try:
            if path.is_file():
                known = read_npy(path)
                if len(known) == n and np.isfinite(known).all():
                    return Layer(network, ids, np.asarray(known, np.float64))
        except UnsafeInputError:
            pass  # a file that was cut off is made again
        context.progress("activations", 0, 1)
        activations = network.activations(ids).astype(np.float32)
        if not np.isfinite(activations).all():
            raise EvidenceError(network.module, "activations that are no numbers", "finite ones")
        write_npy(path, activations)
        return Layer(network, ids, activations.astype(np.float64))

    def _notes(
        self, data: ConceptTexts, loaded: LanguageModel, texts: int, *, splice: bool
    ) -> list[str]:
        start = loaded.tokenizer.convert_ids_to_tokens(loaded.start(self.start_token))
        notes = [
            f"Texts are cut to {self.most_tokens} tokens, {int(data.at_end.sum()):,} of "
            f"{len(data.texts):,} at their beginning because the concept sits at their end. "
            f"{start!r} was put before each and left out again."
        ]
        if texts < len(data.texts):
            notes.append(f"{len(data.texts) - texts:,} texts without any token were left out.")
        if splice:
            n = min(self.spliced_sequences, texts)
            notes.append(f"The next token was predicted anew for {n:,} sequences, evenly spread.")
        elif loaded.causal:
            notes.append("The dictionary normalizes its input: nothing it rebuilds is put in.")
        else:
            notes.append("The network is an encoder: no next token, nothing is put in.")
        if self.dictionary is None:
            notes.append(
                "The dictionary was trained here, on the texts that it is asked about, for "
                f"{self.steps:,} steps of 256 tokens: a small one."
            )
        return notes


def _ids(
    loaded: LanguageModel, data: ConceptTexts, most: int
) -> tuple[Int[np.ndarray, " rows"], list[list[int]]]:
    """Return the tokens of all non-empty texts, and which texts these are."""
    ids = [
        token_ids(loaded.tokenizer, [text], most, "left" if at_end else "right")[0]
        for text, at_end in zip(data.texts, data.at_end.tolist(), strict=True)
    ]
    rows = np.array([number for number, own in enumerate(ids) if own], int)
    if len(rows) < 2:
        raise EvidenceError("texts", f"{len(rows)} with any token", "two or more")
    some = [ids[row] for row in rows]
    loaded.check_fits(some)
    return rows, some


def _labels(data: ConceptTexts, rows: Int[np.ndarray, " rows"]) -> SequenceLabels:
    documents = None if data.documents is None else np.asarray(data.documents)[rows]
    if not len(data.concepts):
        return SequenceLabels(documents=documents)
    return SequenceLabels(
        truth=data.truth[rows], known=data.known[rows], concepts=data.concepts, documents=documents
    )


def _mean_active(dictionary: FeatureDictionary, layer: Layer) -> int:
    """Return the mean number of active latents per token, which baselines must match."""
    some = layer.activations[:: max(len(layer.activations) // 10_000, 1)]
    return max(round(len(compute_sparse_codes(dictionary, some).value) / len(some)), 1)


def _facts(
    layer: Layer, dictionary: FeatureDictionary, active: int, *, rebuilds: bool
) -> list[tuple[str, float | int | str]]:
    facts: list[tuple[str, float | int | str]] = [
        ("sequences", len(layer.ids)),
        ("tokens", len(layer.activations)),
        ("latents", len(dictionary.rows)),
        ("latents active at a token, mean", active),
    ]
    if rebuilds:
        share = compute_unexplained_variance(dictionary, layer.activations)
        facts.append(("share of variance not rebuilt", share))
    return facts
