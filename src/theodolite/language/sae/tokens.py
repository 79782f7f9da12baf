"""Find a formula of token predicates for latents of a language model, and count it as evidence.
Public as ``theodolite.dissect_tokens``."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Integer

from theodolite._storage.optional import require
from theodolite.dissection.formula import Formula, from_rows
from theodolite.errors import EvidenceError, printable
from theodolite.evidence.axes import Samples, Units
from theodolite.evidence.kinds.unit import UnitEvidence
from theodolite.evidence.workers import Workers
from theodolite.language.sae.dissect import dissect_sae
from theodolite.language.sae.evidence import SparseActivationEvidence
from theodolite.language.sae.result import FormulaFit
from theodolite.language.sae.search import MAX_FORMULA_LENGTH
from theodolite.language.sae.token_codes import LatentTokens, TokenShard, TokenSource, draw_latents

WELL_EXPLAINED = 0.2
"""Overlap from which a latent counts as explained in the summary; a convention."""


@dataclass(frozen=True, eq=False)
class TokenFormulas:
    """Formulas of some latents, chosen on one half of the sequences and counted on the other."""

    latents: Integer[np.ndarray, " chosen"]
    """Numbers of the latents."""
    formulas: list[Formula | None]
    gap: Float[np.ndarray, " chosen"]
    """Certified bound on the gain of any other formula of as many predicates, on the choosing half;
    0 for single predicates.
    """
    choosing: FormulaFit
    """Overlap in the choosing half."""
    counts: Integer[np.ndarray, "3 sequences chosen"]
    """Tokens of the latent, of its formula and of both, by held-out sequence."""

    @property
    def iou(self) -> Float[np.ndarray, " chosen"]:
        """Held-out intersection over union of tokens."""
        unit, formula, both = self.counts.sum(axis=1)
        return _share(both, unit + formula - both)

    @property
    def recall(self) -> Float[np.ndarray, " chosen"]:
        """Held-out fraction of the formula's tokens at which the latent is active."""
        _, formula, both = self.counts.sum(axis=1)
        return _share(both, formula)

    @property
    def detection_accuracy(self) -> Float[np.ndarray, " chosen"]:
        """Held-out fraction of sequences with the formula in which the latent meets it."""
        _, formula, both = (self.counts > 0).sum(axis=1)
        return _share(both, formula)

    def summary(self) -> dict[str, float]:
        """Return means over the latents with a formula."""
        iou = self.iou[np.isfinite(self.iou)]
        return {
            "latents": len(self.latents),
            "with_formula": sum(formula is not None for formula in self.formulas),
            "iou_choosing": _mean(self.choosing.iou),
            "iou": _mean(iou),
            "recall": _mean(self.recall),
            "detection_accuracy": _mean(self.detection_accuracy),
            "well_explained": float((iou > WELL_EXPLAINED).mean()) if len(iou) else np.nan,
        }


