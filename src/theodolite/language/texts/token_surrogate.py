"""Decompose a logit at some tokens into contributions of SAE latents and the reconstruction
error."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from theodolite.errors import EvidenceError
from theodolite.evidence.axes import Classes, Concepts, Latents
from theodolite.evidence.kinds.surrogate import SurrogateEvidence

CONSTANT, ERROR_NODE = "constant", "error node"


@dataclass(frozen=True, eq=False)
class TokenSurrogate:
    """Latents as a surrogate of logits, complete only with the error node.

    An explanation that lists latents and hides what they leave over is not complete.
    """

    evidence: SurrogateEvidence
    """Evidence for ``surrogate_error`` and similar scores; a sample is a token."""
    contributions: Float[np.ndarray, "samples concepts classes"]
    """Contribution of each latent to each logit: activation times projected row."""
    constant: Float[np.ndarray, " classes"]
    """Contribution of the decoder's bias."""
    error_node: Float[np.ndarray, "samples classes"]
    """Logit minus surrogate: the contribution of the reconstruction error."""

    def parts(self, sample: int = 0, logit: int = 0) -> dict[str, float]:
        """Return the terms that sum to a logit: latents, the constant and the error node."""
        names = self.evidence.concepts.names
        latents = dict(zip(names, self.contributions[sample, :, logit].tolist(), strict=True))
        error = float(self.error_node[sample, logit])
        return {**latents, CONSTANT: float(self.constant[logit]), ERROR_NODE: error}


def token_surrogate(  # noqa: PLR0913  arrays of one network
    activations: Any,
    directions: Any,
    decoder: Any,
    codes: Any,
    decoder_bias: Any = None,
    *,
    labels: Any = None,
    latents: Latents | None = None,
) -> TokenSurrogate:
    """Return evidence on whether latents reproduce logits at some tokens.

    Args:
        activations: tokens x dimensions, as the network has them.
        directions: logits x dimensions, or one direction: the unembedding or gradient of each
            explained logit.
        decoder: latents x dimensions: what each latent writes.
        codes: tokens x latents: how active each latent is.
        decoder_bias: dimensions; 0 if not given.
        labels: Of each token the number of the logit that is explained there, which some scores
            look at alone; the only one, if there is one.
        latents: Names of the latents.

    >>> result = token_surrogate([[2.0, 1.0]], [1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [[1.5, 1.0]])
    >>> result.parts()
    {'latent 0': 1.5, 'latent 1': 0.0, 'constant': 0.0, 'error node': 0.5}
    """
    h, rows, values = (
        _table(array, name)
        for array, name in ((activations, "activations"), (decoder, "decoder"), (codes, "codes"))
    )
    w = _table(np.atleast_2d(np.asarray(directions, float)), "directions")
    bias = np.zeros(h.shape[1]) if decoder_bias is None else np.asarray(decoder_bias, float)
    fits = rows.shape[1] == w.shape[1] == h.shape[1] == len(bias) and bias.ndim == 1
    if not fits or values.shape != (len(h), len(rows)):
        shapes = f"{h.shape}, {w.shape}, {rows.shape}, {values.shape}, {bias.shape}"
        raise EvidenceError(
            "activations, directions, decoder, codes, decoder_bias", shapes,
            "(tokens, dimensions), (logits, dimensions), (latents, dimensions), (tokens, latents), "
            "(dimensions,)",
        )  # fmt: skip
    names = latents or Latents.numbered(len(rows))
    # summed in one order whatever the machine, so no matrix products
    loads = (rows[:, None] * w).sum(axis=2)
    constant = (w * bias).sum(axis=1)
    contributions = values[:, :, None] * loads
    logits = (h[:, None] * w).sum(axis=2)
    # what codes rebuild is the activation without the bias, whose logit is then a bias again
    evidence = SurrogateEvidence(
        importances=loads, embeddings=h - bias, head=w, bias=constant, outputs=logits,
        vectors=rows, projections=values,
        labels=np.zeros(len(h), int) if labels is None and len(w) == 1 else labels,
        concepts=Concepts(tuple(names.name(n) for n in range(len(rows)))),
        classes=Classes(tuple(f"logit {n}" for n in range(len(w)))),
    )  # fmt: skip
    error = logits - contributions.sum(axis=1) - constant
    return TokenSurrogate(evidence, contributions, constant, error)


def _table(values: Any, name: str) -> np.ndarray:
    table = np.asarray(values, float)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise EvidenceError(name, f"shape {table.shape}", "a table of finite numbers")
    return table
