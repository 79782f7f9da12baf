"""Pipeline that audits an SAE of a language model against baselines: random directions, neurons,
coordinates, an SAE with frozen rows, and the same model with random weights.

Behind ``theodolite sae audit``. The SAE is read from files of any known format or trained here."""

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int

from theodolite._stats.draws import ENOUGH
from theodolite._stats.sampling import select_half
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext
from theodolite.evidence.subject import Claim, Subject
from theodolite.language.concept_answers import concept_answers
from theodolite.language.dictionaries.common_form import SparseDictionary
from theodolite.language.dictionaries.reading import Kind, read_dictionary
from theodolite.language.dictionaries.torch_codes import (
    DeviceDictionary,
    TokenDictionary,
    find_device,
)
from theodolite.language.models.activation_cache import cache_activations
from theodolite.language.models.dictionaries import compute_sparse_codes
from theodolite.language.models.dictionary_checks import (
    check_place,
    fit_scale,
    note_rebuilding,
)
from theodolite.language.models.hooked import HookedModel, Ids
from theodolite.language.models.loading import LanguageModel, load_language_model, randomize_weights
from theodolite.language.models.place_names import find_place
from theodolite.language.models.token_evidence import SequenceLabels, TokenSettings, token_ids
from theodolite.language.models.trained_dictionaries import train_dictionary
from theodolite.language.sae_baselines import (
    BASELINE_DESCRIPTIONS,
    BASELINES,
    Baseline,
    ComparedDictionaries,
    Layer,
    find_unavailable_baselines,
)
from theodolite.pipelines.feature_pass import compute_weights_digest

