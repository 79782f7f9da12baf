import base64
import hashlib
import hmac
import json
import os
import re
import stat
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import UnsafeInputError
from theodolite_study.keys import FORMAT, KEYS_FILE, SECRETS, Keys, _encode_parts
from theodolite_study.readable_codes import (
    LETTERS,
    digest_code,
    encode_digest,
    make_code,
    normalize_code,
)

KEY = Keys("a1", *(hashlib.sha256(name.encode()).digest() for name in SECRETS))
OTHER = Keys("b2", *(hashlib.sha256(b"other" + name.encode()).digest() for name in SECRETS))
SOMEONE = UUID("12345678-1234-5678-1234-567812345678")
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def _changed(path: Path, change: Callable[[dict[str, object]], object]) -> Path:
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path


def test_made_keys_are_read_again(tmp_path: Path) -> None:
    made = Keys.create(tmp_path / KEYS_FILE)
    assert Keys.read(tmp_path / KEYS_FILE) == made == Keys.read(tmp_path)
    assert stat.S_IMODE((tmp_path / KEYS_FILE).stat().st_mode) == 0o600
    secrets = [getattr(made, name) for name in SECRETS]
    assert all(len(secret) == 32 for secret in secrets) and len(set(secrets)) == 4


def test_the_file_is_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Keys.create(tmp_path / KEYS_FILE)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / KEYS_FILE).stat().st_mode) == 0o600


def test_two_studies_have_two_keys(tmp_path: Path) -> None:
    first, second = Keys.create(tmp_path / "a"), Keys.create(tmp_path / "b")
    assert first.id != second.id
    assert not {getattr(first, n) for n in SECRETS} & {getattr(second, n) for n in SECRETS}
    assert first.digest_person("s", "prolific", "x") != second.digest_person("s", "prolific", "x")


def test_keys_are_never_replaced(tmp_path: Path) -> None:
    Keys.create(tmp_path / KEYS_FILE)
    before = (tmp_path / KEYS_FILE).read_bytes()
    with pytest.raises(UnsafeInputError, match="one that is there"):
        Keys.create(tmp_path / KEYS_FILE)
    assert (tmp_path / KEYS_FILE).read_bytes() == before


def test_a_link_that_waits_for_us_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / KEYS_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafeInputError):
        Keys.create(tmp_path / KEYS_FILE)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644, 0o610])
def test_a_file_that_others_can_read_is_refused(tmp_path: Path, mode: int) -> None:
    Keys.create(tmp_path / KEYS_FILE)
    (tmp_path / KEYS_FILE).chmod(mode)
    with pytest.raises(UnsafeInputError, match="chmod 600"):
        Keys.read(tmp_path)


def test_an_absent_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UnsafeInputError, match="Make one"):
        Keys.read(tmp_path)


def test_a_pipe_or_a_large_file_is_no_key_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    with pytest.raises(UnsafeInputError, match="no plain file"):
        Keys.read(tmp_path / "pipe")
    (tmp_path / "big").write_bytes(b" " * (1 << 17))
    (tmp_path / "big").chmod(0o600)
    with pytest.raises(UnsafeInputError, match="a large file"):
        Keys.read(tmp_path / "big")


WEAK = {
    "short": lambda c: c.update(pepper=base64.b64encode(bytes(range(31))).decode()),
    "long": lambda c: c.update(pepper=base64.b64encode(bytes(range(33))).decode()),
    "empty": lambda c: c.update(pepper=""),
    "zeros": lambda c: c.update(sealing=base64.b64encode(bytes(32)).decode()),
    "typed": lambda c: c.update(
        forms=base64.b64encode(b"secretsecretsecretsecretsecretse").decode()
    ),
    "twice": lambda c: c.update(forms=c["pepper"]),
    "missing": lambda c: c.pop("completion"),
    "number": lambda c: c.update(completion=7),
    "not base64": lambda c: c.update(completion="!" * 44),
    "other format": lambda c: c.update(format="keys"),
    "no id": lambda c: c.update(id=""),
}


@pytest.mark.parametrize("name", WEAK)
def test_weak_keys_are_refused_and_not_shown(tmp_path: Path, name: str) -> None:
    made = Keys.create(tmp_path / KEYS_FILE)
    with pytest.raises(UnsafeInputError) as caught:
        Keys.read(_changed(tmp_path / KEYS_FILE, WEAK[name]))
    for secret in SECRETS:
        assert base64.b64encode(getattr(made, secret)).decode()[:8] not in str(caught.value)


@pytest.mark.parametrize("content", ["", "[]", "{", "[" * 100_000, '"text"'])
def test_other_files_are_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / KEYS_FILE).write_text(content[:60_000])
    (tmp_path / KEYS_FILE).chmod(0o600)
    with pytest.raises(UnsafeInputError):
        Keys.read(tmp_path)


def test_secrets_are_never_shown() -> None:
    shown = repr(KEY) + str(KEY) + f"{KEY}"
    assert shown.count("a1") == 3
    for name in SECRETS:
        secret = getattr(KEY, name)
        assert repr(secret) not in shown and secret.hex() not in shown and name not in shown


def test_a_person_by_hand() -> None:
    parts = [b"person", b"horns", b"prolific", b"5f"]
    message = b"theodolite study 1" + b"".join(
        len(part).to_bytes(8, "big") + part for part in parts
    )
    right = hmac.new(KEY.pepper, message, hashlib.sha256).digest()
    assert KEY.digest_person("horns", "prolific", "5f") == right


@given(st.lists(texts, min_size=1, max_size=4), st.lists(texts, min_size=1, max_size=4))
def test_different_parts_are_different_messages(one: list[str], two: list[str]) -> None:
    assert (_encode_parts(*one) == _encode_parts(*two)) == (one == two)


