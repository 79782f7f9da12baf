"""Signed links of Prolific: whoever is let in was sent by Prolific, to us, just now."""

import base64
import hashlib
import hmac
import http.client
import http.server
import json
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import UnsafeInputError
from theodolite_study.platforms import prolific_keys
from theodolite_study.platforms.participant_identity import ParticipantIdentity
from theodolite_study.platforms.prolific import ExpectedAudience, verify_arrival
from theodolite_study.platforms.prolific_keys import (
    FetchedKeys,
    KeysUnavailableError,
    fetch_keys,
    parse_keys,
    read_response,
    read_stored_keys,
)

NOW = 1_800_000_000.0
PRIVATE = rsa.generate_private_key(public_exponent=65537, key_size=2048)
STRANGER = rsa.generate_private_key(public_exponent=65537, key_size=2048)
IDS = {"PROLIFIC_PID": "5f12", "STUDY_ID": "6a12", "SESSION_ID": "7b12", "workspace_id": "w1"}
CLAIMS = {
    "iss": "https://www.prolific.com",
    "aud": "https://study.example.org/s/horns",
    "sub": "7b12",
    "iat": NOW - 5,
    "exp": NOW + 300,
    "prolific": IDS,
}
EXPECTED = ExpectedAudience("https://study.example.org/s/horns", "6a12")


def _jwk(key: Any, name: str = "k1", **more: object) -> dict[str, Any]:
    entry = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(key.public_key()))
    return entry | {"kid": name, "alg": "RS256", "use": "sig"} | more


def _set(*entries: object) -> bytes:
    return json.dumps({"keys": list(entries)}).encode()


KEYS = parse_keys(_set(_jwk(PRIVATE)), "jwks.json")


def _token(key: Any = PRIVATE, header: dict[str, Any] | None = None, **changed: object) -> str:
    claims = {name: value for name, value in (CLAIMS | changed).items() if value is not None}
    header = {"kid": "k1"} | (header or {})
    return jwt.encode(claims, key, algorithm="RS256", headers=header)


def _parts(header: object, claims: object = CLAIMS) -> str:
    coded = (json.dumps(part).encode() for part in (header, claims))
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in coded)


def _refused(token: str, why: str, expected: ExpectedAudience = EXPECTED, now: float = NOW) -> None:
    with pytest.raises(UnsafeInputError, match=why) as caught:
        verify_arrival(token, expected, KEYS, now)
    assert "5f12" not in str(caught.value) and token not in str(caught.value)


def test_whom_prolific_sends_is_let_in() -> None:
    token = _token()
    found = verify_arrival(token, EXPECTED, KEYS, NOW)
    assert found.identity == ParticipantIdentity("prolific", "5f12", "6a12", "7b12", signed=True)
    assert found.token_digest == hashlib.sha256(token.encode()).digest()
    assert found.expires == datetime.fromtimestamp(NOW + 300, timezone.utc)


def test_a_copy_has_the_same_digest_and_a_new_token_another() -> None:
    token = _token()
    first, copy = (verify_arrival(token, EXPECTED, KEYS, NOW + s) for s in (0, 10))
    other = verify_arrival(_token(iat=NOW - 4), EXPECTED, KEYS, NOW)
    assert first.token_digest == copy.token_digest != other.token_digest


def test_a_stranger_signs_nothing() -> None:
    _refused(_token(STRANGER), "signature that is not Prolific's")


def test_a_changed_claim_is_noticed() -> None:
    header, _, signature = _token().split(".")
    changed = _parts({}, CLAIMS | {"prolific": IDS | {"PROLIFIC_PID": "0000"}}).split(".")[1]
    _refused(f"{header}.{changed}.{signature}", "signature that is not Prolific's")


@given(st.data())
def test_any_changed_letter_is_noticed(data: st.DataObject) -> None:
    token = _token()
    place = data.draw(st.integers(0, len(token) - 1))
    letter = data.draw(st.sampled_from("ABCZabcz019-_."))
    changed = token[:place] + letter + token[place + 1 :]
    try:
        found = verify_arrival(changed, EXPECTED, KEYS, NOW)
    except UnsafeInputError:
        return
    # the last letter of base64 may have bits that mean nothing
    assert changed == token or place == len(token) - 1
    assert found.identity == verify_arrival(token, EXPECTED, KEYS, NOW).identity


