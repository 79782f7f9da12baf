"""The client of Prolific's API against a server that is slow to agree."""

import socket
from collections.abc import Iterator

import pytest

from support.study.prolific_double import STUDY, TOKEN, ProlificDouble, doubled
from theodolite.errors import UnsafeInputError
from theodolite_study.money.prolific import HOST, PlatformError, Prolific, UnclearResponseError

PAUSES: list[float] = []


@pytest.fixture
def double() -> ProlificDouble:
    PAUSES.clear()
    return ProlificDouble()


@pytest.fixture
def client(double: ProlificDouble) -> Iterator[Prolific]:
    with doubled(double) as host:
        yield Prolific(TOKEN, host, pause=PAUSES.append)


def _waiting(double: ProlificDouble) -> str:
    name = double.reserve()
    assert name is not None
    double.starts(name)
    double.submits(name, "finished")
    return name


def test_reward_is_paid_once_however_often_it_is_approved(
    double: ProlificDouble, client: Prolific
) -> None:
    name = _waiting(double)
    assert client.submission(name).status == "AWAITING REVIEW"
    client.approve(name)
    client.approve(name)
    assert client.submission(name).status == "APPROVED" and double.paid() == {name: 400}


def test_share_return_bonus_and_pause(double: ProlificDouble, client: Prolific) -> None:
    one, two = _waiting(double), _waiting(double)
    client.complete(one, "CODE", 25)
    client.request_return(two, "r")
    assert client.submission(two).return_requested
    batch = client.set_up_bonuses(STUDY, [(two, 1005)])
    assert double.paid() == {one: 100}, "a bonus that is set up is not paid"
    client.pay_bonuses(batch)
    assert double.paid() == {one: 100, two: 1005}
    assert client.submission(two).bonuses == (1005,)
    client.pause_study(STUDY)
    assert client.study(STUDY).status == "PAUSED" and double.reserve() is None


def test_all_pages_of_the_list(double: ProlificDouble, client: Prolific) -> None:
    names = [double.reserve() for _ in range(205)]
    assert [s.id for s in client.submissions(STUDY)] == names
    assert {s.status for s in client.submissions(STUDY)} == {"RESERVED"}


def test_what_is_too_much_or_broken_is_tried_again_with_a_limit(
    double: ProlificDouble, client: Prolific
) -> None:
    name = _waiting(double)
    troubles = ["429", "500 before", "500 after"]
    double.trouble = lambda method, path: troubles.pop(0) if troubles else None
    client.approve(name)
    assert double.paid() == {name: 400} and PAUSES == [1.0, 2.0, 4.0]
    double.trouble = lambda method, path: "500 before"
    with pytest.raises(UnclearResponseError):
        client.submission(name)
    double.trouble = lambda method, path: "429"
    with pytest.raises(PlatformError):
        client.submission(name)


def test_paying_a_batch_is_never_tried_again_unless_it_was_not_taken(
    double: ProlificDouble, client: Prolific
) -> None:
    name = _waiting(double)
    batch = client.set_up_bonuses(STUDY, [(name, 100)])
    troubles = ["429", "500 after"]
    double.trouble = lambda method, path: troubles.pop(0) if troubles else None
    with pytest.raises(UnclearResponseError):
        client.pay_bonuses(batch)
    assert double.paid() == {name: 100}


def test_nothing_is_followed(double: ProlificDouble, client: Prolific) -> None:
    double.trouble = lambda method, path: "redirect"
    with pytest.raises(PlatformError) as refusal:
        client.study(STUDY)
    assert refusal.value.status == 302


def test_token_goes_to_one_host_only() -> None:
    assert Prolific(TOKEN).host == HOST == "api.prolific.com"
    for host in ("example.org", "api.prolific.com.example.org", "127.0.0.1.example.org:80",
                 "127.0.0.1", "localhost:80", "10.0.0.1:80"):  # fmt: skip
        with pytest.raises(UnsafeInputError):
            Prolific(TOKEN, host)
    with pytest.raises(UnsafeInputError):
        Prolific("with a\r\nline")
    assert TOKEN not in repr(Prolific(TOKEN))


@pytest.mark.parametrize("name", ["../studies", "a/b", "", "a?b=c", "ä"])
def test_ids_lead_nowhere_else(name: str, client: Prolific) -> None:
    with pytest.raises(UnsafeInputError):
        client.submission(name)


def test_a_wrong_token_is_refused(double: ProlificDouble) -> None:
    with doubled(double) as host, pytest.raises(PlatformError) as refusal:
        Prolific("another-token", host).study(STUDY)
    assert refusal.value.status == 401


def test_a_server_that_says_nothing_is_not_waited_for() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        host = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(UnclearResponseError):
            Prolific(TOKEN, host, seconds=0.2).pay_bonuses("b")
