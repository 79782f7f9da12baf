"""Prepare the images and texts that Label Studio and Potato show for each explanation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from theodolite.errors import UnsafeInputError
from theodolite.ext.studies import (
    IMAGES,
    Explained,
    Instance,
    Material,
    image_path,
    keep_image,
    plain_text,
    read_image,
    shown_from,
)
from theodolite_study.protocol import Protocol

MAP_OPACITY = 0.5
"""Opacity of a saliency map over its image, since these tools cannot overlay two images."""
TWINS = {"q5": "same", "q6": "different"}
"""Questions that compare with a changed image, and the kind of change."""
NOT_ASKED = "This question is not asked here. Please leave it."


@dataclass(frozen=True)
class Page:
    """Content shown for one explanation. Files are names in the folder of images."""

    instance: Instance
    image: str
    before: str
    """Question asked before the explanation, with the class in it."""
    explanation: str
    text: str
    """Explanation by concepts in words; for a saliency map, the meaning of its colors."""
    twins: Mapping[str, tuple[str, str, str]]
    """For questions 5 and 6: the changed image, its explanation, and that in words."""


def build_pages(folder: Path, material: Material, protocol: Protocol, out: Path) -> Sequence[Page]:
    """Return the pages of all rated explanations, and copy their images into ``out``.

    Practice items and hidden checks have no place in these tools and are left out.
    """
    if any(out.glob("*")):
        raise UnsafeInputError(f"folder {out.name!r}", "files in it", "a new or empty folder")
    all_pages = []
    for instance in material.of("real"):
        image, explanation, text = _copy_shown(folder, instance.shown, material, out)
        label = plain_text(instance.shown.predicted)
        twins = {}
        for question, name in TWINS.items():
            if question in protocol.questions and any(
                getattr(other, name) for other in material.of("real")
            ):
                changed: Explained | None = getattr(instance, name)
                twins[question] = (
                    (image, explanation, NOT_ASKED)
                    if changed is None
                    else _copy_shown(folder, changed, material, out)
                )
        before = plain_text(protocol.before_text).replace("{label}", label)
        all_pages.append(Page(instance, image, before, explanation, text, twins))
    return all_pages


def _copy_shown(
    folder: Path, explained: Explained, material: Material, out: Path
) -> tuple[str, str, str]:
    """Return the image, the explanation as an image, and the explanation in words."""
    if explained.image is None:
        raise UnsafeInputError(
            "material", "explanations of texts or tables", "explanations of images",
            "Other platforms are given images; the server of studies shows all.",
        )  # fmt: skip
    path = image_path(folder, explained.image)
    image = keep_image(out, path.read_bytes(), path.suffix[1:])
    prediction = f"The program's answer: {plain_text(explained.predicted)}."
    if explained.map is None:
        return image, image, f"{prediction}\n{format_concepts(explained.concepts or {})}"
    over = overlay_map(path, image_path(folder, explained.map))
    overlay = shown_from(over, longest=max(over.size))
    meant = "Red speaks for it, blue against it." if material.legend == "signed" else ""
    return (
        image,
        keep_image(out, overlay.content, overlay.suffix),
        f"{prediction} {meant}".strip(),
    )


def overlay_map(image: Path, saliency_map: Path, opacity: float = MAP_OPACITY) -> Image.Image:
    """Overlay the colors of a saliency map on an image."""
    below = read_image(image)
    return Image.blend(below, read_image(saliency_map).resize(below.size), opacity)


def format_concepts(concepts: Mapping[str, float]) -> str:
    """List concepts with their values, the most important first.

    >>> print(format_concepts({"leg": -0.25, "beak": 0.5}))
    beak: +0.50
    leg: -0.25
    """
    order = sorted(concepts.items(), key=lambda pair: (-abs(pair[1]), pair[0]))
    return "\n".join(f"{plain_text(name)}: {value:+.2f}" for name, value in order)


def get_asked_questions(instance: Instance, protocol: Protocol) -> tuple[str, ...]:
    """Return the questions that apply to an explanation."""
    return tuple(
        name
        for name in protocol.questions
        if name not in TWINS or getattr(instance, TWINS[name]) is not None
    )


def is_always_asked(question: str, material: Material) -> bool:
    """Return whether a question is asked about every explanation."""
    return question not in TWINS or all(
        getattr(instance, TWINS[question]) is not None for instance in material.of("real")
    )


__all__ = [
    "IMAGES",
    "TWINS",
    "Page",
    "build_pages",
    "format_concepts",
    "get_asked_questions",
    "is_always_asked",
    "overlay_map",
]  # fmt: skip
