"""Pipeline that audits an SAE of a language model against baselines: random directions, neurons,
coordinates, an SAE with frozen rows, and the same model with random weights.

Behind ``theodolite sae audit``. The SAE is read from files of any known format or trained here."""

import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from theodolite._stats.draws import ENOUGH
from theodolite._stats.sampling import select_half
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.pipeline_output import ComparedModel, Produced, WorkContext, no_pages
from theodolite.evidence.plain_arrays import replace_arrays
from theodolite.evidence.subject import Claim, Subject
from theodolite.language.concept_answers import concept_answers
from theodolite.language.dashboard.run_pages import PAGES, LatentPages, read_words
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
from theodolite.language.models.latent_logits import read_latent_logits
from theodolite.language.models.loading import LanguageModel, load_language_model, randomize_weights
from theodolite.language.models.place_names import find_place
from theodolite.language.models.token_evidence import SequenceLabels, TokenSettings
from theodolite.language.models.trained_dictionaries import train_dictionary
from theodolite.language.run_facts import ToldConcepts, answer_concepts, measure_latents
from theodolite.language.sae_baselines import (
    BASELINE_DESCRIPTIONS,
    BASELINES,
    Baseline,
    ComparedDictionaries,
    Layer,
    find_unavailable_baselines,
)
from theodolite.language.text_rows import ConceptTexts, select_labels, tokenize_texts
from theodolite.language.texts.vocabulary import Vocabulary
from theodolite.pipelines.feature_pass import compute_weights_digest

FEWEST_TEXTS = 8
"""Texts with and without a concept, in each half, below which nothing is said of it."""
LATENTS_PER_ACTIVE = 72
"""Number of latents per active one, if ``active`` is not given."""


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

    causal: bool = False
    """Whether to ablate and steer the latent that tells each concept best."""
    pages: bool = False
    """Whether to write a page of each latent below the run folder."""

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
        concepts = self._answer(evidence["dictionary"], work, context)
        evidence["dictionary"] = replace_arrays(evidence["dictionary"], **concepts.arrays)
        tables = concepts.tables | self._logits(work)
        missing = (f"Not compared with {n}: {reason}." for n, reason in reasons.items())
        notes = [*data.notes, *self._notes(data, work)]
        return Produced(
            evidence=[[evidence["dictionary"]]],
            compared=[
                ComparedModel(n, {"what": BASELINE_DESCRIPTIONS[n]}, [[evidence[n]]])
                for n in beside
            ],
            about={"name": "dictionary", "what": "the dictionary that is asked about"},
            notes=[*work.findings, *rebuilds.findings, *concepts.notes, *notes, *missing],
            facts=[*self._facts(work, active), *rebuilds.facts, *concepts.facts],
            tables=tables,
            pages=self._pages(evidence, work, tables, context),
            inputs=self._digests(data),
            subject=self._subject(data, dictionary.latents, active),
            claim=Claim("These latents tell these concepts", samples="sequences"),
        )

    def _answer(
        self, evidence: TokenEvidence, work: "PreparedAudit", context: WorkContext
    ) -> ToldConcepts:
        """Answer for concepts, and measure what their latents cause."""
        if evidence.chance_pooled is None:
            return ToldConcepts()
        answers = concept_answers(evidence)
        concepts = answer_concepts(answers)
        if not self.causal:
            return concepts
        context.progress("effects of latents", 0, 1)
        measured = measure_latents(
            work.layer, work.dictionary, work.labels, answers, evidence, context.seeds[0]
        )
        return ToldConcepts(
            [*concepts.facts, *measured.facts], [*concepts.notes, *measured.notes],
            concepts.tables | measured.tables, measured.arrays,
        )  # fmt: skip

    def _facts(self, work: "PreparedAudit", active: int) -> list[tuple[str, float | int | str]]:
        layer, pages = work.layer, [] if work.words is None else [("pages of latents", PAGES)]
        return [
            ("sequences", len(layer.ids)),
            ("tokens", len(layer.activations)),
            ("latents", work.dictionary.latents),
            ("latents active at a token, mean", active),
            *pages,
        ]

    def _logits(self, work: "PreparedAudit") -> dict[str, Any]:
        logits = None
        if work.words is not None:
            logits = read_latent_logits(work.layer.network, work.dictionary, len(work.words))
        return {} if logits is None else {"logits": logits.to_columns()}

    def _pages(
        self,
        evidence: Mapping[str, TokenEvidence],
        work: "PreparedAudit",
        tables: Mapping[str, Any],
        context: WorkContext,
    ) -> Callable[[Path], None]:
        if work.words is None:
            return no_pages
        title = f"Latents of a dictionary of {self.model.stem}, {self.module}"
        return LatentPages(
            evidence["dictionary"], evidence, work.words, tables, title,
            context.seeds[0],
        )  # fmt: skip

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
        rows, ids = tokenize_texts(loaded, data, self.most_tokens)
        settings = self._settings(seed, splice=loaded.causal, context=context)
        labels = settings.keep_null_texts(select_labels(data, rows), len(ids))
        if self.causal and not (loaded.causal and len(data.concepts)):
            got = "no concepts" if loaded.causal else "an encoder"
            raise EvidenceError("causal", got, "concepts and a network with a next token")
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
        words = read_words(loaded.tokenizer) if self.pages else None
        if self.pages and words is None:
            findings.append("Pages of latents were left out: the tokenizer does not say its words.")
        return PreparedAudit(loaded, layer, labels, settings, own, tuple(findings), words)

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
    words: Vocabulary | None = None
    """Bytes of each token, for pages."""


def _mean_active(dictionary: TokenDictionary, layer: Layer) -> tuple[int, float]:
    """Return the mean number of active latents per token, which baselines must match, and the
    seconds that a million tokens take."""
    some = layer.activations[:: max(len(layer.activations) // 10_000, 1)]
    began = time.perf_counter()
    active = max(round(len(compute_sparse_codes(dictionary, some).value) / len(some)), 1)
    seconds = (time.perf_counter() - began) / len(some)
    return active, seconds * len(layer.activations)


def _estimate(seconds: float, own: LanguageFeaturesPipeline, beside: Sequence[Baseline]) -> str:
    """Return how long it takes to encode all tokens by all dictionaries, from a part of them."""
    whole = seconds * (own.random_dictionaries + 2 + len(beside))
    return f"{whole / 60:.0f} minutes" if whole >= 90 else f"{max(whole, 1):.0f} seconds"
