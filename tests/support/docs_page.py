"""A page of the docs as something that can be followed: its code, commands and files, in order.

``python tests/support/docs_page.py`` follows pages one after the other, each in a folder of its own: loading
libraries takes longer than most pages do. It reads a list of names, pages, folders and whether
commands are run, and writes a line for each name: what went wrong, or nothing.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import time
import traceback
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import theodolite
from theodolite._planted.concepts import planted_concepts
from theodolite._scoring.evaluate import Resampling
from theodolite.cli import main

BLOCK = re.compile(
    r"^(?:<!-- exit: (?P<code>\d+) -->\n)?```(?P<kind>[a-z]*)[^\n]*\n(?P<text>.*?)^```|"
    r"^(?P<indented>(?:    [^\n]*\n)+)",
    re.DOTALL | re.MULTILINE,
)
FETCHES = re.compile(r"--model |s3://|gs://|--ray-address")
"""Commands that need weights from a hub, a bucket or a cluster are only held against the help."""
NEEDS = re.compile(r"<!-- needs: (.+?) -->")
FILE = re.compile(r"`([\w./-]+\.(?:ya?ml|py|toml))`")


@dataclass(frozen=True)
class Block:
    """A piece of a page."""

    kind: str
    text: str
    line: int
    code: int = 0
    """The exit code that the page promises."""
    file: str = ""
    """The file that the text before it names."""


def blocks(page: Path) -> Iterator[Block]:
    """All blocks of a page; indented ones are commands."""
    text = page.read_text(encoding="utf-8")
    end = 0
    for result in BLOCK.finditer(text):
        named = FILE.findall(text[end : result.start()].rpartition("\n\n")[0][-400:] or "")
        before = FILE.findall(text[max(end, result.start() - 400) : result.start()])
        line = text.count("\n", 0, result.start()) + 1
        end = result.end()
        if result["indented"]:
            yield Block("console", result["indented"], line)
        else:
            file = (before or named or [""])[-1]
            yield Block(result["kind"], result["text"], line, int(result["code"] or 0), file)


def commands(block: Block) -> list[str]:
    """The commands of ours in a block, without prompts, comments and what stands beside them."""
    if block.kind not in ("console", "bash", "sh", "shell"):
        return []
    joined = re.sub(r"\\\n\s*", " ", block.text)
    lines = [re.sub(r"\s+#.*", "", line.strip().removeprefix("$ ")) for line in joined.splitlines()]
    parts = [part.strip() for line in lines for part in re.split(r"&&|;|\|\|", line)]
    return [part for part in parts if part.startswith("theodolite ")]


def needs(page: Path) -> list[str]:
    """What a page says that it needs beside the package."""
    return NEEDS.findall(page.read_text(encoding="utf-8"))


def follow(page: Path, *, run_commands: bool) -> None:
    """Do what the page says."""
    names: dict[str, object] = {"__name__": "__main__"}
    if run_commands:
        _bring({word for b in blocks(page) for c in commands(b) for word in shlex.split(c)[1:]})
    for block in blocks(page):
        start = time.monotonic()
        where = f"{page.name}:{block.line}"
        if block.kind == "python":
            exec(compile(block.text, where, "exec"), names)  # noqa: S102 - our own docs
        elif block.kind in ("yaml", "toml") and block.file and run_commands:
            Path(block.file).parent.mkdir(parents=True, exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")
        elif run_commands:
            for command in commands(block):
                if FETCHES.search(command):
                    continue
                code = _run(shlex.split(command)[1:])
                assert code == block.code, f"{where}: {command} ended with {code}"
        if block.kind in ("python", "console"):
            sys.stderr.write(f"{where} {time.monotonic() - start:.1f} s\n")


def _bring(named: set[str]) -> None:
    """What a reader has already: arrays, ratings, images with concepts, finished runs."""
    random = np.random.default_rng(0)
    truth = random.random((80, 6)) < 0.4
    if "predictions.npz" in named:
        np.savez("predictions.npz", values=truth + random.normal(0, 0.3, truth.shape), truth=truth)
    if "ratings.npz" in named:
        ratings = random.integers(1, 6, (80, 4)).astype(float)
        np.savez("ratings.npz", ratings=ratings, scale=np.arange(1, 6))
    if "scores.csv" in named:
        names = [f"{side}_{j}" for side in ("pred", "true") for j in range(truth.shape[1])]
        said = np.hstack([truth + random.normal(0, 0.3, truth.shape), truth, truth[:, :1]])
        np.savetxt("scores.csv", said, delimiter=",", header=",".join([*names, "y"]), comments="")
    if "README.md" in named:
        Path("README.md").write_text("# My model\n")
    if "allowed_signers" in named:
        new_key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "id_ed25519"]
        subprocess.run(new_key, check=True)
        Path("allowed_signers").write_text(f"ada@example.com {Path('id_ed25519.pub').read_text()}")
    runs = {name for name in named if re.fullmatch(r"RUN\d?|runs/(?:before|after|one|two)", name)}
    runs |= {"runs/before", "runs/after"} if "runs" in named else set()
    for place, name in enumerate(sorted(runs, reverse=True)):
        said = planted_concepts(60, alignment=1.0 - 0.2 * place)
        theodolite.audit(said, Resampling(resamples=50)).save(Path(name))


def _run(arguments: list[str]) -> int:
    kept = sys.argv
    sys.argv = ["theodolite", *arguments]
    try:
        main()
    except SystemExit as end:
        return int(end.code or 0)
    finally:
        sys.argv = kept
    return 0


def _fault(page: str, folder: str, run_commands: bool) -> str:
    os.chdir(folder)
    try:
        with redirect_stdout(sys.stderr):
            follow(Path(page), run_commands=run_commands)
    except BaseException:  # noqa: BLE001 - whatever a page does must not stop the others
        return traceback.format_exc()
    return ""


if __name__ == "__main__":
    for name, *job in json.load(sys.stdin):
        print(json.dumps([name, _fault(*job)]), flush=True)
