from datetime import datetime, timedelta, timezone

import pyotp
import pytest
from argon2 import PasswordHasher
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import EvidenceError
from theodolite_study import passwords
from theodolite_study.passwords import (
    check_code,
    check_passphrase,
    digest_token,
    format_phone_address,
    hash_passphrase,
    make_enrollment,
    make_phone_secret,
    verify_passphrase,
)

NOW = datetime(2026, 11, 15, tzinfo=timezone.utc)
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
GOOD = [
    "ladder violet 7 marsh",
    "Grün-Möbel-Quittung",
    "aaaabbbbccccddddeeee9",
    "🐟🐠🐡🦈🐙🦑🦐🦞🦀🐚🪸🐳",
    "x" * 64 + "abcd",
]


@pytest.mark.parametrize("passphrase", GOOD)
def test_any_characters_will_do(passphrase: str) -> None:
    check_passphrase(passphrase, "ada")


@pytest.mark.parametrize(
    ("passphrase", "reason"),
    [
        ("short phras", "11 characters"),
        ("a1B2" * 33, "132 characters"),
        ("aaaaaaaaaaaa", "few different"),
        ("121212121212", "few different"),
        ("Password1234", "common word"),
        ("PASSWORD!!!!!!", "common word"),
        ("passwordpassword", "common word"),
        ("iloveyou12345", "common word"),
        ("summer-love-2026", "common word"),
        ("Theodolite2026!", "common word"),
        ("qwertyuiopas", "keyboard"),
        ("1q2w3e4r5t6y", "keyboard"),
        ("abcdefghijklm", "keyboard"),
        ("mlkjihgfedcba", "keyboard"),
        ("123456789012", "keyboard"),
        ("ada.lovelace-forever", "name of the account"),
        ("ADA.LOVELACE 1815", "name of the account"),
    ],
)
def test_what_is_guessed_first_is_refused(passphrase: str, reason: str) -> None:
    with pytest.raises(EvidenceError, match=reason) as caught:
        check_passphrase(passphrase, "ada.lovelace")
    assert passphrase not in str(caught.value)


@pytest.mark.parametrize(("length", "fits"), [(11, False), (12, True), (128, True), (129, False)])
def test_the_ends_of_what_is_allowed(length: int, fits: bool) -> None:
    passphrase = ("violet marsh 7 ladder " * 6)[:length]
    if fits:
        check_passphrase(passphrase, "ada")
    else:
        with pytest.raises(EvidenceError, match=f"{length} characters"):
            check_passphrase(passphrase, "ada")


def test_a_passphrase_is_kept_as_argon2id() -> None:
    kept = hash_passphrase("ladder violet 7 marsh")
    assert kept.startswith("$argon2id$v=19$m=65536,t=3,p=1$") and "violet" not in kept
    assert hash_passphrase("ladder violet 7 marsh") != kept
    assert verify_passphrase(kept, "ladder violet 7 marsh") == passwords.PassphraseCheck(right=True)
    assert not verify_passphrase(kept, "Ladder violet 7 marsh").right
    assert not verify_passphrase(kept, "ladder violet 7 marsh ").right


def test_an_old_hash_is_made_anew() -> None:
    old = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("ladder violet 7 marsh")
    verdict = verify_passphrase(old, "ladder violet 7 marsh")
    assert verdict.right and verdict.rehashed is not None and verdict.rehashed != old
    assert verify_passphrase(
        verdict.rehashed, "ladder violet 7 marsh"
    ) == passwords.PassphraseCheck(right=True)
    assert verify_passphrase(old, "wrong") == passwords.PassphraseCheck(right=False)
    assert verdict.rehashed not in repr(verdict)


@pytest.mark.parametrize("stored", ["", "plain text", "$argon2id$v=19$m=8,t=1,p=1$broken"])
def test_a_broken_hash_lets_nobody_in(stored: str) -> None:
    assert verify_passphrase(stored, stored) == passwords.PassphraseCheck(right=False)