def _share(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    share = np.full(len(part), np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _mean(values: np.ndarray) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else np.nan


@dataclass(frozen=True, eq=False, repr=False)
class TokenDissection:
    """Formula of token predicates that each studied latent detects, with nulls."""

    own: TokenFormulas
    dealt_out: TokenFormulas
    """Same latents with activations of other sequences of similar length: a null."""
    random: TokenFormulas | None
    """As many latents of a random SAE, if its activations were given."""
    silent: int
    """Latents that are never active in the choosing half, which are not studied."""
    predicates: tuple[str, ...]
    names: tuple[str, ...]
    """Names of the studied latents."""
    samples: Samples
    """Held-out sequences."""

    @cached_property
    def evidence(self) -> UnitEvidence:
        """Counts of the held-out sequences for ``unit_iou``, ``pixel_recall`` and
        ``detection_accuracy``: tokens are places, sequences are images. The null is the random SAE
        if given, otherwise moved activations.
        """
        return self.evidence_against(self.dealt_out if self.random is None else self.random)

    def evidence_against(self, chance: TokenFormulas) -> UnitEvidence:
        """Return the evidence with this as the null."""
        n = len(self.own.latents)
        # where fewer latents of the other are active, some stand for several
        other = chance.counts[:, :, np.arange(n) % max(len(chance.latents), 1)]
        return UnitEvidence(
            unit_pixels=self.own.counts[0],
            formula_pixels=self.own.counts[1],
            shared_pixels=self.own.counts[2],
            chance_unit_pixels=other[0],
            chance_formula_pixels=other[1],
            chance_shared_pixels=other[2],
            units=Units(self.names),
            samples=self.samples,
        )

    def formulas(self) -> list[str]:
        """Return each formula in words; empty where there is none."""
        own = self.own.formulas
        return ["" if f is None else f.text(self.predicates) for f in own]

    def to_records(self) -> list[dict[str, Any]]:
        """Return a dict for each latent."""
        columns = {
            "latent": self.own.latents.tolist(),
            "name": self.names,
            "formula": self.formulas(),
            "gap": self.own.gap.tolist(),
            "iou_choosing": self.own.choosing.iou.tolist(),
            "iou": self.own.iou.tolist(),
            "recall": self.own.recall.tolist(),
            "detection_accuracy": self.own.detection_accuracy.tolist(),
        }
        return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]

    def to_frame(self) -> Any:
        """Return a pandas frame with a row per latent."""
        return require("pandas", "to_frame", "notebook").DataFrame(self.to_records())

    def summary(self) -> dict[str, dict[str, float]]:
        """Return means over latents of the SAE, of the random one and of the null."""
        rows = {"dictionary": self.own, "random": self.random, "dealt_out": self.dealt_out}
        return {name: each.summary() for name, each in rows.items() if each is not None}

    def __repr__(self) -> str:
        means = {name: row["iou"] for name, row in self.summary().items()}
        text = ", ".join(f"{name.replace('_', ' ')} {iou:.3f}" for name, iou in means.items())
        counts = f"{self.summary()['dictionary']['with_formula']} of {len(self.names)} latents"
        return (
            f"TokenDissection({printable(f'{counts} have a formula; held-out IoU: {text}', 200)})"
        )


@dataclass(frozen=True)
class TokenSearch:
    """Settings of the formula search; see ``dissect_tokens``."""

    length: int
    candidates: int
    gap: float
    precision: float
    workers: Workers | None
    split_seed: int

    def __call__(
        self, pieces: "_Pieces", latents: Integer[np.ndarray, " chosen"], names: Sequence[str]
    ) -> TokenFormulas:
        """Choose formulas on the choosing half and count them on the other."""
        parts = [piece.codes() for piece in pieces(self.split_seed, first=True)]
        codes = [piece for piece in parts if piece is not None]
        if sum(piece.documents for piece in codes) < 2:
            raise EvidenceError("sequences", "fewer than two to choose formulas on", "more")
        if not any(len(piece.set_label) for piece in codes):
            raise EvidenceError("holds", "nothing where formulas are chosen", "what holds there")
        evidence = SparseActivationEvidence(codes, units=len(latents), concepts=names)
        result = dissect_sae(
            evidence, workers=self.workers, length=self.length, candidates=self.candidates,
            gap=self.gap, precision=self.precision, null_units=0,
        )  # fmt: skip
        gap, formulas = result.gap, from_rows(result.rows)
        if self.length == 1:  # all predicates were counted alone, not candidates only
            gap = np.maximum(result.single_iou - result.fit.iou, 0.0)
        held_out = [piece.counts(formulas) for piece in pieces(self.split_seed, first=False)]
        counts = np.concatenate(held_out, axis=1)
        if not counts.shape[1]:
            raise EvidenceError("sequences", "none to score formulas on", "more")
        return TokenFormulas(latents, formulas, gap, result.fit, counts)


class _Pieces:
    """Latents of an SAE shard by shard, with original or moved activations."""

    def __init__(
        self, tokens: LatentTokens, holds: LatentTokens, latents: np.ndarray, dealt: int | None
    ) -> None:
        self.tokens, self.holds, self.latents, self.dealt = tokens, holds, latents, dealt

    def __call__(self, split_seed: int, *, first: bool) -> Iterator[TokenShard]:
        """Yield one half of the sequences; activations move within it."""
        for piece in self.tokens.token_shards(self.holds):
            half = piece.of(self.latents, len(self.tokens.latents)).half(split_seed, first=first)
            yield half if self.dealt is None else half.dealt_out(self.dealt)


def dissect_tokens(
    evidence: TokenSource,
    *,
    random: TokenSource | None = None,
    latents: int | Sequence[int] | None = 500,
    active_share: float | None = None,
    length: int = MAX_FORMULA_LENGTH,
    candidates: int = 64,
    gap: float = 0.03,
    precision: float = 0.01,
    workers: Workers | None = None,
    split_seed: int = 0,
    seed: int = 0,
) -> TokenDissection:
    """Find the formula of token predicates that each latent detects.

    A sequence is what an image is to a unit, and a token what a pixel is. Formulas are chosen on
    one half of the sequences, cut by cluster, and counted on the other.

    Args:
        evidence: Codes with what holds of each token (``token_predicates``), in memory, in
            pieces, or the folder of a store.
        random: Codes of a random SAE of the same width and sparsity on the same tokens:
            without it, nothing is a finding about the network.
        latents: How many to study, drawn by the seed from rare to frequent; or which; or None for
            all that are active.
        active_share: Of dense latents, the share of tokens at which each counts as active: that of
            the dictionary they are compared with, K / width.
        length: Predicates of a formula, 1 to 3.
        candidates: Predicates that a latent's formula is first looked for in.
        gap: Twice as many where a better formula by more than this is not excluded.
        precision: How much better a formula of three must be for being looked for.
        workers: Who does the pieces; this process if not given.
        split_seed: Which sequences formulas are chosen on.
        seed: Of the latents, and of the sequences that codes are dealt out to.
    """
    search = TokenSearch(length, candidates, gap, precision, workers, split_seed)
    tokens = LatentTokens(evidence, active_share=active_share, seed=split_seed)
    names, firing = tokens.predicates.names, tokens.firing(split_seed)
    if not names:
        raise EvidenceError("predicates", "none", "what may hold of tokens", "token_predicates")
    chosen = _chosen(latents, firing, seed)
    own = search(_Pieces(tokens, tokens, chosen, None), chosen, names)
    dealt = search(_Pieces(tokens, tokens, chosen, seed), chosen, names)
    by_chance = None
    if random is not None:
        others = LatentTokens(random, active_share=active_share, seed=split_seed)
        some = draw_latents(others.firing(split_seed), len(chosen), seed)
        by_chance = search(_Pieces(others, tokens, some, None), some, names)
    return TokenDissection(
        own, dealt, by_chance, int((firing == 0).sum()), names,
        tuple(tokens.latents.name(number) for number in chosen.tolist()),
        Samples.joined([p.half(split_seed, first=False).samples for p in tokens.token_shards()]),
    )  # fmt: skip


def _chosen(
    latents: int | Sequence[int] | None, firing: np.ndarray, seed: int
) -> Integer[np.ndarray, " chosen"]:
    if latents is None or isinstance(latents, int):
        if latents is not None and (isinstance(latents, bool) or latents < 1):
            raise EvidenceError("latents", f"{latents}", "at least 1, numbers of latents, or None")
        chosen = draw_latents(firing, latents, seed)
    else:
        chosen = np.unique(np.asarray(latents, np.int64))
        inside = (chosen >= 0) & (chosen < len(firing))
        if len(chosen) != len(latents) or not inside.all():
            raise EvidenceError("latents", "numbers twice or out of range", f"0 to {len(firing)}")
    if not len(chosen):
        raise EvidenceError("latents", "none that is active where formulas are chosen", "some")
    return chosen
