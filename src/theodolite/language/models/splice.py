"""Measure how much next-token prediction loses when SAE reconstructions replace activations."""

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from theodolite.language.models.dictionaries import FeatureDictionary
from theodolite.language.models.hooked import HookedModel, Ids, Replacement

Tokens = Float[np.ndarray, " tokens"]
SEQUENCES = 16
"""Number of sequences whose distributions are in memory at once."""


def splice_dictionary(dictionary: FeatureDictionary) -> Replacement:
    """Return a replacement by the SAE's reconstruction."""
    return lambda activations: np.asarray(dictionary.decode(dictionary.encode(activations)))


def replace_by_mean(mean: Float[np.ndarray, " dimensions"]) -> Replacement:
    """Return a replacement by the same activation at every token."""
    return lambda activations: np.broadcast_to(mean, activations.shape)


def compute_next_token_losses(
    model: HookedModel, ids: Ids, replacements: Mapping[str, Replacement]
) -> dict[str, Tokens]:
    """Return the next-token loss (``loss``), and for each replacement its loss and its divergence
    from the original (``loss_NAME``, ``divergence_NAME``).

    NaN at the last token of a sequence, which has no next one.
    """
    parts: dict[str, list[Tokens]] = {"loss": []}
    for name in replacements:
        parts |= {f"loss_{name}": [], f"divergence_{name}": []}
    for at in range(0, len(ids), SEQUENCES):
        some = ids[at : at + SEQUENCES]
        clean = model.next_tokens(some)
        parts["loss"] += [_loss(own, log) for own, log in zip(some, clean, strict=True)]
        for name, replace in replacements.items():
            other = model.next_tokens(some, replace)
            parts[f"loss_{name}"] += [_loss(own, log) for own, log in zip(some, other, strict=True)]
            parts[f"divergence_{name}"] += [
                _divergence(log, changed) for log, changed in zip(clean, other, strict=True)
            ]
    return {name: np.concatenate(own) for name, own in parts.items()}


def compute_spliced_losses(
    model: HookedModel,
    ids: Ids,
    dictionaries: Mapping[str, FeatureDictionary],
    mean: Float[np.ndarray, " dimensions"],
    sequences: int,
) -> dict[str, Tokens]:
    """Return losses and divergences with each SAE's reconstruction (under its name), the mean
    activation (``ablated``) and zeros (``zeroed``).

    The network as it is and the two ablations are run once for all dictionaries. Only so many
    ``sequences`` are run, evenly spread over all; NaN in the others.
    """
    replacements = {
        name: splice_dictionary(dictionary) for name, dictionary in dictionaries.items()
    }
    replacements |= {
        "ablated": replace_by_mean(mean),
        "zeroed": replace_by_mean(np.zeros_like(mean)),
    }
    some = spread_rows(len(ids), sequences)
    losses = compute_next_token_losses(model, [ids[row] for row in some], replacements)
    starts = np.concatenate([[0], np.cumsum([len(own) for own in ids])])
    places = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in some])
    whole = {name: np.full(starts[-1], np.nan) for name in losses}
    for name, own in losses.items():
        whole[name][places] = own
    return whole


def spread_rows(n: int, some: int) -> list[int]:
    """Return ``some`` of n rows, evenly spaced, since texts are often sorted by topic.

    >>> spread_rows(10, 4)
    [0, 3, 6, 9]
    """
    return [int(row) for row in np.unique(np.linspace(0, n - 1, min(some, n)).round())]


def _loss(own: Sequence[int], log: Float[np.ndarray, "tokens vocabulary"]) -> Tokens:
    losses = np.full(len(own), np.nan)
    losses[:-1] = -log[np.arange(len(own) - 1), np.asarray(own[1:], int)]
    return losses


def _divergence(
    clean: Float[np.ndarray, "tokens vocabulary"], other: Float[np.ndarray, "tokens vocabulary"]
) -> Tokens:
    """Return the KL divergence, clipped at 0 against rounding."""
    each = np.maximum((np.exp(clean) * (clean - other)).sum(axis=1), 0.0)
    each[-1] = np.nan
    return np.asarray(each)
