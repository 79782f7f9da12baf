"""A program of its own that reads images which nobody vouches for, with little memory.

``python -m theodolite_study.designer.image_check FOLDER`` prints their sizes as JSON, or why one
is refused. Whatever an image does to the reader ends with this process.
"""

import json
import resource
import sys
from pathlib import Path

MEMORY = 1 << 30
CPU_SECONDS = 600
FILES = 64
MOST_PIXELS = 16_000_000
FORMATS = {"png": "PNG", "jpg": "JPEG", "webp": "WEBP"}


def limit_process() -> None:
    """Bounds that hold for the rest of the process: nothing is written, little is used."""
    for what, most in (
        (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_NOFILE, FILES), (resource.RLIMIT_FSIZE, 0), (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(what)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def size_of(path: Path) -> tuple[int, int]:
    """Width and height of an image that can be shown.

    Raises:
        ValueError: In words, where it cannot.
    """
    from PIL import Image  # noqa: PLC0415  after the limits are set

    kind = FORMATS[path.suffix[1:]]
    try:
        with Image.open(path, formats=[kind]) as image:  # noqa: TID251  the name's format alone
            width, height = image.size
            if width * height > MOST_PIXELS or getattr(image, "n_frames", 1) > 1:
                raise ValueError("it has too many pixels, or moves")
            image.verify()
        with Image.open(path, formats=[kind]) as image:  # noqa: TID251  the name's format alone
            image.load()
    except MemoryError as error:
        raise ValueError("it needs too much memory") from error
    except (OSError, SyntaxError) as error:
        raise ValueError(f"it is no {kind} that can be read") from error
    return width, height


def main(folder: Path) -> dict[str, object]:
    """Sizes by name, or what is refused."""
    sizes: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        try:
            sizes[path.name] = size_of(path)
        except ValueError as error:
            return {"refused": f"Image {path.name[:12]}…: {error}."}
    return sizes


if __name__ == "__main__":
    limit_process()
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
