"""Addresses of images: signed, for one session, for a few hours. The database is not asked."""

import base64
import hashlib
import hmac
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from theodolite.ext.studies import image_path

HOUR = 3600
LONGEST = 3 * HOUR
MOST_BYTES = 256 << 20
KINDS = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


@dataclass(frozen=True)
class ImageAddresses:
    """Makes and checks addresses."""

    key: bytes = field(repr=False)

    def address(self, file: str, session: bytes, now: float | None = None) -> str:
        """Where a session finds an image. The same for an hour, so that browsers keep it."""
        expiry = (int(now if now is not None else time.time()) // HOUR + 3) * HOUR
        return f"/p/{expiry}/{self._mac(file, expiry, session)}/{file}"

    def good(self, expiry: str, mac: str, file: str, session: bytes) -> bool:
        """Whether this session was given this address, and not too long ago."""
        if not (expiry.isascii() and expiry.isdigit() and len(expiry) < 12):
            return False
        left = int(expiry) - time.time()
        fits = hmac.compare_digest(self._mac(file, int(expiry), session), mac)
        return fits and 0 < left <= LONGEST

    def _mac(self, file: str, expiry: int, session: bytes) -> str:
        message = b"\0".join([file.encode(), str(expiry).encode(), session])
        mac = hmac.new(self.key, message, hashlib.sha256).digest()[:16]
        return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


class ImageFiles:
    """Bytes of images, the last ones kept in memory."""

    def __init__(self, folder: Path, most: int = MOST_BYTES) -> None:
        self.folder, self.most = folder, most
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    def content(self, file: str) -> bytes | None:
        """The image of a name that we signed; None where it is gone."""
        if file in self._kept:
            self._kept.move_to_end(file)
            return self._kept[file]
        path = image_path(self.folder, file)
        if not path.is_file():
            return None
        content = path.read_bytes()
        self._kept[file] = content
        self._size += len(content)
        while self._size > self.most:
            self._size -= len(self._kept.popitem(last=False)[1])
        return content


def kind_of(file: str) -> str:
    """The media type of a file name."""
    return KINDS[file.rpartition(".")[2]]
