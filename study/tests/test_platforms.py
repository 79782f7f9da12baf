"""Unsigned ways in: addresses, codes and the open link."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_study.codes import code_digest
from theodolite_study.platforms import mturk, prolific
from theodolite_study.platforms.identity import Identity, Preview, visitor
from theodolite_study.platforms.invites import identity, new_invitations

TURK = {
    "assignmentId": "3ASSIGN", "hitId": "3HIT", "workerId": "A1WORKER",
    "turkSubmitTo": "https://evil.example/mturk/externalSubmit",
}  # fmt: skip
PERSON = {
    "PROLIFIC_PID": "5f1234567890abcdef123456",
    "STUDY_ID": "6a1234567890abcdef123456",
    "SESSION_ID": "7b1234567890abcdef123456",
}


def test_an_address_of_prolific_is_a_claim() -> None:
    found = prolific.unsigned_arrival(PERSON)
    assert found == Identity("prolific", *PERSON.values(), signed=False)
    assert PERSON["PROLIFIC_PID"] not in repr(found) and PERSON["SESSION_ID"] not in repr(found)


@pytest.mark.parametrize("name", PERSON)
@pytest.mark.parametrize("value", ["", "{{%PROLIFIC_PID%}}", "a b", "a" * 65, "<script>", "a\n"])
def test_addresses_that_name_nobody(name: str, value: str) -> None:
    with pytest.raises(UnsafeInputError, match=name) as caught:
        prolific.unsigned_arrival(PERSON | {name: value})
    assert not value or value not in str(caught.value)
    with pytest.raises(UnsafeInputError, match=name):
        prolific.unsigned_arrival({key: PERSON[key] for key in PERSON if key != name})


def test_the_end_is_at_prolific() -> None:
    assert (
        prolific.completion_url("C1ABCDEF")
        == "https://app.prolific.com/submissions/complete?cc=C1ABCDEF"
    )


@given(st.text(max_size=30))
def test_a_code_never_changes_where_people_go(code: str) -> None:
    try:
        address = prolific.completion_url(code)
    except UnsafeInputError:
        return
    assert address == f"https://app.prolific.com/submissions/complete?cc={code}"
    assert code.replace("-", "a").replace("_", "a").isalnum() and code.isascii()


def test_a_worker_comes_by_link() -> None:
    found = mturk.arrival(TURK)
    assert found == Identity("mturk", "A1WORKER", study_id="3HIT", session_id="3ASSIGN")


def test_where_to_submit_is_nobodys_business() -> None:
    found = mturk.arrival(TURK)
    assert all("evil" not in str(getattr(found, part.name)) for part in fields(found))
    assert found == mturk.arrival({k: v for k, v in TURK.items() if k != "turkSubmitTo"})


def test_a_preview_is_nobody() -> None:
    not_taken = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "3HIT"}
    assert mturk.arrival(not_taken) == Preview("mturk")
    assert mturk.arrival(not_taken | {"workerId": "A1WORKER"}) == Preview("mturk")


def test_only_the_worker_has_to_be_named() -> None:
    assert mturk.arrival({"workerId": "A1WORKER"}) == Identity("mturk", "A1WORKER")
    for bad in ({}, {"workerId": ""}, {"workerId": "a b"}, TURK | {"hitId": "<b>"}):
        with pytest.raises(UnsafeInputError, match="address"):
            mturk.arrival(bad)


@pytest.mark.parametrize("bad", ["", " ", "a" * 65, "ä", "a\n", "../x", "a\0"])
def test_an_id_is_letters_and_digits(bad: str) -> None:
    with pytest.raises(UnsafeInputError, match="platform id"):
        Identity("link", bad)
    with pytest.raises(UnsafeInputError, match="study id"):
        Identity("link", "a", study_id=bad)


def test_visitors_are_all_different() -> None:
    found = {visitor() for _ in range(100)}
    assert len({one.platform_id for one in found}) == 100
    assert all(one.platform == "link" and not one.signed for one in found)


def test_invitations_are_known_by_digest_only() -> None:
    made = new_invitations(20)
    assert len(set(made.codes)) == len(set(made.digests)) == 20
    assert not any(code in repr(made) for code in made.codes)
    for code, digest in zip(made.codes, made.digests, strict=True):
        assert digest == code_digest(code) == code_digest(code.lower().replace("-", " "))
        assert identity(digest).platform == "invite"
    for wrong in (
        "",
        "AAAA",
        new_invitations(1).codes[0],
        made.codes[0][:-1],
        made.digests[0].hex(),
    ):
        assert code_digest(wrong) not in made.digests


@pytest.mark.parametrize("count", [0, -1, 100_001])
def test_so_many_are_not_made(count: int) -> None:
    with pytest.raises(EvidenceError, match="invitations"):
        new_invitations(count)
