"""Evidence about a dictionary from arrays of your own; see ``dictionary_evidence``."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import compute_starts
from theodolite.language.dictionaries.objects import dictionary as as_dictionary
from theodolite.language.models.dictionaries import SparseCodes, compute_sparse_codes, device_of
from theodolite.language.models.token_evidence import (
    RandomDraws,
    SequenceLabels,
    TokenSettings,
    coded_evidence,
)


def dictionary_evidence(  # noqa: PLR0913  every argument is documented where it is used
    source: Any,
    activations: Sequence[ArrayLike],
    tokens: Sequence[ArrayLike],
    truth: ArrayLike,
    *,
    known: ArrayLike | None = None,
    concepts: Sequence[str] | None = None,
    documents: ArrayLike | None = None,
    random_dictionaries: int = 20,
    seed: int = 0,
) -> TokenEvidence:
    """Return evidence on whether a dictionary tells concepts, with random directions beside it.

    Args:
        source: What ``theodolite.dictionary`` takes, or codes: an array (tokens, latents) for
            each text, none below 0.
        activations: An array (tokens, dimensions) for each text, without start tokens and padding.
        tokens: Ids of the tokens of each text.
        truth: Whether each concept is in each text, (texts, concepts).
        known: Where that is known; everywhere if not given.
        concepts: Names of the concepts.
        documents: Document that each text was cut from.
        random_dictionaries: How many of random directions to draw, on the same activations.
        seed: Of these.
    """
    require("torch", "random directions", "language")
    hidden = [np.asarray(own, np.float32) for own in activations]
    ids = [np.asarray(own).tolist() for own in tokens]
    if any(own.ndim != 2 for own in hidden) or [*map(len, hidden)] != [*map(len, ids)]:
        needed = "an array (tokens, dimensions) for each text, as long as its tokens"
        raise EvidenceError("activations", f"{len(hidden)} for {len(ids)} texts", needed)
    flat, starts = np.concatenate(hidden), compute_starts([*map(len, ids)])
    device, latents, rows = "cpu", 0, None
    if isinstance(source, (list, tuple)) or getattr(source, "ndim", 0) == 3:
        codes, latents = _sparse([np.asarray(own) for own in source], len(flat))
    else:
        own = as_dictionary(source)
        codes, latents, rows = compute_sparse_codes(own, flat), own.latents, own.rows
        device = device_of(own)
    flags = np.asarray(truth).astype(bool)
    labels = SequenceLabels(
        truth=flags, known=None if known is None else np.asarray(known).astype(bool),
        concepts=[f"concept {n}" for n in range(flags.shape[1])] if concepts is None else concepts,
        documents=None if documents is None else np.unique(documents, return_inverse=True)[1],
    )  # fmt: skip
    active = max(round(len(codes.value) / max(len(flat), 1)), 1)
    settings = TokenSettings(random_dictionaries=random_dictionaries, seed=1000 * (seed + 1))
    chances = RandomDraws(flat, starts, latents, active, settings, device).evidence(labels)
    decoder = {} if rows is None else {"decoder": np.asarray(rows, np.float32)}
    return coded_evidence(ids, codes, latents, labels, **chances, **decoder)


def _sparse(codes: list[np.ndarray], tokens: int) -> tuple[SparseCodes, int]:
    """Return dense codes of all texts without their zeros, and the number of latents."""
    widths = {own.shape[1] if own.ndim == 2 else -1 for own in codes}
    if len(widths) != 1 or -1 in widths or sum(map(len, codes)) != tokens:
        needed = "an array (tokens, latents) for each text"
        raise EvidenceError("codes", f"{len(codes)} of other shapes", needed)
    flat = np.concatenate(codes)
    if not np.isfinite(flat).all() or (flat < 0).any():
        raise EvidenceError("codes", "numbers below 0 or not finite", "0 or above")
    row, latent = np.nonzero(flat)
    starts = compute_starts(np.bincount(row, minlength=len(flat)))
    values = flat[row, latent].astype(np.float32)
    return SparseCodes(latent.astype(np.int32), values, starts), flat.shape[1]
