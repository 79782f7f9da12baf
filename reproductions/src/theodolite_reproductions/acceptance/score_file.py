"""A learned score as files: its arrays, and a card that says what it is and what it is not."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from theodolite._storage.arrays import read_safetensors, write_safetensors
from theodolite._storage.paths import all_or_nothing
from theodolite._storage.text import read_json, write_json
from theodolite.errors import EvidenceError, UnsafeInputError, printable
from theodolite_reproductions.acceptance.scorer import Features, Scorer, scorer_from

ARRAYS, CARD, READ = "score.safetensors", "card.json", "CARD.md"
PERCENT = 101
LIMITS = (
    "It predicts what the raters of these votes would say, on explanations like those that they "
    "saw. It does not tell whether an explanation is true of the model.",
    "What people accept can be learned from traits that do not make an explanation good, such as "
    "its length. An explanation that is made to score high may score high for such a reason.",
)


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _rising(scale: tuple[float, ...]) -> tuple[float, ...]:
    if not np.isfinite(scale).all() or not (np.diff(scale) > 0).all():
        message = "finite answers that rise"
        raise ValueError(message)
    return scale


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
    groups: int | None
    """Images or questions that they are of; None if that is not known."""
    apart: Literal["image", "technique", "both", "none", "unknown"] = "unknown"
    """What was new to the scores in the test."""
    folds: int | None = None
    """In so many parts all were tested; 0: once, on a part of them."""
    scale: Annotated[tuple[float, ...], AfterValidator(_rising)] = Field(min_length=2)
    aggregate: str
    license: str = ""
    embedding: str = ""
    embedding_says: str = ""
    embedding_files: dict[str, str] = {}
    classifier: str = ""
    """For the offline substitute: the network whose classes describe an image."""
    features: tuple[str, ...]
    straight: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    takes: dict[str, Literal["always", "sometimes"]] = {}
    """What was said of the explanations beside themselves, and is a part of the features."""
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
        if features.shape[1] != self.scorer.width:
            got = f"{features.shape[1]} features"
            raise UnsafeInputError(
                "learned score", got, f"{self.scorer.width}, as it was learned from"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # numbers that somebody else wrote
            outputs = self.scorer.outputs(features)
        if not np.isfinite(outputs).all():
            raise UnsafeInputError("learned score", "a rating that is no number", "finite ones")
        return np.asarray(low + np.clip(outputs, 0, 1) * (high - low))

    def percentile(
        self, ratings: Float[np.ndarray, " explanations"]
    ) -> Float[np.ndarray, " explanations"]:
        """Among the explanations it was made from: the share, in per cent, that it rates lower."""
        first = np.searchsorted(self.percentiles, ratings, side="left")
        tied = first < np.searchsorted(self.percentiles, ratings, side="right")
        between = np.interp(ratings, self.percentiles, np.arange(PERCENT))
        return np.asarray(np.where(tied, first, between), np.float64)


def save_scorer(folder: Path, learned: LearnedScore) -> None:
    """Write the arrays, and the card for programs and for people."""
    if not np.isfinite(learned.percentiles).all():
        raise EvidenceError(
            "percentiles", "NaN", "what scores said of explanations that they had not seen"
        )
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
        raise UnsafeInputError("card", f"{place}: {fault['msg']}", "the card of a score") from error
    arrays = read_safetensors(folder / ARRAYS)
    percentiles = arrays.get("percentiles", np.zeros(0))
    plain = percentiles.dtype.kind == "f" and percentiles.shape == (PERCENT,)
    if not plain or not np.isfinite(percentiles).all() or not (np.diff(percentiles) >= 0).all():
        raise UnsafeInputError("percentiles", f"{percentiles.shape}", f"{PERCENT} rising numbers")
    own = {n.removeprefix("score."): a for n, a in arrays.items() if n.startswith("score.")}
    return LearnedScore(scorer_from(card.kind, own), card, percentiles)


def card_text(card: ScoreCard) -> str:
    """The card for people."""
    rows = [
        f"| {_cell(estimate.metric)} | {_cell(_options(estimate))} | {_number(estimate.value)} | "
        f"{_number(estimate.low)} to {_number(estimate.high)} |"
        for estimate in card.held_out
    ]
    scale = ", ".join(f"{answer:g}" for answer in card.scale)
    lines = [
        f"# {_cell(card.name)}",
        "",
        f"Predicts how people rate an explanation: {_cell(card.question)}, answers {scale}.",
        "",
        f"- learned from: {_cell(card.trained_on)}, {card.explanations:,} explanations"
        f"{_of_groups(card)}, {_cell(card.aggregate)} of the votes",
        f"- license of the votes: {_cell(card.license) or 'not stated'}",
        f"- features: {_cell(', '.join((*card.features, *card.straight)))}",
        f"- embedding: {_cell(card.embedding_says or card.embedding) or 'none'}",
        *([f"- classifier: {_cell(card.classifier)}"] if card.classifier else []),
        f"- made with: {_cell(card.made_with)}",
        "",
        "## Held out",
        "",
        f"What scores of this kind reach on {tested_on(card.apart, known=card.groups is not None)}"
        f"{_parts(card.folds)}, and, as rater_correlation and rater_agreement, what one person "
        "reaches.",
        "",
        "| score | options | value | interval |",
        "|---|---|---|---|",
        *rows,
        "",
        "## Limits",
        "",
        *(f"- {_cell(limit)}" for limit in card.limits),
        "",
    ]
    return "\n".join(lines)


def tested_on(apart: str, *, known: bool) -> str:
    """What was new to a score in the test, in words that are true of these votes."""
    if apart == "image" and not known:
        return (
            "explanations that they have not seen (which of them are of one image or question is "
            "not known, so they may have seen others of the same)"
        )
    return {
        "image": "explanations of images or questions that they have not seen",
        "technique": "explanations of techniques that they have not seen",
        "both": "explanations of images and techniques that they have not seen",
        "none": "explanations that they have not seen, though perhaps others of the same image "
        "or question",
    }.get(apart, "explanations that they have not seen")


def _of_groups(card: ScoreCard) -> str:
    return "" if card.groups is None else f" of {card.groups:,} images or questions"


def _parts(folds: int | None) -> str:
    if folds is None:
        return ""
    return f", in {folds} parts" if folds else ", about a seventh of them or less"


def _options(estimate: HeldOut) -> str:
    return ", ".join(f"{name}={value}" for name, value in estimate.options.items())


def _cell(text: str) -> str:
    return printable(text, 2000).replace("|", "/").replace("<", "(").replace("`", "'")


def _number(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.3f}"
