"""Ray that does not start, in words: what is wrong, and what to do."""

from contextlib import suppress
from pathlib import Path
from typing import Any

from theodolite.errors import EvidenceError, printable

LOCALLY = "Or pass --engine local: the same bytes, by processes of this machine."
LOGS = Path("/tmp/ray/session_latest/logs")  # noqa: S108  where Ray writes them
CAUSES = (
    ("Version mismatch", "another Python or Ray than this process", "the cluster's versions"),
    ("uthenticat", "a token that the cluster refuses", "its token, in RAY_AUTH_TOKEN"),
    ("UNAUTHENTICATED", "a token that the cluster refuses", "its token, in RAY_AUTH_TOKEN"),
    ("timed out during startup", "servers that did not start in time", "a machine less busy"),
    ("already in use", "a port that something else has", "a free port"),
    ("/dev/shm", "too little room in /dev/shm", "some hundred MB there"),  # noqa: S108
    ("object store", "too little room in /dev/shm", "some hundred MB there"),
    ("No space left", "a full disk", "room in /tmp and /dev/shm"),
    ("Could not find any running Ray", "no answer", "the address of a Ray cluster"),
    ("ailed to connect", "no answer", "the address of a Ray cluster"),
)
"""A part of what Ray says, what it means, and what is needed."""


def suggest_local(error: EvidenceError) -> EvidenceError:
    """Return this error with advice to run without Ray."""
    do = error.hint if LOCALLY in error.hint else f"{error.hint} {LOCALLY}".strip()
    return type(error)(error.what, error.got, error.expected, do)


def explain_start_failure(error: BaseException, address: str | None) -> EvidenceError:
    """Return why Ray did not start, or did not let us in."""
    if isinstance(error, EvidenceError):
        return suggest_local(error)
    text = f"{type(error).__name__}: {error}"
    causes = [(cause, needed) for sign, cause, needed in CAUSES if sign in text]
    cause, needed = (causes or [(printable(text), "Ray to start")])[0]
    where = "engine ray" if address is None else f"ray address {address}"
    tail = "" if address else read_last_lines(LOGS)
    do = f"Ray's log ends: {tail}. {LOCALLY}" if tail else LOCALLY
    return EvidenceError(where, cause, needed, do)


def read_last_lines(logs: Path, count: int = 5) -> str:
    """Return the last lines of the logs of Ray's servers."""
    lines: list[str] = []
    for name in ("gcs_server.err", "raylet.err", "gcs_server.out", "raylet.out"):
        with suppress(OSError):
            content = (logs / name).read_bytes()[-4096:].decode(errors="replace")
            lines += [line for line in content.splitlines() if line.strip()]
        if lines:
            break
    return printable(" | ".join(lines[-count:]), 500)


def build_no_cpu_error(ray: Any, seconds: float) -> EvidenceError:
    """Return the error for a cluster whose cores are all in use."""
    total = int(ray.cluster_resources().get("CPU", 0))
    holders = []
    with suppress(Exception):  # not promised by Ray
        own = ray.get_runtime_context().get_job_id()
        jobs = ray._private.state.jobs()
        holders = [job["JobID"] for job in jobs if not job["IsDead"] and job["JobID"] != own]
    who = f", held by the jobs {', '.join(holders[:5])}" if holders else ""
    return EvidenceError(
        "engine ray", f"none of {total} CPUs free for {seconds:.0f} s{who}", "at least one",
        f"Wait for the others, or stop them. {LOCALLY}",
    )  # fmt: skip
