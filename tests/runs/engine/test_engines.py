"""Whoever does the work, and whatever happens on the way, the bytes are the same."""

import errno
import os
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theodolite
from support.runs.work_pieces import (
    NotedPiece,
    counted,
    dies_at,
    dies_late,
    make_tool,
    merge,
    no_space,
    numbers,
    of_a_piece,
    refused_at,
    with_tool,
    work,
    wrong_at,
)
from theodolite._runs.engine import block_queue
from theodolite._runs.engine.block_queue import BlockQueue, PieceBlock
from theodolite._runs.engine.checkpoints import CheckpointStore, compute_key
from theodolite._runs.engine.local_processes import CurrentProcess, LocalProcesses
from theodolite._runs.engine.process_identity import ROOT, digest_arithmetic, get_code_version
from theodolite._runs.engine.tasks import TaskOutcome, run_task
from theodolite._runs.engine.worker_choice import Engine
from theodolite._runs.engine.worker_pool import CheckpointCheck, WorkerPool
from theodolite._storage.packed_arrays import digest_arrays, pack_arrays, unpack_arrays
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError
from theodolite.evidence.workers import SerialWorkers, Tree


def ledger(folder: Path) -> CheckpointStore:
    return CheckpointStore(Store.at(folder / "pieces"))


@pytest.fixture(scope="module")
def processes() -> Any:
    pool = LocalProcesses(2)
    yield pool
    pool.close()


# --- one fixed tree, however the work is cut


@given(st.integers(1, 200), st.lists(st.sampled_from([1, 2, 4, 8, 16, 64]), min_size=1))
def test_blocks_of_any_size_merge_to_the_same_tree(n: int, sizes: list[int]) -> None:
    plain = Tree(lambda a, b: f"({a}{b})")
    for i in range(n):
        plain.add(f"{i},", 1)
    cut = Tree(lambda a, b: f"({a}{b})")
    queue, turn = BlockQueue(n, 1), 0
    while (block := queue.next()) is not None:
        part = Tree(lambda a, b: f"({a}{b})")
        for i in range(block.first, block.first + block.count):
            part.add(f"{i},", 1)
        cut.add(part.whole(), block.count)
        queue._most = 64
        queue.learn(block, TaskOutcome(computed=block.count, seconds=block.count / sizes[turn]))
        turn = (turn + 1) % len(sizes)
    assert cut.whole() == plain.whole()


def test_other_orders_of_adding_would_give_other_bytes() -> None:
    """Else the test of equal bytes would prove nothing."""
    parts = [numbers(i) for i in range(40)]
    total = parts[0]
    for part in parts[1:]:
        total = merge(total, part)
    assert digest_arrays(total) != digest_arrays(SerialWorkers().reduced(work(40), merge) or {})


