"""Several sets of votes, so that the agreement of their raters can be seen side by side."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Literal

from theodolite._storage.paths import find_in_data
from theodolite.datasets.votes.voted import VotedExplanations
from theodolite.errors import EvidenceError
from theodolite_reproductions.datasets.votes.own_words import text_own_words
from theodolite_reproductions.datasets.votes.pasta import pasta_votes
from theodolite_reproductions.datasets.votes.saliency import saliency_ratings
from theodolite_reproductions.datasets.votes.text import text_acceptability, text_quality

Reader = Literal[
    "text_acceptability", "text_quality", "text_own_words", "pasta_votes",
    "saliency_ratings_en", "saliency_ratings_de", "saliency_ratings_correction",
]  # fmt: skip
READERS: dict[str, Callable[[Path], VotedExplanations]] = {
    "text_acceptability": text_acceptability,
    "text_quality": text_quality,
    "text_own_words": text_own_words,
    "pasta_votes": pasta_votes,
    "saliency_ratings_en": partial(saliency_ratings, part="en"),
    "saliency_ratings_de": partial(saliency_ratings, part="de"),
    "saliency_ratings_correction": partial(saliency_ratings, part="correction"),
}


def voted_parts(root: Path, *, parts: Sequence[tuple[Reader, str]]) -> VotedExplanations:
    """Read several sets of votes below one folder; scores are learned from the first.

    Args:
        root: The folder that they are in.
        parts: For each its reader and its own folder.
    """
    if not parts:
        raise EvidenceError("parts", "none", "at least one set of votes")
    first, *others = [READERS[reader](find_in_data(root, folder)) for reader, folder in parts]
    return replace(first, beside=tuple(others))
