"""Turn dense values (neurons, coordinates) into latents: each enters once per sign."""

from dataclasses import replace
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Latents
from theodolite.evidence.kinds.token import TokenEvidence
from theodolite.evidence.ragged import Ragged, compute_starts, require_ragged


def latents_of_both_signs(evidence: TokenEvidence, active: int | None = None) -> TokenEvidence:
    """Return the evidence with sparse activations in place of dense values.

    Of ``n`` coordinates latent ``i`` is what coordinate ``i`` is above 0, and latent ``n + i`` what
    it is below. So neurons are scored as latents of a dictionary are. Random dictionaries that are
    in the evidence must have as many.

    Args:
        evidence: With ``dense``.
        active: How many latents are kept at each token, the largest: as many as are active of the
            dictionary that they are compared with. All if not given.

    Example:
        >>> from theodolite import TokenEvidence
        >>> neurons = TokenEvidence(tokens=[[5, 6]], dense=[[[2.0, -1.0], [0.0, 3.0]]])
        >>> latents_of_both_signs(neurons).latent.flat
        array([0, 3, 1], dtype=int32)
    """
    if evidence.dense is None:
        raise EvidenceError("evidence", "no dense", "values of every latent at every token")
    n = require_ragged(evidence.dense).flat.shape[1]
    if active is not None and not 1 <= active <= n:
        raise EvidenceError("active", f"{active}", f"1 to {n}")
    values = np.asarray(require_ragged(evidence.dense).flat, float)
    codes = np.concatenate([np.maximum(values, 0.0), np.maximum(-values, 0.0)], axis=1)
    if active is not None and active < codes.shape[1]:
        order = np.argsort(-codes, axis=1, kind="stable")
        np.put_along_axis(codes, order[:, active:], 0.0, axis=1)
    token, latent = np.nonzero(codes)
    inner = compute_starts(np.bincount(token, minlength=len(codes)))
    starts = require_ragged(evidence.dense).starts
    rows: dict[str, Any] = {
        name: None if own is None else np.concatenate([own, -own])
        for name, own in (("decoder", evidence.decoder), ("encoder", evidence.encoder))
    }
    return replace(
        evidence,
        **rows,
        dense=None,
        latent=Ragged(latent.astype(np.int32), starts, inner),
        value=Ragged(codes[token, latent], starts, inner),
        latents=Latents.numbered(2 * n),
    )
