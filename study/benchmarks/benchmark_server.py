"""A study on a durable PostgreSQL and the server of its pages, both only for a benchmark."""

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
from benchmark_images import drawn_images

from theodolite.datasets.study_material.material import write_material
from theodolite.ext.studies import IMAGES, Explained, Instance, Material
from theodolite_study.database import migrate
from theodolite_study.folder_import import import_folder
from theodolite_study.keys import Keys
from theodolite_study.local_postgres import LocalPostgres, create_cluster, open_cluster
from theodolite_study.new_study import NewStudy, write_new_study
from theodolite_study.store.opening import open_version

SLUG = "measured"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
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
def serving(url: str, folder: Path, *, workers: int = 1) -> Iterator[ServerProcess]:
    """Start a server in processes of its own and wait until it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    log = folder / f"server-{port}.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, url, str(folder), str(port), str(workers)],
            stdout=out, stderr=out, start_new_session=True, env=os.environ | ONE_THREAD,
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


@dataclass(frozen=True)
class BenchmarkStudy:
    """An open study: its cluster, and the folder with its images and keys."""

    cluster: LocalPostgres
    folder: Path


@contextmanager
def opened_study(
    place: Path, *, instances: int, votes: int, quota: int
) -> Iterator[BenchmarkStudy]:
    """Create an open study on a durable PostgreSQL that counts statements."""
    folder = place / "study"
    _write_folder(folder, instances, NewStudy(
        title="Measured", contact="x", slug=SLUG, votes=votes, quota=quota))  # fmt: skip
    create_cluster(place / "cluster")
    with (place / "cluster" / "data" / "postgresql.conf").open("a") as settings:
        settings.write("shared_preload_libraries = 'pg_stat_statements'\n")
    cluster = open_cluster(place / "cluster")
    try:
        migrate(cluster.url)
        with psycopg.connect(cluster.url, autocommit=True) as connection:
            with connection.transaction():
                study = import_folder(connection, folder, Keys.read(folder))
                open_version(connection, study.version)
            connection.execute("create extension pg_stat_statements")
            connection.execute("vacuum analyze")
        yield BenchmarkStudy(cluster, folder)
    finally:
        cluster.stop()


def _write_folder(folder: Path, instances: int, beginning: NewStudy) -> None:
    names = drawn_images(folder / IMAGES, 6 * instances)

    def explained(first: int, label: str) -> Explained:
        return Explained(image=names[first], predicted=label, map=names[first + 1])

    material = Material(instances=[
        Instance(
            key=f"i{n}", image_key=f"p{n}", technique=f"t{n % 4}",
            shown=explained(6 * n, "dog"), same=explained(6 * n + 2, "dog"),
            different=explained(6 * n + 4, "cat"),
        )
        for n in range(instances)
    ])  # fmt: skip
    write_material(folder, material)
    write_new_study(folder, material, beginning)
