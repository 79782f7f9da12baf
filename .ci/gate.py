"""What decides whether a change lands.

    .ci/run                    everything, long experiments in a short form
    .ci/run full               everything, nothing in short
    .ci/run quick [ROOM...]    style, types, import directions, the laws, the tests of some rooms

Three steps at a time, as tests wait now and then, and one more that gives way to them. A step's
output is shown if it fails; at the end stands what every step and every room of tests took.
"""

import fcntl
import hashlib
import json
import os
import shutil
import sys
import time
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from schedule import Outcome, Step, carry_out

ROOT = Path(__file__).parents[1]
PACKAGES = ("study", "reproductions", "models")
"""The other distributions: a room each, in a folder of its own."""
LONG = 20.0
"""Seconds of CPU from which on a test is named at the end."""
GROUPS: dict[str, tuple[int, tuple[str, ...]]] = {
    "study": (330, ("study",)),
    "runs": (430, ("runs",)),
    "reproductions": (230, ("reproductions",)),
    "pages": (330, ("report", "public", "ext", "testing")),
    "data": (300, ("datasets", "dissection", "evidence", "stats", "storage")),
    "networks": (350, ("bridges", "explainers", "language", "models", "pipelines")),
    "audits": (200, ("cli", "golden", "planted", "scoring", "verdicts")),
}
"""Rooms whose tests share a process, and the seconds of CPU that they take together."""
BY_CONTRIBUTORS = ("laws", "metrics")
"""Rooms that CONTRIBUTING.md has everybody test: so they are tested, in what it sets up."""
FULL = {"THEODOLITE_FULL": "1", "THEODOLITE_KILLS": "8"}
"""What the full form asks of tests and of the release."""
UNUSED = ("anyio", "jaxtyping", "platformdirs", "pytest_cov", "schemathesis", "typeguard", "zarr")
"""Plugins of pytest that come with other packages: a second each to load."""


def rooms() -> set[str]:
    """The folders that hold tests or doctests."""
    tests, source = ROOT / "tests", ROOT / "src" / "theodolite"
    tested = {path.relative_to(tests).parts[0] for path in tests.glob("*/**/test_*.py")}
    packages = {path.parent.name.lstrip("_") for path in source.glob("*/__init__.py")}
    return tested | packages | {*PACKAGES}


def checks(home: Path, *, background: bool) -> list[Step]:
    """What runs no test."""
    types = ("mypy", "--cache-dir", str(home / "mypy"))  # what it knows of torch takes a minute
    ruff = ("sh", "-c", "ruff check . && ruff format --check .")
    return [
        Step("style", ruff, 1000, ("environment",)),
        Step("import directions", ("lint-imports",), 1000, ("environment",)),
        Step("types", types, 1000, ("environment",), background=background),
    ]


def tests(name: str, cpu: int, names: Iterable[str], home: Path) -> Step:
    """Tests and doctests of some rooms in one process, which writes down what each took."""
    bases = ("tests/", "src/theodolite/", "src/theodolite/_")
    folders = [Path(f"{base}{name}") for name in names for base in bases]
    for package in {*PACKAGES} & {*names}:
        folders += [Path(package) / "tests", Path(package) / "src"]
    if "public" in names:  # doctests of the modules that lie in no room
        folders += [path.relative_to(ROOT) for path in (ROOT / "src" / "theodolite").glob("*.py")]
    without = [f"-pno:{plugin}" for plugin in UNUSED]
    return Step(
        f"tests of {name}",
        ("pytest", "-q", *without, *(str(path) for path in folders if (ROOT / path).exists())),
        cpu,
        ("environment", "servers"),
        environment={"THEODOLITE_TEST_TIMES": str(home / "times.jsonl")},
    )


def all_steps(home: Path) -> list[Step]:
    """Everything."""
    known = {*BY_CONTRIBUTORS, *(room for _, names in GROUPS.values() for room in names)}
    assert known == rooms(), f"GROUPS must name every room of tests: {known ^ rooms()}"
    return [
        Step("servers", (".ci/servers.sh",), 3000),
        Step("environment", (sys.executable, ".ci/environment.py", str(home)), 3000),
        *checks(home, background=True),
        *(tests(name, cpu, names, home) for name, (cpu, names) in GROUPS.items()),
        Step(
            "contributing, tests of laws and metrics",
            (sys.executable, ".ci/contributing.py", str(home / "contributing")),
            190,
            environment={"THEODOLITE_TEST_TIMES": str(home / "times.jsonl")},
        ),
        Step("release", (".ci/release.sh", str(home)), 150, ("environment",)),
        Step(
            "documentation",
            (".ci/docs.sh", str(home / "site")),
            90,
            ("environment",),
            background=True,
        ),
    ]