@pytest.mark.parametrize("long_enough", [0.0, 1e-4, 1.0])
def test_engines_give_the_same_bytes(
    tmp_path: Path, processes: LocalProcesses, long_enough: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(block_queue, "MIN_TASK_SECONDS", long_enough)
    expected = SerialWorkers().reduced(work(37), merge)
    each = [digest_arrays(one or {}) for one in SerialWorkers().each(work(37))]
    for number, pool in enumerate((CurrentProcess(), processes)):
        doing = WorkerPool(pool, ledger(tmp_path / f"{number}"))
        assert digest_arrays(doing.reduced(work(37), merge) or {}) == digest_arrays(expected or {})
        assert [digest_arrays(one or {}) for one in doing.each(work(37))] == each
        assert doing.computed == 37 and not doing.failed


# --- the ledger


def test_what_is_done_is_never_done_again(tmp_path: Path) -> None:
    marks = tmp_path / "marks"
    marks.mkdir()
    todo = work(9, partial(counted, marks, 0.0))
    first = WorkerPool(CurrentProcess(), ledger(tmp_path)).reduced(todo, merge)
    assert len(list(marks.iterdir())) == 9
    again = WorkerPool(CurrentProcess(), ledger(tmp_path))
    assert digest_arrays(again.reduced(todo, merge) or {}) == digest_arrays(first or {})
    assert again.computed == 0 and len(list(marks.iterdir())) == 9
    more = WorkerPool(CurrentProcess(), ledger(tmp_path))
    more.reduced(work(12, partial(counted, marks, 0.0)), merge)
    assert more.computed == 3


def test_a_key_changes_with_all_that_decides_the_result() -> None:
    base = compute_key({"metric": "a", "options": {"top": 3}}, "data", "1.0")
    others = [
        compute_key({"metric": "b", "options": {"top": 3}}, "data", "1.0"),
        compute_key({"metric": "a", "options": {"top": 4}}, "data", "1.0"),
        compute_key({"metric": "a", "options": {"top": 3}}, "other", "1.0"),
        compute_key({"metric": "a", "options": {"top": 3}}, "data", "1.1"),
    ]
    assert len({base, *others}) == 5
    assert base == compute_key({"options": {"top": 3}, "metric": "a"}, "data", "1.0")
    with pytest.raises(TypeError, match="no name of its own"):
        compute_key({"metric": object()}, "data", "1.0")
    assert get_code_version() == get_code_version()


@pytest.mark.parametrize("damage", ["cut", "bit", "empty"])
def test_a_damaged_piece_is_done_again(tmp_path: Path, damage: str) -> None:
    first = WorkerPool(CurrentProcess(), ledger(tmp_path)).reduced(work(5), merge)
    file = sorted((tmp_path / "pieces").iterdir())[2]
    content = bytearray(file.read_bytes())
    if damage == "bit":
        content[-3] ^= 1
    file.write_bytes(
        b"" if damage == "empty" else bytes(content[: None if damage == "bit" else 90])
    )
    again = WorkerPool(CurrentProcess(), ledger(tmp_path))
    assert digest_arrays(again.reduced(work(5), merge) or {}) == digest_arrays(first or {})
    assert again.computed == 1


def test_packed_arrays_know_whether_they_are_whole() -> None:
    content = pack_arrays(numbers(3))
    assert digest_arrays(unpack_arrays(content, "x")) == digest_arrays(numbers(3))
    for at in range(0, len(content), 7):
        broken = bytearray(content)
        broken[at] ^= 4
        with pytest.raises(UnsafeInputError):
            unpack_arrays(bytes(broken), "x")


def test_pieces_of_other_settings_are_removed(tmp_path: Path) -> None:
    WorkerPool(CurrentProcess(), ledger(tmp_path)).reduced(work(4, about={"seed": 1}), merge)
    doing = WorkerPool(CurrentProcess(), ledger(tmp_path))
    doing.reduced(work(4, about={"seed": 2}), merge)
    half = tmp_path / "pieces" / f".{'a' * 64}.safetensors.77.partial"
    half.write_bytes(b"killed while it was written")
    doing.checkpoints.keep_only(doing.keys)
    assert doing.checkpoints.done() == doing.keys and len(doing.keys) == 4
    assert not half.exists()


def test_checking_computes_a_share_again(tmp_path: Path) -> None:
    made = WorkerPool(CurrentProcess(), ledger(tmp_path))
    made.reduced(work(8), merge)
    WorkerPool(CurrentProcess(), ledger(tmp_path), check=CheckpointCheck(0.01)).reduced(
        work(8), merge
    )
    name = made._names(work(8))[5]
    key = name.key
    made.checkpoints.write(name, numbers(6), digest_arithmetic())
    with pytest.raises(VerificationError, match="computed again"):
        WorkerPool(CurrentProcess(), ledger(tmp_path), check=CheckpointCheck(1.0)).reduced(
            work(8), merge
        )
    made.checkpoints.keep_only(made.keys - {key})
    with pytest.raises(VerificationError, match="no such checkpoint"):
        WorkerPool(CurrentProcess(), ledger(tmp_path), check=CheckpointCheck(0.01)).reduced(
            work(8), merge
        )


# --- what goes wrong


def test_a_piece_that_fails_three_times_is_given_up(
    tmp_path: Path, processes: LocalProcesses
) -> None:
    for number, pool in enumerate((CurrentProcess(), processes)):
        doing = WorkerPool(pool, ledger(tmp_path / f"{number}"))
        result = doing.reduced(work(10, partial(wrong_at, 6)), merge)
        assert result is not None and int(result[":.n"]) == 9
        (failed,) = doing.failed
        assert (failed.piece, failed.error, failed.tries) == ("numbers 6", "ZeroDivisionError", 3)
        assert "\x1b" not in failed.message and len(failed.traceback_sha256) == 64
        assert [one is None for one in doing.each(work(10, partial(wrong_at, 6)))].count(True) == 1


def test_what_we_understand_stops_the_run(tmp_path: Path, processes: LocalProcesses) -> None:
    for number, pool in enumerate((CurrentProcess(), processes)):
        with pytest.raises(UnsafeInputError, match="changed bytes"):
            WorkerPool(pool, ledger(tmp_path / f"{number}")).reduced(
                work(6, partial(refused_at, 3)), merge
            )
        after = WorkerPool(pool, ledger(tmp_path / f"{number} after"))
        assert digest_arrays(after.reduced(work(6), merge) or {}) == digest_arrays(
            SerialWorkers().reduced(work(6), merge) or {}
        ), "the pool can go on"


@pytest.mark.parametrize("times", [2, 99])
def test_processes_that_are_killed(tmp_path: Path, times: int) -> None:
    """Twice costs nothing; a piece that always kills its process is given up."""
    pool = LocalProcesses(2)
    doing = WorkerPool(pool, ledger(tmp_path))
    result = doing.reduced(work(20, partial(dies_at, 11, times, tmp_path)), merge)
    pool.close()
    assert result is not None
    if times < 3:
        assert digest_arrays(result) == digest_arrays(
            SerialWorkers().reduced(work(20), merge) or {}
        )
        assert not doing.failed
    else:
        assert int(result[":.n"]) == 19
        assert [(one.piece, one.error) for one in doing.failed] == [("numbers 11", "ProcessDied")]
        assert len(list(tmp_path.glob("died-11-*"))) == 3


def test_a_full_disk_stops_the_run_and_nothing_is_lost(tmp_path: Path) -> None:
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)]
    if os.getuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("cannot mount a small disk here")
    try:
        for pool in (CurrentProcess(), LocalProcesses(2)):
            doing = WorkerPool(pool, ledger(small))
            with pytest.raises(OSError, match="No space left") as caught:
                doing.reduced(work(200), merge)
            assert caught.value.errno == errno.ENOSPC
            pool.close()
            kept = doing.checkpoints.done()
            assert 5 < len(kept) < 200
            assert all(doing.checkpoints.read(key) is not None for key in kept)
        subprocess.run(["mount", "-o", "remount,size=8m", str(small)], check=True)
        rest = WorkerPool(CurrentProcess(), ledger(small))
        result = rest.reduced(work(200), merge)
        assert rest.computed == 200 - len(kept)
        assert digest_arrays(result or {}) == digest_arrays(
            SerialWorkers().reduced(work(200), merge) or {}
        )
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_tools_are_made_once_in_a_process(tmp_path: Path, processes: LocalProcesses) -> None:
    todo = work(12, with_tool, tool=partial(make_tool, tmp_path), kept=False)
    doing = WorkerPool(processes, ledger(tmp_path))
    assert [int((one or {})["item"]) for one in doing.each(todo)] == list(range(12))
    assert 1 <= len(list(tmp_path.glob("tool-*"))) <= 2
    assert not (tmp_path / "pieces").exists() and not doing.keys


