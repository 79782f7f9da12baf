"""What a vote costs: the server of 0.1.0 and that of the second form, with the same traffic.

A browser's 13 requests a vote (page, picture, own answer, page, pictures, draft, heartbeat,
ratings), on one cluster, one after the other. Printed for each: statements, transactions and CPU of
server and database a vote; the ratio of CPU last. Run: python study/benchmarks/hot_path.py
"""

import argparse
import html
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import psycopg
from study_chaos import SLUG, make_folder, served

from theodolite_study.database import Database, migrate
from theodolite_study.intake import load
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become
from theodolite_study.local_postgres import LocalPostgres, create

SERVE = """
import sys
from pathlib import Path
from theodolite_study.serve.run import serve
from theodolite_study.web.settings import Settings
url, folder, port = sys.argv[1:]
serve(Settings(url, Path(folder), f"http://127.0.0.1:{port}"), port=int(port), workers=1)
"""
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TICKS = os.sysconf("SC_CLK_TCK")


class PlainBrowser:
    """Keeps its connection, its cookies and pictures that it may keep."""

    def __init__(self, port: int) -> None:
        self.origin = f"http://127.0.0.1:{port}"
        self.connection = HTTPConnection("127.0.0.1", port, timeout=30)
        self.cookies: dict[str, str] = {}
        self.kept: set[str] = set()
        self.requests = 0

    def ask(self, method: str, path: str, body: str | None = None, **more: str) -> tuple[str, str]:
        """The address and the text where redirects end."""
        for _ in range(30):
            headers = {
                "Origin": self.origin, "Sec-Fetch-Site": "same-origin",
                "Cookie": "; ".join(f"{n}={v}" for n, v in self.cookies.items()), **more,
            }  # fmt: skip
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
            content = answer.read()
            self.requests += 1
            for cookie in answer.headers.get_all("set-cookie") or []:
                name, _, value = cookie.partition(";")[0].partition("=")
                self.cookies[name] = value
            if answer.status in (302, 303, 307):
                method, path, body, more = "GET", str(answer.headers["location"]), None, {}
                continue
            if answer.status == 429:  # quicker than people are: it waits, which costs nothing
                self.requests -= 1
                time.sleep(float(answer.headers["retry-after"] or 1))
                continue
            assert answer.status < 400, (method, path, answer.status, content[:300])
            if "max-age" in (answer.headers["cache-control"] or ""):
                self.kept.add(path)
            return path, content.decode(errors="replace")
        raise AssertionError("too many redirects")

    def pictures(self, text: str) -> None:
        """Those of a page that are not kept already."""
        for path in dict.fromkeys(re.findall(r'<img[^>]* src="([^"]+)"', text)):
            if path not in self.kept:
                self.ask("GET", html.unescape(path))

    def send(
        self, page: str, ends: str, fields: Mapping[str, str] | None = None
    ) -> tuple[str, str]:
        """The form whose action ends so."""
        for action, inside in re.findall(
            r'<form[^>]*?\saction="([^"]+)"[^>]*>(.*?)</form>', page, re.S
        ):
            if action.endswith(ends):
                pairs = re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', inside)
                hidden = {name: html.unescape(value) for name, value in pairs}
                chosen = dict.fromkeys(re.findall(r'type="radio"[^>]* name="(q\d)"', inside), "3")
                body = urlencode(hidden | chosen | dict(fields or {}))
                return self.ask("POST", action, body, **FORM)
        raise AssertionError(f"no form for {ends}")


def begin(browser: PlainBrowser) -> tuple[str, str]:
    """Until the first item."""
    path, text = browser.ask("GET", f"/s/{SLUG}")
    path, text = browser.send(text, "/begin")
    path, text = browser.send(text, "/consent")
    for _ in range(8):
        if re.search(r"/a/\d+$", path):
            return path, text
        if "/demographics" in path or "/demographics" in text:
            path, text = browser.ask("GET", "/demographics")
            path, text = browser.send(text, "/demographics")
        elif "/stage/about" in path:
            path, text = browser.send(text, "/stage/about")
        else:
            path, text = browser.send(text, "/next")
    raise AssertionError(path)


