"""A learned score as files: its arrays, and a card that says what it is and what it is not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from theodolite.errors import RefusedInput, printable
from theodolite.io.arrays import read_safetensors, write_safetensors
from theodolite.io.paths import all_or_nothing
from theodolite.io.text import read_json, write_json
from theodolite.models.acceptance.scorer import Features, Scorer, scorer_from

ARRAYS, CARD, READ = "score.safetensors", "card.json", "CARD.md"
PERCENT = 101
LIMITS = (
    "It foretells what the raters of these votes would say, on explanations like those that they "
    "saw. It does not tell whether an explanation is true of the model.",
    "What people accept can be learnt from traits that do not make an explanation good, such as "
    "its length. An explanation that is made to score high may score high for such a reason.",
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class HeldOut(_Strict):
    """How well such scores did on what they had not seen; or what people reach."""

    metric: str
    options: dict[str, Any] = {}
    value: float | None
    low: float | None = None
    high: float | None = None
    level: float | None = None


class ScoreCard(_Strict):
    """What a learned score was made of."""

    format: Literal["theodolite learned score"] = "theodolite learned score"
    version: Literal[1] = 1
    name: str
    kind: str
    """Of the scorer: layers, kernel or trees."""
    trained_on: str
    question: str
    explanations: int
    groups: int
    scale: tuple[float, ...] = Field(min_length=2)
    aggregate: str
    licence: str = ""
    embedding: str = ""
    embedding_says: str = ""
    embedding_files: dict[str, str] = {}
    features: tuple[str, ...]
    straight: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    rendering: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    held_out: tuple[HeldOut, ...] = ()
    inputs: dict[str, str] = {}
    limits: tuple[str, ...] = LIMITS
    made_with: str = ""


@dataclass(frozen=True, eq=False)
class LearnedScore:
    """A score with its card, and what it said of the explanations that it was made from."""

    scorer: Scorer
    card: ScoreCard
    percentiles: Float[np.ndarray, "101"]
    """Of what scores that had not seen them said of those explanations, on the raters' scale."""

    def ratings(self, features: Features) -> Float[np.ndarray, " explanations"]:
        """What people would say, on their scale."""
        low, high = self.card.scale[0], self.card.scale[-1]
        return np.asarray(low + np.clip(self.scorer.outputs(features), 0, 1) * (high - low))

    def percentile(
        self, ratings: Float[np.ndarray, " explanations"]
    ) -> Float[np.ndarray, " explanations"]:
        """Among the explanations it was made from: the share, in per cent, that it rates lower."""
        return np.asarray(np.interp(ratings, self.percentiles, np.arange(PERCENT)))


def save_scorer(folder: Path, learned: LearnedScore) -> None:
    """Write the arrays, and the card for programs and for people."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {f"score.{name}": array for name, array in learned.scorer.arrays().items()}
    write_safetensors(folder / ARRAYS, {**arrays, "percentiles": learned.percentiles})
    write_json(folder / CARD, learned.card.model_dump(mode="json"))
    with all_or_nothing(folder / READ) as stream:
        stream.write(card_text(learned.card).encode())


def load_scorer(folder: Path) -> LearnedScore:
    """Read what ``save_scorer`` wrote. Nothing in it is run."""
    content = read_json(folder / CARD, "card", limit=1 << 22)
    try:
        card = ScoreCard.model_validate(content)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise RefusedInput("card", f"{place}: {fault['msg']}", "the card of a score") from error
    arrays = read_safetensors(folder / ARRAYS)
    percentiles = arrays.get("percentiles", np.zeros(0))
    if percentiles.shape != (PERCENT,) or not (np.diff(percentiles) >= 0).all():
        raise RefusedInput("percentiles", f"{percentiles.shape}", f"{PERCENT} rising numbers")
    own = {n.removeprefix("score."): a for n, a in arrays.items() if n.startswith("score.")}
    return LearnedScore(scorer_from(card.kind, own), card, percentiles)


def card_text(card: ScoreCard) -> str:
    """The card for people."""
    rows = [
        f"| {_cell(one.metric)} | {_cell(_options(one))} | {_number(one.value)} | "
        f"{_number(one.low)} to {_number(one.high)} |"
        for one in card.held_out
    ]
    scale = ", ".join(f"{answer:g}" for answer in card.scale)
    lines = [
        f"# {_cell(card.name)}",
        "",
        f"Foretells how people rate an explanation: {_cell(card.question)}, answers {scale}.",
        "",
        f"- learnt from: {_cell(card.trained_on)}, {card.explanations:,} explanations of "
        f"{card.groups:,} pictures or questions, {card.aggregate} of the votes",
        f"- licence of the votes: {_cell(card.licence) or 'not stated'}",
        f"- features: {_cell(', '.join((*card.features, *card.straight)))}",
        f"- embedding: {_cell(card.embedding_says or card.embedding) or 'none'}",
        f"- made with: {_cell(card.made_with)}",
        "",
        "## Held out",
        "",
        "What scores of this kind reach on explanations whose picture or question they have not "
        "seen, and, as rater_correlation and rater_agreement, what one person reaches.",
        "",
        "| score | options | value | interval |",
        "|---|---|---|---|",
        *rows,
        "",
        "## Limits",
        "",
        *(f"- {_cell(one)}" for one in card.limits),
        "",
    ]
    return "\n".join(lines)


def _options(one: HeldOut) -> str:
    return ", ".join(f"{name}={value}" for name, value in one.options.items())


def _cell(text: str) -> str:
    return printable(text, 2000).replace("|", "/").replace("<", "(").replace("`", "'")


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
