"""Do latents cause what they are named after? Effects of ablating and steering them, in nats.

A latent's effect is held against that of up to 20 latents of the same dictionary that are active
about as often. What a latent detects it need not cause: a copy that nothing reads detects as well.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from theodolite._stats.draws import ENOUGH, FALSE_DISCOVERIES, compute_draw_p
from theodolite._stats.intervals import quantile
from theodolite._stats.multiple import correct_discoveries
from theodolite._stats.sampling import select_half
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Samples
from theodolite.language.concept_probes import sum_texts
from theodolite.language.dictionaries.objects import dictionary as as_dictionary
from theodolite.language.dictionaries.torch_codes import Tensor, TokenDictionary
from theodolite.language.models.dictionaries import SparseCodes, compute_sparse_codes
from theodolite.language.models.hooked import HookedModel, Ids
from theodolite.language.models.residual_passes import Change, TargetReader
from theodolite.results import Answer

Act = Literal["ablation", "steering"]
MARGIN = 0.1
"""Effect in nats beyond that of matched latents that is of use; a convention."""
MATCHED, TEXTS = 20, 50
FACTOR, MAX_COSINE = 2.0, 0.5
"""How far the firing rate of a matched latent may be off, and how alike its row may be."""
STRONG = 0.99
"""Quantile of a latent's own sizes by which it is steered."""
TARGET_TOKENS, FEWEST, SMOOTHING = 20, 5, 0.5


@dataclass(frozen=True, eq=False)
class CausalEffect:
    """What one latent does to the tokens it is said to stand for."""

    latent: int
    act: Act
    effect: float
    """Mean over texts, in nats: how much more probable the target is with the latent."""
    low: float
    high: float
    """Interval of 95 % over texts, of the effect minus that of matched latents, if above 0."""
    matched: Float[np.ndarray, " matched"]
    """Effects of matched latents on the same target: ablated where each is active, steered on the
    same texts by the same size."""
    difference_of_means: float
    """Effect of steering along the difference of class means; NaN for ablation."""
    p: float
    adjusted_p: float
    answer: Answer
    texts: int
    widened: bool
    """Whether latents of other firing rates were needed for a match."""

    @property
    def sentence(self) -> str:
        """Return what was found, in one line."""
        what = "Ablating" if self.act == "ablation" else "Steering"
        most = self.matched.max() if len(self.matched) else math.nan
        line = (
            f"{what} latent {self.latent} moves the target by {self.effect:.2f} nats; of "
            f"{len(self.matched)} latents that are active as often, the largest effect is "
            f"{most:.2f}."
        )
        obvious = self.difference_of_means
        if self.answer == "yes" and self.act == "steering" and obvious > self.effect:
            line += f" The difference of means moves it more ({obvious:.2f})."
        return line


@dataclass(frozen=True, eq=False)
class CausalTexts:
    """A network at one place, texts, a dictionary and its codes."""

    network: HookedModel
    ids: Ids
    dictionary: TokenDictionary
    activations: Any
    codes: SparseCodes
    first: Bool[np.ndarray, " texts"]
    """Texts that everything is chosen on; effects are taken on the others."""

    @cached_property
    def text(self) -> Int[np.ndarray, " values"]:
        """Text of each active value."""
        token = np.repeat(np.arange(len(self.codes.starts) - 1), np.diff(self.codes.starts))
        return np.repeat(np.arange(len(self.ids)), [*map(len, self.ids)])[token]

    @cached_property
    def sums(self) -> Float[np.ndarray, "texts dimensions"]:
        """Sum of the activations of each text."""
        return sum_texts(self.activations, self.ids)

    def difference_of_means(
        self, there: Bool[np.ndarray, " texts"], known: Bool[np.ndarray, " texts"]
    ) -> Float[np.ndarray, " dimensions"]:
        """Return the mean activation of texts with a concept minus that of texts without."""
        lengths = np.array([*map(len, self.ids)])
        classes = [self.first & known & (there == own) for own in (True, False)]
        with_it, without = (
            self.sums[rows].sum(axis=0) / max(lengths[rows].sum(), 1) for rows in classes
        )
        return np.asarray(with_it - without)


