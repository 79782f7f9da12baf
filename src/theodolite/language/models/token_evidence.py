"""Compute token evidence of an SAE from a language model and texts. Used by the SAE pipeline."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Int

from theodolite._stats.sampling import select_half
from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Chances, Concepts, Latents, Samples
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts
from theodolite.language.dictionaries.objects import dictionary as as_dictionary
from theodolite.language.dictionaries.torch_codes import DeviceDictionary, TokenDictionary
from theodolite.language.models.chance_draws import (
    Choosing,
    RandomRows,
    Spread,
    compute_chance_values,
    pooled_draw,
)
from theodolite.language.models.dictionaries import SparseCodes, compute_sparse_codes, device_of
from theodolite.language.models.hooked import HookedModel, Ids
from theodolite.language.models.onnx_encoder import OnnxEncoder
from theodolite.language.models.splice import compute_spliced_losses, spread_rows

Side = Literal["left", "right"]


@dataclass(frozen=True, eq=False, kw_only=True)
class SequenceLabels:
    """Labels of sequences: concepts, where these are known, and documents."""

    truth: Bool[np.ndarray, "sequences concepts"] | None = None
    """Whether each concept is present in each sequence."""
    known: Bool[np.ndarray, "sequences concepts"] | None = None
    """Where the truth is known; everywhere if not given."""
    concepts: Sequence[str] = ()
    """Names of the concepts."""
    documents: Int[np.ndarray, " sequences"] | None = None
    """Document that each sequence was cut from."""


@dataclass(frozen=True, kw_only=True)
class TokenSettings:
    """Settings of what is computed in addition to the SAE activations."""

    random_dictionaries: int = 20
    """Number of random SAEs that scores are compared with."""
    null_texts: int | None = None
    """Number of texts, drawn by the seed, on which SAE and random ones are asked for concepts;
    all if None."""
    splice: bool = True
    """Whether to predict next tokens from the SAE's reconstructions."""
    spliced_sequences: int = 32
    """Number of evenly spaced sequences to splice; each costs one run per replacement."""
    spliced_draws: int = 20
    """Number of random SAEs to splice; others are NaN. Fewer than 20 cannot give *yes*."""
    seed: int = 0
    split_seed: int = 0
    """Which sequences latents are chosen on, as scores take it."""
    on_draw: Callable[[int], None] = lambda number: None
    """Called after each draw with its number."""

    def without_chance(self) -> "TokenSettings":
        """Return the settings without random SAEs."""
        return replace(self, random_dictionaries=0)

    def keep_null_texts(self, labels: SequenceLabels, texts: int) -> SequenceLabels:
        """Return labels that are known only of the texts on which random SAEs are compared too."""
        if self.null_texts is None or self.null_texts >= texts or labels.truth is None:
            return labels
        random = np.random.default_rng(self.seed)
        compared = np.zeros(texts, bool)
        compared[random.choice(texts, self.null_texts, replace=False)] = True
        known = np.ones(labels.truth.shape, bool) if labels.known is None else labels.known
        return replace(labels, known=known & compared[:, None])