def test_a_tool_is_there_when_only_later_pieces_need_it(
    tmp_path: Path, processes: LocalProcesses
) -> None:
    """As in a run that goes on: the first tasks of each process are in the ledger."""
    todo = work(12, with_tool, tool=partial(make_tool, tmp_path))
    crew = WorkerPool(processes, ledger(tmp_path))
    whole = digest_arrays(crew.reduced(todo, merge) or {})
    for key in crew.keys_of(todo)[6:]:
        crew.checkpoints.store.remove(f"{key}.safetensors")
    processes.close()  # processes that have no tool yet
    again = WorkerPool(processes, ledger(tmp_path))
    assert digest_arrays(again.reduced(todo, merge) or {}) == whole
    assert (again.computed, again.failed) == (6, [])


def test_what_is_in_the_ledger_is_not_read_ahead(tmp_path: Path) -> None:
    todo = work(8, of_a_piece)
    todo.items[:] = [NotedPiece(n, tmp_path) for n in range(8)]
    crew = WorkerPool(CurrentProcess(), ledger(tmp_path))
    task = crew._task(todo, merge, crew._names(todo), PieceBlock(0, 8))
    first = run_task(task)
    for mark in tmp_path.glob("read-*"):
        mark.unlink()
    for n in (0, 5, 7):
        crew.checkpoints.store.remove(f"{task.pieces[n].key}.safetensors")
    again = run_task(task)
    assert sorted(mark.name for mark in tmp_path.glob("read-*")) == ["read-0", "read-5", "read-7"]
    assert again.computed == 3 and len(again.entries) == 8
    assert digest_arrays(again.parts[0]) == digest_arrays(first.parts[0])


