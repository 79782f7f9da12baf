"""Run a command, then write what it and everything that it started took.

    python measured.py FILE COMMAND...

Servers that leave their parent are adopted here, so that their time is counted and none of them is
left behind.
"""

import ctypes
import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36


def children() -> list[int]:
    """Processes whose parent this one is."""
    pids = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            pid = int(entry.name)
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                pids.append(pid)
    return pids


def name_of(pid: int) -> str:
    """The beginning of a process's command line."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")[:80].strip()
    return ""


def end_orphans(seconds: float = 10.0) -> list[str]:
    """Wait for what is ending by itself, end the rest, and say what that was."""
    deadline = time.monotonic() + seconds
    while children() and time.monotonic() < deadline:
        reap()
        time.sleep(0.1)
    stopped = [name_of(pid) for pid in children()]
    while pids := children():
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.1)
        reap()
    reap()
    return stopped


def reap() -> None:
    """Take the times of processes that ended."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def main() -> None:
    """Measure the command; end as it ended."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    start = time.monotonic()
    command = subprocess.Popen(sys.argv[2:])
    ended = 0
    while ended != command.pid:  # adopted ones that end are gone at once, as under init
        ended, status = os.wait()
    code = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    left = end_orphans()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    record = {"code": code, "wall": wall, "cpu": used.ru_utime + used.ru_stime, "left": left}
    Path(sys.argv[1]).write_text(json.dumps(record))
    sys.exit(code)


main()
