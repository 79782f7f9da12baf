"""Set up as CONTRIBUTING.md says, in an empty folder, and run the tests that it names.

    python contributing.py FOLDER

The commands are taken from the page as they stand, but that uv does what is asked of pip, in a
sixth of the time (not with THEODOLITE_FULL; pip itself installs the wheel in `transcript.py`).
Those before the last one make an environment: it is made anew when what it is made from changed,
and every day, as nothing in it is pinned. On other runs the checkout is only built again, since
the build writes the functions of metrics into it.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
DAY = 86400
REBUILD = [". env/bin/activate", "pip install -q uv && uv pip install -q --no-deps -e ."]


def commands() -> list[str]:
    """The first block of commands under "Set up"."""
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    block = re.search(r"^## Set up\n\n((?:    .+\n)+)", page, re.MULTILINE)
    assert block, "CONTRIBUTING.md has no commands under 'Set up'"
    lines = [line.strip() for line in block[1].splitlines()]
    if os.environ.get("THEODOLITE_FULL"):
        return lines
    return [re.sub(r"^pip ", "pip install -q uv && uv pip ", line) for line in lines]


def copied(folder: Path) -> None:
    """The files that a clone would have, and those that are about to be added."""
    ask = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.check_output(ask, cwd=ROOT, text=True).split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def made_from() -> str:
    """What the environment depends on."""
    paths = [ROOT / "CONTRIBUTING.md", ROOT / "pyproject.toml", Path(sys.executable)]
    content = [path.read_bytes() for path in paths]
    return hashlib.sha256(b"".join(content) + repr(commands()).encode()).hexdigest()


def still_good(stamp: Path) -> bool:
    """Whether the page would make the environment that is there."""
    fresh = stamp.is_file() and time.time() - stamp.stat().st_mtime < DAY
    return fresh and stamp.read_text() == made_from()


def emptied(folder: Path, keep: str) -> None:
    """A folder with nothing in it but what is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.name == keep:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def main() -> None:
    """Follow the page."""
    folder = Path(sys.argv[1]).resolve()
    stamp = folder / "env" / "made_from"
    *set_up, tests = commands()
    good = still_good(stamp)
    emptied(folder, keep="env" if good else "")
    copied(folder)
    home = str(folder.parent)
    bare = [part for part in os.environ["PATH"].split(":") if not part.startswith(home)]
    # most modules of most packages are never loaded here: compiling them all takes half a minute
    environment = {**os.environ, "PATH": ":".join(bare), "PIP_NO_COMPILE": "1"}
    for lines in (REBUILD if good else set_up, [". env/bin/activate", tests]):
        script = "\n".join(["set -ex", *lines])
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, check=False)
        if done.returncode:
            sys.exit(done.returncode)
        if lines is set_up:
            stamp.write_text(made_from())


main()