def causal_effects(  # noqa: PLR0913  every argument is documented where it is used
    network: HookedModel,
    ids: Ids,
    source: Any,
    truth: Bool[np.ndarray, "texts concepts"],
    named: Mapping[int, int],
    *,
    targets: Mapping[int, Sequence[int]] | None = None,
    activations: Any = None,
    known: Bool[np.ndarray, "texts concepts"] | None = None,
    documents: Int[np.ndarray, " texts"] | None = None,
    split_seed: int = 0,
    seed: int = 0,
) -> list[CausalEffect]:
    """Ablate and steer latents, each beside latents that are active as often.

    Args:
        network: A causal model, and the module whose output the dictionary is of.
        ids: Tokens of each text, without a start token.
        source: What ``theodolite.dictionary`` takes.
        truth: Whether each concept is in each text.
        named: The concept that each latent is said to stand for, by number.
        targets: Tokens that each concept makes likely, by its number; by default the 20 that
            occur most more often in texts with it, on the half that everything is chosen on.
        activations: Those of the module at all tokens, where they were computed before.
        known: Where the truth is known; everywhere if not given.
        documents: What each text was cut from; no document is on both halves.
        split_seed: Which texts everything is chosen on.
        seed: Of texts and matched latents.
    """
    flat = network.activations(ids) if activations is None else activations
    own = as_dictionary(source)
    first = select_half(Samples(np.arange(len(ids)), clusters=documents), split_seed)
    texts = CausalTexts(network, ids, own, flat, compute_sparse_codes(own, flat), first)
    results = []
    for latent, concept in named.items():
        random = np.random.default_rng([seed, latent])
        there = np.asarray(truth)[:, concept]
        labeled = np.ones(len(ids), bool) if known is None else np.asarray(known)[:, concept]
        target = choose_target(ids, there, first & labeled) if targets is None else targets[concept]
        if not len(target):
            raise EvidenceError("target", f"no token for latent {latent}", "tokens of its concept")
        tokens = np.asarray(target, np.int64)
        results += [
            _ablate(texts, latent, tokens, random),
            _steer(texts, latent, tokens, (there, labeled), random),
        ]  # fmt: skip
    return _decide(results)


def choose_target(
    ids: Ids, there: Bool[np.ndarray, " texts"], rows: Bool[np.ndarray, " texts"]
) -> list[int]:
    """Return the tokens that occur more often in texts with a concept, by their log-odds."""
    vocabulary = 1 + max(max(own, default=0) for own in ids)
    counts = np.zeros((2, vocabulary))
    for row in np.flatnonzero(rows).tolist():
        counts[int(there[row])] += np.bincount(ids[row], minlength=vocabulary)
    smooth = counts + SMOOTHING
    odds = np.log(smooth / (smooth.sum(axis=1, keepdims=True) - smooth))
    gain = np.where(counts.sum(axis=0) >= FEWEST, odds[1] - odds[0], -np.inf)
    best = np.argsort(-gain, kind="stable")[:TARGET_TOKENS]
    return [int(token) for token in best if gain[token] > 0]


