"""The server behind what stands before it: nginx, which ends slow senders, and pgbouncer."""

import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import gettempdir
from urllib.parse import urlsplit

import psycopg
import pytest

from support.study.real_server import free_port, real_server, walk
from support.study.stepped_study import SteppedStudy, template_database
from test_real_server import SHOWN, closed_after
from theodolite_study.keys import Keys
from theodolite_study.local_postgres import LocalPostgres, create_database

DEPLOY = Path(__file__).parents[1] / "deploy"
NGINX, POOLER = shutil.which("nginx"), shutil.which("pgbouncer")


@contextmanager
def running(*command: str, user: str | None = None) -> Iterator[None]:
    """A program, until it is not needed any more."""
    process = subprocess.Popen(command, user=user, stdin=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def nginx_settings(place: Path, port: int, server: int) -> Path:
    """What we ship, without TLS, on other ports, five times as quick."""
    shipped = (
        (DEPLOY / "nginx.conf")
        .read_text()
        .split("\n\nserver {\n    listen 443 ssl http2;\n    server_name desk")[0]
    )
    mine = re.sub(r".*(ssl_|server_name|error_log).*\n", "", shipped)
    mine = mine.replace("listen 443 ssl http2", f"listen 127.0.0.1:{port}").replace(
        ":8080", f":{server}"
    )
    mine = re.sub(r"(client_header_timeout|client_body_timeout) 10s", r"\1 2s", mine)
    paths = "".join(
        f"{kind}_temp_path {place};\n"
        for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    file = place / "nginx.conf"
    file.write_text(
        f"daemon off;\npid {place}/pid;\nerror_log stderr crit;\nevents {{}}\nhttp {{\n{paths}{mine}\n}}\n"
    )
    return file


@pytest.fixture(scope="module")
def study(cluster: LocalPostgres) -> Iterator[SteppedStudy]:
    create_database(cluster, "proxied", template_database(cluster))
    with psycopg.connect(cluster.database("proxied"), autocommit=True) as connection:
        made = SteppedStudy(connection, instances=3, votes=9, quota=2)
        sizes = {file: [40, 30] for file in SHOWN["shown"].values()}
        connection.execute(
            "update instance set shown = %s", [psycopg.types.json.Jsonb(SHOWN | {"sizes": sizes})]
        )
        connection.execute(
            "create role proxied_server login password 'only here' in role theodolite_serve"
        )
        yield made


@pytest.mark.skipif(not (NGINX and POOLER), reason="apt-get install nginx-light pgbouncer")
def test_a_walk_through_both_while_others_send_slowly(
    cluster: LocalPostgres, study: SteppedStudy, tmp_path: Path
) -> None:
    address = urlsplit(cluster.database("proxied"))
    pooler, port = free_port(), free_port()
    (tmp_path / "users").write_text('"proxied_server" "only here"\n')
    (tmp_path / "pgbouncer.ini").write_text(
        f"[databases]\nproxied = host=127.0.0.1 port={address.port}\n[pgbouncer]\n"
        f"listen_addr = 127.0.0.1\nlisten_port = {pooler}\nauth_type = plain\n"
        f"auth_file = {tmp_path}/users\npool_mode = transaction\ndefault_pool_size = 2\n"
        "unix_socket_dir =\n"
    )
    for path in (tmp_path, *tmp_path.parents):  # the pooler is another user
        if path.is_relative_to(gettempdir()) and path != Path(gettempdir()):
            path.chmod(0o755)
    Keys.create(tmp_path / "keys.json")
    url = f"postgresql://proxied_server:only%20here@127.0.0.1:{pooler}/proxied"
    with (
        running(str(POOLER), "-q", str(tmp_path / "pgbouncer.ini"), user="postgres"),
        real_server(url, tmp_path, THEODOLITE_POOLER="transaction") as server,
        running(str(NGINX), "-c", str(nginx_settings(tmp_path, port, server.port))),
    ):
        time.sleep(0.5)
        with server.visitor(port) as browser:
            assert walk(browser).url.path == "/done"
        assert study.one("select count(*) from vote") == 2
        begun = b"GET /healthz HTTP/1.1\r\nHost: study.example.org\r\n"
        assert 1 < closed_after(port, begun, b"a: b\r\n", 9) < 7
        form = b"POST /consent HTTP/1.1\r\nHost: study.example.org\r\nContent-Length: 900\r\n\r\n"
        assert closed_after(port, form, b"", 9) < 7, "a form that does not come"
    assert study.broken() == []
