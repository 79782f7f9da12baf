"""Downloads: digests, resuming, redirects, sizes, trees; from a server of this machine."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from support.servers.files import FileServer, hash_blob, serve
from theodolite._storage import downloads
from theodolite._storage.downloads import (
    TreeFile,
    compute_tree_digest,
    download,
    download_tree,
    read_tree,
)
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError

CONTENT = bytes(range(256)) * 40
DIGEST = f"sha256:{hashlib.sha256(CONTENT).hexdigest()}"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(downloads.time, "sleep", lambda _: None)
    with serve({"a.bin": CONTENT}) as server:
        yield server


def get(server: FileServer, path: Path, digest: str = DIGEST, size: int = len(CONTENT)) -> bool:
    return download(f"{server.address}/a.bin", path, size, digest)


def test_a_file_is_downloaded_once(server: FileServer, tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.bin"
    assert get(server, path) and not get(server, path)
    assert path.read_bytes() == CONTENT and len(server.requests) == 1
    assert [p.name for p in path.parent.iterdir()] == ["a.bin"]


def test_an_interrupted_download_continues(server: FileServer, tmp_path: Path) -> None:
    server.cut_at = 1000
    assert get(server, tmp_path / "a.bin")
    assert server.requests == [("a.bin", ""), ("a.bin", "bytes=1000-")]
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_without_ranges_it_begins_again(server: FileServer, tmp_path: Path) -> None:
    (tmp_path / "a.bin.part").write_bytes(b"x" * 100)
    server.ranges = False
    assert get(server, tmp_path / "a.bin")
    assert (tmp_path / "a.bin").read_bytes() == CONTENT


def test_a_changed_byte_is_refused(server: FileServer, tmp_path: Path) -> None:
    server.files["a.bin"] = b"\1" + CONTENT[1:]
    with pytest.raises(VerificationError, match="another content"):
        get(server, tmp_path / "a.bin")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [len(CONTENT) - 1, len(CONTENT) + 1])
def test_another_size_is_refused(server: FileServer, tmp_path: Path, size: int) -> None:
    with pytest.raises(EvidenceError, match="bytes"):
        get(server, tmp_path / "a.bin", size=size)
    assert not (tmp_path / "a.bin").exists()


def test_redirects_stay_on_the_host(server: FileServer, tmp_path: Path) -> None:
    server.files["b.bin"] = server.files.pop("a.bin")
    server.redirects["a.bin"] = f"{server.address}/b.bin"
    assert get(server, tmp_path / "a.bin")
    for elsewhere in ("https://example.org/b.bin", "http://example.org/", "file:///etc/passwd",
                      server.address.replace("127.0.0.1", "localhost") + "/b.bin"):  # fmt: skip
        server.redirects["a.bin"] = elsewhere
        with pytest.raises(EvidenceError):
            get(server, tmp_path / "c.bin")


def test_a_missing_file_is_asked_for_once(server: FileServer, tmp_path: Path) -> None:
    server.files.clear()
    with pytest.raises(EvidenceError, match="404"):
        get(server, tmp_path / "a.bin")
    assert len(server.requests) == 1


def make_tree(folder: Path) -> tuple[dict[str, bytes], dict[str, TreeFile], str]:
    """Files, their entries, and the tree's name as git itself says."""
    files = {"b/x y.txt": b"1", "b.txt": b"22", "b0/ñ.txt": b"333", "a": b"", "b/c/d": b"4"}
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    git = ["git", "-C", str(folder)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "."], check=True)
    digest = subprocess.run([*git, "write-tree"], check=True, capture_output=True, text=True)
    entries = {name: TreeFile("100644", hash_blob(c), len(c)) for name, c in files.items()}
    return files, entries, digest.stdout.strip()


def test_trees_have_the_digest_that_git_gives(server: FileServer, tmp_path: Path) -> None:
    files, entries, digest = make_tree(tmp_path / "repository")
    assert compute_tree_digest(entries) == digest
    listing = [
        {"path": path, "mode": entry.mode, "type": "blob", "sha": entry.digest, "size": entry.bytes}
        for path, entry in entries.items()
    ]
    server.files["tree"] = json.dumps({"tree": [*listing, {"type": "tree", "path": "b"}]}).encode()
    result = read_tree(f"{server.address}/tree", f"git-tree:{digest}")
    assert result == entries
    server.files |= {
        f"at/{name.replace(' ', '%20').replace('ñ', '%C3%B1')}": c for name, c in files.items()
    }
    out = tmp_path / "out"
    assert download_tree(f"{server.address}/at/{{path}}", out, result, 7) == 5
    assert {
        p.relative_to(out).as_posix(): p.read_bytes() for p in out.rglob("*") if p.is_file()
    } == files
    assert download_tree(f"{server.address}/at/{{path}}", out, result, 7) == 0
    with pytest.raises(UnsafeInputError, match="at most 6"):
        download_tree(f"{server.address}/at/{{path}}", out, result, 6)
    listing[0]["sha"] = listing[1]["sha"]
    server.files["tree"] = json.dumps({"tree": listing}).encode()
    with pytest.raises(VerificationError):
        read_tree(f"{server.address}/tree", f"git-tree:{digest}")


@pytest.mark.parametrize(("path", "mode"), [("../x", "100644"), ("/x", "100644"), ("x", "120000")])
def test_trees_stay_below_their_folder(tmp_path: Path, path: str, mode: str) -> None:
    with pytest.raises(UnsafeInputError):
        download_tree("https://a.org/{path}", tmp_path, {path: TreeFile(mode, "0" * 40, 0)}, 9)


def test_a_listing_that_is_none_is_refused(server: FileServer) -> None:
    for content in (b"no", b"[]", b'{"tree": [{"type": "blob"}]}'):
        server.files["tree"] = content
        with pytest.raises(UnsafeInputError):
            read_tree(f"{server.address}/tree", "git-tree:0")
