"""What a store can answer instead of a file, each in one plain line."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager

from theodolite.errors import EvidenceError, RefusedInput

FULL = (errno.ENOSPC, errno.EDQUOT)
INSTALL = 'pip install "theodolite[store]"'


@contextmanager
def plainly(what: str) -> Iterator[None]:
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
        gone = "no such bucket" if "bucket does not exist" in str(error) else "nothing there"
        raise RefusedInput(what, gone, "a file") from error
    except PermissionError as error:
        needed = "leave to use it"
        raise EvidenceError(what, "no permission", needed, "Look at its owner or keys.") from error
    except OSError as error:
        if error.errno in FULL:
            raise
        if error.errno == errno.EINVAL:  # how object stores answer when asked past the end
            raise RefusedInput(what, "fewer bytes", "all of it; it is cut off") from error
        raise EvidenceError(what, _line(error), "a store that answers") from error
    except Exception as error:
        raise EvidenceError(what, _line(error), "a store that answers") from error


def without(address: str) -> str:
    """The address, without a user and a password: they must not be in messages."""
    scheme, mark, rest = address.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{mark}{host.rpartition('@')[2]}{slash}{path}" if mark else address


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