def test_engines_are_chosen_and_say_why() -> None:
    assert Engine().chosen()[0] == "local" and "same bytes" in Engine().chosen()[1]
    assert Engine(ray_address="10.0.0.1:6379").chosen()[0] == "ray"
    assert Engine("local", 3).chosen()[1] == "local, 3 processes, as asked for"
    with pytest.raises(EvidenceError, match="at least 1"):
        Engine(workers=0)
    with pytest.raises(EvidenceError, match="engine ray, or auto"):
        Engine("local", ray_address="x:1")


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 70), st.integers(1, 5))
def test_no_piece_is_forgotten(n: int, workers: int) -> None:
    queue = BlockQueue(n, workers)
    seen: list[int] = []
    while (block := queue.next()) is not None:
        seen += range(block.first, block.first + block.count)
        if block.first == 3 and block.crashes == 0:
            seen = seen[: -block.count]
            queue.again(block)
    assert sorted(seen) == list(range(n))


def test_the_oldest_piece_may_die_while_many_others_end(tmp_path: Path) -> None:
    """What is begun again is what all others wait for: it must not wait for them."""
    pool = LocalProcesses(2)
    doing = WorkerPool(pool, ledger(tmp_path))
    result = doing.reduced(work(127, partial(dies_late, 0, tmp_path)), merge)
    pool.close()
    assert result is not None and int(result[":.n"]) == 127 and not doing.failed


def test_results_are_taken_one_work_at_a_time(tmp_path: Path) -> None:
    doing = WorkerPool(CurrentProcess(), ledger(tmp_path))
    some = doing.each(work(5))
    next(some)
    with pytest.raises(RuntimeError, match="one work at a time"):
        doing.reduced(work(5), merge)
    some.close()
    assert doing.reduced(work(5), merge) is not None


def test_a_full_disk_within_a_piece_is_no_fault_of_the_piece(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No space left"):
        WorkerPool(CurrentProcess(), ledger(tmp_path)).reduced(work(5, no_space), merge)


def test_work_that_cannot_be_cut_is_kept_too(tmp_path: Path) -> None:
    for computed in (1, 0):
        doing = WorkerPool(CurrentProcess(), ledger(tmp_path))
        assert digest_arrays(doing.once({"a": 1}, "d", lambda: numbers(7))) == digest_arrays(
            numbers(7)
        )
        assert doing.computed == computed and len(doing.keys) == 1
    with pytest.raises(VerificationError):
        WorkerPool(CurrentProcess(), ledger(tmp_path), check=CheckpointCheck(1.0)).once(
            {"a": 1}, "d", lambda: numbers(8)
        )


def test_a_worker_killed_while_it_waits(tmp_path: Path) -> None:
    pool = LocalProcesses(2)
    doing = WorkerPool(pool, ledger(tmp_path))
    doing.reduced(work(6), merge)
    for lane in pool._lanes:
        lane.process.kill()
        lane.process.join()
    assert doing.reduced(work(6, about={"other": 1}), merge) is not None
    pool.close()


NO_GUARD = """
from pathlib import Path
from theodolite._runs.engine.worker_pool import WorkerPool
from theodolite._runs.engine.checkpoints import CheckpointStore
from theodolite._runs.engine.local_processes import LocalProcesses
from theodolite._storage.stores import Store
from support.runs.work_pieces import merge, work
pool, store = LocalProcesses(2), Store.at(Path(__file__).parent / "pieces")
WorkerPool(pool, CheckpointStore(store)).reduced(work(3), merge)
"""


def test_a_script_without_a_main_guard_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(NO_GUARD)
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    ran = subprocess.run(
        [sys.executable, tmp_path / "script.py"], capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": path}, timeout=60,
    )  # fmt: skip
    assert ran.returncode != 0
    assert "start runs below `if __name__ == '__main__':`" in ran.stderr
    assert len(list((tmp_path).glob("pieces/*"))) == 0


def test_the_code_that_is_digested_is_the_package() -> None:
    assert Path(theodolite.__file__).parent == ROOT
