from collections.abc import Callable
from pathlib import Path

import pytest

from theodolite._storage.stores import Store


@pytest.fixture(params=["path", "file", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """An empty store: of each kind in turn."""
    addresses: dict[str, Callable[[], str]] = {
        "path": lambda: str(tmp_path / "store"),
        "file": lambda: f"file://{tmp_path / 'store'}",
        "s3": lambda: request.getfixturevalue("s3"),
    }
    return Store.at(addresses[request.param]())
