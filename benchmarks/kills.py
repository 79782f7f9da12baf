# mypy: disable-error-code="import-not-found,misc,no-untyped-call"
"""Runs of stored evidence that are killed at random, or whose store fails: whether bytes are equal.

    python benchmarks/kills.py [--kills 40] [--seed 0] [--only processes,s3,ray,codes,faults]

SIGKILL goes to drivers and workers on this machine, to an S3 server, and to drivers, workers,
raylets and the GCS of a Ray cluster of three nodes on this machine. A run that ended is begun again
by the same command until it is complete. Then it must have left what an undisturbed run leaves:
the bytes of its scores, of its list of pieces and of every piece, no piece missing and none more.
The work is an audit with scores that add up and scores of all pairs of concepts, and (half as many
kills more) the dissection of sparse codes, which has three passes. Then a disk that is full, a slow
store, and stores that answer 5 % and 30 % of all requests with 503. One line of JSON each, and the
sum of all last. ``done_again`` counts pieces that were there and were written once more.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from generated_codes import code_piece

from support.servers.atomic_s3 import OutlivedServer, counted
from theodolite._planted.concepts import planted_concepts
from theodolite._runs import run as run_module
from theodolite._runs.engine.ray_connection import get_local_settings
from theodolite.cli import finish, program
from theodolite.cli import main as theodolite_main
from theodolite.evidence.base import Evidence
from theodolite.evidence.store_writer import EvidenceWriter
from theodolite.language.sae.writer import SparseActivationWriter

FORK = multiprocessing.get_context("fork")
METRICS = """
metrics:
  - name: concept_existence
    options: {rank_by: [contribution, value]}
  - name: concept_global_importance
  - name: interconcept_leakage
