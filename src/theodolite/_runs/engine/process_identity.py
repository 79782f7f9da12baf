"""Check that another process computes the same: its code, packages and arithmetic.

Keys of checkpoints hold code and packages. Arithmetic is written into each checkpoint instead, so
that a laptop and a cluster may share them; within a run it must be the same too, unless other is
allowed.
"""

import hashlib
import inspect
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from theodolite._runs.engine.signed_checksums import get_key_id
from theodolite._stats.native.library import kernels_version
from theodolite._stats.threads import limit_to_one_core
from theodolite.errors import EvidenceError, VerificationError
from theodolite.evidence.plugins import OURS, get_plugin_packages

ROOT = Path(__file__).parents[2]
"""The package whose code is digested."""
PACKAGES = ("numpy", "scipy", "numba", "llvmlite", "scikit-learn", "safetensors", "pyarrow")
KERNELS = "kernels"
NETWORK_PACKAGES = ("torch", "torchvision", "timm", "transformers")
MAIN = ("__main__", "__mp_main__")
ABSENT = "none"
CODE, ARITHMETIC = "code: ", "arithmetic"
"""Names of parts of an identity."""
Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class MismatchedNode:
    """A process that would not compute the same, and where it runs."""

    node: str
    differences: tuple[str, ...]
    place: str = ""
    """What its pool calls the node."""

    def __str__(self) -> str:
        return f"node {self.node}: {', '.join(self.differences)}"


class NodeMismatchError(EvidenceError):
    """Nodes that would not compute the same."""

    @classmethod
    def naming(cls, nodes: Sequence[MismatchedNode]) -> "NodeMismatchError":
        """Name the nodes that differ, and in which parts."""
        return cls(
            "engine", "; ".join(map(str, nodes)), "nodes that compute the same",
            "Install the same there; --mixed-cpus allows other arithmetic.",
        )  # fmt: skip


@dataclass(frozen=True)
class Identity:
    """What decides the numbers that a process computes, apart from the work itself.

    The parts are digests of code, versions of packages, a digest of the bits of a few computations,
    and the id of the key that entries are sealed with.
    """

    parts: Mapping[str, str]

    def differences(self, other: "Identity") -> tuple[str, ...]:
        """Say in which parts another differs; any arithmetic will do if this one has none."""
        ours = self.parts
        theirs = other.parts if ARITHMETIC in ours else other.without(ARITHMETIC).parts
        return tuple(
            f"{name} {theirs.get(name, ABSENT)[:16]} (ours {ours.get(name, ABSENT)[:16]})"
            for name in sorted(ours.keys() | theirs.keys())
            if ours.get(name) != theirs.get(name)
        )

    def without(self, part: str) -> "Identity":
        """Return the identity without a part: a module that travels with the work, arithmetic."""
        return Identity({name: value for name, value in self.parts.items() if name != part})


def get_identity(modules: Iterable[str] = (), *, network: bool = False) -> Identity:
    """Return the identity of this process, for work that uses these modules."""
    return Identity({**_describe_process(network), **_add_prefix(CODE, digest_modules(modules))})


@lru_cache(maxsize=2)
def _describe_process(network: bool) -> Mapping[str, str]:  # noqa: FBT001  a key of the cache
    plugins = ((str(package), package.code) for package in get_plugin_packages().values())
    try:
        seal = get_key_id()
    except EvidenceError as error:  # in a worker: the driver has already reported it
        seal = str(error)
    code = ((OURS, get_code_version().partition("+")[2]), *plugins)
    return {
        **_add_prefix(CODE, code), **_add_prefix("packages: ", list_packages(network=network)),
        ARITHMETIC: digest_arithmetic(network), "checksum key": seal or ABSENT,
    }  # fmt: skip


