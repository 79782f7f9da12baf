"""Check whether a dictionary is of the place it is put to, and whether it rebuilds anything."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from theodolite.errors import EvidenceError
from theodolite.evidence.ragged import compute_starts
from theodolite.language.dictionaries.common_form import SparseDictionary
from theodolite.language.dictionaries.torch_codes import DeviceDictionary
from theodolite.language.models.chance_draws import RandomRows, Spread
from theodolite.language.models.hooked import HookedModel
from theodolite.language.models.loading import LanguageModel
from theodolite.language.models.place_names import NamedPlace, find_place, is_same_place
from theodolite.language.models.splice import spread_rows
from theodolite.language.models.token_evidence import TokenSettings
from theodolite.language.models.trained_dictionaries import compute_unexplained_variance

SCALED_ON = 10_000
"""Tokens on which an unknown factor is estimated."""
COMPARED_TEXTS = 256
"""Texts on which what random directions rebuild is compared."""


def check_place(  # noqa: PLR0913  what is asked, and what was said of it
    dictionary: SparseDictionary,
    network: HookedModel,
    module: str,
    loaded: LanguageModel,
    most_tokens: int,
    *,
    start: int,
    allow_other: bool,
) -> tuple[HookedModel, list[str]]:
    """Return the network with the place a transcoder writes to, and what does not fit."""
    place, own = dictionary.place, NamedPlace(network.module, network.inputs)
    findings = list(dictionary.findings)
    if place.hook is not None:
        same = is_same_place(loaded.model, place.hook, own)
        if same is False and not allow_other:
            raise EvidenceError(
                "module", f"{module!r}", f"{place.hook!r}, as the dictionary's file says",
                "Give that place, or allow another with `allow_other_place`.",
            )  # fmt: skip
        if same is False:
            findings.append(f"The dictionary's file says {place.hook!r}, and {module!r} was asked.")
        elif same is None:
            findings.append(
                f"The dictionary's file says {place.hook!r}; whether that is {module!r} is unknown."
            )
    named, have = place.model, str(getattr(loaded.model.config, "_name_or_path", ""))
    if named and have and _short(named) != _short(have):
        findings.append(f"The dictionary is of {named!r}; the network is {_short(have)!r}.")
    if place.start_token is False:
        token = loaded.tokenizer.convert_ids_to_tokens(start)
        findings.append(f"The dictionary was trained without a start token; {token!r} was put.")
    if place.context is not None and place.context < most_tokens:
        findings.append(
            f"The dictionary was trained on texts of {place.context} tokens; these have up to "
            f"{most_tokens}."
        )
    if not dictionary.transcodes:
        return network, findings
    if place.hook_out is None:
        raise EvidenceError(
            "dictionary", "a transcoder that does not say what it rebuilds", "hook_name_out"
        )
    return replace(network, rebuilt=find_place(loaded.model, place.hook_out).module), findings


def _short(name: str) -> str:
    return name.rstrip("/").rsplit("/", 1)[-1].lower()


def fit_scale(dictionary: SparseDictionary, activations: Any) -> tuple[SparseDictionary, str]:
    """Return a dictionary for activations as they are, whose scale was not saved."""
    some = np.asarray(activations[:SCALED_ON], np.float64)
    factor = np.sqrt(some.shape[1]) / np.linalg.norm(some, axis=1).mean()
    finding = (
        f"The file does not say by what activations were scaled; estimated here: {factor:.4g}."
    )
    return dictionary.scaled(float(factor)), finding


@dataclass(frozen=True)
class Rebuilding:
    """What a dictionary rebuilds, beside what random directions do."""

    findings: list[str]
    facts: list[tuple[str, float | int | str]]
    may_splice: bool


def note_rebuilding(
    dictionary: DeviceDictionary,
    network: HookedModel,
    layer: Any,
    active: int,
    settings: TokenSettings,
) -> Rebuilding:
    """Compare what is rebuilt with the mean activation and with random directions."""
    rows = spread_rows(len(layer.ids), COMPARED_TEXTS)
    ids, starts = [layer.ids[row] for row in rows], compute_starts([*map(len, layer.ids)])
    tokens = np.concatenate([np.arange(*starts[row : row + 2]) for row in rows])
    some, own_starts = layer.activations[tokens], compute_starts([*map(len, ids)])
    target = None if network.rebuilt is None else network.at(network.rebuilt).activations(ids)
    own = compute_unexplained_variance(dictionary, some, own_starts, target)
    name = "share of variance not rebuilt"
    facts: list[tuple[str, float | int | str]] = [
        (name, own.value), (f"{name}, 95 %", f"{own.low:.3f} to {own.high:.3f}")
    ]  # fmt: skip
    if own.value >= 1:
        return Rebuilding([
            f"The mean activation rebuilds better than the dictionary, which leaves "
            f"{100 * own.value:.0f} % of the variance: wrong place, scale or file? Nothing that "
            "it rebuilds was put in."
        ], facts, may_splice=False)  # fmt: skip
    findings = []
    if network.rebuilt is None and settings.random_dictionaries:
        spread, draws = Spread.of(some), []
        for number in range(min(settings.random_dictionaries, settings.spliced_draws)):
            random = RandomRows(settings.seed, 1 + number, dictionary.latents)
            plain = random.as_dictionary(some, spread, active)
            draws.append(compute_unexplained_variance(
                DeviceDictionary(plain, dictionary.device), some
            ).value)  # fmt: skip
        facts.append((f"{name} by random directions, least of {len(draws)}", min(draws)))
        if own.value > min(draws):
            findings.append(
                f"The dictionary leaves {100 * own.value:.0f} % of the variance, random directions "
                f"leave {100 * min(draws):.0f} %: wrong place, scale or file?"
            )
    return Rebuilding(findings, facts, may_splice=True)
