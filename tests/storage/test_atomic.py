"""The cache lies where the user says."""

from pathlib import Path

import pytest

from theodolite._storage.cache_folder import get_default_cache


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THEODOLITE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/of/mine")
    assert get_default_cache() == Path("/of/mine/theodolite")
    monkeypatch.setenv("THEODOLITE_CACHE", "/named")
    assert get_default_cache() == Path("/named")