def test_moving_a_letter_between_parts_is_another_person() -> None:
    people = {
        KEY.digest_person(*parts)
        for parts in [("ab", "c", "d"), ("a", "bc", "d"), ("a", "b", "cd"), ("abc", "", "d")]
    }
    assert len(people) == 4


def test_each_purpose_has_its_own_digests() -> None:
    same = replace(KEY, id="c3")
    assert same.digest_person("s", "p", "x") == KEY.digest_person(
        "s", "p", "x"
    )  # the id decides nothing
    assert KEY.make_completion_code("s", "x") != encode_digest(KEY.digest_person("s", "p", "x"), 12)
    assert KEY.make_withdrawal_code("x").replace("-", "")[:12] != KEY.make_completion_code("", "x")


@given(texts, texts)
def test_what_is_sealed_opens_for_the_same_study(plain: str, slug: str) -> None:
    sealed = KEY.encrypt(plain, slug)
    assert KEY.decrypt(sealed, slug) == plain
    assert KEY.encrypt(plain, slug) != sealed
    assert not plain or len(plain) < 4 or plain.encode() not in sealed
    for keys, other in ((KEY, slug + "x"), (OTHER, slug), (replace(KEY, id="zz"), slug)):
        with pytest.raises(UnsafeInputError, match="other keys"):
            keys.decrypt(sealed, other)


@given(st.data())
def test_a_changed_bit_is_noticed(data: st.DataObject) -> None:
    sealed = bytearray(KEY.encrypt("5f1234567890abcdef123456", "s"))
    place = data.draw(st.integers(0, len(sealed) * 8 - 1))
    sealed[place // 8] ^= 1 << (place % 8)
    with pytest.raises(UnsafeInputError):
        KEY.decrypt(bytes(sealed), "s")


@given(st.binary(max_size=60))
def test_anything_else_does_not_open(given_bytes: bytes) -> None:
    with pytest.raises(UnsafeInputError):
        KEY.decrypt(given_bytes, "s")


def test_codes_are_random_and_long_enough() -> None:
    codes = {make_code() for _ in range(500)}
    assert len(codes) == 500
    letters = [letter for code in codes for letter in code.replace("-", "")]
    assert len(letters) == 500 * 28 and 28 * 5 >= 128
    assert set(letters) == set(LETTERS) and not set("ILOU") & set(letters)
    counts = [letters.count(letter) for letter in LETTERS]
    assert min(counts) > 300 and max(counts) < 600  # 437.5 expected, deviation 20.6


@given(st.integers(0, 2**32 - 1), st.sampled_from(["-", " ", "", "–", " - "]), st.booleans())
def test_case_and_separators_do_not_matter(seed: int, between: str, small: bool) -> None:
    code = KEY.make_withdrawal_code(str(seed))
    typed = code.replace("-", between)
    typed = typed.lower() if small else typed
    assert digest_code(typed) == digest_code(code) == KEY.digest_code(f" {typed}\n")
    typed = typed.replace("0", "o").replace("1", "l")
    assert digest_code(typed) == digest_code(code)
    assert digest_code(typed + "A") != digest_code(code)


def test_a_digest_does_not_hold_the_code() -> None:
    code = make_code()
    digest = digest_code(code)
    assert len(digest) == 32 and normalize_code(code).encode() not in digest


def test_own_withdrawal_codes_are_the_same_again() -> None:
    assert KEY.make_withdrawal_code(SOMEONE) == KEY.make_withdrawal_code(str(SOMEONE))
    assert KEY.make_withdrawal_code(SOMEONE) != OTHER.make_withdrawal_code(SOMEONE)
    assert len(KEY.make_withdrawal_code(SOMEONE)) == len(KEY.make_withdrawal_code()) == 34
    assert KEY.make_withdrawal_code() != KEY.make_withdrawal_code()


def test_completion_codes_belong_to_a_person_and_a_study() -> None:
    code = KEY.make_completion_code("horns", SOMEONE)
    assert re.fullmatch(rf"[{LETTERS}]{{12}}", code)
    assert code == KEY.make_completion_code("horns", str(SOMEONE))
    others = {
        KEY.make_completion_code("wings", SOMEONE),
        KEY.make_completion_code("horns", UUID(int=1)),
        OTHER.make_completion_code("horns", SOMEONE),
    }
    assert code not in others and len(others) == 3


def test_a_form_belongs_to_a_session() -> None:
    mine, theirs = hashlib.sha256(b"a").digest(), hashlib.sha256(b"b").digest()
    token = KEY.make_form_token(mine)
    assert len(token) == 43 and KEY.is_form_token(mine, token)
    for wrong in (
        "",
        token[:-1],
        token + "A",
        KEY.make_form_token(theirs),
        OTHER.make_form_token(mine),
        "\ud800",
        "ä",
    ):
        assert not KEY.is_form_token(mine, wrong)


@given(st.binary(min_size=20, max_size=32), st.integers(1, 32))
def test_readable_letters_are_the_bits(digest: bytes, letters: int) -> None:
    bits = "".join(f"{byte:08b}" for byte in digest)
    slow = "".join(LETTERS[int(bits[5 * i : 5 * i + 5], 2)] for i in range(letters))
    assert encode_digest(digest, letters) == slow


def test_the_format_is_named(tmp_path: Path) -> None:
    Keys.create(tmp_path / KEYS_FILE)
    content = json.loads((tmp_path / KEYS_FILE).read_text())
    assert content["format"] == FORMAT and set(content) == {"format", "id", *SECRETS}
