"""Errors of a store as one plain line each."""

import errno
import re
from collections.abc import Iterator
from contextlib import contextmanager

from theodolite._storage.buckets.objects import TruncatedObjectError
from theodolite.errors import EvidenceError, UnsafeInputError

FULL = (errno.ENOSPC, errno.EDQUOT)
NO_BUCKET = re.compile("NoSuchBucket|bucket does not exist")
INSTALL = 'pip install "theodolite[store]"'


@contextmanager
def explain_store_error(what: str) -> Iterator[None]:
    """Say what went wrong; only that a disk is full is left as it is, for the callers that wait.

    Every client of an object store has errors of its own, so all are caught.
    """
    try:
        yield
    except (EvidenceError, MemoryError):
        raise
    except ImportError as error:
        got = f"no {error.name or 'package'} here"
        raise EvidenceError(what, got, "it, to read and write there", INSTALL) from error
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError) as error:
        gone = "no such bucket" if NO_BUCKET.search(str(error)) else "nothing there"
        raise UnsafeInputError(what, gone, "a file") from error
    except PermissionError as error:
        needed = "leave to use it"
        raise EvidenceError(what, "no permission", needed, "Look at its owner or keys.") from error
    except OSError as error:
        if error.errno in FULL:
            raise
        if isinstance(error, TruncatedObjectError):
            raise UnsafeInputError(what, "fewer bytes", "all of it; it is cut off") from error
        raise EvidenceError(what, _line(error), "a store that answers") from error
    except Exception as error:
        raise _from_client(what, error) from error


def _from_client(what: str, error: Exception) -> EvidenceError:
    """In our words what the client of a bucket raised; its classes are only there with it."""
    kind = type(error).__name__
    if NO_BUCKET.search(str(error)):
        return UnsafeInputError(what, "no such bucket", "a file")
    if kind in ("PermissionDeniedError", "UnauthenticatedError"):
        return EvidenceError(what, "no permission", "leave to use it", "Look at its owner or keys.")
    return EvidenceError(what, _line(error), "a store that answers")


def strip_credentials(address: str) -> str:
    """The address, without a user and a password: they must not be in messages."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else address


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".partition("Debug source")[0].split())[:200]
