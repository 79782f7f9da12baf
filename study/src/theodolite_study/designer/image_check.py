"""Read uploaded images in a separate process with little memory, and print their sizes.

``python -m theodolite_study.designer.image_check FOLDER`` prints JSON, or why an image is refused.
A harmful image can only end this process. Used by `designer.archive`.
"""

import json
import resource
import sys
from pathlib import Path

MAX_MEMORY_BYTES = 1 << 30
MAX_CPU_SECONDS = 600
MAX_OPEN_FILES = 64
MAX_PIXELS = 16_000_000
FORMATS = {"png": "PNG", "jpg": "JPEG", "webp": "WEBP"}


def limit_process() -> None:
    """Limit memory, time and files of this process for the rest of its life."""
    for what, most in (
        (resource.RLIMIT_AS, MAX_MEMORY_BYTES), (resource.RLIMIT_CPU, MAX_CPU_SECONDS),
        (resource.RLIMIT_NOFILE, MAX_OPEN_FILES), (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        hard = resource.getrlimit(what)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (least, least))


def read_size(path: Path) -> tuple[int, int]:
    """Return width and height of an image that can be displayed.

    Raises:
        ValueError: In words, where it cannot.
    """
    from PIL import Image  # noqa: PLC0415  after the limits are set

    kind = FORMATS[path.suffix[1:]]
    try:
        with Image.open(path, formats=[kind]) as image:  # noqa: TID251  the name's format alone
            width, height = image.size
            if width * height > MAX_PIXELS or getattr(image, "n_frames", 1) > 1:
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
    """Return the sizes by name, or the first refusal."""
    sizes: dict[str, object] = {}
    for path in sorted(folder.iterdir()):
        try:
            sizes[path.name] = read_size(path)
        except ValueError as error:
            return {"refused": f"Image {path.name[:12]}…: {error}."}
    return sizes


if __name__ == "__main__":
    limit_process()
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))
