"""Open stored (sharded) evidence, which may exceed memory and lie in a bucket."""

from pathlib import Path

from theodolite._storage.stores import Store
from theodolite._storage.text import json_from
from theodolite.evidence.manifests.manifest import FORMAT, HEADER, MAX_HEADER_BYTES, check_header
from theodolite.evidence.manifests.stored_shards import (
    StoredShard,
    StoredShards,
    open_manifest_shards,
)

__all__ = ["StoredShard", "StoredShards", "is_stored", "stored"]


def is_stored(address: str | Path) -> bool:
    """Return whether an address holds sharded evidence."""
    store = Store.at(address)
    if store.local is not None and not store.local.is_dir():
        return False
    if store.size(HEADER) is None:
        return False
    header = json_from(store.read(HEADER, MAX_HEADER_BYTES), HEADER)
    return isinstance(header, dict) and header.get("format") == FORMAT


def stored(address: str | Path, inner: str = "", manifest: str = "") -> StoredShards:
    """Open sharded evidence or its inner bundle; only header and manifest are read.

    ``manifest``: the digest of an earlier manifest, from before the bundle grew.
    """
    store = Store.at(address)
    checked = check_header(store.read(HEADER, MAX_HEADER_BYTES), f"header of {str(store)!r}")
    earlier = manifest in checked.get("earlier", [])
    return open_manifest_shards(store, manifest if earlier else checked["sha256"], inner)
