# mypy: disable-error-code="import-not-found"
"""Many writers into one bundle, killed at random, and two committers: whether it is ever half.

    python benchmarks/commit.py [--rounds 100] [--kills 20] [--seed 0] [--only folder,s3]

In each round four processes write a part each of one bundle, then two commit it at once. In some
rounds a writer or a committer is killed with SIGKILL at a random moment, and begun again. All the
time a reader tries to open the bundle. Afterwards there must be one header, and it must name what
its digest says; every row must be there once, in order; the digests of the pieces must be those of
a bundle that one writer wrote; of each part one folder is used, one that was finished, and no file
of another; and the reader must have seen nothing but no bundle or the whole one. On a folder, and
in a bucket of the tests' atomic S3 server. One line of JSON each, and the count of violations last.
"""

import argparse
import json
import multiprocessing
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import botocore.session  # noqa: TID251  only loaded
import obstore  # noqa: TID251  only loaded

from support.servers.atomic_s3 import atomic_s3
from theodolite._planted.concepts import planted_concepts
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError
from theodolite.evidence.manifests.commit import PART, commit
from theodolite.evidence.manifests.manifest import (
    HEADER,
    MAX_HEADER_BYTES,
    check_header,
    read_manifest,
)
from theodolite.evidence.shards import compute_evidence_digest, draw_samples
from theodolite.evidence.store import is_stored, stored
from theodolite.evidence.store_writer import EvidenceWriter

FORK = multiprocessing.get_context("fork")
PARTS, ROWS_OF_A_PART, ROWS = 4, 64, 16
WHOLE: Any = planted_concepts(PARTS * ROWS_OF_A_PART)
REFUSED = 2
LOADED = (botocore.session, obstore)
"""What clients of buckets load, loaded before processes are forked."""


def write(address: str, part: int) -> None:
    """One of the writers: a piece after the other, as they are made."""
    with EvidenceWriter(address, ROWS, part=part) as writer:
        for row in range(part * ROWS_OF_A_PART, (part + 1) * ROWS_OF_A_PART, ROWS):
            writer.add(WHOLE[row : row + ROWS])


def commit_once(address: str) -> None:
    """One of the committers; who comes second and would write another manifest is refused."""
    try:
        commit(address)
    except EvidenceError:
        sys.exit(REFUSED)


def watch(address: str, over: Any, answers: Any) -> None:
    """Try to read the bundle until the round is over: how often it was there, and was not whole."""
    seen, half, expected = 0, 0, compute_evidence_digest(WHOLE)
    while not over.is_set():
        if is_stored(address):
            seen += 1
            try:
                half += compute_evidence_digest(draw_samples(stored(address), 10**6, 0)) != expected
            except Exception as error:  # noqa: BLE001  whatever cannot be read is not whole
                print(error, file=sys.stderr)
                half += 1
        time.sleep(0.01)
    answers.put((seen, half))


def check(address: str, digests: list[str], answers: Any) -> None:
    """What is wrong with a bundle that was committed."""
    store = Store.at(address)
    names = store.names()
    wrong = []
    if sum(Path(name).name == HEADER for name in names) != 1:
        wrong.append("not one header")
    manifest = read_manifest(
        store, check_header(store.read(HEADER, MAX_HEADER_BYTES), HEADER)["sha256"]
    )  # its bytes are checked against the digest
    shards = stored(address)
    if compute_evidence_digest(draw_samples(shards, 10**6, 0)) != compute_evidence_digest(WHOLE):
        wrong.append("other rows")
    if list(shards.digests()) != digests:
        wrong.append("other digests")
    finished = {f"parts/{match[1]}" for match in map(PART.fullmatch, names) if match}
    used = list(manifest.parts.values())
    if sorted(manifest.parts) != [f"{part}" for part in range(PARTS)] or not set(used) <= finished:
        wrong.append("other parts")
    rows = [row for n in range(-1, manifest.pieces) for row in manifest.rows_of(n)]
    files = {row.file for row in rows if row.length}
    if not all(any(file.startswith(f"{folder}/") for folder in used) for file in files):
        wrong.append("a file of a loser")
    if not files <= set(names):
        wrong.append("a file that is not there")
    abandoned = {"/".join(name.split("/")[:2]) for name in names if name.count("/") > 1} - set(used)
    answers.put((wrong, len(abandoned)))


