"""A study with a million votes and seven million lines of log: what becomes slow (P4).

Rows are made by the database itself; then pages' queries, claims, withdrawals, two exports and both
proofs are measured. Printed: figures as JSON with the load of the machine, the lines that they must
keep last. Run, about 20 minutes and 6 GB: python study/benchmarks/large_study.py
"""

# ruff: noqa: E501  SQL reads better in long lines

import argparse
import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import psycopg
from large_rows import CONSENT, LargeStudy, make_rows

from theodolite_study.database import migrate
from theodolite_study.export.data_rules import find_violations
from theodolite_study.export.export_check import verify_export
from theodolite_study.export.study_export import export_study
from theodolite_study.local_postgres import create_cluster, create_database, open_cluster
from theodolite_study.watch.participants import list_people, load_timeline
from theodolite_study.watch.progress import load_progress

Figures = dict[str, Any]
LINES = {
    "progress_ms": 300, "people_ms": 300, "timeline_ms": 300, "claim_ms": 10,
    "claim_beside_snapshot_ms": 10, "withdrawal_p95_ms": 200, "export_mb": 300,
    "export_minutes": 10, "verify_minutes": 5,
}  # fmt: skip


def timed(work: Callable[[], Any]) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    work()
    return (time.perf_counter() - start) * 1000


def share(times: list[float], at: float) -> float:
    """A quantile."""
    return round(sorted(times)[min(int(len(times) * at), len(times) - 1)], 2)


def pages(connection: psycopg.Connection[Any], made: LargeStudy) -> Figures:
    """The queries of the desk's pages, the median of 20 after the first one."""
    random = Random(0)

    def somebody() -> str:
        return f"p{random.randrange(made.people):07}"

    work: dict[str, Callable[[], Any]] = {
        "progress": lambda: load_progress(connection, made.study),
        "people": lambda: list_people(connection, made.study, after=somebody()),
        "timeline": lambda: load_timeline(connection, made.study, somebody()),
    }
    figures: Figures = {}
    for name, query in work.items():
        figures[f"{name}_first_ms"] = round(timed(query), 2)
        figures[f"{name}_ms"] = share([timed(query) for _ in range(20)], 0.5)
    return figures


def newcomers(connection: psycopg.Connection[Any], many: int) -> list[bytes]:
    """Sessions of people who came and may claim."""
    tokens = []
    for _ in range(many):
        token, person = os.urandom(32), os.urandom(32)
        ends = datetime.now(timezone.utc) + timedelta(hours=1)
        run = connection.execute
        run("select st_arrive('large', 'link', %s, 'x', %s, %s, null, null, 'en', %s, %s, false, null)",
            [person, person, f"new-{uuid4()}", token, ends])  # fmt: skip
        run("select st_consent(%s, (select version_id from participant order by created_at desc"
            " limit 1), 'en', %s, %s)",
            [token, hashlib.sha256(CONSENT).digest(), os.urandom(32)])  # fmt: skip
        run("update participant set state = 'active' where state = 'consented'")
        tokens.append(token)
    return tokens


def claims(connection: psycopg.Connection[Any], url: str, many: int, fills: int) -> Figures:
    """Claims of a new item: as things are, and while a snapshot is held and seats fill."""
    tokens = newcomers(connection, 2 * many)

    def claim(token: bytes) -> None:
        row = connection.execute("select st_next(%s)", [token]).fetchone()
        assert row is not None
        assert row[0].get("go") == "item", row

    figures = {"claim_ms": share([timed(lambda t=t: claim(t)) for t in tokens[:many]], 0.5)}  # type: ignore[misc]
    with psycopg.connect(url) as other:
        other.execute("set transaction isolation level repeatable read")
        other.execute("select count(*) from study")
        with connection.transaction():
            connection.execute("set local session_replication_role = replica")
            connection.execute(
                "update slot set state = 'filled', assignment_id = -id where id in"
                " (select id from slot where state = 'open' order by slot_no, random() limit %s)", [fills]
            )  # fmt: skip
        times = [timed(lambda t=t: claim(t)) for t in tokens[many:]]  # type: ignore[misc]
    figures["claim_beside_snapshot_ms"] = share(times, 0.5)
    figures["claim_beside_snapshot_p95_ms"] = share(times, 0.95)
    return figures


