"""The compiled loops misuse no memory: a short form of `benchmarks/native_sanitizers.py`."""

import native_sanitizers
import pytest

from theodolite._stats.native import build

ready = build.is_checkout() and native_sanitizers.runtimes() is not None


@pytest.mark.skipif(not ready, reason="needs a checkout, and gcc with its sanitizers, on Linux")
def test_no_memory_is_misused() -> None:
    done = native_sanitizers.run(examples=5)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout and "skipped" not in done.stdout
