"""Draw study images with changed twins, and the network's prediction for each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from theodolite.datasets.study_material.checks import PRACTICE
from theodolite.datasets.study_material.explained_images import Answer, Item
from theodolite.datasets.study_material.material import INSTANCES
from theodolite.errors import EvidenceError
from theodolite.evidence.pipeline_output import Progress
from theodolite.explainers.perturbed_samples import (
    PerturbedSample,
    find_different_prediction,
    find_same_prediction,
)

MIX_CANDIDATES = 8
"""Number of other images that one may be mixed with."""
MAX_DRAWS = 6
"""Largest number of draws of a change that is visible and leaves content."""
MIN_CONTRAST_FRACTION = 0.3
"""Smallest fraction of the contrast that a changed image must keep."""
BATCH = 16
Predict: TypeAlias = Callable[[Sequence[Image.Image]], Int[np.ndarray, " images"]]
Explanation: TypeAlias = Float[np.ndarray, "rows columns"] | Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class TwinSettings:
    """Settings of a study's material."""

    images: int = 20
    techniques: Sequence[str] = ()
    """Techniques to show; default: all of the run."""
    checks: int = 6
    """Number of hidden checks, each with its own image, as the three practice items have."""
    seed: int = 0
    """Seed of images, changes and methods; the run's seed gives the run's images."""
    colors: Literal["even", "paper"] = "even"
    """Color scale; ``paper`` is blue-white-red as published, with uneven steps."""
    longest: int = 640
    """Pixels of the longer side of images, for people and for the network."""

    def __post_init__(self) -> None:
        for name, least in (("images", 1), ("checks", 0), ("longest", 32)):
            if getattr(self, name) < least:
                raise EvidenceError(name, f"{getattr(self, name)}", f"at least {least}")
        if len(set(self.techniques)) < len(self.techniques):
            raise EvidenceError("techniques", f"{list(self.techniques)}", "each once")
        if self.colors not in ("even", "paper"):
            raise EvidenceError("colors", repr(self.colors), "'even' or 'paper'")

    def rows(self, candidates: Int[np.ndarray, " n"]) -> tuple[list[int], list[int]]:
        """Return the study's rows in random order, and others for practice and checks.

        Raises if there are too few: practice shows the explanation, and a rater who sees the image
        again could no longer rate it blindly.
        """
        apart = PRACTICE + self.checks
        needed = self.images + apart
        if len(candidates) < needed:
            left = len(candidates) - apart
            raise EvidenceError(
                "images", f"{len(candidates)} at hand",
                f"{needed}: {self.images} to be rated, {PRACTICE} to practise with and "
                f"{self.checks} for hidden checks, all different",
                f"Ask for fewer images: --images {left}." if left > 0
                else "Take more data: nothing is left to be rated.",
            )  # fmt: skip
        rows = [int(row) for row in candidates[:needed]]
        return rows[: self.images], rows[self.images :]

    def choose(self, there: Sequence[str]) -> tuple[str, ...]:
        """Return the techniques; raise if the run lacks any."""
        strange = [name for name in self.techniques if name not in there]
        if strange:
            raise EvidenceError("techniques", repr(strange[0]), f"some of {', '.join(there)}")
        return tuple(self.techniques or there)


@runtime_checkable
class NamedImages(Protocol):
    """Interface of a data set with named images."""

    @property
    def images(self) -> tuple[str, ...]:
        """Names of the images."""

    def image(self, row: int) -> Image.Image:
        """Return the decoded image of a row."""


@dataclass(frozen=True, eq=False)
class TwinImage:
    """An image, its twins for questions 5 and 6 where available, and their classes."""

    key: str
    images: tuple[Image.Image, ...]
    classes: tuple[int, ...]
    roles: tuple[str, ...]
    """Role of each image: shown, same or different."""

    def item(
        self, technique: str, explanations: Sequence[Explanation], name: Callable[[int], str]
    ) -> Item:
        """Return the study item with the explanations of one technique."""
        answers: dict[str, Answer] = {}
        for role, image, label, explanation in zip(
            self.roles, self.images, self.classes, explanations, strict=True
        ):
            plain = Answer(image=image, predicted=name(label))
            answers[role] = (
                replace(plain, map=explanation)
                if isinstance(explanation, np.ndarray)
                else replace(plain, concepts=explanation)
            )
        return Item(
            image_key=self.key,
            technique=technique,
            shown=answers["shown"],
            same=answers.get("same"),
            different=answers.get("different"),
        )


def make_twin_images(
    data: NamedImages,
    rows: Sequence[int],
    predict: Predict,
    settings: TwinSettings,
    progress: Progress,
) -> dict[int, TwinImage]:
    """Return every image with its twins, by row."""
    reduced = {row: _reduce(data.image(row), settings.longest) for row in rows}
    cached_predict = _with_memory(predict, list(reduced.values()))
    twins: dict[int, TwinImage] = {}
    for row in reduced:
        progress("changed images", len(twins), len(reduced))
        twins[row] = _with_twins(data.images[row], row, reduced, cached_predict, settings.seed)
    progress("changed images", len(twins), len(reduced))
    return twins


def _with_twins(
    key: str, row: int, images: Mapping[int, Image.Image], predict: Predict, seed: int
) -> TwinImage:
    image = images[row]
    random = np.random.default_rng([seed, 11, row])
    beside = [images[int(i)] for i in random.permutation(list(images)) if i != row][:MIX_CANDIDATES]
    first = int(random.integers(2**31))
    twins = {
        "same": _visible(image, first, lambda s: find_same_prediction(image, predict, seed=s)),
        "different": _visible(
            image, first, lambda s: find_different_prediction(image, predict, beside, seed=s)
        ),
    }
    there = {role: sample for role, sample in twins.items() if sample is not None}
    (label,) = predict([image])
    return TwinImage(
        key,
        (image, *(sample.image for sample in there.values())),
        (int(label), *(sample.predicted for sample in there.values())),
        ("shown", *there),
    )


def _visible(
    image: Image.Image, seed: int, search: Callable[[int], PerturbedSample | None]
) -> PerturbedSample | None:
    """Return a change that is visible and leaves visible content, or None."""
    least = MIN_CONTRAST_FRACTION * float(np.asarray(image.convert("L")).std())
    for draw in range(MAX_DRAWS):
        sample = search(seed + draw)
        if (
            sample is not None
            and sample.changed
            and float(np.asarray(sample.image.convert("L")).std()) >= least
        ):
            return sample
    return None


def _with_memory(predict: Predict, images: Sequence[Image.Image]) -> Predict:
    """Return a prediction function that caches the classes of these images."""
    classes = [int(label) for at in range(0, len(images), BATCH)
               for label in predict(images[at : at + BATCH])]  # fmt: skip
    known = {id(image): label for image, label in zip(images, classes, strict=True)}

    def cached_predict(images: Sequence[Image.Image]) -> Int[np.ndarray, " images"]:
        new = [image for image in images if id(image) not in known]
        labels = iter(predict(new) if new else ())
        return np.array(
            [known[id(image)] if id(image) in known else int(next(labels)) for image in images],
            np.int64,
        )

    return cached_predict


def _reduce(image: Image.Image, longest: int) -> Image.Image:
    plain = image.convert("RGB")
    plain.thumbnail((longest, longest), Image.Resampling.LANCZOS)
    return plain


def check_no_material(folder: Path) -> None:
    """Raise if a study folder already has material."""
    if (folder / INSTANCES).exists():
        raise EvidenceError(
            f"folder {folder.name!r}", "one with material in it", "a new one",
            "Choose another folder.",
        )  # fmt: skip
