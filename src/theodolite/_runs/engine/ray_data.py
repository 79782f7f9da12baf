"""Networks on a Ray cluster by Ray Data: actors that each hold one, fed no faster than they work.

What the pieces give goes into checkpoints, by their keys; through Ray Data goes only which piece is
done. So neither its order nor rows that it might lose or repeat can change a result: a piece is
there or it is not.
"""

import json
import logging
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import Any

from theodolite._runs.engine.checkpoints import CheckpointName, CheckpointRecord
from theodolite._runs.engine.tasks import FailedTask, Task, TaskOutcome, run_task
from theodolite.errors import EvidenceError, UnsafeInputError


class ModelActor:
    """An actor: it makes the network once, then does one piece after the other."""

    def __init__(self, task: Task, items: Any) -> None:
        self._task, self._items = task, items

    def __call__(self, batch: dict[str, Any]) -> dict[str, list[Any]]:
        reports = [self._done(int(number)) for number in batch["id"]]
        return {"number": [int(n) for n in batch["id"]], "said": reports}

    def _done(self, number: int) -> str:
        item, piece, name = self._items[number]
        try:
            done = run_task(replace(self._task, items=[item], pieces=[piece], names=[name]))
        except EvidenceError as error:
            return json.dumps({"refused": [type(error).__name__, *error.args]})
        if done.mismatch is not None:
            return json.dumps({"mismatch": str(done.mismatch)})
        failed = [asdict(piece) for piece in done.failed]
        entries = [asdict(entry) for entry in done.entries]
        report = {"computed": done.computed, "failed": failed, "seconds": done.seconds}
        return json.dumps(report | {"entries": entries})


def run_with_ray_data(
    ray: Any,
    task: Task,
    items: Sequence[tuple[Any, CheckpointName, str]],
    *,
    actors: int,
    gpus: int,
) -> Iterator[tuple[int, TaskOutcome]]:
    """Do pieces (item, piece, name): the number of each, and what came of it without its parts, for
    these are in the checkpoint store."""
    # slow, and only for this; no file is read by it, and ours refuse types that it would unpickle
    import ray.data as data  # noqa: PLC0415, TID251

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.verbose_progress = False
    numbers = data.range(len(items), override_num_blocks=len(items))
    rows = numbers.map_batches(
        ModelActor,
        fn_constructor_args=(task, list(items)),
        batch_size=1,
        compute=data.ActorPoolStrategy(min_size=1, max_size=actors),
        num_cpus=None if gpus else 1,
        num_gpus=1 if gpus else None,
    )
    seen: set[int] = set()
    for row in rows.iter_rows():
        number, report = int(row["number"]), json.loads(row["said"])
        if number in seen:
            continue
        seen.add(number)
        if "refused" in report:
            raise _find_error(report["refused"])
        if "mismatch" in report:
            raise EvidenceError(
                "Ray Data", report["mismatch"], "nodes that compute the same",
                "Run it again without that node: what is done is kept. Or pass --inference tasks.",
            )  # fmt: skip
        failed = [FailedTask(**fields) for fields in report["failed"]]
        entries = [CheckpointRecord(**fields) for fields in report["entries"]]
        yield number, TaskOutcome([], failed, report["computed"], report["seconds"], entries)
    if len(seen) != len(items):
        raise EvidenceError(
            "Ray Data", f"{len(seen)} of {len(items)} pieces", "each once",
            "Run it again: what is done is kept. Or pass --inference tasks.",
        )  # fmt: skip


def _find_error(parts: list[str]) -> EvidenceError:
    kind = {"UnsafeInputError": UnsafeInputError}.get(parts[0], EvidenceError)
    return kind(*parts[1:])