FEWEST_TEXTS = 8
"""Texts with and without a concept, in each half, below which nothing is said of it."""
MAX_SENTENCES = 20
"""Concepts of which the report has a sentence; the table has all."""
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
    """Module whose output is explained, such as ``model.layers.5``, or a hook of TransformerLens,
    such as ``blocks.5.hook_resid_post``."""
    dictionary: Path | None = None
    """Folder or file of a dictionary; None trains a small SAE."""
    dictionary_kind: Kind | None = None
    """Format of the dictionary; default: told from its files."""
    allow_other_place: bool = False
    """Whether a dictionary may say that it is of another place; the report says so."""
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
    null_texts: int | None = None
    """Number of texts, drawn by the seed, on which SAE and random ones are asked for concepts;
    all if None."""
    spliced_sequences: int = 32
    beside: Sequence[Baseline] | None = None
    """Baselines to compare with; default: all that can be computed."""
    device: str = "cpu"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    """Numbers of the network; the dictionary is computed in float32."""
    exploratory: bool = False
    """Whether to go on where too few random SAEs or texts can give no verdict."""

    def make(self, data: ConceptTexts, context: WorkContext) -> Produced:
        """Return the evidence of the SAE and of its baselines."""
        if len(context.seeds) != 1:
            raise EvidenceError("seeds", f"{len(context.seeds)}", "one: a dictionary is one")
        work = self._prepare(data, context)
        layer, dictionary = work.layer, work.dictionary
        active, seconds = _mean_active(dictionary, layer)
        rebuilds = note_rebuilding(dictionary, layer.network, layer, active, work.settings)
        settings = replace(work.settings, splice=work.settings.splice and rebuilds.may_splice)
        reasons = find_unavailable_baselines(
            layer, concepts=len(data.concepts), splice=settings.splice
        )
        beside = [n for n in BASELINES if n not in reasons] if self.beside is None else self.beside
        context.progress(f"dictionaries, about {_estimate(seconds, self, beside)}", 0, 1)
        others = self._others(replace(work, settings=settings), context)
        evidence = others.evidence(dictionary, active, beside)
        concepts = _answer_concepts(evidence["dictionary"])
        missing = (f"Not compared with {n}: {reason}." for n, reason in reasons.items())
        notes = self._notes(data, work)
        return Produced(
            evidence=[[evidence["dictionary"]]],
            compared=[
                ComparedModel(n, {"what": BASELINE_DESCRIPTIONS[n]}, [[evidence[n]]])
                for n in beside
            ],
            about={"name": "dictionary", "what": "the dictionary that is asked about"},
            notes=(
                *work.findings,
                *rebuilds.findings,
                *concepts.notes,
                *data.notes,
                *notes,
                *missing,
            ),
            facts=[*_facts(layer, dictionary, active), *rebuilds.facts, *concepts.facts],
            tables=concepts.tables,
            inputs=self._digests(data),
            subject=self._subject(data, dictionary.latents, active),
            claim=Claim("These latents tell these concepts", samples="sequences"),
        )

    def _others(self, work: "PreparedAudit", context: WorkContext) -> ComparedDictionaries:
        layer, seed = work.layer, context.seeds[0]
        return ComparedDictionaries(
            layer, work.labels, work.settings, self.steps, seed,
            look=lambda other, which: self._layer(other, layer.ids, f"{which} {seed}", context),
            untrained=lambda: replace(
                layer.network, model=randomize_weights(work.loaded.model, seed)
            ),
        )  # fmt: skip

    def _prepare(self, data: ConceptTexts, context: WorkContext) -> "PreparedAudit":
        """Load everything and refuse what cannot work, then run the network over the texts."""
        seed, device, saved = context.seeds[0], find_device(self.device), None
        if self.dictionary is not None:
            saved = read_dictionary(self.dictionary, self.dictionary_kind)
        loaded = load_language_model(self.model, device=device, dtype=self.dtype)
        rows, ids = _ids(loaded, data, self.most_tokens)
        settings = self._settings(seed, splice=loaded.causal, context=context)
        labels = settings.keep_null_texts(_labels(data, rows), len(ids))
        if not loaded.causal and not len(data.concepts):
            needed = "a column of 0 and 1 for a concept"
            raise EvidenceError("texts", "no concepts, and no next token to predict", needed)
        if not self.exploratory:
            self._check_enough(labels, len(ids))
        place, start = find_place(loaded.model, self.module), loaded.start(self.start_token)
        network = HookedModel(loaded.model, place.module, start, place.inputs, loaded.end())
        findings: list[str] = []
        if saved is not None:
            network, findings = check_place(
                saved, network, self.module, loaded, self.most_tokens, start=start,
                allow_other=self.allow_other_place,
            )  # fmt: skip
        self._check_width(network, ids, None if saved is None else saved.dimensions)
        layer = self._layer(network, ids, "trained", context)
        if saved is not None and saved.needs_scale:
            saved, finding = fit_scale(saved, layer.activations)
            findings.append(finding)
        own = DeviceDictionary(self._trained(layer, seed) if saved is None else saved, device)
        return PreparedAudit(loaded, layer, labels, settings, own, tuple(findings))

    def _check_enough(self, labels: SequenceLabels, texts: int) -> None:
        """Refuse what cannot give a verdict, before anything is computed."""
        do = "Allow it with `exploratory`, to look without a verdict."
        if self.random_dictionaries < ENOUGH:
            raise EvidenceError(
                "random_dictionaries", f"{self.random_dictionaries}", f"{ENOUGH} for a verdict", do
            )
        if labels.truth is None:
            return
        first = select_half(Samples(np.arange(texts), clusters=labels.documents), 0)
        known = np.ones(labels.truth.shape, bool) if labels.known is None else labels.known
        fewest = np.min([
            (known & (labels.truth == there) & (first == half)[:, None]).sum(axis=0)
            for there in (True, False) for half in (True, False)
        ], axis=0)  # fmt: skip
        if fewest.max(initial=0) < FEWEST_TEXTS:
            got = f"at most {fewest.max(initial=0)} with and without a concept in each half"
            raise EvidenceError("texts", got, f"{FEWEST_TEXTS} for at least one concept", do)

    def _subject(self, data: ConceptTexts, latents: int, active: int) -> Subject:
        what = f"a dictionary of {latents:,} latents, {active} active at a token,"
        return Subject(what, f"{self.model.stem}, {self.module}", "model", data=data.name)

    def _check_width(self, network: HookedModel, ids: Ids, needed: int | None) -> None:
        """Raise for settings that cannot work, before hours of computation."""
        wide = network.activations(ids[:1]).shape[1]
        if needed is not None and needed != wide:
            raise EvidenceError(
                "dictionary", f"{needed} dimensions", f"{wide}, as {self.module} has",
                "Is it a dictionary of this place of this network?",
            )  # fmt: skip

    def _trained(self, layer: Layer, seed: int) -> SparseDictionary:
        latents = self.latents or 2 * layer.activations.shape[1]
        active = self.active or max(latents // LATENTS_PER_ACTIVE, 1)
        return train_dictionary(layer.activations, latents, active, steps=self.steps, seed=seed)

    def _digests(self, data: ConceptTexts) -> dict[str, str]:
        own = {} if self.dictionary is None else compute_weights_digest(self.dictionary)
        of_dictionary = {f"dictionary/{name}": digest for name, digest in own.items()}
        return {**(data.digests or {}), **compute_weights_digest(self.model), **of_dictionary}

    def _settings(self, seed: int, *, splice: bool, context: WorkContext) -> TokenSettings:
        return TokenSettings(
            random_dictionaries=self.random_dictionaries,
            null_texts=self.null_texts,
            splice=splice,
            spliced_sequences=self.spliced_sequences,
            seed=1000 * (seed + 1),
            on_draw=lambda n: context.progress("random directions", n, self.random_dictionaries),
        )

    def _layer(self, network: HookedModel, ids: Ids, which: str, context: WorkContext) -> Layer:
        """Return the layer with its activations, computed once and cached."""
        at = [network.module, network.inputs, network.start, network.end, self.dtype, which]
        identity: list[Any] = [compute_weights_digest(self.model), *at]
        key = hashlib.sha256(json.dumps([identity, list(map(list, ids))]).encode()).hexdigest()
        folder = context.cache.resolve() / "activations" / key
        return Layer(network, ids, cache_activations(network, ids, folder, context.progress))

    def _notes(self, data: ConceptTexts, work: "PreparedAudit") -> list[str]:
        loaded, texts = work.loaded, len(work.layer.ids)
        start = loaded.tokenizer.convert_ids_to_tokens(loaded.start(self.start_token))
        notes = [
            f"Texts are cut to {self.most_tokens} tokens, {int(data.at_end.sum()):,} of "
            f"{len(data.texts):,} at their beginning because the concept sits at their end. "
            f"{start!r} was put before each and left out again."
        ]
        if texts < len(data.texts):
            notes.append(f"{len(data.texts) - texts:,} texts without any token were left out.")
        if self.null_texts and self.null_texts < texts and work.labels.known is not None:
            notes.append(
                f"Concepts were asked on {self.null_texts:,} of {texts:,} texts, drawn by the "
                "seed: the same for the dictionary and for random directions."
            )
        if loaded.causal:
            n = min(self.spliced_sequences, texts)
            notes.append(f"The next token was predicted anew for {n:,} sequences, evenly spread.")
        else:
            notes.append("The network is an encoder: no next token, nothing is put in.")
        if self.dictionary is None:
            notes.append(
                "The dictionary was trained here, on the texts that it is asked about, for "
                f"{self.steps:,} steps of 256 tokens: a small one."
            )
        return notes


@dataclass(frozen=True, eq=False)
class PreparedAudit:
    """A network, its activations at the texts, and the dictionary that is asked about."""

    loaded: LanguageModel
    layer: Layer
    labels: SequenceLabels
    settings: TokenSettings
    dictionary: DeviceDictionary
    findings: tuple[str, ...]


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


def _mean_active(dictionary: TokenDictionary, layer: Layer) -> tuple[int, float]:
    """Return the mean number of active latents per token, which baselines must match, and the
    seconds that a million tokens take."""
    some = layer.activations[:: max(len(layer.activations) // 10_000, 1)]
    began = time.perf_counter()
    active = max(round(len(compute_sparse_codes(dictionary, some).value) / len(some)), 1)
    seconds = (time.perf_counter() - began) / len(some)
    return active, seconds * len(layer.activations)


@dataclass(frozen=True, eq=False)
class ToldConcepts:
    """The answers for concepts, as the report and the run folder have them."""

    facts: list[tuple[str, float | int | str]]
    notes: list[str]
    tables: dict[str, dict[str, list[Any]]]


def _answer_concepts(evidence: TokenEvidence) -> ToldConcepts:
    if evidence.chance_pooled is None:
        return ToldConcepts([], [], {})
    answers = concept_answers(evidence)
    facts: list[tuple[str, float | int | str]] = [("concepts told", answers.headline)]
    sentences = [own.sentence for own in answers.answers]
    return ToldConcepts(facts, sentences[:MAX_SENTENCES], {"concepts": answers.to_columns()})


def _estimate(seconds: float, own: LanguageFeaturesPipeline, beside: Sequence[Baseline]) -> str:
    """Return how long it takes to encode all tokens by all dictionaries, from a part of them."""
    whole = seconds * (own.random_dictionaries + 2 + len(beside))
    return f"{whole / 60:.0f} minutes" if whole >= 90 else f"{max(whole, 1):.0f} seconds"


def _facts(
    layer: Layer, dictionary: TokenDictionary, active: int
) -> list[tuple[str, float | int | str]]:
    return [
        ("sequences", len(layer.ids)),
        ("tokens", len(layer.activations)),
        ("latents", dictionary.latents),
        ("latents active at a token, mean", active),
    ]
