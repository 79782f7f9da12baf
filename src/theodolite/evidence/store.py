"""Evidence in a store, in pieces: it may be far larger than memory, and lie in a bucket.

A folder or an address holds ``header.json``, which names a manifest: what the bundle is, and where
every chunk of every array lies. See docs/file-format.md.
"""

from pathlib import Path

from theodolite._storage.stores import Store
from theodolite._storage.text import json_from
from theodolite.evidence.manifests.manifest import FORMAT, HEADER, MOST_HEADER, checked_header
from theodolite.evidence.manifests.pieces import StoredPiece, StoredShards, manifest_shards

__all__ = ["StoredPiece", "StoredShards", "is_stored", "stored"]


def is_stored(address: str | Path) -> bool:
    """Whether evidence in pieces is there."""
    store = Store.at(address)
    if store.local is not None and not store.local.is_dir():
        return False
    if store.size(HEADER) is None:
        return False
    header = json_from(store.read(HEADER, MOST_HEADER), HEADER)
    return isinstance(header, dict) and header.get("format") == FORMAT


def stored(address: str | Path, inner: str = "", manifest: str = "") -> StoredShards:
    """Evidence in a store, or the bundle inside it; nothing but header and manifest is read.

    ``manifest``: the digest of an earlier manifest, from before the bundle grew.
    """
    store = Store.at(address)
    checked = checked_header(store.read(HEADER, MOST_HEADER), f"header of {str(store)!r}")
    earlier = manifest in checked.get("earlier", [])
    return manifest_shards(store, manifest if earlier else checked["sha256"], inner)
