"""Download files over https: the size and the digest are checked, a broken download continues."""

import hashlib
import http.client
import ipaddress
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

from theodolite._storage.paths import confined
from theodolite.errors import EvidenceError, UnsafeInputError, VerificationError

CHUNK = 1 << 20
SECONDS = 60
TRIES = 4
MAX_LISTING_BYTES = 1 << 26
RETRY_STATUS = (408, 429, 500, 502, 503, 504)


class TreeFile(NamedTuple):
    """A file of a git tree."""

    mode: str
    digest: str
    bytes: int


def check_address(address: str) -> str:
    """Return an address of https, or of http on this machine; refuse any other."""
    parts = urlsplit(address)
    host = parts.hostname or ""
    if parts.username is None and host and (
        parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(host))
    ):  # fmt: skip
        return address
    raise UnsafeInputError("address", repr(address[:80]), "https://HOST/PATH, without a user name")


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follow redirects within one host only."""

    def redirect_request(
        self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> Any:
        if urlsplit(check_address(newurl)).netloc != urlsplit(req.full_url).netloc:
            host = urlsplit(newurl).netloc
            raise UnsafeInputError("download", f"a redirect to {host!r}", "the host of the address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _open(address: str, begin: int = 0) -> Any:
    headers = {"User-Agent": "theodolite"} | ({"Range": f"bytes={begin}-"} if begin else {})
    request = urllib.request.Request(check_address(address), headers=headers)  # noqa: S310  checked
    handlers: list[Any] = [_SameHost()]
    if _is_loopback(urlsplit(address).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    return urllib.request.build_opener(*handlers).open(request, timeout=SECONDS)


def has_content(path: Path, size: int, digest: str) -> bool:
    """Return whether a file has a size and a digest, ``sha256:…`` or ``git-blob:…``."""
    if not path.is_file() or path.stat().st_size != size:
        return False
    kind, _, value = digest.partition(":")
    if kind == "sha256":
        content = hashlib.sha256()
    else:  # as git names files
        content = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    with path.open("rb") as stream:
        while chunk := stream.read(CHUNK):
            content.update(chunk)
    return content.hexdigest() == value


def download(address: str, path: Path, size: int, digest: str) -> bool:
    """Write a file from an address; return False if it was there.

    What arrives is in ``PATH.part`` until it is whole and checked. A later call continues it.

    Raises:
        VerificationError: Another content arrived. Nothing of it is kept.
    """
    if has_content(path, size, digest):
        return False
    part = path.with_name(f"{path.name}.part")
    part.parent.mkdir(parents=True, exist_ok=True)
    for number in range(TRIES):
        try:
            _append(address, part, size)
            break
        except (OSError, http.client.HTTPException) as error:
            status = getattr(error, "code", None)
            if number == TRIES - 1 or (status is not None and status not in RETRY_STATUS):
                got = f"{error}"[:80] or type(error).__name__
                hint = "Run the command again: it continues."
                raise EvidenceError(f"download of {path.name!r}", got, "", hint) from error
            time.sleep(2**number / 4 if status is None else 5 * 4**number)
    if not has_content(part, size, digest):
        part.unlink()
        hint = "Nothing of it was kept. Tell the publisher, or take another mirror."
        raise VerificationError(f"download of {path.name!r}", "another content", digest, hint)
    part.replace(path)
    return True


def _append(address: str, part: Path, size: int) -> None:
    """Read what a file lacks; from the beginning where the server sends no ranges."""
    begin = part.stat().st_size if part.exists() else 0
    if begin == size:
        part.touch()  # an empty file
        return
    with _open(address, begin if begin < size else 0) as reply:
        ranged = reply.headers.get("Content-Range", "").startswith(f"bytes {begin}-")
        continued = reply.status == http.HTTPStatus.PARTIAL_CONTENT and ranged
        begin = begin if continued else 0
        with part.open("ab" if continued else "wb") as stream:
            while chunk := reply.read(CHUNK):
                begin += len(chunk)
                if begin > size:
                    break
                stream.write(chunk)
    if begin > size:
        part.unlink()
        raise UnsafeInputError(f"download of {part.stem!r}", "more bytes", f"{size:,}")
    if begin < size:
        raise ConnectionError(f"{begin:,} of {size:,} bytes arrived")


def read_tree(address: str, digest: str) -> dict[str, TreeFile]:
    """Return the files of a git tree from a listing in GitHub's form.

    The listing is checked: names and digests together have the digest of the tree.
    """
    what = "listing of the tree"
    try:
        with _open(address) as reply:
            content = reply.read(MAX_LISTING_BYTES + 1)
        entries = json.loads(content[:MAX_LISTING_BYTES])["tree"]
        files = {
            str(entry["path"]): TreeFile(
                str(entry["mode"]), str(entry["sha"]), int(entry.get("size", 0))
            )
            for entry in entries
            if entry["type"] == "blob"
        }
        actual = compute_tree_digest(files)
    except (OSError, http.client.HTTPException) as error:
        raise EvidenceError(what, f"{error}"[:80], "", "Run the command again.") from error
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UnsafeInputError(what, "other content", "a tree as GitHub lists it") from error
    if f"git-tree:{actual}" != digest:
        raise VerificationError(what, f"git-tree:{actual}", digest)
    return files


def compute_tree_digest(files: Mapping[str, TreeFile]) -> str:
    """Return the name that git gives to a tree of files."""
    folders: dict[str, dict[str, TreeFile]] = {}
    entries: list[tuple[bytes, bytes]] = []
    for path, file in files.items():
        folder, mark, rest = path.partition("/")
        if mark:
            folders.setdefault(folder, {})[rest] = file
        else:
            named = f"{file.mode} {path}".encode() + b"\0" + bytes.fromhex(file.digest)
            entries.append((path.encode(), named))
    for folder, inside in folders.items():
        named = f"40000 {folder}".encode() + b"\0" + bytes.fromhex(compute_tree_digest(inside))
        entries.append((f"{folder}/".encode(), named))  # git sorts folders with their slash
    content = b"".join(named for _, named in sorted(entries))
    tree = b"tree %d\0" % len(content) + content
    return hashlib.sha1(tree, usedforsecurity=False).hexdigest()


def download_tree(
    address: str,
    folder: Path,
    files: Mapping[str, TreeFile],
    limit: int,
    progress: Callable[[str, int, int], object] = lambda *_: None,
) -> int:
    """Write the files of a tree below a folder; return how many were downloaded.

    ``{path}`` in the address stands for the path of a file.
    """
    size = sum(file.bytes for file in files.values())
    if size > limit:
        raise UnsafeInputError("listing of the tree", f"{size:,} bytes", f"at most {limit:,}")
    links = [path for path, file in files.items() if not file.mode.startswith("100")]
    if links:
        raise UnsafeInputError("listing of the tree", f"{links[0]!r}, a link", "files only")
    count = 0
    for number, (path, file) in enumerate(sorted(files.items())):
        progress("files", number, len(files))
        source = address.replace("{path}", quote(path))
        count += download(source, confined(folder, path), file.bytes, f"git-blob:{file.digest}")
    return count
