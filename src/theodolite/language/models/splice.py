"""Measure how much next-token prediction loses when SAE reconstructions replace activations."""

from collections.abc import Callable, Iterable, Mapping

import numpy as np
from jaxtyping import Float

from theodolite.language.dictionaries.torch_codes import Tensor, TokenDictionary, to_host
from theodolite.language.models.hooked import Batch, HookedModel, Ids, Replacement

Tokens = Float[np.ndarray, " tokens"]
SEQUENCES = 16
"""Number of sequences whose distributions are in memory at once."""


def splice_dictionary(dictionary: TokenDictionary) -> Replacement:
    """Return a replacement by the SAE's reconstruction."""
    return lambda hidden: dictionary.rebuild(hidden, dictionary.largest(hidden))


def replace_by_mean(mean: Float[np.ndarray, " dimensions"]) -> Replacement:
    """Return a replacement by the same activation at every token."""

    def change(hidden: Tensor) -> Tensor:
        import torch  # noqa: PLC0415

        own = torch.as_tensor(np.asarray(mean, np.float32)).to(hidden.device)
        return own.expand(len(hidden), -1)

    return change


def compute_next_token_losses(
    model: HookedModel,
    ids: Ids,
    replacements: Mapping[str, Replacement] | Callable[[], Iterable[tuple[str, Replacement]]],
) -> dict[str, Tokens]:
    """Return the next-token loss (``loss``), and for each replacement its loss and its divergence
    from the original (``loss_NAME``, ``divergence_NAME``).

    NaN at the last token of a sequence, which has no next one. A function makes replacements one
    at a time, anew for each group of sequences: none is kept.
    """
    pairs = replacements.items if isinstance(replacements, Mapping) else replacements
    parts: dict[str, list[Tokens]] = {}
    for at in range(0, len(ids), SEQUENCES):
        some = ids[at : at + SEQUENCES]
        batch, clean = _distributions(model, some)
        parts.setdefault("loss", []).append(_losses(batch, clean))
        for name, change in pairs():
            batch, other = _distributions(model, some, change)
            parts.setdefault(f"loss_{name}", []).append(_losses(batch, other))
            apart = _divergences(batch, clean, other)
            parts.setdefault(f"divergence_{name}", []).append(apart)
    return {name: np.concatenate(own) for name, own in parts.items()}


def compute_spliced_losses(
    model: HookedModel,
    ids: Ids,
    dictionaries: Callable[[], Iterable[tuple[str, TokenDictionary]]],
    mean: Float[np.ndarray, " dimensions"],
    sequences: int,
) -> dict[str, Tokens]:
    """Return losses and divergences with each SAE's reconstruction (under its name), the mean
    activation (``ablated``) and zeros (``zeroed``).

    The network as it is and the two ablations are run once for all dictionaries. Only so many
    ``sequences`` are run, evenly spread over all; NaN in the others.
    """

    def replacements() -> Iterable[tuple[str, Replacement]]:
        yield "ablated", replace_by_mean(mean)
        yield "zeroed", replace_by_mean(np.zeros_like(mean))
        for name, dictionary in dictionaries():
            yield name, splice_dictionary(dictionary)

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


def _distributions(
    model: HookedModel, ids: Ids, change: Replacement | None = None
) -> tuple[Batch, Tensor]:
    """Return a batch and its log-probabilities of the next token, in float32 on the device."""
    import torch  # noqa: PLC0415

    batch = model.run(list(range(len(ids))), ids, change, logits=True)
    assert batch.logits is not None  # noqa: S101  they were asked for
    return batch, torch.log_softmax(batch.logits.float(), dim=-1)


def _losses(batch: Batch, log: Tensor) -> Tokens:
    import torch  # noqa: PLC0415

    following = torch.roll(batch.tokens, -1, dims=1)[..., None]
    return _of_texts(batch, -log.gather(2, following)[..., 0])


def _divergences(batch: Batch, clean: Tensor, other: Tensor) -> Tokens:
    """Return the KL divergence, clipped at 0 against rounding."""
    return _of_texts(batch, (clean.exp() * (clean - other)).sum(dim=2).clamp(min=0.0))


def _of_texts(batch: Batch, each: Tensor) -> Tokens:
    """Return the numbers at tokens of texts, NaN at the last of each text."""
    real = to_host(batch.real)
    last = real & ~np.roll(real, -1, axis=1)
    return np.asarray(np.where(last, np.nan, to_host(each))[real])