resampling: {resamples: 100}
"""
SAMPLES, ROWS, CONCEPTS = 640, 16, 16
MOST_STARTS = 40
STARTS_OF_RAY = 10
UNITS, LABELS, CODES, CODE_PIECES = 2_000, 50, 1 << 14, 24
LOADED = (finish, program, run_module)
"""What commands load when they run, loaded before they are forked."""
Kill = Callable[["Run"], str | None]
"""Kills something, and says what; nothing if there was nothing to kill."""


@dataclass(frozen=True)
class Job:
    """A command, and the files that it leaves beside pieces."""

    arguments: tuple[str, ...]
    results: tuple[str, ...]
    finished: str
    """What the command says if it was complete already."""


AUDIT = Job(("run", "spec.yaml"), ("scores.json", "pieces.parquet"), "finished run")
DISSECTION = Job(("sae", "dissect", "codes"), ("units.parquet", "summary.json"), "earlier result")
Left = tuple[dict[str, str], dict[str, str]]
"""Digests of the results, and of the pieces."""


@dataclass(frozen=True)
class Pieces:
    """Where a run keeps its pieces: files of a folder, some of them if it is that of a server."""

    folder: Path
    prefix: str = ""
    """Of the names of objects; names of files are then those of objects in hexadecimal digits."""

    def files(self) -> dict[str, Path]:
        """By name."""
        listed = list(self.folder.iterdir()) if self.folder.is_dir() else []
        if not self.prefix:
            return {path.name: path for path in listed if path.suffix == ".safetensors"}
        names = {path: _object(path) for path in listed if path.suffix != ".partial"}
        return {
            name.removeprefix(self.prefix): path
            for path, name in names.items()
            if name.startswith(self.prefix) and name.endswith(".safetensors")
        }

    def digests(self) -> dict[str, str]:
        return {name: _sha256(path.read_bytes()) for name, path in self.files().items()}

    def written(self) -> dict[str, tuple[int, int]]:
        """When each was written, and as which file."""
        stats = {name: path.stat() for name, path in self.files().items()}
        return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in stats.items()}


class Experiment:
    """Evidence, what undisturbed runs make of it, and a count of kills."""

    def __init__(self, root: Path, seed: int, jobs: Sequence[Job]) -> None:
        self.root, self.chance = root, random.Random(seed)
        self.kills: Counter[str] = Counter()
        self.lines: list[dict[str, Any]] = []
        self.evidence = planted_concepts(SAMPLES, n_concepts=CONCEPTS, n_classes=8, alignment=0.6)
        self.store(str(root / "evidence"))
        self.spec("evidence")
        if DISSECTION in jobs:
            _write_codes(root / "codes")
        self.expected: dict[Job, Left] = {}
        for number, job in enumerate(jobs):
            started, out = time.monotonic(), f"undisturbed-{number}"
            code, errors = self.begin(job, out, 2).ended()
            assert code == 0, errors
            self.expected[job] = self.left(job, out, self.pieces(out))
            self.tell(
                "undisturbed", job=job.arguments[0], pieces=len(self.expected[job][1]),
                seconds=round(time.monotonic() - started, 1),
            )  # fmt: skip

    def store(self, place: str) -> None:
        """Done by another process: clients of buckets do not outlive a fork."""
        writing = FORK.Process(target=_write, args=(self.evidence, place))
        writing.start()
        writing.join()
        assert writing.exitcode == 0, place

    def spec(self, place: str) -> None:
        (self.root / "spec.yaml").write_text(f"name: killed\nevidence: ['{place}']{METRICS}")

    def begin(self, job: Job, out: str, workers: int, *more: str) -> "Run":
        options = ["--out", out, "--quiet", "--workers", f"{workers}", *more]
        kind = StartedRun if "--ray-address" in more else Run
        return kind(["theodolite", *job.arguments, *options], self.root)

    def pieces(self, out: str) -> Pieces:
        """Where they are if nothing else was said."""
        return Pieces(self.root / out / "pieces")

    def left(self, job: Job, out: str, pieces: Pieces) -> Left:
        """What a run left: the scores without where the evidence lay, other files as they are."""
        results = {}
        for name in job.results:
            content = (self.root / out / name).read_bytes()
            if name == "scores.json":
                content = json.dumps(json.loads(content)["scores"]).encode()
            results[name] = _sha256(content)
        return results, pieces.digests()

    def equal(self, job: Job, out: str, pieces: Pieces | None = None) -> bool:
        """Whether it left what the undisturbed run did, byte for byte and nothing else."""
        try:
            left = self.left(job, out, pieces or self.pieces(out))
        except FileNotFoundError as error:
            print(f"{out}: {error}", file=sys.stderr)
            return False
        expected = self.expected[job]
        for here, there in zip(left, expected, strict=True):
            if here != there:
                others = [name for name in here.keys() & there.keys() if here[name] != there[name]]
                print(
                    f"{out}: missing {sorted(there.keys() - here.keys())}, "
                    f"more {sorted(here.keys() - there.keys())}, others {sorted(others)}",
                    file=sys.stderr,
                )
        return left == expected

    def killed_run(
        self,
        out: str,
        kill: Kill,
        kills: int,
        *more: str,
        job: Job = AUDIT,
        pieces: Pieces | None = None,
        workers: int = 2,
    ) -> None:
        """One run with so many kills at random moments, begun again until it is complete.

        Each kill comes some time after a new piece appeared: a run that was only ever killed while
        it starts would prove little.
        """
        pieces = pieces or self.pieces(out)
        before, starts, codes = sum(self.kills.values()), 0, Counter[int]()
        done_again, tracebacks, started = 0, 0, time.monotonic()
        while starts < MOST_STARTS:
            there = pieces.written()
            process, starts = self.begin(job, out, workers, *more), starts + 1
            while process.alive() and sum(self.kills.values()) - before < kills:
                self.after_a_piece(process, pieces)
                if process.alive() and (what := kill(process)):
                    self.kills[what] += 1
            code, errors = process.ended()
            codes[code] += 1
            now = pieces.written()
            done_again += sum(now.get(name, when) != when for name, when in there.items())
            tracebacks += "Traceback" in errors
            if "Traceback" in errors:
                print(errors[-3000:], file=sys.stderr)
            if code == 0 or (code == 2 and job.finished in errors):
                break
            if code > 0:
                print(f"{out}: {code}: {errors[-300:]}", file=sys.stderr)
        self.tell(
            "killed", job=job.arguments[0], out=out, kills=sum(self.kills.values()) - before,
            starts=starts, codes=dict(codes), tracebacks=tracebacks, done_again=done_again,
            seconds=round(time.monotonic() - started, 1), equal=self.equal(job, out, pieces),
        )  # fmt: skip

    def after_a_piece(self, process: "Run", pieces: Pieces) -> None:
        """Wait for a new piece, and some time more."""
        there = len(pieces.files())
        while process.alive() and len(pieces.files()) <= there:
            time.sleep(0.05)
        time.sleep(self.chance.uniform(0.0, 1.0))

    def tell(self, what: str, **figures: Any) -> None:
        self.lines.append(figures)
        print(json.dumps({"what": what, **figures}), flush=True)


class Run:
    """A command in a process of its own: forked, because starting Python takes longer than it."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._errors = tempfile.NamedTemporaryFile()  # noqa: SIM115  as long as the run
        self._process = FORK.Process(target=_carry_out, args=(command, folder, self._errors.name))
        self._process.start()
        self.pid = int(self._process.pid or 0)

    def alive(self) -> bool:
        return self._process.is_alive()

    def ended(self, seconds: float = 900) -> tuple[int, str]:
        """The exit code and the errors; killed if it does not end by itself."""
        self._process.join(seconds)
        if self._process.is_alive():
            self._process.kill()
            self._process.join()
        return int(self._process.exitcode or 0), Path(self._errors.name).read_text()


