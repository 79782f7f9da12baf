"""What the container does: make the tables, serve people, run a command, say whether it is well.

Secrets come from files. Without them, or with ones that anybody could guess, nothing starts.
"""

import http.client
import os
import sys
from pathlib import Path
from urllib.parse import quote, urlsplit

PORT = int(os.environ.get("PORT", "8080"))
METRICS_PORT = int(os.environ.get("METRICS_PORT", "9464"))
SHORTEST = 20
FEWEST_DIFFERENT = 8
SECRETS = Path(os.environ.get("SECRETS", "/run/secrets"))
FOLDER = Path(os.environ.get("STUDY", "/study"))
ORIGIN = os.environ.get("ORIGIN", "")
LOGINS = {
    "owner": "theodolite_owner", "desk": "theodolite_desk_server",
    "jobs": "theodolite_jobs_server", "server": "theodolite_server",
}  # fmt: skip
"""Each has a file with its password; a container has one of them."""


class Refused(Exception):
    """Why nothing starts, in a sentence."""


def secret(name: str) -> str:
    """A password from its file."""
    try:
        found = (SECRETS / name).read_text().strip()
    except OSError as error:
        raise Refused(f"secret {name!r}: no file. See docs/deployment.md.") from error
    if len(found) < SHORTEST or len(set(found)) < FEWEST_DIFFERENT:
        raise Refused(f"secret {name!r}: a weak one. Make it anew: openssl rand -hex 32.")
    return found


def address(role: str) -> str:
    """Where the database is, for one of the logins."""
    host, name = os.environ.get("DATABASE_HOST", "db"), os.environ.get("DATABASE", "theodolite")
    password = quote(secret(f"{role}_password"), safe="")
    return f"postgresql://{LOGINS[role]}:{password}@{host}/{name}"


def healthy() -> None:
    """Ask the server; light, since it is asked often."""
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=3)
    connection.request("GET", "/readyz", headers={"Host": urlsplit(ORIGIN).netloc})
    status = connection.getresponse().status
    if status != http.client.OK:
        raise Refused(f"The server answers {status}.")


def prepare(url: str) -> None:
    """Create the tables, or upgrade them."""
    from theodolite_study.database import migrate  # noqa: PLC0415

    migrate(url)


def serve(url: str) -> None:
    """Serve people until told to stop."""
    from theodolite_study.serve import run  # noqa: PLC0415

    settings = run.Settings(database_url=url, folder=FOLDER, public_origin=ORIGIN)
    # other machines cannot come here: the port is published on the host's loopback only
    run.serve(
        settings, host="0.0.0.0", port=PORT, workers=2, behind_proxy=True,  # noqa: S104
        metrics_port=METRICS_PORT,
    )  # fmt: skip


def study(*arguments: str) -> None:
    """Become `theodolite study …`, with the login whose password is at hand."""
    role = next((name for name in LOGINS if (SECRETS / f"{name}_password").is_file()), "server")
    os.environ["THEODOLITE_DATABASE"] = address(role)
    program = str(Path(sys.executable).with_name("theodolite"))
    os.execv(program, [program, "study", *arguments])  # noqa: S606


def main(what: str = "serve", *arguments: str) -> None:
    """Do one of `prepare`, `serve`, `health`, and `study` with a command of it."""
    if what == "health":
        healthy()
    elif what == "prepare":
        prepare(address("owner"))
    elif what == "serve":
        serve(address("server"))
    elif what == "study":
        study(*arguments)
    else:
        raise Refused(f"{what!r} is not one of prepare, serve, health, study.")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Refused, ValueError, OSError) as error:  # what the study refuses is a ValueError
        sys.exit(f"theodolite: {error}")