def withdrawals(connection: psycopg.Connection[Any], made: LargeStudy, many: int) -> Figures:
    """Whole withdrawals of people with all their votes."""
    times = []
    for number in Random(1).sample(range(made.people), many):
        code = hashlib.sha256(f"code {number}".encode()).digest()
        times.append(timed(lambda c=code: connection.execute("select st_withdraw(%s, true)", [c])))  # type: ignore[misc]
    return {"withdrawal_p50_ms": share(times, 0.5), "withdrawal_p95_ms": share(times, 0.95)}


def exported(url: str, folder: Path) -> Figures:
    """One export by a process of its own, whose memory is told."""
    run = [sys.executable, __file__, "--export", str(folder)]
    environment = os.environ | {"LARGE_STUDY": url}
    out = subprocess.run(run, check=True, capture_output=True, env=environment)
    figures: Figures = json.loads(out.stdout)
    return figures


def export_here(folder: Path) -> Figures:
    """The work of that process."""
    start = time.perf_counter()
    made = export_study(os.environ["LARGE_STUDY"], "large", folder)
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {
        "export_minutes": round((time.perf_counter() - start) / 60, 2),
        "export_cpu_s": round(sum(os.times()[:2]), 1),
        "export_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "export_disk_mb": round(size / 1e6),
        "sha256": made.sha256,
    }


@contextmanager
def large_database() -> Iterator[str]:
    """A cluster of its own with empty tables."""
    place = Path(tempfile.mkdtemp(prefix="large-pg-"))
    create_cluster(place, durable=False)
    cluster = open_cluster(place)
    try:
        create_database(cluster, "large")
        migrate(cluster.database("large"))
        yield cluster.database("large")
    finally:
        cluster.stop()
        shutil.rmtree(cluster.folder, ignore_errors=True)


def measured(url: str, folder: Path, votes: int, left: int, many: int) -> Figures:
    """All figures of one study."""
    with psycopg.connect(url, autocommit=True) as connection:
        figures: Figures = {"votes": votes, "load": os.getloadavg()}
        start = time.perf_counter()
        made = make_rows(connection, votes, left)
        figures["made_minutes"] = round((time.perf_counter() - start) / 60, 2)
        figures |= pages(connection, made)
        print(json.dumps(figures), file=sys.stderr, flush=True)
        start = time.perf_counter()
        figures["violations"] = [str(one) for one in find_violations(connection, made.study)]
        figures["verify_minutes"] = round((time.perf_counter() - start) / 60, 2)
        print(json.dumps(figures), file=sys.stderr, flush=True)
        first, second = (exported(url, folder / name) for name in ("first", "second"))
        figures |= first | {"same_bytes": first["sha256"] == second["sha256"]}
        start = time.perf_counter()
        problems = verify_export(folder / "first")
        figures["export_problems"] = [one for one in problems if not one.startswith("Fewer")]
        figures["export_verify_minutes"] = round((time.perf_counter() - start) / 60, 2)
        print(json.dumps(figures), file=sys.stderr, flush=True)
        figures |= withdrawals(connection, made, many)
        figures |= claims(connection, url, many, left // 2)
        rows = connection.execute(
            "select inhrelid::regclass::text, pg_total_relation_size(inhrelid) / 1000000 from pg_inherits"
            " where inhparent = 'log'::regclass order by 1").fetchall()  # fmt: skip
        figures["log_mb"] = {name: int(size) for name, size in rows if size}
        figures["load_after"] = os.getloadavg()
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=1_000_000)
    parser.add_argument("--left", type=int, default=10_000)
    parser.add_argument("--export", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.export is not None:
        print(json.dumps(export_here(given.export)))
        return
    folder = Path(tempfile.mkdtemp(prefix="large-study-"))
    try:
        with large_database() as url:
            figures = measured(url, folder, given.votes, given.left, 50)
        print(json.dumps(figures, indent=1))
        for name, line in LINES.items():
            held = "holds" if figures[name] <= line else "DOES NOT HOLD"
            print(f"{name}: {figures[name]} (line {line}) {held}")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