def vote(browser: PlainBrowser, path: str, text: str) -> tuple[str, str]:
    """All requests of one item; the page of the next one."""
    browser.pictures(text)
    if f'action="{path}/own"' in text:
        own = {"words": "its ears", "regions_nothing": "yes"}
        _, text = browser.send(text, f"{path}/own", own)
    else:
        _, text = browser.send(text, f"{path}/baseline", {"text": "its ears", "boxes": "[]"})
    browser.pictures(text)
    csrf = re.findall(r'name="csrf" value="([^"]+)"', text)[0]
    headers = {"Content-Type": "application/json", "X-CSRF": csrf}
    browser.ask("POST", f"{path}/draft", json.dumps({"answers": {"q1": 3}}), **headers)
    browser.ask("POST", f"{path}/heartbeat", "{}", **headers)
    return browser.send(text, f"{path}/ratings")


def cpu_of(pids: list[int]) -> float:
    """Seconds of CPU of processes."""
    total = 0
    for pid in pids:
        parts = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(parts[11]) + int(parts[12])
    return total / TICKS


def below(pid: int) -> list[int]:
    """A process and all that it started."""
    text = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True, check=True)  # noqa: S607
    pairs = [tuple(map(int, line.split())) for line in text.stdout.splitlines()[1:]]
    tree = [pid]
    for parent in tree:
        tree += [child for child, of in pairs if of == parent]
    return tree


def measured(cluster: LocalPostgres, port: int, server: int, votes: int) -> dict[str, float]:
    """One person's votes on a server that runs."""
    browser = PlainBrowser(port)
    path, text = begin(browser)
    path, text = vote(browser, path, text)  # caches are filled
    postmaster = int((cluster.folder / "data" / "postmaster.pid").read_text().split()[0])
    with psycopg.connect(cluster.url, autocommit=True) as connection:
        connection.execute("select pg_stat_statements_reset()")
        before = browser.requests
        cpu = [cpu_of(below(server)), cpu_of(below(postmaster))]
        begun = time.monotonic()
        for _ in range(votes):
            path, text = vote(browser, path, text)
        wall = time.monotonic() - begun
        after = [cpu_of(below(server)), cpu_of(below(postmaster))]
        ((statements, starts),) = connection.execute(
            "select sum(calls), sum(calls) filter (where query ~* '^(begin|start transaction)')"
            " from pg_stat_statements where toplevel and query !~ 'pg_stat_statements'"
        )
    server_ms, database_ms = (1000 * (b - a) / votes for a, b in zip(cpu, after, strict=True))
    return {
        "requests": (browser.requests - before) / votes, "statements": float(statements) / votes,
        "transactions": float(starts or statements) / votes, "server CPU ms": server_ms,
        "database CPU ms": database_ms, "CPU ms": server_ms + database_ms,
        "wall ms": 1000 * wall / votes,
    }  # fmt: skip


@contextmanager
def second_form(folder: Path, url: str, port: int) -> Iterator[int]:
    """The new server on the same study, moved to the second form."""
    migrate(url, "0002")
    command = [sys.executable, "-c", SERVE, url, str(folder), str(port)]
    process = subprocess.Popen(command)
    try:
        for _ in range(100):
            try:
                PlainBrowser(port).ask("GET", "/healthz")
                break
            except OSError:
                time.sleep(0.2)
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def main() -> None:
    """Both, and the ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--votes", type=int, default=100)
    parser.add_argument("--port", type=int, default=8191)
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="hot-path-"))
    cluster = create(Path(tempfile.mkdtemp(prefix="hot-path-pg-")))
    with (cluster.folder / "data" / "postgresql.conf").open("a") as settings:
        settings.write("shared_preload_libraries = 'pg_stat_statements'\n")
    cluster.start()
    results: dict[str, Any] = {"load": os.getloadavg()[0]}
    try:
        folder = place / "study"
        make_folder(folder, given.votes * 2 + 40, 5, 1800)
        migrate(cluster.url)
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            connection.execute("create extension pg_stat_statements")
        database = Database(cluster.url)
        load(database, folder, Keys.read(folder))
        become(database, SLUG, "open", staff="benchmark")
        database.close()
        with served(folder, cluster.url, 1) as (origin, server):
            port = int(origin.rpartition(":")[2])
            results["0.1.0"] = measured(cluster, port, server, given.votes)
        with second_form(folder, cluster.url, given.port) as server:
            results["second form"] = measured(cluster, given.port, server, given.votes)
    finally:
        cluster.stop()
        shutil.rmtree(place, ignore_errors=True)
        shutil.rmtree(cluster.folder, ignore_errors=True)
    print(json.dumps(results, indent=1))
    ratio = results["0.1.0"]["CPU ms"] / results["second form"]["CPU ms"]
    print(f"CPU a vote, 0.1.0 over the second form: {ratio:.1f}")


if __name__ == "__main__":
    main()
