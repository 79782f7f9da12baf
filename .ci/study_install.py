"""Where both wheels are and nothing else: the study server works without torch.

    python study_install.py OTHER

OTHER is the program of an environment without the study server.
"""

import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

heavy = [name for name in ("torch", "matplotlib", "ray") if importlib.util.find_spec(name)]
assert not heavy, f"the study server brought {heavy}"
program = Path(sys.executable).with_name("theodolite")
with socket.socket() as probe:
    probe.bind(("127.0.0.1", 0))
    port = str(probe.getsockname()[1])
with tempfile.TemporaryDirectory() as folder:
    Path(folder).chmod(0o755)  # PostgreSQL may run as another user
    for words in (
        ["demo", "--people", "6", "--check", "--port", port],
        ["export", "theodolite-demo", "--out", "ratings"],
        ["verify", "ratings"],
        ["demo", "--check", "--port", port],  # the study that is there
    ):
        subprocess.run([program, "study", *words], check=True, cwd=folder)
    done = subprocess.run(
        [sys.argv[1], "study", "serve", "here"],
        cwd=folder, check=False, capture_output=True, text=True,
        env={**os.environ, "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
assert done.returncode == 2, done
assert done.stderr.count("\n") == 1, done.stderr
assert "theodolite[study]" in done.stderr, done.stderr
print(done.stderr.strip())
