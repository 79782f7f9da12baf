"""Unsigned ways in: addresses, codes and the open link."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite_study.platforms import mturk, prolific
from theodolite_study.platforms.invitations import make_identity, make_invitations
from theodolite_study.platforms.participant_identity import (
    ParticipantIdentity,
    PreviewVisitor,
    make_anonymous_identity,
)
from theodolite_study.readable_codes import digest_code

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
    found = prolific.read_unsigned_arrival(PERSON)
    assert found == ParticipantIdentity("prolific", *PERSON.values(), signed=False)
    assert PERSON["PROLIFIC_PID"] not in repr(found) and PERSON["SESSION_ID"] not in repr(found)


@pytest.mark.parametrize("name", PERSON)
@pytest.mark.parametrize("value", ["", "{{%PROLIFIC_PID%}}", "a b", "a" * 65, "<script>", "a\n"])
def test_addresses_that_name_nobody(name: str, value: str) -> None:
    with pytest.raises(UnsafeInputError, match=name) as caught:
        prolific.read_unsigned_arrival(PERSON | {name: value})
    assert not value or value not in str(caught.value)
    with pytest.raises(UnsafeInputError, match=name):
        prolific.read_unsigned_arrival({key: PERSON[key] for key in PERSON if key != name})


def test_the_end_is_at_prolific() -> None:
    assert (
        prolific.get_completion_url("C1ABCDEF")
        == "https://app.prolific.com/submissions/complete?cc=C1ABCDEF"
    )


@given(st.text(max_size=30))
def test_a_code_never_changes_where_people_go(code: str) -> None:
    try:
        address = prolific.get_completion_url(code)
    except UnsafeInputError:
        return
    assert address == f"https://app.prolific.com/submissions/complete?cc={code}"
    assert code.replace("-", "a").replace("_", "a").isalnum() and code.isascii()


def test_a_worker_comes_by_link() -> None:
    found = mturk.identify_worker(TURK)
    assert found == ParticipantIdentity("mturk", "A1WORKER", study_id="3HIT", session_id="3ASSIGN")


def test_where_to_submit_is_nobodys_business() -> None:
    found = mturk.identify_worker(TURK)
    assert all("evil" not in str(getattr(found, part.name)) for part in fields(found))
    assert found == mturk.identify_worker({k: v for k, v in TURK.items() if k != "turkSubmitTo"})


def test_a_preview_is_nobody() -> None:
    not_taken = {"assignmentId": "ASSIGNMENT_ID_NOT_AVAILABLE", "hitId": "3HIT"}
    assert mturk.identify_worker(not_taken) == PreviewVisitor("mturk")
    assert mturk.identify_worker(not_taken | {"workerId": "A1WORKER"}) == PreviewVisitor("mturk")


def test_only_the_worker_has_to_be_named() -> None:
    assert mturk.identify_worker({"workerId": "A1WORKER"}) == ParticipantIdentity(
        "mturk", "A1WORKER"
    )
    for bad in ({}, {"workerId": ""}, {"workerId": "a b"}, TURK | {"hitId": "<b>"}):
        with pytest.raises(UnsafeInputError, match="address"):
            mturk.identify_worker(bad)


@pytest.mark.parametrize("bad", ["", " ", "a" * 65, "ä", "a\n", "../x", "a\0"])
def test_an_id_is_letters_and_digits(bad: str) -> None:
    with pytest.raises(UnsafeInputError, match="platform id"):
        ParticipantIdentity("link", bad)
    with pytest.raises(UnsafeInputError, match="study id"):
        ParticipantIdentity("link", "a", study_id=bad)


def test_visitors_are_all_different() -> None:
    found = {make_anonymous_identity() for _ in range(100)}
    assert len({one.platform_id for one in found}) == 100
    assert all(one.platform == "link" and not one.signed for one in found)


def test_invitations_are_known_by_digest_only() -> None:
    made = make_invitations(20)
    assert len(set(made.codes)) == len(set(made.digests)) == 20
    assert not any(code in repr(made) for code in made.codes)
    for code, digest in zip(made.codes, made.digests, strict=True):
        assert digest == digest_code(code) == digest_code(code.lower().replace("-", " "))
        assert make_identity(digest).platform == "invite"
    for wrong in (
        "",
        "AAAA",
        make_invitations(1).codes[0],
        made.codes[0][:-1],
        made.digests[0].hex(),
    ):
        assert digest_code(wrong) not in made.digests


@pytest.mark.parametrize("count", [0, -1, 100_001])
def test_so_many_are_not_made(count: int) -> None:
    with pytest.raises(EvidenceError, match="invitations"):
        make_invitations(count)