class StartedRun(Run):
    """The same as a new program: Ray's threads do not outlive a fork."""

    def __init__(self, command: list[str], folder: Path) -> None:
        self._errors = tempfile.NamedTemporaryFile()  # noqa: SIM115  as long as the run
        program_file = Path(sys.executable).with_name(command[0])
        self._started = subprocess.Popen(
            [program_file, *command[1:]], cwd=folder, stdout=self._errors, stderr=self._errors
        )
        self.pid = self._started.pid

    def alive(self) -> bool:
        return self._started.poll() is None

    def ended(self, seconds: float = 900) -> tuple[int, str]:
        try:
            self._started.wait(seconds)
        except subprocess.TimeoutExpired:
            self._started.kill()
        return self._started.wait(), Path(self._errors.name).read_text()


def _carry_out(command: list[str], folder: Path, errors: str) -> None:
    vars(sys.modules["__main__"]).pop("__file__")  # workers need not read this file again
    os.chdir(folder)
    out = os.open(errors, os.O_WRONLY | os.O_APPEND)
    os.dup2(out, 1)
    os.dup2(out, 2)
    sys.argv = command
    theodolite_main()


def _write(evidence: Evidence, place: str) -> None:
    with EvidenceWriter(place, rows=ROWS) as writer:
        writer.add(evidence)


def _write_codes(folder: Path) -> None:
    concepts = [f"concept {number}" for number in range(LABELS)]
    with SparseActivationWriter(folder, units=UNITS, concepts=concepts, positions=CODES) as writer:
        for number in range(CODE_PIECES):
            writer.add(code_piece(number, CODES, UNITS, LABELS, 8))


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _object(path: Path) -> str:
    """The name of the object that the server keeps in this file."""
    return bytes.fromhex(path.name).decode()


def children(pid: int, mark: bytes) -> list[int]:
    """Child processes whose command has a mark in it."""
    try:
        listed = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return [
            int(child) for child in listed if mark in Path(f"/proc/{child}/cmdline").read_bytes()
        ]
    except OSError:
        return []


def killed(name: str, pids: list[int], chance: random.Random) -> str | None:
    if not pids:
        return None
    os.kill(chance.choice(pids), signal.SIGKILL)
    return name


