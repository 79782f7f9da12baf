import os
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import jaxtyping
import pytest
from hypothesis import HealthCheck, settings

from s3_server import s3_server

settings.register_profile(
    "theodolite",
    deadline=None,
    derandomize=True,  # a change must not fail because of the weather
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("theodolite")

WHOLE_RUNS = {"auditing", "cli", "execution", "pipelines", "report", "tests"}
"""Folders of tests that go through everything: shapes are checked in the tests of each part, and
checking them again at every call takes a quarter of the time."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, bool | None, bool | None]:
    jaxtyping.config.update("jaxtyping_disable", item.path.parent.name in WHOLE_RUNS)
    try:
        return (yield)
    finally:
        jaxtyping.config.update("jaxtyping_disable", False)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data; tests that need it skip where it is not."""
    folder = Path(os.environ.get("THEODOLITE_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip("no real data here: set THEODOLITE_DATA")
    return folder


_numbers = count()


@pytest.fixture(scope="session")
def _server() -> Iterator[dict[str, str]]:
    pytest.importorskip("moto", reason="no S3 server here: pip install 'moto[server,s3]'")
    pytest.importorskip("s3fs", reason="no client for S3 here: pip install 'theodolite[store]'")
    with s3_server() as environment:
        yield environment


@pytest.fixture
def s3(_server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> str:
    """An address in an empty part of a bucket."""
    for key, value in _server.items():
        monkeypatch.setenv(key, value)
    return f"s3://bucket/part{next(_numbers)}"
