import gc
import json
import os
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings

from support.servers.s3_server import s3_server
from support.shape_checks import check_shapes

settings.register_profile(
    "theodolite",
    deadline=None,
    derandomize=True,  # a change must not fail because of the weather
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("theodolite")

FULL = bool(os.environ.get("THEODOLITE_FULL"))
SHAPES_CHECKED = {
    "bridges", "datasets", "dissection", "evidence", "explainers", "language/models", "language/sae", "language/texts", "metrics", "models", "stats", "storage",
    "reproductions/acceptance", "reproductions/datasets", "reproductions/techniques",
}  # fmt: skip
"""Rooms whose tests check shapes at every call. The others go through everything: checking the same
calls there again takes a quarter of their time."""
UNCHECKED = {"cli", "ext", "testing"}
"""They have no arrays, or only hand on those of others, and mypy checks their types."""
EXAMPLES = "_hypothesis_internal_use_settings"
"""Where Hypothesis keeps what `@settings` said: another `@settings` on the same test is refused."""
collect_ignore = ["tests/support/outside", "src/theodolite/metrics/functions"]
"""Importing the first declares a metric, which only those who installed it should have. The second
is generated: its examples are those of the declarations."""
CONVERTING = (
    "evidence/axes.py", "evidence/kinds/*.py", "datasets/bottleneck_data.py", "metrics/functions/*.py",
)  # fmt: skip
"""What is given to these classes is converted, and their own checks say what cannot be."""
COMPILED = ("*kernels.py",)
"""Numba compiles these functions as they are written."""
ROOT = Path(__file__).parent
STUDY, REPRODUCTIONS, MODELS = ROOT / "study", ROOT / "reproductions", ROOT / "models"


@pytest.fixture
def restored_catalogue() -> Iterator[None]:
    """Remove the metrics and kinds of evidence that a test declares.

    Imports wait for the hook that checks shapes.
    """
    from theodolite.evidence import registry  # noqa: PLC0415
    from theodolite.metrics.base import CATALOGUE  # noqa: PLC0415
    from theodolite.metrics.catalogue import catalogue  # noqa: PLC0415

    catalogue()
    registries = (CATALOGUE, registry._registered)
    before = [dict(entries) for entries in registries]
    yield
    for entries, kept in zip(registries, before, strict=True):
        entries.clear()
        entries.update(kept)


def _room(path: Path) -> str:
    """The room that a test or a doctest belongs to; none if it is a folder of all rooms."""
    if path.is_relative_to(STUDY):
        return STUDY.name
    if path.is_relative_to(MODELS):
        return MODELS.name
    for base in ("tests", "src/theodolite_reproductions"):
        if path.is_relative_to(REPRODUCTIONS / base):
            inside = path.relative_to(REPRODUCTIONS / base).parts[:1]
            return "/".join((REPRODUCTIONS.name, *inside))
    for base in (ROOT / "tests", ROOT / "src" / "theodolite"):
        if path.is_relative_to(base):
            parts = path.relative_to(base).parts
            depth = 2 if parts[:1] == ("language",) else 1
            return "/".join(parts[:depth]).removesuffix(".py").lstrip("_")
    return ""


def pytest_configure(config: pytest.Config) -> None:
    """Where no room that was asked for checks shapes, what checks them is not even loaded."""
    gc.disable()  # until all is imported: hardly any of it is ever freed
    here = config.invocation_params.dir
    rooms = {_room((here / argument.split("::")[0]).resolve()) for argument in config.args}
    if rooms & {*SHAPES_CHECKED, "", "language", REPRODUCTIONS.name}:
        check_shapes(_checked_modules())


def _checked_modules() -> list[str]:
    """One by one, for a package would bring all that is in it."""
    names = []
    for root in (ROOT / "src", ROOT / "reproductions" / "src"):
        paths = [path for path in root.rglob("*.py") if not path.stem.startswith("__")]
        paths = [path for path in paths if _room(path) not in UNCHECKED]
        left_out = (*CONVERTING, *COMPILED)
        paths = [path for path in paths if not any(path.match(pattern) for pattern in left_out)]
        names += [".".join(path.relative_to(root).with_suffix("").parts) for path in paths]
    return names


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Long forms are asked for: `.ci/run full`."""
    if FULL:
        return
    long = pytest.mark.skip(reason="long: set THEODOLITE_FULL, or .ci/run full")
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(long)
    for test in {item.function for item in items if isinstance(item, pytest.Function)}:
        if asked := getattr(test, EXAMPLES, None):  # they are the same every time anyway
            few = max(1, asked.max_examples * 2 // 5)
            setattr(test, EXAMPLES, settings(asked, max_examples=few))


def pytest_collection_finish() -> None:
    """Leave modules out when the garbage collector looks for what tests left."""
    gc.freeze()
    gc.enable()


def _cpu() -> float:
    """Seconds of CPU of this process and of those that it waited for."""
    return sum(os.times()[:4])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    room = _room(item.path)
    jaxtyping.config.update("jaxtyping_disable", room not in SHAPES_CHECKED)
    before = _cpu()
    try:
        return (yield)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)
        if times := os.environ.get("THEODOLITE_TEST_TIMES"):
            record = {"room": room, "test": item.nodeid, "cpu": _cpu() - before}
            with Path(times).open("a") as file:
                file.write(json.dumps(record) + "\n")


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What a network made of images is kept for this session only."""
    os.environ["THEODOLITE_CACHE"] = str(tmp_path_factory.mktemp("cache"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; tests that need it skip where it is not."""
    folder = Path(os.environ.get("THEODOLITE_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data here: set THEODOLITE_DATA")
    return folder


_numbers = count()


@pytest.fixture(scope="session")
def _server() -> Iterator[dict[str, str]]:
    pytest.importorskip("moto", reason="no S3 server here: pip install 'moto[server,s3]'")
    pytest.importorskip("obstore", reason="no client for S3 here: pip install 'theodolite[store]'")
    with s3_server() as environment:
        yield environment


@pytest.fixture
def s3(_server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """An address in an empty part of a bucket."""
    for key, value in _server.items():
        monkeypatch.setenv(key, value)
    return f"s3://bucket/part{next(_numbers)}"
