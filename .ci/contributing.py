"""Set up as CONTRIBUTING.md says, in an empty folder, and run the tests that it names.

    python contributing.py FOLDER

The commands are taken from the page as they stand.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def commands() -> list[str]:
    """The first block of commands under "Set up"."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    block = re.search(r"^## Set up\n\n((?:    .+\n)+)", page, re.MULTILINE)
    assert block, "CONTRIBUTING.md has no commands under 'Set up'"
    return [line.strip() for line in block[1].splitlines()]


def copied(folder: Path) -> None:
    """The files that a clone would have, and those that are about to be added."""
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(ask, cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def main() -> None:
    """Follow the page."""
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    copied(folder)
    home = str(folder.parent)
    bare = [part for part in os.environ["PATH"].split(":") if not part.startswith(home)]
    # most modules of most packages are never loaded here: compiling them all takes half a minute
    environment = {**os.environ, "PATH": ":".join(bare), "PIP_NO_COMPILE": "1"}
    script = "\n".join(["set -ex", *commands()])
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, check=False)
    sys.exit(done.returncode)


main()
