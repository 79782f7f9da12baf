"""Commands as a user calls them, with their output and exit code.

In the process of the tests: starting a program and loading its libraries takes longer than most
commands do. What is about the process itself (signals, what is loaded) starts ``PROGRAM``.
"""

import io
import os
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from theodolite.cli import main

PROGRAM = Path(sys.executable).with_name("theodolite")
Result = subprocess.CompletedProcess[str]


def theodolite(*arguments: object, cwd: Path | None = None) -> Result:
    """Run a command here."""
    given = ["theodolite", *map(str, arguments)]
    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    before = Path.cwd()
    os.chdir(cwd or before)
    try:
        with patch.object(sys, "argv", given), redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ended:
        code = ended.code
    finally:
        os.chdir(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    assert isinstance(code, int)
    return Result(given, code, out.getvalue(), err.getvalue())


def as_process(*arguments: object, cwd: Path | None = None) -> Result:
    """Run a command as a program."""
    return subprocess.run(
        [PROGRAM, *map(str, arguments)], capture_output=True, text=True, cwd=cwd, check=False
    )
