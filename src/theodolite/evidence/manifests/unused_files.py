"""Find files that no manifest lists: parts of crashed writers, manifests of losing committers.
Used by ``theodolite data commit --clean``."""

import re

from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError
from theodolite.evidence.manifests.manifest import (
    HEADER,
    MAX_HEADER_BYTES,
    check_header,
    manifest_name,
    read_manifest,
)

UNITS = {"m": 60, "h": 3600, "d": 86400}
ARRAY_FILE = re.compile(r"(.*)/c(/[0-9/]+)?")


def parse_age(age: str) -> float:
    """Return the seconds of an age such as 30m, 12h or 1d.

    >>> parse_age("12h")
    43200.0
    """
    match = re.fullmatch(r"(\d{1,6})([mhd])", age)
    if match is None:
        raise EvidenceError("older-than", repr(age), "a number with m, h or d, such as 1d")
    return float(int(match[1]) * UNITS[match[2]])


def find_unused_files(address: str, older_than: float) -> list[str]:
    """Return files older than ``older_than`` seconds that no manifest lists."""
    store = Store.at(address)
    if store.size(HEADER) is None:
        needed = "a committed bundle: parts that wait for a commit are no rubbish"
        raise EvidenceError(f"store {str(store)!r}", f"no {HEADER}", needed)
    header = check_header(store.read(HEADER, MAX_HEADER_BYTES), f"header of {str(store)!r}")
    used = {HEADER}
    for sha256 in [header["sha256"], *header.get("earlier", [])]:
        manifest = read_manifest(store, sha256)
        files = set(manifest.table["file"].to_pylist())
        arrays = (ARRAY_FILE.fullmatch(file) for file in files)
        used |= files | {f"{match[1]}/zarr.json" for match in arrays if match}
        used |= {manifest_name(sha256), *(f"{folder}.json" for folder in manifest.parts.values())}
    return sorted(n for n, age in store.ages().items() if n not in used and age >= older_than)
