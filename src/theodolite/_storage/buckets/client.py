"""The client of a bucket: obstore, one for each process, with the user's own keys.

Where a bucket is served and with which keys is taken from the environment and from the user's own
settings. Plain http is spoken only where ``AWS_ENDPOINT_URL`` says http.
"""

import os
from datetime import datetime, timedelta, timezone
from functools import lru_cache
from typing import Any

from theodolite.errors import EvidenceError

BUCKETS = ("az", "gs", "s3")
TRIES = 3
FIRST_WAIT, LONGEST_WAIT = timedelta(seconds=0.1), timedelta(seconds=2)
RETRY: dict[str, Any] = {
    "max_retries": TRIES - 1,
    "backoff": {"init_backoff": FIRST_WAIT, "max_backoff": LONGEST_WAIT, "base": 2},
    "retry_timeout": timedelta(minutes=2),
}
TIMES = {"connect_timeout": "10s", "timeout": "120s", "read_timeout": "60s"}
SETTINGS = ("AWS_", "AZURE_", "GOOGLE_")
KEYS_LAST = timedelta(minutes=5)


_users: list[int] = []


def is_forked() -> bool:
    """Return whether this process was forked from one that had a client."""
    return bool(_users) and _users[0] != os.getpid()


def get_client(scheme: str, bucket: str) -> Any:
    """The client of this process; another one where the settings have changed."""
    settings = tuple(sorted(item for item in os.environ.items() if item[0].startswith(SETTINGS)))
    _users.append(os.getpid())
    del _users[1:]
    return _client(scheme, bucket, settings)


@lru_cache(maxsize=16)
def _client(scheme: str, bucket: str, settings: tuple[tuple[str, str], ...]) -> Any:
    from obstore.store import AzureStore, GCSStore, S3Store  # noqa: PLC0415  optional

    options: dict[str, Any] = {"retry_config": RETRY, "client_options": dict(TIMES)}
    if scheme == "gs":
        return GCSStore(bucket, **options)
    if scheme == "az":
        return AzureStore(bucket, **options)
    chosen = dict(settings)
    endpoint = chosen.get("AWS_ENDPOINT_URL_S3") or chosen.get("AWS_ENDPOINT_URL", "")
    if endpoint.startswith("http://"):
        options["client_options"]["allow_http"] = True
    if endpoint:
        options["endpoint"] = endpoint
    return S3Store(bucket, **options, **_keys(chosen))


def _keys(settings: dict[str, str]) -> dict[str, Any]:
    """Keys and region as botocore finds them: environment, profile, role of the machine."""
    if settings.get("AWS_SKIP_SIGNATURE", "").lower() in ("1", "true"):
        return {"skip_signature": True}
    from botocore.session import get_session  # noqa: PLC0415  optional

    session = get_session()
    credentials = session.get_credentials()
    if credentials is None:
        needed = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, a profile or a role"
        raise EvidenceError("bucket", "no credentials", needed)

    def keys() -> dict[str, Any]:
        current = credentials.get_frozen_credentials()  # renews those that end
        return {
            "access_key_id": current.access_key, "secret_access_key": current.secret_key,
            "token": current.token, "expires_at": datetime.now(timezone.utc) + KEYS_LAST,
        }  # fmt: skip

    region = session.get_config_variable("region") or settings.get("AWS_REGION") or "us-east-1"
    return {"region": region, "credential_provider": keys}