def quick_steps(home: Path, names: list[str]) -> list[Step]:
    """What is worth seeing before each commit."""
    unknown = set(names) - rooms()
    assert not unknown, f"no such room: {sorted(unknown)}; there are {sorted(rooms())}"
    return [
        Step("servers", (".ci/servers.sh",), 3000),
        Step("environment", (sys.executable, ".ci/environment.py", str(home)), 3000),
        *checks(home, background=False),
        Step(
            "house",
            ("pytest", "-q", "tests/public/test_house.py", "tests/public/test_words.py"),
            500,
            ("environment",),
        ),
        tests("laws", 180, ["laws"], home),
        *(tests(name, 100, [name], home) for name in names),
    ]


def home_of(python: str) -> Path:
    """Where the environment of this lock and this Python lies."""
    told = [*sorted(ROOT.glob("requirements/*.txt")), ROOT / ".ci" / "environment.py", Path(python)]
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in told)).hexdigest()[:16]
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return Path(os.environ.get("THEODOLITE_CI_HOME", f"{cache}/theodolite-ci")) / digest


def compiled(home: Path) -> Path:
    """Where loops that are compiled lie, for one state of all modules that have some."""
    files = sorted((ROOT / "src").rglob("*.py"))  # the study server compiles nothing
    texts = [text for path in files if b"numba" in (text := path.read_bytes())]
    folder = home / "compiled" / hashlib.sha256(b"".join(texts)).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    folder.touch()
    for old in sorted(folder.parent.iterdir(), key=lambda path: path.stat().st_mtime)[:-5]:
        shutil.rmtree(old)
    return folder


def table(title: str, rows: dict[str, tuple[float, ...]], heads: tuple[str, ...]) -> None:
    """Rows with the largest last number first."""
    print(f"\n{title:42}" + "".join(f"{head:>10}" for head in heads))
    for name, numbers in sorted(rows.items(), key=lambda row: -row[1][-1]):
        print(f"  {name:40}" + "".join(f"{number:10.0f}" for number in numbers))


def tell(outcomes: list[Outcome], times: Path, wall: float) -> None:
    """What everything took."""
    table("step", {o.step.name: (o.wall, o.cpu) for o in outcomes}, ("seconds", "CPU"))
    by_room: dict[str, list[float]] = defaultdict(list)
    long = []
    for line in times.read_text().splitlines() if times.exists() else []:
        record = json.loads(line)
        by_room[record["room"]].append(record["cpu"])
        if record["cpu"] > LONG:
            long.append(f"{record['cpu']:6.0f} s  {record['test']}")
    rows = {room: (len(taken), sum(taken)) for room, taken in by_room.items()}
    table("room of tests (without servers, browsers)", rows, ("tests", "CPU"))
    if long:
        print(f"\nTests of more than {LONG:.0f} s of CPU:", *sorted(long, reverse=True), sep="\n")
    failed = [o.step.name for o in outcomes if o.code]
    cpu = sum(o.cpu for o in outcomes)
    print(f"\n{wall / 60:.1f} min, {cpu / 60:.1f} min of CPU. ", end="")
    print(f"Failed: {', '.join(failed)}." if failed else "All passed.")


def main() -> int:
    """Everything, or what is quick."""
    os.chdir(ROOT)
    home = home_of(sys.executable)
    home.mkdir(parents=True, exist_ok=True)
    times = home / "times.jsonl"
    os.environ |= {
        "OMP_NUM_THREADS": "1",
        "NUMBA_CACHE_DIR": str(compiled(home)),
        "NUMBA_CACHE_LOCATOR_CLASSES": "by_content.ByContent",
        "PATH": f"{home / 'full' / 'bin'}:{os.environ['PATH']}",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPATH": str(ROOT / ".ci" / "compiled"),
        "THEODOLITE_DATA": os.environ.get("THEODOLITE_DATA", str(ROOT.parent / "shared" / "data")),
    }
    with (home / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one run at a time in one environment
        times.unlink(missing_ok=True)
        shutil.rmtree(home / "logs", ignore_errors=True)
        quick = sys.argv[1:2] == ["quick"]
        assert quick or sys.argv[1:] in ([], ["full"]), __doc__
        if sys.argv[1:] == ["full"]:
            os.environ |= FULL
        steps = quick_steps(home, sys.argv[2:]) if quick else all_steps(home)
        start = time.monotonic()
        outcomes = carry_out(steps, home / "logs", slots=3)
        transcript = home / "release" / "transcript.txt"
        if not quick and transcript.is_file():
            print(f"\nThe first pages, followed from the wheel:\n\n{transcript.read_text()}")
        tell(outcomes, times, time.monotonic() - start)
    return int(any(outcome.code for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main())
