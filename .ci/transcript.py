"""The first pages followed from the wheel, with nothing but what they say, and without a network.

    python transcript.py WHEEL FULL FOLDER PAGE...

Makes an environment in FOLDER with nothing but the wheel, or adds to it what an extra needs
(``WHEEL[testing]``). Of each page, in an empty folder, it takes commands, files and code in their
order, as a reader would, and prints what was typed and what came. A block below a heading that
names an extra (``theodolite[torch]``), or that begins with one (``# needs theodolite[tabular]``),
runs in the environment FULL, on the files of the wheel.
``<!-- exit: 6 -->`` before a block promises an exit code, ``<!-- output -->`` before a block of
text that the code above it prints just this.
"""

import os
import re
import subprocess
import sys
import time
import venv
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PART = re.compile(
    r"^(?P<heading>#+ [^\n]*)$|"
    r"^(?:<!-- (?P<mark>exit: \d+|output) -->\n)?```(?P<kind>\w+)\n(?P<text>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
FILE = re.compile(r"`(\w+\.(?:py|yaml))`")
EXTRA = re.compile(r"theodolite\[(\w+)\]")
NEEDS = re.compile(r"\A# needs theodolite\[(\w+)\]\n")
ALONE = ("unshare", "--map-root-user", "--net")
"""A process without a network, where the machine allows such."""
NOWHERE = dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), "http://127.0.0.1:9")


@dataclass(frozen=True)
class Part:
    """A block of a page."""

    kind: str
    text: str
    mark: str
    file: str
    """What the words before it call it."""
    extra: str
    """What its heading or its first line says that it needs."""


def parts(page: str) -> Iterator[Part]:
    """All blocks, in order."""
    end, extra = 0, ""
    for match in PART.finditer(page):
        named = FILE.findall(page[end : match.start()])
        end = match.end()
        if match["heading"]:
            extra = "".join(EXTRA.findall(match["heading"]))
        else:
            file = named[-1] if named else ""
            own = "".join(NEEDS.findall(match["text"])) or extra
            yield Part(match["kind"], match["text"], match["mark"] or "", file, own)


class Reader:
    """Somebody who types what a page says, in one folder."""

    def __init__(self, folder: Path, base: Path, full: Path, wheel: Path) -> None:
        folder.mkdir(parents=True)
        self.folder, self.base, self.full, self.wheel = folder, base, full, wheel
        self.printed = ""
        alone = subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0
        self.prefix = ALONE if alone else ()

    def type(self, command: str, code: int, extra: str) -> None:
        """Run a command as it stands."""
        home = self.full if extra else self.base
        environment = {**os.environ, "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}
        environment |= {} if self.prefix else NOWHERE
        environment |= {"PYTHONPATH": str(self.wheel)} if extra else {}
        start = time.monotonic()
        done = subprocess.run(
            [*self.prefix, "/bin/bash", "-c", command], cwd=self.folder, text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
        )  # fmt: skip
        lines = [line for line in done.stdout.splitlines() if line.strip()]
        lines = [line for line in lines if " (from " not in line]  # what pip finds beside it
        print(f"$ {command}\n" + "\n".join(f"  {line[:150]}" for line in lines[-12:]))
        print(f"  ({time.monotonic() - start:.1f} s, exit code {done.returncode})\n", flush=True)
        assert done.returncode == code, f"{command}: {done.returncode}, promised {code}"
        self.printed = done.stdout

    def follow(self, part: Part) -> None:
        """Do what a block says."""
        code = int(part.mark.removeprefix("exit: ")) if part.mark.startswith("exit") else 0
        if part.mark == "output":
            assert self.printed == part.text, f"promised\n{part.text}\nprinted\n{self.printed}"
        elif part.kind == "console":
            for line in part.text.splitlines():
                self.type(line.removeprefix("$ "), code, part.extra)
        elif part.kind in ("python", "yaml"):
            name = part.file or "code.py"
            (self.folder / name).write_text(part.text, "utf-8")
            if part.kind == "python":
                self.type(f"python {name}", code, part.extra)


def main() -> None:
    requirement = sys.argv[1]
    full, folder, *pages = (Path(argument).resolve() for argument in sys.argv[2:])
    base, unpacked = folder / "env", folder / "wheel"
    if not base.exists():
        venv.create(base, with_pip=True)
    install = ["install", "-q", "--no-compile", "--disable-pip-version-check", requirement]
    subprocess.run([base / "bin" / "python", "-m", "pip", *install], check=True)
    with zipfile.ZipFile(requirement.partition("[")[0]) as packed:
        packed.extractall(unpacked)
    for page in pages:
        reader = Reader(folder / page.stem, base, full, unpacked)
        print(f"== {page.name}, network {'off' if reader.prefix else 'behind a proxy to nowhere'}")
        blocks = list(parts(page.read_text("utf-8")))
        assert any(block.kind == "console" for block in blocks), f"{page.name} has no command"
        for block in blocks:
            reader.follow(block)


if __name__ == "__main__":
    main()
