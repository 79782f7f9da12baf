"""Files below one address: the same in a folder and in a bucket, and never outside of either."""

import errno
import os
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from theodolite._storage import paths
from theodolite._storage.paths import all_or_nothing
from theodolite._storage.stores import Store
from theodolite._storage.tables import parquet_bytes, read_parquet_from
from theodolite.errors import EvidenceError, UnsafeInputError

OUTSIDE = ["../x", "a/../../x", "/etc/passwd", "a\\b", "C:x", "s3://other/x", "", "a\0b", "~/x"]


def test_files_come_back(store: Store) -> None:
    assert store.names() == []
    for name, content in {"b": b"two", "a/c": b"three", "a/b/d": b"", "b.x": b"4"}.items():
        store.write(name, content)
    assert store.names() == ["a/b/d", "a/c", "b", "b.x"]
    assert store.names("a") == ["a/b/d", "a/c"]
    assert store.names("b") == [] or store.local  # a file is no folder
    assert (store.read("b"), store.read("a/b/d"), store.read_part("a/c", 1, 3)) == (
        b"two", b"", b"hre",
    )  # fmt: skip
    assert (store.size("a/c"), store.size("a"), store.size("none")) == (5, None, None)
    store.write("b", b"another")
    assert (store.read("b"), store.size("b")) == (b"another", 7)
    store.remove("b")
    store.remove("never was")
    assert (store.size("b"), store.names()) == (None, ["a/b/d", "a/c", "b.x"])


def test_a_folder_in_a_store_is_a_store(store: Store) -> None:
    inner = store.below("a/b")
    inner.write("c", b"x")
    assert (store.read("a/b/c"), inner.names(), str(inner)) == (b"x", ["c"], f"{store}/a/b")
    assert (inner.local is None) == str(store).startswith("s3")


def test_what_is_asked_for_must_be_there(store: Store) -> None:
    store.write("a", b"12345")
    with pytest.raises(UnsafeInputError, match="nothing there"):
        store.read("none")
    with pytest.raises(UnsafeInputError, match="nothing there"):
        store.read_part("none", 0, 1)
    with pytest.raises(UnsafeInputError, match="got 5 bytes; needed at most 4"):
        store.read("a", limit=4)
    for start, length in ((0, 6), (4, 2), (5, 1), (99, 1)):
        with pytest.raises(UnsafeInputError, match="cut off"):
            store.read_part("a", start, length)
    for start, length in ((-1, 2), (0, -1)):
        with pytest.raises(UnsafeInputError, match="needed bytes of the file"):
            store.read_part("a", start, length)
    assert store.read_part("a", 5, 0) == b""


@pytest.mark.parametrize("name", OUTSIDE)
def test_names_stay_inside(store: Store, name: str) -> None:
    actions: list[Callable[[], object]] = [
        lambda: store.read(name), lambda: store.read_part(name, 0, 1), lambda: store.size(name),
        lambda: store.write(name, b""), lambda: store.remove(name), lambda: store.below(name),
    ]  # fmt: skip
    for action in actions:
        with pytest.raises(UnsafeInputError, match="a relative path"):
            action()


def test_links_that_leave_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(b"x")
    inside = tmp_path / "store"
    inside.mkdir()
    (inside / "file").symlink_to(tmp_path / "secret")
    (inside / "folder").symlink_to(tmp_path)
    store = Store.at(inside)
    actions: list[Callable[[], object]] = [
        lambda: store.read("file"), lambda: store.read("folder/secret"),
        lambda: store.write("folder/new", b""), lambda: store.remove("folder/secret"),
        lambda: store.below("folder"), lambda: store.names("folder"),
    ]  # fmt: skip
    for action in actions:
        with pytest.raises(UnsafeInputError, match="a link that leaves the folder"):
            action()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret", "store"]


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("http://host/x", "kind of address 'http'"), ("https://host/x", "kind of address"),
        ("ftp://host/x", "kind of address"), ("memory://x", "kind of address"),
        ("github://x:y@z/", "kind of address"), ("s3a://bucket/x", "kind of address"),
        ("simplecache::s3://bucket/x", "::"), ("zip://a.zip::file:///x", "::"), ("a::b", "::"),
        ("s3://someone:hidden@bucket/x", "a user, a password"), ("s3://host:99/x", "a port"),
        ("s3://bucket/../x", r"a path with '\.\.'"), ("file:///a/../b", r"a path with '\.\.'"),
        ("s3:///x", "no name of a bucket"), ("s3://", "no name of a bucket"),
        ("file://host/x", "another machine"), ("s3://bucket/x?y", "meaning of their own"),
        ("s3://bucket/\n", "meaning of their own"), ("", "an empty name"), ("a\0b", "a NUL"),
    ],
)  # fmt: skip
def test_odd_addresses_are_refused(address: str, says: str) -> None:
    with pytest.raises(UnsafeInputError, match=says) as refused:
        Store.at(address)
    assert "hidden" not in str(refused.value) and "someone" not in str(refused.value)