@pytest.mark.parametrize("name", ["none", "None", "NONE", "nOnE"])
def test_an_unsigned_token_is_refused(name: str) -> None:
    for signature in ("", base64.urlsafe_b64encode(b"x" * 256).rstrip(b"=").decode()):
        _refused(f"{_parts({'alg': name, 'typ': 'JWT', 'kid': 'k1'})}.{signature}", "RS256")


@pytest.mark.parametrize("form", ["pem", "der", "jwk"])
def test_the_public_key_is_no_shared_secret(form: str) -> None:
    public = PRIVATE.public_key()
    secret = {
        "pem": public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
        "der": public.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo),
        "jwk": json.dumps(_jwk(PRIVATE)).encode(),
    }[form]
    for name in ("HS256", "RS256"):
        message = _parts({"alg": name, "typ": "JWT", "kid": "k1"})
        mac = hmac.new(secret, message.encode(), hashlib.sha256).digest()
        forged = f"{message}.{base64.urlsafe_b64encode(mac).rstrip(b'=').decode()}"
        _refused(forged, "RS256" if name == "HS256" else "signature")


@pytest.mark.parametrize("name", ["RS384", "RS512", "PS256"])
def test_other_signatures_of_the_same_key_are_refused(name: str) -> None:
    _refused(jwt.encode(CLAIMS, PRIVATE, algorithm=name, headers={"kid": "k1"}), "RS256")


def test_another_kind_of_key_is_refused() -> None:
    token = jwt.encode(
        CLAIMS, ec.generate_private_key(ec.SECP256R1()), "ES256", headers={"kid": "k1"}
    )
    _refused(token, "RS256")


def test_a_token_cannot_bring_its_own_key() -> None:
    own = _jwk(STRANGER)
    for header in ({"jwk": own}, {"jku": "https://evil.example/jwks.json"}, {"x5u": "https://e.x"}):
        _refused(_token(STRANGER, header), "signature that is not Prolific's")
    _refused(_token(STRANGER, {"kid": "k2", "jwk": own}), "does not publish")
    _refused(_token(header={"crit": ["exp"]}), "RS256|no token")


@pytest.mark.parametrize("name", ["", "k\n1", "k" * 201, 7, ["k1"], {"a": 1}])
def test_a_key_has_a_name(name: object) -> None:
    header, _, signature = _token().split(".")
    message = _parts({"alg": "RS256", "typ": "JWT", "kid": name})
    with pytest.raises(UnsafeInputError, match=r"name its key|no token"):
        verify_arrival(f"{message}.{signature}", EXPECTED, KEYS, NOW)
    assert header


def test_without_a_name_there_is_no_key() -> None:
    _refused(jwt.encode(CLAIMS, PRIVATE, algorithm="RS256"), "name its key")


@pytest.mark.parametrize("seconds", [0, 1, 86400])
def test_an_old_token_is_refused(seconds: int) -> None:
    _refused(_token(exp=NOW - seconds), "no longer valid")
    _refused(_token(), "no longer valid", now=NOW + 300 + seconds)


@pytest.mark.parametrize("claim", ["nbf", "iat"])
def test_a_token_from_the_future_is_refused(claim: str) -> None:
    _refused(_token(**{claim: NOW + 61}), "not valid yet")
    assert verify_arrival(_token(**{claim: NOW + 59}), EXPECTED, KEYS, NOW)


@pytest.mark.parametrize("claim", ["exp", "nbf", "iat"])
@pytest.mark.parametrize("value", ["soon", True, -1, 1e30, float("nan"), float("inf"), [1], {}])
def test_a_time_is_a_number(claim: str, value: object) -> None:
    _refused(_token(**{claim: value}), "without an end|not valid yet")


@pytest.mark.parametrize("claim", ["exp", "aud", "prolific"])
def test_claims_that_have_to_be_there(claim: str) -> None:
    _refused(_token(**{claim: None}), "without an end|another address|without the ids")


@pytest.mark.parametrize("claim", ["iss", "sub", "iat"])
def test_claims_that_may_be_absent(claim: str) -> None:
    assert verify_arrival(_token(**{claim: None}), EXPECTED, KEYS, NOW).identity.signed


@pytest.mark.parametrize(
    "audience",
    [
        "https://study.example.org", "https://study.example.org/", "study.example.org",
        "https://study.example.org/s/horns/", "https://STUDY.example.org/s/horns",
        "https://study.example.org/s/horns?PROLIFIC_PID=5f12&STUDY_ID=6a12",
        ["https://elsewhere.example", "https://study.example.org"],
    ],
)  # fmt: skip
def test_our_address(audience: object) -> None:
    assert verify_arrival(_token(aud=audience), EXPECTED, KEYS, NOW).identity.signed


