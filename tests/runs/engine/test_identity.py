"""A process that would compute otherwise is known before it computes."""

import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.runs.work_pieces import merge, numbers, work
from theodolite._runs.engine import process_identity as identity_module
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import CurrentProcess, LocalProcesses
from theodolite._runs.engine.process_identity import (
    Identity,
    check_unchanged,
    digest_arithmetic,
    digest_modules,
    get_identity,
    list_packages,
    list_plugin_modules,
)
from theodolite._runs.engine.tasks import Task, run_task
from theodolite._runs.engine.worker_choice import Engine, open_worker_pool
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, VerificationError
from theodolite.evidence import plugins

OWN = get_identity()


def changed(part: str) -> Identity:
    """Ours, but for one part."""
    (name,) = [name for name in OWN.parts if name.startswith(part)][:1]
    return Identity({**OWN.parts, name: "9.9.9" if part == "packages: numpy" else "0" * 64})


@pytest.mark.parametrize("part", ["code", "packages: numpy", "arithmetic", "checksum"])
def test_a_stranger_touches_nothing(tmp_path: Path, part: str) -> None:
    """Neither the ledger nor the work: what it is given comes back, and says in what it differs."""
    ledger = CheckpointStore(Store.at(tmp_path / "pieces"))
    done = WorkerPool(CurrentProcess(), ledger)
    done.reduced(work(2), merge)
    names = done._names(work(2))
    task = Task(numbers, [0, 1], names, ["a", "b"], ledger, changed(part))
    outcome = run_task(task)
    assert outcome.mismatch is not None and not outcome.parts and not outcome.computed
    (difference,) = outcome.mismatch.differences
    assert difference.startswith(part)
    assert ("9.9.9" in str(outcome.mismatch)) == (part == "packages: numpy")
    assert bool(run_task(Task(numbers, [], [], [], None, OWN)).mismatch) is False


def test_other_arithmetic_may_be_allowed() -> None:
    assert changed("arithmetic").differences(OWN)
    assert not changed("arithmetic").without("arithmetic").differences(OWN)
    assert changed("code").without("arithmetic").differences(OWN)


PROBE = "from theodolite._runs.engine.process_identity import digest_arithmetic; print(digest_arithmetic())"


def test_arithmetic_tells_cpus_apart() -> None:
    """Feigned by settings of the libraries, as the kinds of CPU are not at hand."""
    feigned = {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4"}
    printed = []
    for settings in ({}, feigned):
        ran = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", PROBE], capture_output=True, text=True,
            check=True, env=os.environ | settings,
        )  # fmt: skip
        printed.append(ran.stdout.strip())
    assert printed[0] == digest_arithmetic() != printed[1]


def test_keys_hold_packages_and_foreign_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = CheckpointStore(Store.at(tmp_path / "pieces"))
    doing = WorkerPool(CurrentProcess(), ledger)
    before = doing._names(work(1))[0].key
    assert dict(list_packages())["numpy"] in doing._names(work(1))[0].code
    monkeypatch.setattr(identity_module, "version", lambda name: "9.9.9")
    assert WorkerPool(CurrentProcess(), ledger)._names(work(1))[0].key != before
    monkeypatch.undo()
    (tmp_path / "own_work.py").write_text("def do(item):\n    return {}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import own_work  # type: ignore[import-not-found]  # noqa: PLC0415

    assert list_plugin_modules(partial(numbers, seconds=1), own_work.do, None) == (
        "own_work", "support.runs.work_pieces",
    )  # fmt: skip
    first = digest_modules(["own_work"])
    (tmp_path / "own_work.py").write_text("def do(item):\n    return {'a': 1}\n")
    identity_module._digest_module.cache_clear()
    assert digest_modules(["own_work"]) != first


def write_plugin(folder: Path, code: str) -> None:
    """A package with an entry point, as an installer leaves it."""
    info = folder / "joins-1.0.dist-info"
    info.mkdir()
    (folder / "joins.py").write_text(code)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: joins\nVersion: 1.0\n")
    (info / "RECORD").write_text("joins.py,,\n")
    (info / "entry_points.txt").write_text("[theodolite.metrics]\njoins = joins\n")


def test_registered_plug_ins_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the files of their distribution, whether the work at hand uses them or not."""
    codes = []
    for number in (1, 2):
        folder = tmp_path / f"{number}"
        folder.mkdir()
        write_plugin(folder, f"CONSTANT = {number}\n")
        with monkeypatch.context() as patch:
            patch.syspath_prepend(str(folder))
            plugins.get_plugin_packages.cache_clear()
            plugins._package.cache_clear()
            identity_module._describe_process.cache_clear()
            codes.append(get_identity().parts)
    plugins.get_plugin_packages.cache_clear()
    plugins._package.cache_clear()
    identity_module._describe_process.cache_clear()
    assert [len(code) for code in codes] == [len(OWN.parts) + 1] * 2 and codes[0] != codes[1]
    assert all(code.items() >= OWN.parts.items() for code in codes)


def test_code_that_changes_under_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was computed before and after is not known apart: the run does not end well."""
    edited = {**identity_module.digest_files(), "stats/new.py": "0"}

    def while_edited() -> None:
        with open_worker_pool(Engine("local", 1), tmp_path) as workers:
            assert workers.reduced(work(3), merge) is not None
            monkeypatch.setattr(identity_module, "digest_files", lambda: edited)

    with pytest.raises(VerificationError, match=r"changes while it ran: stats/new\.py") as caught:
        while_edited()
    assert caught.value.exit_code == 5
    monkeypatch.undo()
    check_unchanged()
    pool = LocalProcesses(1)
    doing = WorkerPool(pool, CheckpointStore(Store.at(tmp_path / "other")))
    monkeypatch.setattr(WorkerPool, "_identity", lambda *_, **__: changed("code"))
    with pytest.raises(VerificationError, match="code: theodolite"):
        doing.reduced(work(3), merge)
    pool.close()
    assert not doing.failed and not doing.checkpoints.done()


def test_functions_that_were_typed_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process could not show that it has the same."""

    def typed(item: int) -> Any:
        return numbers(item)

    typed.__module__ = "__main__"
    monkeypatch.delattr(sys.modules["__main__"], "__file__", raising=False)
    assert WorkerPool(CurrentProcess(), CheckpointStore(Store.at(tmp_path))).reduced(
        work(2, typed), merge
    )
    with pytest.raises(EvidenceError, match="typed in"):
        WorkerPool(LocalProcesses(1), CheckpointStore(Store.at(tmp_path / "b"))).reduced(
            work(2, typed), merge
        )