def token_ids(
    tokenizer: Any, texts: Sequence[str], most: int = 128, cut: Side = "right"
) -> list[list[int]]:
    """Return token ids of texts without special tokens; ``cut`` is the side on which long texts
    lose tokens.
    """
    if most < 1:
        raise EvidenceError("most", f"{most}", "1 or more")
    if cut not in ("left", "right"):
        raise EvidenceError("cut", repr(cut), "left or right")
    ids = [list(tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
    return [own[:most] if cut == "right" else own[-most:] for own in ids]


def token_evidence(
    model: HookedModel | OnnxEncoder,
    ids: Ids,
    dictionary: Any,
    labels: SequenceLabels | None = None,
    settings: TokenSettings | None = None,
    activations: Any = None,
) -> TokenEvidence:
    """Return evidence of an SAE: its activations, those of random SAEs of equal width and sparsity,
    and next-token losses with reconstructions.

    Args:
        model: The network and the module whose activations the dictionary is of.
        ids: Tokens of each sequence, without a start token.
        dictionary: Of ``theodolite.read_dictionary``, or what ``theodolite.dictionary`` takes.
        labels: Concepts and documents of the sequences.
        settings: Random dictionaries and splicing.
        activations: Those of the module at all tokens, where they were computed before.
    """
    by_name = compared_evidence(
        model, ids, {"dictionary": dictionary}, labels, settings, activations
    )
    return by_name["dictionary"]


def compared_evidence(
    model: HookedModel | OnnxEncoder,
    ids: Ids,
    dictionaries: Mapping[str, Any],
    labels: SequenceLabels | None = None,
    settings: TokenSettings | None = None,
    activations: Any = None,
) -> dict[str, TokenEvidence]:
    """Return evidence of several SAEs of one layer; only the first gets random SAEs. The model's
    own run is shared.
    """
    labels, settings = labels or SequenceLabels(), settings or TokenSettings()
    if settings.random_dictionaries < 0:
        raise EvidenceError("random_dictionaries", f"{settings.random_dictionaries}", "0 or more")
    if settings.splice and isinstance(model, OnnxEncoder):
        do = "Pass TokenSettings(splice=False)."
        raise EvidenceError("splice", "an ONNX encoder", "a model with a next token", do)
    if activations is None:
        activations = model.activations(ids)
    known = _check_widths(dictionaries, activations.shape[1], model.module)
    labels = settings.keep_null_texts(labels, len(ids))
    starts = compute_starts([*map(len, ids)])
    codes = {name: compute_sparse_codes(own, activations) for name, own in known.items()}
    first = next(iter(known))
    draws = RandomDraws(
        activations, starts, known[first].latents,
        max(round(len(codes[first].value) / max(len(activations), 1)), 1),
        settings, device_of(known[first]),
    )  # fmt: skip
    losses: dict[str, np.ndarray] = {}
    if settings.splice and isinstance(model, HookedModel):
        losses = _splice_all(model, ids, known, draws)
    chances = draws.evidence(labels)
    evidence = {}
    for name, dictionary in known.items():
        n = settings.random_dictionaries if name == first and chances else 0
        spliced_here = f"loss_by_{name}" in losses
        arrays = _losses_of(losses, f"by_{name}", n, settings) if spliced_here else {}
        extra: dict[str, Any] = {part: Ragged(own, starts) for part, own in arrays.items()}
        extra |= chances if n else {}
        extra["decoder"] = np.asarray(dictionary.rows, np.float32)
        evidence[name] = coded_evidence(ids, codes[name], dictionary.latents, labels, **extra)
    return evidence


@dataclass(frozen=True, eq=False)
class RandomDraws:
    """Random SAEs that are as wide and as sparse, made one at a time."""

    activations: Any
    starts: Int[np.ndarray, " texts1"]
    latents: int
    active: int
    settings: TokenSettings
    device: str = "cpu"

    def evidence(self, labels: SequenceLabels) -> dict[str, Any]:
        """Return what is kept of all draws; nothing where there is none."""
        n = self.settings.random_dictionaries
        if not n:
            return {}
        axis = Chances(tuple(f"random {number}" for number in range(n)))
        if labels.truth is None:
            return {"chances": axis}
        truth = np.asarray(labels.truth)
        known = np.ones(truth.shape, bool) if labels.known is None else np.asarray(labels.known)
        samples = Samples(np.arange(len(truth)), clusters=labels.documents)
        compared = np.flatnonzero(known.any(axis=1))
        choosing = Choosing(
            truth[compared],
            known[compared],
            select_half(samples, self.settings.split_seed)[compared],
        )
        activations, starts = self._of_texts(compared)
        spread = Spread.of(self.activations)
        own = compute_chance_values(
            range(n),
            lambda number: pooled_draw(
                self._rows(number), activations, starts, spread, self.active, device=self.device
            ),
            choosing, len(compared), self.settings.on_draw,
        )  # fmt: skip
        values = np.zeros((len(truth), *own.shape[1:]), np.float32)
        values[compared] = own
        return {"chances": axis, "chance_pooled": values}

    def spliced(self) -> Iterator[tuple[str, TokenDictionary]]:
        """Yield the draws whose reconstructions are put in."""
        tried = min(self.settings.spliced_draws, self.settings.random_dictionaries)
        spread = Spread.of(self.activations) if tried else None
        for number in range(tried):
            assert spread is not None  # noqa: S101  it is there where any is tried
            own = self._rows(number).as_dictionary(self.activations, spread, self.active)
            yield f"draw{number}", DeviceDictionary(own, self.device)

    def _rows(self, number: int) -> RandomRows:
        return RandomRows(self.settings.seed, 1 + number, self.latents)

    def _of_texts(
        self, compared: Int[np.ndarray, " some"]
    ) -> tuple[Any, Int[np.ndarray, " some1"]]:
        if len(compared) == len(self.starts) - 1:
            return self.activations, self.starts
        rows = np.concatenate([np.arange(*self.starts[text : text + 2]) for text in compared])
        return self.activations[rows], compute_starts(np.diff(self.starts)[compared])


def _check_widths(
    dictionaries: Mapping[str, Any], width: int, module: str
) -> dict[str, TokenDictionary]:
    known = {name: as_dictionary(own) for name, own in dictionaries.items()}
    for dictionary in known.values():
        if width != dictionary.dimensions:
            got = f"{width} dimensions at {module}"
            raise EvidenceError("dictionary", got, f"{dictionary.dimensions}, as its rows have")
    return known


def _splice_all(
    model: HookedModel, ids: Ids, known: Mapping[str, TokenDictionary], draws: RandomDraws
) -> dict[str, np.ndarray]:
    first = next(iter(known))

    def spliced() -> Iterator[tuple[str, TokenDictionary]]:
        if model.rebuilt is not None:  # other dictionaries rebuild another activation
            yield f"by_{first}", known[first]
            return
        yield from ((f"by_{name}", own) for name, own in known.items())
        yield from draws.spliced()

    mean = _mean_rebuilt(model, ids, draws.activations)
    return compute_spliced_losses(model, ids, spliced, mean, draws.settings.spliced_sequences)


def _mean_rebuilt(model: HookedModel, ids: Ids, activations: Any) -> np.ndarray:
    """Return the mean of what is replaced: of a transcoder, what it rebuilds."""
    if model.rebuilt is None:
        return Spread.of(activations).mean
    some = [ids[row] for row in spread_rows(len(ids), 256)]
    return np.asarray(model.at(model.rebuilt).activations(some).mean(axis=0), np.float64)


def coded_evidence(
    ids: Ids, codes: SparseCodes, latents: int, labels: SequenceLabels | None = None, **arrays: Any
) -> TokenEvidence:
    """Return evidence of SAE activations at every token, with further arrays."""
    labels = labels or SequenceLabels()
    starts = compute_starts([len(own) for own in ids])
    return TokenEvidence(
        tokens=to_ragged_tokens(ids),
        latent=Ragged(codes.latent, starts, codes.starts),
        value=Ragged(codes.value, starts, codes.starts),
        signed=np.array([(codes.value < 0).any()]),
        truth=labels.truth,
        known=labels.known,
        concepts=Concepts(tuple(labels.concepts)),
        latents=Latents.numbered(latents),
        samples=Samples(np.arange(len(ids)), clusters=labels.documents),
        **arrays,
    )


def to_ragged_tokens(ids: Ids) -> Ragged:
    """Return tokens of sequences as ``Ragged``."""
    flat = np.concatenate([np.asarray(own, np.int32) for own in ids])
    return Ragged(flat, compute_starts([len(own) for own in ids]))


def _losses_of(
    losses: Mapping[str, np.ndarray], name: str, draws: int, settings: TokenSettings
) -> dict[str, np.ndarray]:
    """Return losses and divergences of one SAE and of some random ones; NaN for others."""
    own = {"loss": losses["loss"]}
    tried = min(draws, settings.spliced_draws) if "loss_draw0" in losses else 0
    for what in ("loss", "divergence"):
        own[f"{what}_spliced"] = losses[f"{what}_{name}"]
        own |= {f"{what}_{how}": losses[f"{what}_{how}"] for how in ("ablated", "zeroed")}
        if tried:
            columns = [losses[f"{what}_draw{n}"] for n in range(tried)]
            columns += [np.full(len(columns[0]), np.nan)] * (draws - tried)
            own[f"chance_{what}_spliced"] = np.stack(columns, axis=1)
    return own
