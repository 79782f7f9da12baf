"""Write a latent dashboard from token evidence. Public as ``latent_dashboard`` in the CLI and
ext."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from theodolite.errors import EvidenceError, printable
from theodolite.evidence.kinds.judgment import JudgmentEvidence
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import require_ragged
from theodolite.evidence.shards import InMemoryShards, Shards
from theodolite.language.dashboard.judge_responses import compute_judge_score, group_answers
from theodolite.language.dashboard.material import (
    FeatureMaterial,
    Judged,
    MeasuredEffect,
    describe_formula,
)
from theodolite.language.dashboard.nulls import (
    FeatureNull,
    FeatureScore,
    compute_bars,
    compute_bars_by_rate,
)
from theodolite.language.dashboard.peaks import Activity, check_ids, find_peaks
from theodolite.language.dashboard.summary import RANDOM
from theodolite.language.dashboard.windows import choose_contexts, read_windows, split_into_batches
from theodolite.language.dashboard.writer import BLOCK_LATENTS, MAX_TOKEN_BYTES, PAGE, write_pages
from theodolite.language.models.latent_logits import LatentLogits
from theodolite.language.sae.token_overlaps import TokenOverlaps, compute_token_overlaps
from theodolite.language.texts.explanations import LatentExplanation
from theodolite.language.texts.predicates import token_predicates
from theodolite.language.texts.vocabulary import Vocabulary

MAX_LATENTS_IN_ONE_FILE = 300
"""Largest number of latents that are written into one file."""
MAX_WIDTH = 255
MAX_TOKENS_FOR_PREDICATES = 1 << 20
"""Largest number of tokens for which predicates are computed here; give ``holds`` for more."""
DEALT_OUT = "codes dealt out"
SINGLE = "single_token"
LIKE = "formulas of like features"
LOGITS = (
    "Tokens that a feature makes more or less probable are read off the direct path from its "
    "direction to the output, past all later layers. A measured effect goes through them."
)
Tokens = TokenEvidence | Shards


def feature_pages(  # noqa: PLR0913  options are keywords
    evidence: Tokens,
    vocabulary: Vocabulary,
    folder: Path | str,
    *,
    beside: Mapping[str, Tokens] | None = None,
    explanations: Sequence[LatentExplanation] = (),
    judgments: JudgmentEvidence | None = None,
    scores: Sequence[FeatureScore] = (),
    logits: LatentLogits | None = None,
    effects: Mapping[int, Sequence[MeasuredEffect]] | None = None,
    title: str = "A dictionary of features",
    strongest: int = 20,
    per_tenth: int = 2,
    width: int = 32,
    one_file_up_to: int = MAX_LATENTS_IN_ONE_FILE,
    seed: int = 0,
    overwrite: bool = False,
) -> Path:
    """Write pages of a dictionary and of each of its features; where the page to open lies.

    Features are described by the predicate of tokens that overlaps most with where they are
    active, chosen on one half of the texts and scored on the other, wherever ``holds`` is in the
    evidence or can be made. That is held against the same search for ``beside``, for codes dealt
    out to other texts, for a single token, and against formulas of features that are as often
    active. The pages need no server; a dictionary of up to ``one_file_up_to`` features is one
    file.

    Args:
        evidence: Sparse codes (``latent``, ``value``) at tokens, in memory or in pieces.
        vocabulary: The bytes of each token.
        folder: Where the pages go.
        beside: Codes of dictionaries that know nothing of the network, on the same texts, by name;
            the name "random directions" is the one that the verdict is read from.
        explanations: What latents are said to stand for.
        judgments: Answers of judges about these latents and sequences.
        scores: Further numbers of each feature, with their nulls.
        logits: Tokens that each feature makes more and less probable.
        effects: Measured effects of ablating and steering features, by number.
        title: Of the dictionary.
        strongest: Contexts with the largest values, of each feature.
        per_tenth: Contexts drawn from each tenth of its values.
        width: Tokens of a context.
        one_file_up_to: Features up to which everything goes into the page.
        seed: Of halves and draws.
        overwrite: Whether pages that are there are replaced.
    """
    target = Path(folder)
    _check(vocabulary, (strongest, per_tenth, width, one_file_up_to, seed))
    if (target / PAGE).exists() and not overwrite:
        raise EvidenceError(
            f"folder {str(target)!r}", f"{PAGE} in it", "a folder without", "Or overwrite it."
        )
    shards = _with_predicates(_shards(evidence, "evidence"), vocabulary)
    activity = find_peaks(shards, strongest, seed, len(vocabulary))
    others = {name: _shards(own, f"beside {name!r}") for name, own in (beside or {}).items()}
    formulas, overlap = _formulas(shards, others, seed)
    if logits is not None:
        _check_logits(logits, activity, len(vocabulary))
    answers: dict[int, list[Judged]] = {}
    judged = np.zeros((0, 2), np.int64)
    every = [*overlap, *scores]
    if judgments is not None:
        answers, judged = group_answers(judgments, shards)
        every.append(compute_judge_score(judgments, len(activity.active_tokens)))
    latents = shards.first().latents  # type: ignore[attr-defined]
    material = FeatureMaterial(
        printable(title, 300), latents, vocabulary, activity, every, formulas,
        _by_latent(explanations, latents), answers, logits, effects or {},
        [*_notes(shards, overlap, others), *([LOGITS] if logits is not None else [])],
    )  # fmt: skip
    contexts = choose_contexts(activity, per_tenth, judged)
    parts = (
        (first, last, some, read_windows(shards, some, activity.largest, width))
        for first, last, some in split_into_batches(contexts, len(latents), width, BLOCK_LATENTS)
    )
    return write_pages(material, parts, target, one_file=len(latents) <= one_file_up_to)


def _check(vocabulary: Vocabulary, numbers: tuple[int, int, int, int, int]) -> None:
    if not isinstance(vocabulary, Vocabulary):
        raise EvidenceError("vocabulary", type(vocabulary).__name__, "a Vocabulary")
    names = ("strongest", "per_tenth", "width", "one_file_up_to", "seed")
    limits = ((0, 1000), (0, 10), (4, MAX_WIDTH), (0, 2000), (0, 1 << 62))
    for name, value, (low, high) in zip(names, numbers, limits, strict=True):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise EvidenceError(name, repr(value), "a whole number")
        if not low <= value <= high:
            raise EvidenceError(name, f"{value}", f"{low} to {high:,}")


def _check_logits(logits: LatentLogits, activity: Activity, words: int) -> None:
    latents = len(activity.active_tokens)
    if len(logits.tokens) != latents:
        raise EvidenceError("logits", f"{len(logits.tokens):,} latents", f"{latents:,}")
    if logits.tokens.size and not 0 <= logits.tokens.min() <= logits.tokens.max() < words:
        got = f"tokens {logits.tokens.min():,} to {logits.tokens.max():,}"
        raise EvidenceError("logits", got, f"0 to {words - 1:,}, as the vocabulary has")


def _shards(evidence: Tokens, what: str) -> Shards:
    shards = InMemoryShards(evidence) if isinstance(evidence, TokenEvidence) else evidence
    if not isinstance(shards, Shards) or not issubclass(shards.kind, TokenEvidence):
        raise EvidenceError(what, type(evidence).__name__, "token evidence")
    return shards


def _with_predicates(shards: Shards, vocabulary: Vocabulary) -> Shards:
    if not isinstance(shards, InMemoryShards):
        return shards
    evidence = shards.whole
    if not isinstance(evidence, TokenEvidence) or evidence.has("holds"):
        return shards
    check_ids(evidence, len(vocabulary))
    tokens = require_ragged(evidence.tokens)
    if len(tokens.flat) > MAX_TOKENS_FOR_PREDICATES:
        return shards
    # what is looked for in tokens is looked for in each of their letters
    words = [vocabulary[token][:MAX_TOKEN_BYTES] for token in range(len(vocabulary))]
    holds, predicates = token_predicates(tokens, Vocabulary.of(words))
    if not len(predicates):
        return shards
    return InMemoryShards(replace(evidence, holds=holds, predicates=predicates))


def _formulas(
    shards: Shards, others: Mapping[str, Shards], seed: int
) -> tuple[dict[int, str], list[FeatureScore]]:
    """Return the best predicate of each latent, and its overlap with nulls."""
    first = shards.first()
    if not first.has("holds"):
        return {}, []
    own = compute_token_overlaps(shards, seed=seed)
    nulls = [
        FeatureNull(name, _bars(_same_predicates(other, shards, name), own, seed),
                    meaning=f"{name} as often active, described in the same way")
        for name, other in others.items()
    ]  # fmt: skip
    dealt = compute_token_overlaps(shards, seed=seed, dealt_out=True)
    nulls += [
        FeatureNull(DEALT_OUT, compute_bars_by_rate(dealt.overlap, dealt.rate, own.rate),
                    meaning="the same features with their values moved to other texts"),
        FeatureNull(SINGLE, own.token_overlap, float("nan"),
                    "the formula against the one token that describes the feature best"),
        FeatureNull(LIKE, compute_bars(own.others),
                    meaning="what other features that are as often active are described by"),
    ]  # fmt: skip
    names = first.predicates.names  # type: ignore[attr-defined]
    formulas = {
        int(latent): describe_formula(names[own.predicate[latent]])
        for latent in np.flatnonzero(own.predicate >= 0)
    }
    says = (
        "of the tokens where the feature is active or its formula holds, the share where both "
        "do; the formula was chosen on other texts"
    )
    return formulas, [FeatureScore("overlap with its formula", own.overlap, nulls, says)]


def _bars(other: Shards, own: TokenOverlaps, seed: int) -> np.ndarray:
    overlaps = compute_token_overlaps(other, seed=seed)
    return compute_bars_by_rate(overlaps.overlap, overlaps.rate, own.rate)


def _same_predicates(other: Shards, shards: Shards, name: str) -> Shards:
    """Describe the null's latents with the same predicates, and require equal texts."""
    if other.first().has("holds"):
        return other
    whole = [each.whole for each in (shards, other) if isinstance(each, InMemoryShards)]
    if len(whole) < 2:
        raise EvidenceError(f"beside {name!r}", "no `holds`", "the predicates of the evidence")
    mine, its = whole
    assert isinstance(mine, TokenEvidence) and isinstance(its, TokenEvidence)  # noqa: S101, PT018
    if not np.array_equal(require_ragged(mine.tokens).flat, require_ragged(its.tokens).flat):
        raise EvidenceError(f"beside {name!r}", "other tokens", "codes on the same texts")
    return InMemoryShards(replace(its, holds=mine.holds, predicates=mine.predicates))


def _by_latent(
    explanations: Sequence[LatentExplanation], latents: Sequence[object]
) -> dict[int, list[LatentExplanation]]:
    by_latent: dict[int, list[LatentExplanation]] = defaultdict(list)
    for each in explanations:
        if each.latent >= len(latents):
            raise EvidenceError("explanations", f"latent {each.latent}", f"below {len(latents)}")
        by_latent[each.latent].append(each)
    return dict(by_latent)


def _notes(
    shards: Shards, overlap: Sequence[FeatureScore], others: Mapping[str, Shards]
) -> list[str]:
    notes = []
    if not overlap:
        notes.append(
            "Features were not described by formulas: the evidence has no predicates of tokens."
        )
    else:
        notes.append(
            "Formulas are single predicates of tokens, the best of "
            f"{len(shards.first().predicates):,}, "  # type: ignore[attr-defined]
            "chosen on one half of the texts and scored on the other. Intervals are over features."
        )
        notes.append(
            "A feature beats a null where its overlap is above that of 95 of 100 of the null's "
            "features that are active about as often; 5 of 100 would be by chance."
        )
    if overlap and RANDOM not in others:
        notes.append("No random directions were given: a high overlap is no finding by itself.")
    return notes