@pytest.mark.parametrize(
    "audience",
    [
        "https://evil.example", "http://study.example.org", "https://study.example.org:8443",
        "https://study.example.org.evil.example", "https://evil.example/study.example.org",
        "https://study.example.org@evil.example", "https://evil@study.example.org",
        "https://study.example.org/s/wings", "https://study.example.org:x", "", "*", [], [7], 7, {},
        "https://[", "xstudy.example.org", "example.org",
    ],
)  # fmt: skip
def test_another_address_is_refused(audience: object) -> None:
    _refused(_token(aud=audience), "another address")


@pytest.mark.parametrize("name", ["PROLIFIC_PID", "STUDY_ID", "SESSION_ID"])
@pytest.mark.parametrize("value", [None, "", 7, True, ["5f12"], "a b", "a" * 65])
def test_the_ids_have_to_be_there(name: str, value: object) -> None:
    _refused(_token(prolific=IDS | {name: value}), "without the ids")


@pytest.mark.parametrize("inside", ["text", 7, [IDS], {}])
def test_the_ids_are_inside(inside: object) -> None:
    _refused(_token(prolific=inside), "without the ids")


def test_another_study_visit_or_issuer_is_refused() -> None:
    _refused(_token(prolific=IDS | {"STUDY_ID": "ffff"}), "another study")
    _refused(_token(sub="other"), "another visit")
    _refused(_token(iss="https://evil.example"), "somebody else")
    anyone = ExpectedAudience(EXPECTED.address)
    found = verify_arrival(_token(prolific=IDS | {"STUDY_ID": "ffff"}), anyone, KEYS, NOW)
    assert found.identity.study_id == "ffff"


def test_a_long_token_is_not_even_looked_at() -> None:
    token = _token(more="x" * 8192)
    _refused(token, "too long")
    _refused("a" * 1_000_000, "too long")


@given(st.text(max_size=200) | st.from_regex(r"[A-Za-z0-9_-]{0,60}(\.[A-Za-z0-9_-]{0,60}){1,4}"))
def test_anything_else_is_no_token(text: str) -> None:
    with pytest.raises(UnsafeInputError):
        verify_arrival(text, EXPECTED, KEYS, NOW)


def test_keys_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "jwks.json").write_bytes(_set(_jwk(STRANGER, "old"), _jwk(PRIVATE)))
    assert verify_arrival(_token(), EXPECTED, read_stored_keys(tmp_path), NOW).identity.signed
    with pytest.raises(UnsafeInputError, match="nothing there"):
        read_stored_keys(tmp_path / "nowhere")


SMALL = rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505
UNFIT = {
    "small": _jwk(SMALL),
    "private": json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(PRIVATE)) | {"kid": "k1"},
    "for encryption": _jwk(PRIVATE, use="enc"),
    "other algorithm": _jwk(PRIVATE, alg="PS256"),
    "shared secret": {"kty": "oct", "k": "c2VjcmV0", "kid": "k1", "alg": "RS256"},
    "no name": {k: v for k, v in _jwk(PRIVATE).items() if k != "kid"},
    "broken": _jwk(PRIVATE, n="!"),
    "empty": _jwk(PRIVATE, n="", e=""),
    "text": "key",
}


@pytest.mark.parametrize("name", UNFIT)
def test_unfit_keys_are_left_out(name: str) -> None:
    with pytest.raises(UnsafeInputError, match="no key for RS256"):
        parse_keys(_set(UNFIT[name]), "jwks.json")
    both = parse_keys(_set(UNFIT[name], _jwk(STRANGER, "k2")), "jwks.json")
    assert list(both.keys) == ["k2"]


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"keys": {}}', b'{"keys": []}', b"\xff"])
def test_what_is_no_key_set(content: bytes) -> None:
    with pytest.raises(UnsafeInputError):
        parse_keys(content, "jwks.json")


def test_a_key_set_has_few_keys() -> None:
    with pytest.raises(UnsafeInputError, match="at most 50"):
        parse_keys(_set(*[_jwk(PRIVATE)] * 51), "jwks.json")


class _Prolific:
    """Answers as told, and counts."""

    def __init__(self, *answers: bytes | Exception) -> None:
        self.answers, self.asked = list(answers), 0

    def __call__(self) -> bytes:
        self.asked += 1
        found = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(found, Exception):
            raise found
        return found