class Round:
    """One bundle; all that uses a store does so in processes of its own, which can be killed."""

    def __init__(self, address: str, chance: random.Random, victim: str | None) -> None:
        self.address, self.chance, self.victim = address, chance, victim
        self.killed = 0
        self.codes: Counter[int] = Counter()

    def carry_out(self, seconds: float, digests: list[str]) -> tuple[list[str], int, int]:
        """What was wrong, how often the reader saw the bundle, how many folders are of nobody."""
        over, answers = FORK.Event(), FORK.Queue()
        reader = FORK.Process(target=watch, args=(self.address, over, answers))
        reader.start()
        self._all_done(write, [(self.address, n) for n in range(PARTS)], "writer", seconds)
        self._all_done(commit_once, [(self.address,)] * 2, "committer", seconds / 4)
        over.set()
        seen, half = answers.get(timeout=120)
        reader.join()
        checker = FORK.Process(target=check, args=(self.address, digests, answers))
        checker.start()
        wrong, abandoned = answers.get(timeout=120)
        checker.join()
        return [*wrong, *["half a bundle"] * half], seen, abandoned

    def _all_done(
        self, do: Callable[..., None], arguments: list[Any], who: str, seconds: float
    ) -> None:
        """Everybody at once; one of them killed after some time, and begun again."""
        processes = [FORK.Process(target=do, args=each) for each in arguments]
        for process in processes:
            process.start()
        if self.victim == who:
            time.sleep(self.chance.uniform(0.0, seconds))
            unlucky = self.chance.randrange(len(processes))
            if processes[unlucky].is_alive():
                processes[unlucky].kill()
                self.killed += 1
            again = FORK.Process(target=do, args=arguments[unlucky])
            again.start()
            processes.append(again)
        for process in processes:
            process.join()
            self.codes[int(process.exitcode or 0)] += 1


def rounds(place: str, chosen: argparse.Namespace, digests: list[str]) -> int:
    """All of them at one place; how many violations there were."""
    chance = random.Random(chosen.seed)
    killed, violations = Counter[str](), Counter[str]()
    seen = abandoned = number = 0
    codes: Counter[int] = Counter()
    started, usual = time.monotonic(), 0.5
    while number < chosen.rounds:
        left = chosen.kills - sum(killed.values())
        victim = None
        if chance.random() < left / (chosen.rounds - number):
            victim = "writer" if chance.random() < 0.75 else "committer"
        this = Round(f"{place}/{number}", chance, victim)
        begun = time.monotonic()
        wrong, reads, folders = this.carry_out(usual, digests)
        usual = 0.5 * usual + 0.2 * (time.monotonic() - begun)  # kills fall into the work
        killed[victim or ""] += this.killed
        violations.update(wrong)
        codes.update(this.codes)
        seen, abandoned, number = seen + reads, abandoned + folders, number + 1
    figures = {
        "place": place.partition(":")[0] if "://" in place else "folder", "rounds": number,
        "kills": {who: n for who, n in killed.items() if n}, "exit_codes": dict(codes),
        "folders_of_nobody": abandoned, "times_read": seen, "violations": dict(violations),
        "seconds": round(time.monotonic() - started, 1),
    }  # fmt: skip
    print(json.dumps(figures), flush=True)
    return sum(violations.values())


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=100)
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="folder,s3")
    chosen = options.parse_args()
    violations = 0
    with tempfile.TemporaryDirectory() as folder:
        with EvidenceWriter(Path(folder, "once"), ROWS) as writer:
            writer.add(WHOLE)
        digests = list(stored(Path(folder, "once")).digests())
        if "folder" in chosen.only:
            violations += rounds(str(Path(folder, "many")), chosen, digests)
        if "s3" in chosen.only:
            with atomic_s3() as environment:
                os.environ.update(environment)
                violations += rounds("s3://bucket", chosen, digests)
    print(json.dumps({"violations": violations}))


if __name__ == "__main__":
    main()
