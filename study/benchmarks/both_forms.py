"""The same study on a server of 0.1.0 and on this one, for figures of both from one run.

The code of 0.1.0 comes from the repository's history into a folder of its own, which alone is on
the path of its processes. Its study is made by it, copied, and moved to the second form by the
migration.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from theodolite_study.database import migrate
from theodolite_study.local_postgres import LocalPostgres, cluster_has_database, create

FIRST_FORM = "d5342f1"
"""The last commit whose server is that of 0.1.0."""
SLUG = "compared"
REPOSITORY = Path(__file__).parents[2]
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
MADE_BY_FIRST = """
import sys
from pathlib import Path
from benchmark_pictures import drawn_pictures
from theodolite.study_material.material import PICTURES, Explained, Instance, Material
from theodolite.study_material.material import write_material
from theodolite_study.database import Database, migrate
from theodolite_study.intake import load
from theodolite_study.keys import Keys
from theodolite_study.lifecycle import become
from theodolite_study import new_study
from theodolite_study.new_study import Beginning, begin_study
new_study._code = lambda: "ABCDEFGH"  # 0.1.0 could not read codes that happened to be all digits
url, place, slug, instances, votes, quota = sys.argv[1:]
folder = Path(place)
names = drawn_pictures(folder / PICTURES, 6 * int(instances))
def explained(n, label):
    return Explained(picture=names[n], predicted=label, map=names[n + 1])
made = [Instance(key=f"i{n}", picture_key=f"p{n}", technique=f"t{n % 4}",
                 shown=explained(6 * n, "dog"), same=explained(6 * n + 2, "dog"),
                 different=explained(6 * n + 4, "cat")) for n in range(int(instances))]
write_material(folder, Material(instances=made))
begin_study(folder, Material(instances=made),
            Beginning(title="Compared", contact="x", slug=slug, votes=int(votes)))
text = (folder / "study.yaml").read_text()
(folder / "study.yaml").write_text(text.replace("quota: 20", f"quota: {quota}"))
migrate(url)
database = Database(url)
load(database, folder, Keys.read(folder))
become(database, slug, "open", staff="benchmark")
"""
SERVE_FIRST = """
import sys
from pathlib import Path
from theodolite_study.web.serving import serve
from theodolite_study.web.settings import Settings
url, folder, port, workers = sys.argv[1:]
serve(Settings(url, Path(folder), f"http://127.0.0.1:{port}"), port=int(port), workers=int(workers))
"""
SERVE = """
import sys
from pathlib import Path
from theodolite_study.serve.run import serve
from theodolite_study.serve.settings import Settings
url, folder, port, workers = sys.argv[1:]
serve(Settings(url, Path(folder), f"http://127.0.0.1:{port}"), port=int(port), workers=int(workers))
"""


@dataclass(frozen=True)
class ServerProcess:
    """A server that runs."""

    port: int
    pid: int
    log: Path


@contextmanager
def serving(script: str, url: str, folder: Path, *, workers: int = 1, code: Path | None = None
            ) -> Iterator[ServerProcess]:  # fmt: skip
    """A server in processes of its own, until it answers; `code`: another version's folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / f"server-{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", script, url, str(folder), str(port), str(workers)],
            stdout=out, stderr=out, start_new_session=True, env=_environment(code),
        )  # fmt: skip
    try:
        until = time.monotonic() + 90
        while not _answers(port):
            if time.monotonic() > until or process.poll() is not None:
                raise RuntimeError(log.read_text()[-3000:])
            time.sleep(0.1)
        yield ServerProcess(port, process.pid, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as probe:
            probe.settimeout(2)
            probe.sendall(f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            return probe.recv(12).endswith(b"200")
    except OSError:
        return False


def _environment(code: Path | None) -> dict[str, str]:
    if code is None:
        return os.environ | ONE_THREAD
    return (
        os.environ
        | ONE_THREAD
        | {"PYTHONPATH": f"{code / 'src'}:{code / 'study' / 'src'}:{Path(__file__).parent}"}
    )


def first_code(place: Path) -> Path:
    """The code of 0.1.0 in a folder; the checkout that this file is in stays as it is."""
    code = place / "first"
    command = ["git", f"--work-tree={code}", "checkout", FIRST_FORM, "--", "src", "study/src"]
    code.mkdir()
    subprocess.run(
        command, cwd=REPOSITORY, check=True,
        env=os.environ | {"GIT_INDEX_FILE": str(place / "index")},
    )  # fmt: skip
    return code


@dataclass(frozen=True)
class BothForms:
    """A cluster with the same study twice."""

    cluster: LocalPostgres
    folder: Path
    code: Path
    first: str
    second: str


@contextmanager
def both_forms(place: Path, *, instances: int, votes: int, quota: int) -> Iterator[BothForms]:
    """Both studies, open, on a durable PostgreSQL that counts statements."""
    code = first_code(place)
    cluster = create(place / "cluster")
    with (cluster.folder / "data" / "postgresql.conf").open("a") as settings:
        settings.write("shared_preload_libraries = 'pg_stat_statements'\n")
    cluster.start()
    try:
        cluster_has_database(cluster, "first")
        first, second = cluster.database("first"), cluster.database("second")
        subprocess.run(
            [sys.executable, "-c", MADE_BY_FIRST, first, str(place / "study"), SLUG,
             str(instances), str(votes), str(quota)],
            check=True, env=_environment(code),
        )  # fmt: skip
        cluster_has_database(cluster, "second", "first")
        migrate(second, "head")
        for url in (first, second):
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute("create extension pg_stat_statements")
                connection.execute("vacuum analyze")
        yield BothForms(cluster, place / "study", code, first, second)
    finally:
        cluster.stop()
