"""Build the image of the Dockerfile by buildah, serve a page from inside of it, write an archive.

    apt-get install buildah mmdebstrap postgresql
    python study/deploy/image.py --out study.tar                        # without a registry
    python study/deploy/image.py --out study.tar --base docker.io/library/python:3.12-slim

Without a base from a registry, the base is a Debian root from apt. Python packages are fetched by
the pip of whoever runs this, so inside nothing is fetched. Needs no Docker; takes some minutes.
"""

import argparse
import http.client
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

DEPLOY = Path(__file__).resolve().parent
ROOT = DEPLOY.parents[1]
SUITE = "bookworm"
PACKAGES = "python3,python3-venv,ca-certificates"
OWN_BASE = "localhost/theodolite-base"
IMAGE = "localhost/theodolite-study"
PORT, METRICS_PORT = 18080, 18081
SLOWEST_START = 120.0
"""Seconds."""
PASSWORDS = ("owner", "server", "desk", "jobs")


def run(*command: object, **named: object) -> None:
    """Run a program; its failure is ours."""
    subprocess.run([str(part) for part in command], check=True, **named)  # type: ignore[call-overload]


class Storage:
    """buildah with a storage of its own, which needs no rights and is gone afterwards."""

    def __init__(self, place: Path) -> None:
        self.command = ["buildah", "--storage-driver", "vfs", "--root", str(place / "layers"),
                        "--runroot", str(place / "running")]  # fmt: skip

    def __call__(self, *values: object) -> str:
        command = [*self.command, *map(str, values)]
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def debian_base(storage: Storage, place: Path) -> str:
    """A small Debian with Python, from apt."""
    run(
        "mmdebstrap",
        "--quiet",
        "--variant=minbase",
        f"--include={PACKAGES}",
        SUITE,
        place / "root.tar",
    )
    container = storage("from", "scratch")
    storage("add", "--quiet", container, place / "root.tar", "/")
    storage("commit", "--quiet", "--rm", container, OWN_BASE)
    (place / "root.tar").unlink()
    return OWN_BASE


def wheels(place: Path, python: str) -> Path:
    """All that pip needs inside, as files, and its settings."""
    folder = place / "wheels"
    run(
        sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder,
        "--constraint", ROOT / "requirements" / "lock.txt", "--python-version", python,
        "--only-binary=:all:", *_requirements(place),
        "hatch-fancy-pypi-readme>=24", "hatchling>=1.26",
    )  # fmt: skip
    (place / "pip.conf").write_text("[global]\nno-index = true\nfind-links = /wheels\n")
    return folder


def _requirements(place: Path) -> list[Path]:
    """The two distributions as wheels: what they need is fetched with them."""
    for source in (ROOT, ROOT / "study"):
        run(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--wheel-dir",
            place,
            source,
        )
    return sorted(place.glob("theodolite*.whl"))


def build(storage: Storage, place: Path, base: str, python: str) -> None:
    """What the Dockerfile says."""
    storage(
        "bud", "--quiet", "--isolation", "chroot", "--format", "docker",
        "--build-arg", f"BASE={base}", "--volume", f"{wheels(place, python)}:/wheels:ro",
        "--volume", f"{place / 'pip.conf'}:/etc/pip.conf:ro",
        "--ignorefile", DEPLOY / "Dockerfile.dockerignore", "--file", DEPLOY / "Dockerfile",
        "--tag", IMAGE, ROOT,
    )  # fmt: skip


def serve_once(storage: Storage, place: Path) -> float:
    """Tables and server from inside, as 10001, with a PostgreSQL outside; seconds to the page."""
    from theodolite_study.keys import Keys  # noqa: PLC0415
    from theodolite_study.local_postgres import create_cluster, open_cluster  # noqa: PLC0415
    from theodolite_study.operate.postgres_programs import run_postgres_program  # noqa: PLC0415

    study, hidden = place / "study", place / "secrets"
    study.mkdir()
    hidden.mkdir()
    passwords = {name: secrets.token_hex(32) for name in PASSWORDS}
    for name, password in passwords.items():
        (hidden / f"{name}_password").write_text(password)
    Keys.create(study / "keys.json")
    for path in (study, hidden, *study.iterdir(), *hidden.iterdir()):
        os.chown(path, 10001, 10001)
    create_cluster(place / "postgres", durable=False)
    cluster = open_cluster(place / "postgres")
    try:
        os.environ.update({f"{name.upper()}_PASSWORD": text for name, text in passwords.items()})
        run_postgres_program(
            "psql", cluster.database("postgres"), "--quiet", "--no-psqlrc",
            "--set=database=theodolite_image", f"--file={DEPLOY / 'roles.sql'}",
        )  # fmt: skip
        return _first_page(storage, study, hidden, cluster.port)
    finally:
        cluster.stop()


def _first_page(storage: Storage, study: Path, hidden: Path, database: int) -> float:
    container = storage("from", IMAGE)
    inside = [
        *storage.command, "run", "--isolation", "chroot", "--user", "10001:10001",
        "--volume", f"{study}:/study:ro", "--volume", f"{hidden}:/run/secrets:ro",
        "--env", "ORIGIN=http://127.0.0.1", "--env", f"DATABASE_HOST=127.0.0.1:{database}",
        "--env", "DATABASE=theodolite_image", "--env", f"PORT={PORT}",
        "--env", f"METRICS_PORT={METRICS_PORT}", container, "--",
        "python", "/opt/theodolite/start.py",
    ]  # fmt: skip
    run(*inside, "prepare")
    begun = time.monotonic()
    server = subprocess.Popen([*inside, "serve"])
    try:
        while True:
            try:
                page = http.client.HTTPConnection("127.0.0.1", PORT, timeout=5)
                page.request("GET", "/readyz")
                page.getresponse().read()
                break
            except OSError as error:
                if server.poll() is not None or time.monotonic() - begun > SLOWEST_START:
                    raise RuntimeError("the server inside does not answer") from error
                time.sleep(0.2)
        run(*inside, "health")
        return time.monotonic() - begun
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(30)
        storage("rm", container)


def main() -> None:
    """Build, try, write; say how long and how large."""
    parser = argparse.ArgumentParser(description="Build the image of the study server by buildah.")
    parser.add_argument("--out", type=Path, required=True, help="A new OCI archive.")
    parser.add_argument("--base", help="A base of a registry, by digest for a release.")
    parser.add_argument("--python", default="3.11", help="The base's Python.")
    given = parser.parse_args()
    missing = [name for name in ("buildah", "mmdebstrap") if shutil.which(name) is None]
    if missing:
        sys.exit(f"{missing[0]}: not there. apt-get install buildah mmdebstrap")
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="theodolite-image-") as folder:
        place = Path(folder)
        place.chmod(0o755)
        storage = Storage(place)
        base = given.base or debian_base(storage, place)
        print(f"base: {base}, {time.monotonic() - begun:.0f} s", flush=True)
        build(storage, place, base, given.python)
        print(f"image: {time.monotonic() - begun:.0f} s", flush=True)
        print(f"first answer: {serve_once(storage, place):.1f} s", flush=True)
        storage("push", "--quiet", IMAGE, f"oci-archive:{given.out.resolve()}")
        shutil.rmtree(place / "layers", ignore_errors=True)
    size = given.out.stat().st_size / 2**20
    print(f"{given.out}: {size:.0f} MB, {(time.monotonic() - begun) / 60:.1f} minutes")


if __name__ == "__main__":
    main()
