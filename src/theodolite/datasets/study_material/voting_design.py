"""Plan votes: whether participants suffice, and who saw which image before."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from theodolite.errors import EvidenceError


@dataclass(frozen=True)
class VotesNeeded:
    """How many votes a study needs, and how many its raters can give."""

    needed: int
    possible: int
    annotators: int

    @property
    def surplus(self) -> int:
        """Votes that could be given and are not needed."""
        return self.possible - self.needed

    @property
    def per_annotator(self) -> float:
        """Votes that each rater gives on average."""
        return self.needed / self.annotators

    def __str__(self) -> str:
        return (
            f"{self.needed:,} votes, {self.per_annotator:,.1f} of each of {self.annotators:,} "
            f"raters; {self.surplus:,} more could be given"
        )


def votes_needed(instances: int, votes: int, annotators: int, quota: int) -> VotesNeeded:
    """Check that raters can give each instance this number of ratings, each rater one at most.

    ``quota`` is the most that one rater is asked for.

    >>> print(votes_needed(instances=2200, votes=5, annotators=15, quota=734))
    11,000 votes, 733.3 of each of 15 raters; 10 more could be given
    """
    numbers = {"instances": instances, "votes": votes, "annotators": annotators, "quota": quota}
    for name, number in numbers.items():
        if number < 1:
            raise EvidenceError(name, f"{number}", "1 or more")
    if votes > annotators:
        raise EvidenceError(
            "annotators", f"{annotators}", f"{votes} or more", "Each gives an instance one vote."
        )
    needed, possible = instances * votes, annotators * min(quota, instances)
    if possible < needed:
        raise EvidenceError(
            "votes",
            f"{possible:,} at most: {annotators} raters with {min(quota, instances):,} each",
            f"{needed:,}, {votes} for each of {instances:,} instances",
            f"Ask each for {-(-needed // annotators):,}, or fewer votes or instances.",
        )
    return VotesNeeded(needed, possible, annotators)


def image_exposure_index(
    raters: Sequence[Hashable], images: Sequence[Hashable]
) -> Int[np.ndarray, " votes"]:
    """For each vote, in the order they were given: the how many-th time the rater saw the image.

    From 2 on, what a rater says before the explanation is shown is no longer said blindly.

    >>> image_exposure_index(["ann", "ann", "bob", "ann"], ["dog", "cat", "dog", "dog"]).tolist()
    [1, 1, 1, 2]
    """
    if len(raters) != len(images):
        raise EvidenceError("images", f"{len(images)}", f"{len(raters)}, one for each vote")
    seen: Counter[tuple[Hashable, Hashable]] = Counter()
    index = np.empty(len(raters), dtype=np.int64)
    for vote, pair in enumerate(zip(raters, images, strict=True)):
        seen[pair] += 1
        index[vote] = seen[pair]
    return index
