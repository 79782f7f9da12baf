"""Choose an explainer's settings by what a learned score says of its explanations."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from theodolite._storage.optional import require
from theodolite.errors import EvidenceError

Setting: TypeAlias = float | int | str | bool
Settings: TypeAlias = Mapping[str, Setting]


@dataclass(frozen=True)
class Range:
    """Numbers that a setting may have, ends included."""

    low: float
    high: float
    whole: bool = False
    """Only whole numbers."""
    log: bool = False
    """Small numbers are tried as densely as large ones."""

    def __post_init__(self) -> None:
        if not (np.isfinite([self.low, self.high]).all() and self.low < self.high):
            raise EvidenceError("range", f"{self.low} to {self.high}", "a low and a higher number")
        if self.log and self.low <= 0:
            raise EvidenceError("range", f"a logarithm of {self.low}", "numbers above zero")


Space: TypeAlias = Mapping[str, Range | Sequence[Setting]]


@dataclass(frozen=True, eq=False)
class TuningResult:
    """What was tried, and what did best."""

    best: dict[str, Setting]
    value: float
    """What the score said of the best."""
    trials: dict[str, list[Any]]
    """A column for each setting and one for the value, in the order in which they were tried; NaN
    where the score was undefined."""


def tune(
    explain: Callable[[Settings], Any],
    space: Space,
    score: Callable[[Any], float],
    *,
    trials: int = 30,
    seed: int = 0,
) -> TuningResult:
    """The settings whose explanations score highest, sought by Optuna's tree of estimators.

    Equal seeds try equal settings. The first of equally good ones is the best.

    Args:
        explain: Makes explanations with some settings.
        space: What each setting may be: a range, or some choices.
        score: What the learned score says of explanations, on average; higher is better.
        trials: How many settings are tried.
        seed: Of the search.
    """
    optuna = require("optuna", "tuning", "tune")
    if not space or trials < 1:
        raise EvidenceError("space", f"{len(space)} settings, {trials} trials", "one or more each")
    tried: dict[str, list[Any]] = {name: [] for name in (*space, "value")}

    def value_of(trial: Any) -> float:
        chosen = {name: _suggest(trial, name, within) for name, within in space.items()}
        value = float(score(explain(chosen)))
        for name, cell in (*chosen.items(), ("value", value)):
            tried[name].append(cell)
        return value

    with _quiet(optuna):
        study = optuna.create_study(
            direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed)
        )
        study.optimize(value_of, n_trials=trials)
    values = np.array(tried["value"])
    if np.isnan(values).all():
        raise EvidenceError("score", "NaN for all settings", "a number for some of them")
    at = int(np.nanargmax(values))
    return TuningResult({name: tried[name][at] for name in space}, float(values[at]), tried)


def space_from(arguments: Sequence[str]) -> dict[str, Range | tuple[Setting, ...]]:
    """Settings as they are typed: ``width=0.05:0.5``, ``samples=100:1000``, ``kind=a,b``.

    Numbers without a point are whole; ``:log`` after the ends spreads them by size.
    """
    space: dict[str, Range | tuple[Setting, ...]] = {}
    for argument in arguments:
        name, _, text = argument.partition("=")
        if not name or not text:
            raise EvidenceError("space", repr(argument), "name=low:high or name=choice,choice")
        space[name] = (
            _parse_range(text) if ":" in text else tuple(map(_parse_value, text.split(",")))
        )
    return space


def _parse_range(text: str) -> Range:
    low, high, *rest = text.split(":")
    ends = [_parse_value(low), _parse_value(high)]
    if any(isinstance(end, str) for end in ends) or rest not in ([], ["log"]):
        raise EvidenceError("space", repr(text), "low:high or low:high:log")
    whole = all(isinstance(end, int) for end in ends)
    return Range(float(ends[0]), float(ends[1]), whole=whole, log=bool(rest))


def _parse_value(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _suggest(trial: Any, name: str, within: Range | Sequence[Setting]) -> Setting:
    if not isinstance(within, Range):
        setting: Setting = trial.suggest_categorical(name, list(within))
    elif within.whole:
        setting = int(trial.suggest_int(name, int(within.low), int(within.high), log=within.log))
    else:
        setting = float(trial.suggest_float(name, within.low, within.high, log=within.log))
    return setting


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """No lines on stderr, and the library's own volume as it was."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
