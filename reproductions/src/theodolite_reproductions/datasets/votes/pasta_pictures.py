"""The pictures of PASTA by themselves: four data sets, a label each, no votes."""

from dataclasses import dataclass
from pathlib import Path

from PIL import Image

from theodolite._storage.paths import confined, sha256_of
from theodolite._storage.pictures import read_picture
from theodolite.errors import RefusedInput
from theodolite_reproductions.datasets.votes.pasta import PICTURE_NAME


@dataclass(frozen=True, eq=False)
class PastaPictures:
    """Pictures in a folder, whose names say of which data set they are and what is in them."""

    name: str
    folder: Path
    pictures: tuple[str, ...]
    data_sets: tuple[str, ...]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.pictures)

    def path(self, row: int) -> Path:
        """The file."""
        return confined(self.folder, self.pictures[row])

    def picture(self, row: int) -> Image.Image:
        """The picture, decoded."""
        return read_picture(self.path(row))

    def digests(self) -> dict[str, str]:
        """Of all pictures, by file."""
        return {name: sha256_of(self.path(row)) for row, name in enumerate(self.pictures)}


def pasta_pictures(root: Path) -> PastaPictures:
    """Read a folder of pictures named ``{data set}_{number}_{label}.jpg``, such as ``imgs``."""
    names = [
        (path.name, match)
        for path in sorted(Path(root).iterdir())
        if (match := PICTURE_NAME.fullmatch(path.name)) is not None
    ]
    if not names:
        raise RefusedInput(
            f"folder {Path(root).name!r}", "no pictures", "files {data}_{number}_{label}.jpg"
        )
    return PastaPictures(
        name="PASTA pictures", folder=Path(root), pictures=tuple(name for name, _ in names),
        data_sets=tuple(match["data"] for _, match in names),
        labels=tuple(match["label"] for _, match in names),
    )  # fmt: skip
