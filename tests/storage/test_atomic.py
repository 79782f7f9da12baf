"""What is kept from run to run is what would be made."""

from pathlib import Path

import pytest

from theodolite._storage.atomic import default_cache, kept_text


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("THEODOLITE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "kept"


def test_it_is_made_once(cache: Path) -> None:
    made = iter(["first\nwith a line", "second"])
    assert [kept_text("x", made.__next__) for _ in range(3)] == ["first\nwith a line"] * 3
    assert kept_text("y", made.__next__) == "second", "another name is another thing"
    assert sorted(path.name for path in cache.iterdir()) == ["x", "y"]


@pytest.mark.parametrize("broken", [b"", b"half", b"\xff\xfe", None])
def test_half_a_file_is_made_again(cache: Path, broken: bytes | None) -> None:
    kept_text("x", lambda: "content")
    (cache / "x").write_bytes((cache / "x").read_bytes() + b"!" if broken is None else broken)
    assert kept_text("x", lambda: "again") == "again"
    assert kept_text("x", lambda: "not_evaluated") == "again"


def test_what_somebody_else_wrote_is_made_again(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept_text("x", lambda: "theirs")
    me = (cache / "x").stat().st_uid + 1
    monkeypatch.setattr("theodolite._storage.atomic.os.getuid", lambda: me)
    assert kept_text("x", lambda: "mine") == "mine"


def test_where_nothing_can_be_written_it_is_made_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("THEODOLITE_CACHE", str(tmp_path / "file"))
    assert [kept_text("x", lambda: "made") for _ in range(2)] == ["made"] * 2


def test_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("THEODOLITE_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/of/mine")
    assert default_cache() == Path("/of/mine/theodolite")