def choose_matched(
    texts: CausalTexts, latent: int, random: np.random.Generator
) -> tuple[Int[np.ndarray, " matched"], bool]:
    """Return latents with the nearest firing rates and other directions, and whether some are
    further off in rate than a factor of two."""
    often = np.bincount(texts.codes.latent, minlength=texts.dictionary.latents).astype(float)
    rows = np.asarray(texts.dictionary.rows, np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    whole = np.where(lengths > 0, lengths, 1.0)
    cosine = rows @ rows[latent] / whole / whole[latent]
    free = (often > 0) & (lengths > 0) & (np.abs(cosine) <= MAX_COSINE)
    free[latent] = False
    numbers = random.permutation(np.flatnonzero(free))  # ties are drawn
    apart = np.abs(np.log(often[numbers] / max(often[latent], 1)))
    order = np.argsort(apart, kind="stable")[:MATCHED]
    return numbers[order], bool((apart[order] > math.log(FACTOR)).any())


def _ablate(
    texts: CausalTexts,
    latent: int,
    target: Int[np.ndarray, " target"],
    random: np.random.Generator,
) -> CausalEffect:
    reader = TargetReader(texts.network, texts.ids)

    def effects(number: int) -> Float[np.ndarray, " texts"]:
        active = np.unique(texts.text[texts.codes.latent == number])
        rows = _some(active[~texts.first[active]], random)
        if not len(rows):
            return np.zeros(0)
        change = _without(texts.dictionary, number)
        return np.asarray(reader.read(target, rows) - reader.read(target, rows, change))

    return _compare(texts, latent, "ablation", effects, random)


def _steer(
    texts: CausalTexts,
    latent: int,
    target: Int[np.ndarray, " target"],
    labels: tuple[Bool[np.ndarray, " texts"], Bool[np.ndarray, " texts"]],
    random: np.random.Generator,
) -> CausalEffect:
    reader = TargetReader(texts.network, texts.ids)
    there, known = labels
    rows = _some(np.flatnonzero(~there & known & ~texts.first), random)
    clean = reader.read(target, rows) if rows else np.zeros(0)
    values = np.where(texts.first[texts.text], texts.codes.value, 0.0)
    directions = np.asarray(texts.dictionary.rows, np.float64)
    sizes = values[(texts.codes.latent == latent) & (values > 0)]
    length = np.linalg.norm(directions[latent])
    size = float(np.quantile(sizes, STRONG) * length) if len(sizes) else math.nan

    def along(direction: Float[np.ndarray, " dimensions"]) -> Float[np.ndarray, " texts"]:
        norm = np.linalg.norm(direction)
        if not rows or math.isnan(size) or norm == 0:
            return np.zeros(0)
        moved = reader.read(target, rows, _added(size * direction / norm))
        return np.asarray(moved - clean)

    obvious = along(texts.difference_of_means(there, known))
    effect = _compare(texts, latent, "steering", lambda number: along(directions[number]), random)
    return replace(effect, difference_of_means=float(obvious.mean()) if len(obvious) else math.nan)


def _some(rows: Int[np.ndarray, " rows"], random: np.random.Generator) -> list[int]:
    chosen = rows if len(rows) <= TEXTS else np.sort(random.choice(rows, TEXTS, replace=False))
    return [int(row) for row in chosen]


def _without(dictionary: TokenDictionary, latent: int) -> Change:
    """Return activations without what a latent adds; the dictionary's error stays."""

    def change(hidden: Tensor) -> Tensor:
        import torch  # noqa: PLC0415  an extra

        codes = dictionary.largest(hidden)
        value = (codes.values * (codes.indices == latent)).sum(dim=1, keepdim=True)
        row = torch.as_tensor(np.asarray(dictionary.rows[latent], np.float32)).to(hidden.device)
        return hidden - value * row

    return change


def _added(direction: Float[np.ndarray, " dimensions"]) -> Change:
    def change(hidden: Tensor) -> Tensor:
        import torch  # noqa: PLC0415

        return hidden + torch.as_tensor(direction.astype(np.float32)).to(hidden.device)

    return change


def _compare(
    texts: CausalTexts,
    latent: int,
    act: Act,
    effects: Callable[[int], Float[np.ndarray, " texts"]],
    random: np.random.Generator,
) -> CausalEffect:
    """Return a latent's effect beside those of matched latents."""
    own = effects(latent)
    numbers, widened = choose_matched(texts, latent, random)
    others = [effects(int(number)) for number in numbers]
    each = [other for other in others if len(other)]
    matched = np.array([other.mean() for other in each])
    if len(own) < 2 or len(matched) < ENOUGH:
        nothing = math.nan
        return CausalEffect(
            latent, act, float(own.mean()) if len(own) else nothing, nothing, nothing, matched,
            nothing, nothing, nothing, "inconclusive", len(own), widened,
        )  # fmt: skip
    reference = max(float(matched.mean()), 0.0)
    noise = [other.var(ddof=1) / len(other) for other in each if len(other) > 1]
    variance = own.var(ddof=1) / len(own) + float(np.sum(noise)) / len(each) ** 2  # over texts
    half = quantile(len(own) - 1, 0.95) * math.sqrt(variance)
    middle = float(own.mean()) - reference
    return CausalEffect(
        latent, act, float(own.mean()), middle - half, middle + half, matched, math.nan,
        compute_draw_p(float(own.mean()), matched), math.nan, "inconclusive", len(own), widened,
    )  # fmt: skip


def _decide(effects: list[CausalEffect]) -> list[CausalEffect]:
    """Correct over all latents, for each act by itself, and answer."""
    results = list(effects)
    for act in ("ablation", "steering"):
        places = [place for place, effect in enumerate(effects) if effect.act == act]
        adjusted = correct_discoveries(np.array([effects[place].p for place in places]))
        for place, p in zip(places, adjusted.tolist(), strict=True):
            answer = _answer(effects[place], passes=p <= FALSE_DISCOVERIES)
            results[place] = replace(effects[place], adjusted_p=p, answer=answer)
    return results


def _answer(effect: CausalEffect, *, passes: bool) -> Answer:
    if math.isnan(effect.low):
        return "inconclusive"
    above = effect.effect > effect.matched.max()
    if passes and above and effect.low > MARGIN:
        return "yes"
    return "no" if effect.high < MARGIN else "inconclusive"
