"""Prefixes of bucket addresses, and the error for an address without sharded evidence.

Used wherever stored evidence is opened by address.
"""

from theodolite.errors import UnsafeInputError

BUCKETS = ("s3://", "gs://", "az://")
"""Prefixes of bucket addresses. Every other address is a path below the data folder."""


def missing_shards_error(address: str) -> UnsafeInputError:
    """Return the error for an address that is misspelled, or where nothing was written."""
    return UnsafeInputError(
        f"address {address!r}", "no sharded evidence there", "header.json and the shards",
        "Check the spelling; `theodolite data store` writes sharded evidence.",
    )  # fmt: skip