def _add_prefix(prefix: str, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {f"{prefix}{name}": value for name, value in pairs}


def digest_files() -> dict[str, str]:
    """Return a digest of every file of theodolite's code."""
    return {
        path.relative_to(ROOT).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted([*ROOT.rglob("*.py"), *ROOT.glob("_stats/native/*.[ch]")])
    }


@lru_cache(maxsize=1)
def _digest_files_at_start() -> Mapping[str, str]:
    return digest_files()


@lru_cache(maxsize=1)
def get_code_version() -> str:
    """The version, and a digest of the code itself: other code may give other numbers. Code of
    other packages is named by the pieces that it decides (``Metric.packages``)."""
    lines = "".join(f"{name} {digest}\n" for name, digest in _digest_files_at_start().items())
    return f"{version(OURS)}+{hashlib.sha256(lines.encode()).hexdigest()}"


def check_unchanged() -> None:
    """Refuse to finish a run while which our code was edited: who did what is not known then."""
    start, now = _digest_files_at_start(), digest_files()
    changed = sorted(n for n in start.keys() | now.keys() if start.get(n) != now.get(n))
    if changed:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise VerificationError(
            "code of theodolite", f"changes while it ran: {', '.join(changed[:3])}{more}",
            "the same code from start to end", "Run it again.",
        )  # fmt: skip


def list_packages(*, network: bool = False) -> Pairs:
    """Python and the packages that compute, with their versions, and what runs hot loops."""
    names = PACKAGES + (NETWORK_PACKAGES if network else ())
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    versions = ((name, _get_package_version(name)) for name in names)
    return (("python", python), *versions, (KERNELS, kernels_version()))


def _get_package_version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ABSENT


@lru_cache(maxsize=2)
def digest_arithmetic(network: bool = False) -> str:  # noqa: FBT001, FBT002  a key of the cache
    """A digest of bits that differ between kinds of CPU: of exp, log, tanh, and of products that
    are large and irregular enough to show the order in which a library adds."""
    digest = hashlib.sha256()
    numbers = np.linspace(-20, 20, 4096)
    matrix = np.random.default_rng(0).standard_normal((200, 300))
    with limit_to_one_core():
        for kind in (np.float64, np.float32):
            x, m = numbers.astype(kind), matrix.astype(kind)
            for values in (np.exp(x), np.log(np.abs(x)), np.tanh(x), m @ m.T):
                digest.update(values.tobytes())
        if network:
            digest.update(_compute_convolution(matrix.astype(np.float32)))
    return digest.hexdigest()


def _compute_convolution(matrix: np.ndarray) -> bytes:
    import torch  # noqa: PLC0415  only where the work is a network

    image, kernel = torch.tensor(matrix)[None, None], torch.tensor(matrix[:7, :7])[None, None]
    return bytes(torch.nn.functional.conv2d(image, kernel).numpy().tobytes())


def digest_modules(modules: Iterable[str]) -> Pairs:
    """Digests of modules outside our package; of a plug-in, of all of it."""
    return tuple(sorted({_digest_module(name) for name in modules}))


def list_plugin_modules(*functions: Any) -> tuple[str, ...]:
    """List the modules outside theodolite that functions come from."""
    return tuple(sorted({name for function in functions for name in _find_modules(function)}))


def check_importable(modules: Iterable[str]) -> None:
    """Refuse functions that were typed in: another process could not show that it has the same."""
    if MAIN[0] in modules and not getattr(sys.modules[MAIN[0]], "__file__", None):
        raise EvidenceError(
            "work", "a function that was typed in", "one that lies in a file",
            "Put it into a module, or work in this process alone (one worker).",
        )  # fmt: skip


def _find_modules(thing: Any) -> Iterator[str]:
    """Names of foreign modules, also of what a ``partial`` passes on."""
    if isinstance(thing, partial):
        for part in (thing.func, *thing.args, *thing.keywords.values()):
            if callable(part):
                yield from _find_modules(part)
        return
    named = thing if inspect.isroutine(thing) or inspect.isclass(thing) else type(thing)
    if inspect.ismethod(thing):
        yield from _find_modules(type(thing.__self__))
    module = MAIN[0] if named.__module__ in MAIN else str(named.__module__)
    if module.partition(".")[0] not in {OURS, "numpy", *sys.stdlib_module_names}:
        yield module


@lru_cache(maxsize=256)
def _digest_module(name: str) -> tuple[str, str]:
    """A module and its digest: that of the plug-in it belongs to, else of its own file."""
    if package := get_plugin_packages().get(name.partition(".")[0]):
        return str(package), package.code
    file = getattr(sys.modules.get(name), "__file__", None)
    content = Path(file).read_bytes() if file and Path(file).is_file() else b""
    return name, hashlib.sha256(content).hexdigest()