def test_stores_are_sent_to_other_processes(store: Store) -> None:
    store.write("a", b"x")  # so that the client of this process is in use
    again = pickle.loads(pickle.dumps(store))  # noqa: S301  our own
    assert again == store and again.read("a") == b"x"
    program = f"import sys, pickle; print(pickle.loads({pickle.dumps(store)!r}).read('a'))"
    assert subprocess.check_output([sys.executable, "-c", program], text=True) == "b'x'\n"


def test_what_another_process_writes_is_seen_at_once(store: Store) -> None:
    store.write("a", b"x")
    assert (store.names(), store.size("b")) == (["a"], None)
    program = (
        f"from theodolite._storage.stores import Store; Store.at({str(store)!r}).write('b', b'12')"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
    assert (store.names(), store.size("b")) == (["a", "b"], 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_process_makes_a_client_of_its_own(store: Store) -> None:
    store.write("a", b"x")
    program = (
        f"import os, sys\nfrom theodolite._storage.stores import Store\ns = Store.at({str(store)!r})\n"
        "s.read('a')\nchild = os.fork()\n"
        "if not child: os._exit(0 if s.read('a') == b'x' else 1)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


def test_half_written_files_are_not_seen(tmp_path: Path) -> None:
    store = Store.at(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / ".b.1234.partial").write_bytes(b"half")
    store.write("a/b", b"whole")
    assert store.names() == ["a/b"]


def test_tables_on_a_store(store: Store) -> None:
    store.write("t.parquet", parquet_bytes({"a": [1, 2], "b": ["x", None]}))
    result = read_parquet_from(store.read("t.parquet"), "t.parquet")
    assert result == {"a": [1, 2], "b": ["x", None]}


def test_a_bucket_that_is_not_there(s3: str) -> None:
    store = Store.at("s3://no-such-bucket/x")
    for action in (lambda: store.write("a", b""), store.names, lambda: store.read_part("a", 0, 1)):
        with pytest.raises(UnsafeInputError, match="no such bucket"):
            action()


def test_a_server_that_does_not_answer(s3: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    program = f"from theodolite._storage.stores import Store; Store.at({s3!r}).read('a')"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert said.stderr.splitlines()[-1].startswith("theodolite.errors.EvidenceError: file 'a' of")
    assert "a store that answers" in said.stderr


def test_no_keys(s3: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    program = f"from theodolite._storage.stores import Store; Store.at({s3!r}).read('a')"
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert "EvidenceError" in said.stderr.splitlines()[-1]
    assert "credentials" in said.stderr.splitlines()[-1]


def test_a_client_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    with pytest.raises(EvidenceError, match=r'pip install "theodolite\[store\]"'):
        Store.at("gs://bucket/x").read("a")


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one mebibyte."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this user may not mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_that_a_disk_is_full_is_told_as_it_is(full_disk: Path) -> None:
    store = Store.at(full_disk)
    store.write("a", b"kept")
    with pytest.raises(OSError, match="No space left") as failed:
        store.write("b", bytes(2 << 20))
    assert failed.value.errno == errno.ENOSPC and not isinstance(failed.value, EvidenceError)
    assert (list(full_disk.iterdir()), store.read("a")) == ([full_disk / "a"], b"kept")


def test_a_new_name_is_on_disk_before_it_is_said_to_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First the content, then the name, then the folder that has the name."""
    seen = []
    kept, fsync = paths.os.fsync, "fsync"

    def note(handle: int) -> None:
        place = Path(os.readlink(f"/proc/self/fd/{handle}"))
        seen.append((place.name, (tmp_path / "a").exists()))
        kept(handle)

    monkeypatch.setattr(paths.os, fsync, note)
    with all_or_nothing(tmp_path / "a") as stream:
        stream.write(b"x")
    assert seen == [(f".a.{os.getpid()}.partial", False), (tmp_path.name, True)]
