"""Get a data set: from a pinned source, with its digests checked, or by instructions."""

import functools
import hashlib
import http.server
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

THEODOLITE = str(Path(sys.executable).with_name("theodolite"))
CARD = """\
name: votes
title: Votes on explanations
authors: A laboratory, 2026
url: https://example.org/votes
license: CC BY 4.0
redistribution: allowed
revision: "1"
folder: votes
layout: votes.csv, a line for each rating.
files:
  - {{path: votes.csv, bytes: {bytes}, digest: "sha256:{digest}", url: "{address}/votes.csv"}}
"""


def get(*arguments: str) -> tuple[int, str]:
    ran = subprocess.run(
        [THEODOLITE, "data", "get", *arguments], cwd=folder, capture_output=True, text=True
    )
    return ran.returncode, ran.stdout + ran.stderr


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


with tempfile.TemporaryDirectory() as name:
    folder = Path(name)

    # A publisher offers a file. Here it is a server of this machine.
    (folder / "published").mkdir()
    published = folder / "published" / "votes.csv"
    published.write_text("item,rater,rating\n" + "".join(f"{i},r,{i % 5}\n" for i in range(50_000)))
    content = published.read_bytes()
    handler = functools.partial(Quiet, directory=str(published.parent))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    # The card says where the file is, how large it is, and its digest.
    address = f"http://127.0.0.1:{server.server_address[1]}"
    digest = hashlib.sha256(content).hexdigest()
    (folder / "votes.yaml").write_text(
        CARD.format(bytes=len(content), digest=digest, address=address)
    )

    # A download that was interrupted left half of the file. It is completed and checked.
    mine = folder / "mine"
    mine.mkdir()
    (mine / "votes.csv.part").write_bytes(content[: len(content) // 2])
    code, text = get("votes.yaml", "--to", "mine")
    print(text)
    assert code == 0
    assert (mine / "votes.csv").read_bytes() == content
    assert not (mine / "votes.csv.part").exists()

    # Again: nothing is downloaded, not even with the server changed.
    published.write_bytes(b"j" + content[1:])
    assert get("votes.yaml", "--to", "mine")[0] == 0

    # A byte that the publisher changed since is refused, and nothing of it is left.
    code, text = get("votes.yaml", "--to", "other")
    print(text)
    assert code == 5
    assert "another content" in text
    assert not list((folder / "other").iterdir())

    # Where the license forbids a download, the source, the terms and the layout are printed.
    code, text = get("cub")
    print(text)
    assert code == 5
    assert "Terms:" in text
    assert "images.txt" in text
    server.shutdown()
