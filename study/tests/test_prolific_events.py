import base64
import hashlib
import hmac
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_study.platforms.prolific_events import compute_signature, parse_event

SECRET = "cGNqFPb6y0RT3XO9XVSessBDYIbHQ-secret"
NOW = 1_800_000_000.0
BODY = json.dumps(
    {"resource_id": "5f12", "event_type": "submission.status.change", "status": "APPROVED"}
).encode()


def _headers(
    body: bytes = BODY, moment: str = "1800000000", secret: str = SECRET, name: str = "evt-1"
) -> dict[str, str]:
    return {
        "X-Prolific-Request-Signature": compute_signature(secret, moment, body),
        "X-Prolific-Request-Timestamp": moment,
        "X-Event-ID": name,
    }


def test_the_signature_is_as_documented() -> None:
    """Base64 of the HMAC with SHA-256 of the time followed by the body."""
    text = "1800000000" + BODY.decode()
    mac = hmac.new(SECRET.encode(), text.encode(), hashlib.sha256).digest()
    assert compute_signature(SECRET, "1800000000", BODY) == base64.b64encode(mac).decode()


def test_what_prolific_says_is_heard() -> None:
    found = parse_event(_headers(), BODY, SECRET, NOW)
    assert (found.id, found.kind, found.resource_id) == (
        "evt-1",
        "submission.status.change",
        "5f12",
    )
    assert found.content["status"] == "APPROVED" and "APPROVED" not in repr(found)
    small = {name.lower(): value for name, value in _headers().items()}
    assert parse_event(small, BODY, SECRET, NOW) == found


def test_a_copy_under_another_id_is_the_same_delivery() -> None:
    first, copy = (parse_event(_headers(name=name), BODY, SECRET, NOW) for name in ("a", "b"))
    again = parse_event(_headers(moment="1800000060", name="a"), BODY, SECRET, NOW)
    assert first.delivery == copy.delivery != again.delivery
    assert first.id == again.id != copy.id


@given(st.data())
def test_a_changed_byte_is_noticed(data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(BODY) - 1))
    changed = bytearray(BODY)
    changed[place] ^= data.draw(st.integers(1, 255))
    with pytest.raises(UnsafeInputError, match="signature"):
        parse_event(_headers(), bytes(changed), SECRET, NOW)


def test_a_changed_time_or_secret_is_noticed() -> None:
    later = _headers() | {"X-Prolific-Request-Timestamp": "1800000001"}
    with pytest.raises(UnsafeInputError, match="signature"):
        parse_event(later, BODY, SECRET, NOW)
    with pytest.raises(UnsafeInputError, match="signature"):
        parse_event(_headers(secret=SECRET[::-1]), BODY, SECRET, NOW)


@pytest.mark.parametrize("value", ["", "x", "ä", "\ud800", "A" * 44])
def test_no_signature(value: str) -> None:
    with pytest.raises(UnsafeInputError, match="signature"):
        parse_event(_headers() | {"X-Prolific-Request-Signature": value}, BODY, SECRET, NOW)
    without = {k: v for k, v in _headers().items() if "Signature" not in k}
    with pytest.raises(UnsafeInputError, match="signature"):
        parse_event(without, BODY, SECRET, NOW)


@pytest.mark.parametrize(("seconds", "old"), [(0, False), (300, False), (-300, False), (301, True), (-301, True), (86400, True)])  # fmt: skip
def test_old_ones_are_refused(seconds: int, old: bool) -> None:
    if old:
        with pytest.raises(UnsafeInputError, match="an old one"):
            parse_event(_headers(), BODY, SECRET, NOW + seconds)
    else:
        assert parse_event(_headers(), BODY, SECRET, NOW + seconds).id == "evt-1"


@pytest.mark.parametrize("moment", ["", "now", "-1800000000", "1e9", "nan", "inf", "1" * 12, "180000000 "])  # fmt: skip
def test_a_time_is_digits(moment: str) -> None:
    with pytest.raises(UnsafeInputError, match="no time"):
        parse_event(_headers(moment=moment), BODY, SECRET, NOW)


@pytest.mark.parametrize("name", ["", "a b", "a\n", "x" * 201])
def test_an_event_has_an_id(name: str) -> None:
    with pytest.raises(UnsafeInputError, match="no id"):
        parse_event(_headers(name=name), BODY, SECRET, NOW)


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b"7", b"\xff", b'{"event_type": "a.b"}', b'{"resource_id": "5f"}',
        b'{"event_type": "A B", "resource_id": "5f"}', b'{"event_type": 7, "resource_id": "5f"}',
        b'{"event_type": "a.b", "resource_id": "../5f"}', b'{"event_type": "a.b", "resource_id": 7}',
    ],
)  # fmt: skip
def test_even_signed_nonsense_is_refused(body: bytes) -> None:
    with pytest.raises(UnsafeInputError):
        parse_event(_headers(body), body, SECRET, NOW)


def test_a_large_one_is_not_even_signed() -> None:
    body = b" " * 70_000
    with pytest.raises(UnsafeInputError, match="large"):
        parse_event(_headers(body), body, SECRET, NOW)


@pytest.mark.parametrize("secret", ["", "short"])
def test_without_a_secret_nothing_is_believed(secret: str) -> None:
    with pytest.raises(EvidenceError, match="Ask Prolific"):
        parse_event(_headers(secret=secret), BODY, secret, NOW)