ONE, TWO = _set(_jwk(PRIVATE)), _set(_jwk(PRIVATE), _jwk(STRANGER, "k2"))


def test_keys_are_kept_for_hours() -> None:
    there = _Prolific(ONE)
    keys = FetchedKeys(there)
    for second in (0, 1, 61, 3600, 6 * 3600):
        assert keys.find("k1", NOW + second) is not None
    assert there.asked == 1
    assert keys.find("k1", NOW + 6 * 3600 + 1) is not None and there.asked == 2


def test_an_unknown_name_asks_once_a_minute() -> None:
    there = _Prolific(ONE, ONE, TWO)
    keys = FetchedKeys(there)
    for second in range(60):
        assert keys.find(f"invented{second}", NOW + second) is None
    assert there.asked == 1
    assert keys.find("k2", NOW + 60) is None and there.asked == 2
    assert keys.find("k2", NOW + 119) is None and there.asked == 2
    assert keys.find("k2", NOW + 120) is not None and there.asked == 3


@pytest.mark.parametrize(
    "fault", [OSError("no way"), http.client.BadStatusLine("x"), UnsafeInputError("a")]
)
def test_without_an_answer_old_keys_serve_for_a_day(fault: Exception) -> None:
    there = _Prolific(ONE, fault)
    keys = FetchedKeys(there)
    assert keys.find("k1", NOW) is not None
    assert keys.find("k1", NOW + 24 * 3600) is not None and there.asked == 2
    with pytest.raises(KeysUnavailableError, match="try again"):
        keys.find("k1", NOW + 24 * 3600 + 1)


def test_no_answer_at_all_lets_nobody_in_and_does_not_insist() -> None:
    there = _Prolific(OSError("no way"))
    keys = FetchedKeys(there)
    for second in (0, 1, 30, 59):
        with pytest.raises(KeysUnavailableError):
            verify_arrival(_token(), EXPECTED, keys, NOW + second)
    assert there.asked == 1


def test_a_clock_that_was_set_back_does_not_stop_us() -> None:
    there = _Prolific(ONE)
    keys = FetchedKeys(there)
    assert keys.find("k1", NOW + 10**6) is not None
    assert keys.find("k1", NOW) is not None and there.asked == 2


def test_the_address_is_fixed_and_encrypted(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    class Connection:
        def __init__(self, host: str, timeout: float, context: ssl.SSLContext) -> None:
            made.append((host, timeout, context))

    monkeypatch.setattr(http.client, "HTTPSConnection", Connection)
    monkeypatch.setattr(prolific_keys, "read_response", lambda connection: ONE)
    assert fetch_keys() == ONE
    ((host, timeout, context),) = made
    assert host == "api.prolific.com" and timeout == 5
    assert context.check_hostname and context.verify_mode.name == "CERT_REQUIRED"


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"  # which leaves the line open
    kind = "good"
    paths: list[str] = []

    def do_GET(self) -> None:
        self.paths.append(self.path)
        content = {"large": b" " * (1 << 19), "slow": b" " * 20}.get(self.kind, ONE)
        self.send_response({"moved": 302, "fault": 500}.get(self.kind, 200))
        self.send_header("Content-Length", str(len(content)))
        if self.kind == "moved":
            self.send_header("Location", "/elsewhere")
        self.end_headers()
        try:
            for byte in content if self.kind == "slow" else ():
                self.wfile.write(bytes([byte]))
                time.sleep(0.05)
            self.wfile.write(b"" if self.kind == "slow" else content)
        except OSError:
            self.close_connection = True  # the other side had enough

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[http.server.HTTPServer]:
    _Handler.paths.clear()
    there = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=there.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield there
    there.shutdown()
    thread.join()
    there.server_close()


@pytest.mark.parametrize("kind", ["good", "moved", "fault", "large", "slow"])
def test_answers(
    kind: str, server: http.server.HTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Handler, "kind", kind)
    monkeypatch.setattr(prolific_keys, "TIMEOUT_SECONDS", 0.3 if kind == "slow" else 5.0)
    connection = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=5)
    if kind == "good":
        assert parse_keys(read_response(connection), "jwks.json").find("k1", NOW) is not None
    else:
        with pytest.raises(UnsafeInputError, match=r"the answer|too much or too slow"):
            read_response(connection)
    assert _Handler.paths == ["/.well-known/study/jwks.json"]
    assert connection.sock is None
