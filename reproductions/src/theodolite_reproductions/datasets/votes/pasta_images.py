"""The images of PASTA by themselves: four data sets, a label each, no votes."""

from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from theodolite._storage.images import read_image
from theodolite._storage.paths import confined, sha256_of
from theodolite.errors import UnsafeInputError
from theodolite_reproductions.datasets.votes.pasta import IMAGE_NAME


@dataclass(frozen=True, eq=False)
class PastaImages:
    """Images in a folder, whose names say of which data set they are and what is in them."""

    name: str
    folder: Path
    images: tuple[str, ...]
    data_sets: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.images)

    def path(self, row: int) -> Path:
        """The file."""
        return confined(self.folder, self.images[row])

    def image(self, row: int) -> Image.Image:
        """The image, decoded."""
        return read_image(self.path(row))

    def digests(self) -> dict[str, str]:
        """Of all images, by file."""
        return {name: sha256_of(self.path(row)) for row, name in enumerate(self.images)}


def pasta_images(root: Path) -> PastaImages:
    """Read a folder of images named ``{data set}_{number}_{label}.jpg``, such as ``imgs``."""
    names = [
        (path.name, match)
        for path in sorted(Path(root).iterdir())
        if (match := IMAGE_NAME.fullmatch(path.name)) is not None
    ]
    if not names:
        raise UnsafeInputError(
            f"folder {Path(root).name!r}", "no images", "files {data}_{number}_{label}.jpg"
        )
    return PastaImages(
        name="PASTA images", folder=Path(root), images=tuple(name for name, _ in names),
        data_sets=tuple(match["data"] for _, match in names),
        labels=tuple(match["label"] for _, match in names),
    )  # fmt: skip
