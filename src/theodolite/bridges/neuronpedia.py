"""Exports of Neuronpedia: explanations and top activations in, explanations out.

An export holds ``MODEL/SOURCE/explanations/batch-N.jsonl.gz`` and ``.../activations/...``, an
object a line. Kept: labels, and the texts in which a latent is most active. Lost: which model and
dictionary (the folder says it), embeddings. An export does not have: how often a latent is active,
what it does below its top, and texts in which it is not active. Whatever needs these is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from theodolite._storage.text import read_json_lines, write_json_lines
from theodolite.bridges import _foreign_json as foreign
from theodolite.errors import EvidenceError, RefusedInput
from theodolite.language.texts.explanations import MOST_TEXT, LatentExplanation

MOST_TOKENS = 100_000


@dataclass(frozen=True)
class TopActivation:
    """A text in which a latent is among its strongest."""

    latent: int
    tokens: tuple[str, ...]
    values: tuple[float, ...]

    @property
    def text(self) -> str:
        """The tokens put together."""
        return "".join(self.tokens)


def read_explanations(path: Path | str, *, most_lines: int = 2_000_000) -> list[LatentExplanation]:
    """Explanations of a file, or of all files of a folder."""
    return [_explanation(*entry) for entry in _entries(path, "explanations", most_lines)]


def read_activations(path: Path | str, *, most_lines: int = 2_000_000) -> list[TopActivation]:
    """Top activations of a file, or of all files of a folder."""
    return [_activation(*entry) for entry in _entries(path, "activations", most_lines)]


def _entries(path: Path | str, what: str, most_lines: int) -> Iterator[tuple[Any, str]]:
    place = Path(path)
    files = [place]
    if place.is_dir():
        files = sorted(f for f in place.iterdir() if f.name.endswith((".jsonl", ".jsonl.gz")))
    if not files:
        raise RefusedInput(f"folder {place.name!r}", "no .jsonl or .jsonl.gz file", "some")
    for file in files:
        label = f"{what} of Neuronpedia"
        for content in read_json_lines(file, label, most_lines=most_lines):
            most_lines -= 1
            yield foreign.mapping(content, f"{label} {file.name!r}"), f"{label} {file.name!r}"


def _explanation(content: Mapping[str, Any], where: str) -> LatentExplanation:
    def optional(*names: str) -> str:
        values = [content[name] for name in names if content.get(name) is not None]
        return foreign.text(values[0], where, 1000) if values else ""

    return LatentExplanation(
        foreign.whole(foreign.field(content, "index", where), where),
        "text",
        foreign.text(foreign.field(content, "description", where), where, MOST_TEXT),
        optional("explanationModelName", "typeName"),
    )


def _activation(content: Mapping[str, Any], where: str) -> TopActivation:
    tokens = foreign.texts(foreign.field(content, "tokens", where), where)
    values = foreign.numbers(foreign.field(content, "values", where), where)
    if len(tokens) != len(values) or not 0 < len(tokens) <= MOST_TOKENS:
        raise RefusedInput(
            where, f"{len(tokens)} tokens, {len(values)} values", "as many, not none"
        )
    latent = foreign.whole(foreign.field(content, "index", where), where)
    return TopActivation(latent, tuple(tokens), tuple(values))


def detection_texts(
    activations: Sequence[TopActivation], latent: int
) -> tuple[list[TopActivation], list[TopActivation]]:
    """The texts in which a latent is active, and those in which it is not: what a judge can be
    asked about. An export has none of the second kind, and is refused."""
    own = [activation for activation in activations if activation.latent == latent]
    active = [activation for activation in own if max(activation.values) > 0]
    inactive = [activation for activation in own if max(activation.values) <= 0]
    if not active or not inactive:
        raise EvidenceError(
            f"latent {latent} of an export of Neuronpedia",
            f"{len(active)} texts in which it is active and {len(inactive)} in which it is not",
            "both kinds, drawn without regard to how active it is",
            "An export has the strongest activations only: run the model on a corpus, or take the "
            "export for its explanations alone.",
        )
    return active, inactive


def write_explanations(
    path: Path | str,
    explanations: Sequence[LatentExplanation],
    scores: Mapping[int, str] | None = None,
    *,
    model: str = "",
    source: str = "",
) -> None:
    """Explanations in the form of an export; what is known of a latent's score, in words, is its
    ``notes``. ``source`` says where in the model, and which dictionary."""
    known = scores or {}
    write_json_lines(
        Path(path),
        (
            {
                "index": str(entry.latent), "description": entry.text, "modelId": model,
                "layer": source, "explanationModelName": entry.author,
                "typeName": "theodolite", "notes": known.get(entry.latent, ""),
            }
            for entry in explanations
        ),
    )  # fmt: skip