def on_processes(experiment: Experiment, kills: int, job: Job = AUDIT) -> None:
    """A quarter of the kills hit drivers that work alone, a quarter drivers with two workers."""
    chance, name = experiment.chance, job.arguments[0]
    driver: Kill = lambda run: killed("driver", [run.pid], chance)  # noqa: E731
    worker: Kill = lambda run: killed("worker", children(run.pid, b"spawn_main"), chance)  # noqa: E731
    alone, both = max(kills // 4, 1), max(kills // 4, 1)
    experiment.killed_run(f"{name}-alone", driver, alone, job=job, workers=1)
    experiment.killed_run(f"{name}-drivers", driver, both, job=job)
    experiment.killed_run(f"{name}-workers", worker, max(kills - alone - both, 1), job=job)


class Server(OutlivedServer):
    """An S3 server that is killed, and counts requests."""

    def __init__(self, folder: Path, late: float = 0.0, failing: float = 0.0) -> None:
        folder.mkdir()
        super().__init__(folder, late, failing)

    def kill(self, seconds: float) -> str:
        self.stop()
        time.sleep(seconds)
        self.start()
        return "S3 server"


@contextmanager
def environment(settings: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _away(server: Server, seconds: float, _: object) -> str:
    return server.kill(seconds)


def on_a_bucket(experiment: Experiment, kills: int) -> None:
    """Half of the kills hit the server for a moment, half for longer than it is asked again."""
    server = Server(experiment.root / "objects")
    with environment(server.environment):
        experiment.store("s3://bucket/evidence")
        experiment.spec("s3://bucket/evidence")
        for name, away, count in (("short", 0.3, kills - kills // 2), ("long", 8.0, kills // 2)):
            experiment.killed_run(
                f"server-{name}", partial(_away, server, away), count,
                "--checkpoint-dir", f"s3://bucket/pieces-{name}",
                pieces=Pieces(experiment.root / "objects", f"bucket/pieces-{name}/"),
            )  # fmt: skip
    server.stop()
    experiment.spec("evidence")


def three_nodes() -> Any:
    """A cluster on this machine; tried several times, as Ray waits 15 s for its own parts, which is
    too short on a busy one."""
    from ray.cluster_utils import Cluster  # noqa: PLC0415  after its settings

    for attempt in range(STARTS_OF_RAY):
        cluster = Cluster()
        try:
            for _ in range(3):
                cluster.add_node(num_cpus=1, include_dashboard=False)
            cluster.wait_for_nodes()
        except Exception as error:
            print(f"Ray did not start: {error}", file=sys.stderr, flush=True)
            cluster.shutdown()
            if attempt == STARTS_OF_RAY - 1:
                raise
        else:
            return cluster
    raise AssertionError


def on_ray(experiment: Experiment, kills: int) -> None:
    chance = experiment.chance

    def pid(node: Any, name: str) -> int:
        return int(node.all_processes[name][0].process.pid)

    def worker(_: Any) -> str | None:
        raylets = [pid(node, "raylet") for node in cluster.list_all_nodes()]
        return killed(
            "Ray worker", [w for raylet in raylets for w in children(raylet, b"ray::")], chance
        )

    def raylet(_: Any) -> str | None:
        node = chance.choice(sorted(cluster.worker_nodes, key=lambda node: node.unique_id))
        os.kill(pid(node, "raylet"), signal.SIGKILL)
        cluster.remove_node(node, allow_graceful=False)
        with suppress(Exception):  # as above: then there is one node less
            cluster.add_node(num_cpus=1)
        return "raylet"

    cluster = three_nodes()
    third = max((kills - 2) // 3, 1)
    try:
        for name, kill, count in (
            ("ray-workers", worker, third), ("ray-raylets", raylet, third),
            ("ray-drivers", lambda run: killed("Ray driver", [run.pid], chance), third),
        ):  # fmt: skip
            experiment.killed_run(
                name, kill, count, "--ray-address", cluster.address, "--checkpoint-dir",
                f"{name}-pieces", pieces=Pieces(experiment.root / f"{name}-pieces"),
            )  # fmt: skip
        for number in range(max(kills - 3 * third, 1)):
            out = f"gcs-{number}"
            run = experiment.begin(
                AUDIT, out, 2, "--ray-address", cluster.address, "--checkpoint-dir", f"{out}-pieces"
            )
            pieces = Pieces(experiment.root / f"{out}-pieces")
            experiment.after_a_piece(run, pieces)
            in_time = run.alive()
            os.kill(pid(cluster.head_node, "gcs_server"), signal.SIGKILL)
            experiment.kills["GCS"] += in_time
            code, errors = run.ended(120)
            cluster.shutdown()
            cluster = three_nodes()
            experiment.tell(
                "GCS killed", in_time=in_time, code=code, tracebacks=int("Traceback" in errors)
            )
            print(errors[-1500:], file=sys.stderr)
            experiment.killed_run(
                out, lambda _: None, 0, "--ray-address", cluster.address, "--checkpoint-dir",
                f"{out}-pieces", pieces=pieces,
            )  # fmt: skip
    finally:
        cluster.shutdown()


def with_faults(experiment: Experiment) -> None:
    for name, late, failing in (("slow", 0.1, 0.0), ("5 %", 0.0, 0.05), ("30 %", 0.0, 0.3)):
        out = f"store-{late}-{failing}"
        server = Server(experiment.root / f"objects-{out}", late, failing)
        with environment(server.environment):
            experiment.store("s3://bucket/evidence")
            experiment.spec("s3://bucket/evidence")
            counted(server.environment)
            starts, codes, code, started = 0, Counter[int](), 1, time.monotonic()
            while code and starts < MOST_STARTS:
                code, errors = experiment.begin(
                    AUDIT, out, 2, "--checkpoint-dir", f"s3://bucket/{out}"
                ).ended()
                starts, codes[code] = starts + 1, codes[code] + 1
                assert "Traceback" not in errors, errors
            requests = counted(server.environment)
            experiment.tell(
                "store", fault=name, starts=starts, codes=dict(codes), requests=requests,
                seconds=round(time.monotonic() - started, 1),
                equal=experiment.equal(
                    AUDIT, out, Pieces(experiment.root / f"objects-{out}", f"bucket/{out}/")
                ),
            )  # fmt: skip
        server.stop()
    experiment.spec("evidence")
    full_disk(experiment)


def full_disk(experiment: Experiment) -> None:
    """A small file system in memory, which is made larger once it was full."""
    small = experiment.root / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        experiment.tell("full disk", skipped="a small file system cannot be mounted here")
        return
    try:
        code, errors = experiment.begin(AUDIT, "full", 2, "--checkpoint-dir", str(small)).ended()
        kept = len(list(small.glob("*.safetensors")))
        larger = ["mount", "-o", "remount,size=512m", str(small)]
        subprocess.run(larger, check=True)
        again, _ = experiment.begin(AUDIT, "full", 2, "--checkpoint-dir", str(small)).ended()
        experiment.tell(
            "full disk", codes=[code, again], lines=errors.count("\n"), kept=kept,
            equal=experiment.equal(AUDIT, "full", Pieces(small)),
        )  # fmt: skip
    finally:
        subprocess.run(["umount", str(small)], check=True)  # noqa: S607


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--kills", type=int, default=40)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", default="processes,s3,ray,codes,faults")
    chosen = options.parse_args()
    parts = chosen.only.split(",")
    os.environ.update(get_local_settings())  # before ray is loaded, which reads them
    with tempfile.TemporaryDirectory() as folder:
        jobs = [AUDIT, DISSECTION] if "codes" in parts else [AUDIT]
        experiment = Experiment(Path(folder), chosen.seed, jobs)
        share = {"processes": 0.4, "s3": 0.2, "ray": 0.4, "codes": 0.5}
        for part, do in (
            ("processes", on_processes), ("s3", on_a_bucket), ("ray", on_ray),
            ("codes", partial(on_processes, job=DISSECTION)),
        ):  # fmt: skip
            if part in parts:
                do(experiment, max(round(share[part] * chosen.kills), 3))
        if "faults" in parts:
            with_faults(experiment)
        outcomes = [line["equal"] for line in experiment.lines if "equal" in line]
        share_equal = sum(outcomes) / max(len(outcomes), 1)
        figures = {"kills": sum(experiment.kills.values()), "of": dict(experiment.kills)}
        print(json.dumps({**figures, "runs": len(outcomes), "equal": share_equal}))


if __name__ == "__main__":
    main()
