"""Serve images by signed addresses, which are valid for one session and a few hours."""

import base64
import hashlib
import hmac
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from theodolite.ext.studies import image_path

HOUR_SECONDS = 3600
MAX_ADDRESS_SECONDS = 3 * HOUR_SECONDS
MAX_CACHE_BYTES = 256 << 20
MEDIA_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


@dataclass(frozen=True)
class ImageAddresses:
    """Signer of image addresses."""

    key: bytes = field(repr=False)

    def address(self, file: str, session: bytes, now: float | None = None) -> str:
        """Return the address of an image for a session, stable for an hour so that browsers cache
        it."""
        expiry = (int(now if now is not None else time.time()) // HOUR_SECONDS + 3) * HOUR_SECONDS
        return f"/p/{expiry}/{self._mac(file, expiry, session)}/{file}"

    def good(self, expiry: str, mac: str, file: str, session: bytes) -> bool:
        """Return whether the address was given to this session and is still valid."""
        if not (expiry.isascii() and expiry.isdigit() and len(expiry) < 12):
            return False
        left = int(expiry) - time.time()
        fits = hmac.compare_digest(self._mac(file, int(expiry), session), mac)
        return fits and 0 < left <= MAX_ADDRESS_SECONDS

    def _mac(self, file: str, expiry: int, session: bytes) -> str:
        message = b"\0".join([file.encode(), str(expiry).encode(), session])
        mac = hmac.new(self.key, message, hashlib.sha256).digest()[:16]
        return base64.urlsafe_b64encode(mac).rstrip(b"=").decode()


class ImageFiles:
    """Cache of image files in memory."""

    def __init__(self, folder: Path, most: int = MAX_CACHE_BYTES) -> None:
        self.folder, self.most = folder, most
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self._size = 0

    def content(self, file: str) -> bytes | None:
        """Return the bytes of an image; None if the file is missing."""
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


def get_media_type(file: str) -> str:
    """Return the media type of a file name."""
    return MEDIA_TYPES[file.rpartition(".")[2]]
