"""Decide what a failed Ray task means: which part failed, and whether the run can continue.

Ray reports one failure under different names, depending on who noticed it first. So every name is
in one table, and a task that died with its node is never charged to its shards.
"""

import time
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from typing import Literal

from theodolite._runs.engine.ray_errors import LOCALLY
from theodolite._runs.engine.tasks import AGAIN, TaskOutcome
from theodolite.errors import EvidenceError, printable

Response = Literal["elsewhere", "try", "memory", "stop"]
RESPONSES: dict[str, Response] = {
    # a node, a network or an object is gone: no shard is to blame
    "NodeDiedError": "elsewhere",
    "ObjectLostError": "elsewhere",
    "PlasmaObjectNotAvailable": "elsewhere",
    "RpcError": "elsewhere",
    "TaskUnschedulableError": "elsewhere",
    "ActorUnschedulableError": "elsewhere",
    "TaskPlacementGroupRemoved": "elsewhere",
    "ActorPlacementGroupRemoved": "elsewhere",
    "ActorUnavailableError": "elsewhere",
    "RuntimeEnvSetupError": "elsewhere",
    "PendingCallsLimitExceeded": "elsewhere",
    "TaskCancelledError": "elsewhere",
    # a process died, perhaps of the shard that it had
    "WorkerCrashedError": "try",
    "RayActorError": "try",
    "UnserializableException": "try",
    "OutOfMemoryError": "memory",
    "ObjectStoreFullError": "memory",
    # nothing can be submitted any more
    "LocalRayletDiedError": "stop",
    "OutOfDiskError": "stop",
    "AuthenticationError": "stop",
    "RaySystemError": "stop",
}
"""What to do about each exception of Ray, and of the classes derived from it."""
CAUSES = {
    "LocalRayletDiedError": "the Ray node of this process, whose raylet or agent died",
    "OutOfDiskError": "a full disk on a node",
    "AuthenticationError": "a token that the cluster no longer accepts",
}
FAST, IN_A_ROW = 10.0, 3
"""A node is left out if this many tasks in a row die on it within these seconds."""


def get_response(error: BaseException) -> Response:
    """Return what to do about an exception; an unknown one counts as a try."""
    names = (kind.__name__ for kind in type(error).__mro__)
    return next((RESPONSES[name] for name in names if name in RESPONSES), "try")


def build_stop_error(error: BaseException) -> EvidenceError:
    """Return the error that ends a run, with its cause."""
    cause = CAUSES.get(type(error).__name__) or printable(f"{type(error).__name__}: {error}")
    return EvidenceError("engine ray", cause, "a cluster that works", f"{AGAIN} {LOCALLY}")


class NodeHealth:
    """Which nodes fail their tasks, and which tasks must not be given to which node."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._deaths: dict[str, deque[tuple[float, str]]] = defaultdict(
            lambda: deque(maxlen=IN_A_ROW)
        )
        self._died_on: dict[str, set[str]] = defaultdict(set)
        self.left_out: set[str] = set()
        """Nodes on which tasks died in quick succession."""

    @property
    def has_deaths(self) -> bool:
        """Whether a task has died on any node."""
        return bool(self._died_on)

    def judge(
        self, error: BaseException, keys: Iterable[str], node: str, alive: Collection[str]
    ) -> TaskOutcome | None:
        """Return the outcome of a task that failed on a node ("" if unknown); None counts a try."""
        response = get_response(error)
        if response == "stop":
            raise build_stop_error(error) from error
        if response == "elsewhere" or (node and node not in alive):
            return TaskOutcome(lost="node")
        keys = list(keys)
        if node:
            self._remember(node, keys, alive)
        return TaskOutcome(lost="memory") if response == "memory" else None

    def _remember(self, node: str, keys: list[str], alive: Collection[str]) -> None:
        for key in keys:
            self._died_on[key].add(node)
        deaths, now = self._deaths[node], self._clock()
        deaths.append((now, keys[0]))
        different = len({key for _, key in deaths}) == IN_A_ROW
        if different and now - deaths[0][0] <= FAST and set(alive) - self.left_out - {node}:
            self.left_out.add(node)

    def succeed(self, node: str) -> None:
        """Forget the deaths on a node: it works."""
        self._deaths.pop(node, None)

    def list_avoided(
        self, keys: Iterable[str], mismatched: Collection[str], alive: Collection[str]
    ) -> set[str]:
        """Return the nodes that a task must not go to; never all of them for a death."""
        never = {*mismatched} | self.left_out
        also = never.union(*(self._died_on.get(key, ()) for key in keys))
        return also if set(alive) - also else never