def test_no_account_is_the_same_work(monkeypatch: pytest.MonkeyPatch) -> None:
    cheap = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    seen = []

    class Counted:
        def verify(self, kept: str, given_: str) -> bool:
            seen.append(kept)
            return cheap.verify(kept, given_)

        hash = staticmethod(cheap.hash)
        check_needs_rehash = staticmethod(cheap.check_needs_rehash)

    monkeypatch.setattr(passwords, "HASHER", Counted())
    passwords._make_decoy_hash.cache_clear()
    assert not verify_passphrase(None, "ladder violet 7 marsh").right
    assert not verify_passphrase(cheap.hash("another"), "ladder violet 7 marsh").right
    assert len(seen) == 2 and all(kept.startswith("$argon2id$") for kept in seen)
    assert not verify_passphrase(cheap.hash("a" * 200), "a" * 200).right and len(seen) == 2
    passwords._make_decoy_hash.cache_clear()


def test_even_the_decoy_itself_lets_nobody_in(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash("known")
    monkeypatch.setattr(passwords, "_make_decoy_hash", lambda: kept)
    assert not verify_passphrase(None, "known").right


def test_the_code_of_the_standard() -> None:
    secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"  # RFC 6238, appendix B, last six digits
    assert check_code(secret, "287082", None, 59.0) == 1
    assert check_code(secret, "081804", None, 1111111109.0) == 37037036
    assert check_code(secret, "353130", None, 20000000000.0) == 666666666


@given(st.integers(10, 10**7), st.integers(-3, 3), st.none() | st.integers(-4, 4))
def test_a_code_is_good_nearby_and_once(step: int, off: int, last: int | None) -> None:
    code = pyotp.TOTP(SECRET).generate_otp(step + off)
    last_step = None if last is None else step + last
    others = {pyotp.TOTP(SECRET).generate_otp(step + k): k for k in (-1, 0, 1)}
    found = check_code(SECRET, code, last_step, step * 30 + 7.5)
    fits = code in others and (last_step is None or step + others[code] > last_step)
    assert found == (step + others[code] if fits else None)


def test_the_same_code_twice_is_refused() -> None:
    now = 1_800_000_000.0
    code = pyotp.TOTP(SECRET).at(int(now))
    step = check_code(SECRET, code, None, now)
    assert step == int(now) // 30
    assert check_code(SECRET, code, step, now + 1) is None
    earlier = pyotp.TOTP(SECRET).at(int(now) - 30)
    assert check_code(SECRET, earlier, None, now) == step - 1
    assert check_code(SECRET, earlier, step, now) is None


@pytest.mark.parametrize("code", ["", "12345", "1234567", "abcdef", "１２３４５６", "12345\n", "-12345"])  # fmt: skip
def test_what_is_no_code(code: str) -> None:
    assert check_code(SECRET, code, None, 1_800_000_000.0) is None


def test_blanks_in_a_code_do_not_matter() -> None:
    code = pyotp.TOTP(SECRET).at(1_800_000_000)
    assert check_code(SECRET, f" {code[:3]} {code[3:]} ", None, 1_800_000_000.0) == 60_000_000


def test_secrets_for_phones() -> None:
    secrets = {make_phone_secret() for _ in range(50)}
    assert len(secrets) == 50 and all(len(secret) == 32 for secret in secrets)
    address = format_phone_address(SECRET, "ada@example.org")
    assert address.startswith("otpauth://totp/theodolite:ada%40example.org?secret=" + SECRET)


def test_an_enrollment_is_good_once_made_until_it_ends() -> None:
    made = make_enrollment(NOW)
    assert len(made.token) == 43 and made.token not in repr(made)
    assert made.digest == digest_token(made.token) and made.token.encode() not in made.digest
    assert made.expires == NOW + timedelta(days=1)
    assert digest_token(made.token) == made.digest
    assert made.expires > NOW


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(EvidenceError, match="zone"):
        make_enrollment(NOW.replace(tzinfo=None))
