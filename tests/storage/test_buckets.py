"""Buckets through obstore: many ranges at once, conditions that hold, and faults that pass."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.servers.atomic_s3 import OutlivedServer, atomic_s3, counted
from theodolite._storage.buckets import objects
from theodolite._storage.buckets.client import get_client
from theodolite._storage.buckets.ranges import MOST_GAP, plan_spans
from theodolite._storage.stores import Store
from theodolite.errors import EvidenceError, UnsafeInputError

Served = Callable[..., AbstractContextManager[dict[str, str]]]


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    """Starts a server of our own, and has this process use it."""
    pytest.importorskip("obstore")
    pytest.importorskip("aiohttp")

    @contextmanager
    def start(*arguments: float, **options: bool) -> Iterator[dict[str, str]]:
        with atomic_s3(*arguments, **options) as environment:
            for name, value in environment.items():
                monkeypatch.setenv(name, value)
            yield environment

    return start


def test_ranges_come_in_order_and_at_once(served: Served) -> None:
    with served(0.1) as environment:
        store = Store.at("s3://bucket/part")
        contents = {f"{i}": bytes([i]) * 300_000 for i in range(20)}
        for name, content in contents.items():
            store.write(name, content)
        counted(environment)
        names = [*contents, *reversed(contents)]
        parts = store.read_ranges([(name, 7, 200_000 + int(name)) for name in names])
        assert [bytes(part) for part in parts] == [
            contents[name][7 : 200_007 + int(name)] for name in names
        ]
        # the same bytes twice are one request
        assert counted(environment) == {"GET": 20, "at_once": 20}
        assert store.read("3") == contents["3"]
        assert counted(environment) == {"GET": 1, "at_once": 1}  # no HEAD before it
        with pytest.raises(UnsafeInputError, match="cut off"):
            store.read_ranges([("1", 0, 5), ("2", 299_999, 2)])
        with pytest.raises(UnsafeInputError, match="nothing there"):
            store.read_ranges([("1", 0, 5), ("none", 0, 2)])


@settings(max_examples=200, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.integers(0, 400_000), st.integers(0, 200_000)),
        max_size=12,
    )
)
def test_what_is_joined_wastes_little(ranges: list[tuple[str, int, int]]) -> None:
    spans = plan_spans(ranges)
    assert sorted(n for span in spans for n in span.members) == list(range(len(ranges)))
    for span in spans:
        own = sorted(ranges[n][1:] for n in span.members)
        assert all(ranges[n][0] == span.name for n in span.members)
        assert (span.start, span.end) == (own[0][0], max(a + n for a, n in own))
        assert span.end - span.start <= 1.25 * sum(n for _, n in own)
        reached = own[0][0]
        for start, length in own:
            assert start - reached < MOST_GAP
            reached = max(reached, start + length)


def raced(store: Store, n: int = 8) -> list[bool]:
    with ThreadPoolExecutor(n) as pool:
        return list(pool.map(lambda i: store.create("header", f"{i}".encode()), range(n)))


def test_one_of_many_creates(tmp_path: Path, served: Served) -> None:
    for round_ in range(20):
        store = Store.at(tmp_path / f"{round_}")
        winners = raced(store)
        assert winners.count(True) == 1
        assert store.read("header") == f"{winners.index(True)}".encode()
        assert store.names() == ["header"]
    with served():
        for round_ in range(5):
            store = Store.at(f"s3://bucket/{round_}")
            winners = raced(store)
            assert winners.count(True) == 1
            assert store.read("header") == f"{winners.index(True)}".encode()


def test_replaced_only_while_it_is_known(store: Store) -> None:
    assert store.create("a", b"1") and not store.create("a", b"2")
    assert store.replace("a", b"2", b"1") and not store.replace("a", b"3", b"1")
    assert store.read("a") == b"2"
    assert store.keeps_conditions("probe")


def test_a_gateway_that_drops_conditions_is_seen(served: Served) -> None:
    with served(0.0, 0.0, drops_conditions=True):
        assert not Store.at("s3://bucket/x").keeps_conditions("probe")


def test_faults_pass(served: Served) -> None:
    """Nearly a third of all requests fail, and nothing is lost."""
    with served(0.0, 0.3):
        store = Store.at("s3://bucket/part")
        for i in range(12):
            store.write(f"{i}", bytes([i]) * 10)
        assert len(store.names()) == 12
        parts = store.read_ranges([(f"{i}", 0, 10) for i in range(12)])
        assert [bytes(part) for part in parts] == [bytes([i]) * 10 for i in range(12)]


def test_a_store_that_is_away_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    pytest.importorskip("aiohttp")
    server = OutlivedServer(tmp_path)
    try:
        for name, value in server.environment.items():
            monkeypatch.setenv(name, value)
        store = Store.at("s3://bucket/x")
        store.write("a", b"content")
        server.stop()
        again = threading.Timer(1.5, server.start)
        again.start()
        assert bytes(store.read("a")) == b"content"
        again.join()
    finally:
        server.stop()


def test_an_object_with_416_in_its_name_is_not_taken_for_cut_off(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(objects, "PATIENT_TRIES", 1)
    with served(0.0, 1.0), pytest.raises(EvidenceError, match="a store that answers"):
        Store.at("s3://bucket/416").read("416")


def test_plain_http_only_where_the_user_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "b")
    for endpoint, allowed in (("http://127.0.0.1:9", "true"), ("https://127.0.0.1:9", None)):
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        assert get_client("s3", "bucket").client_options.get("allow_http") == allowed


def test_azure_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore")
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    assert str(Store.at("az://container/x")) == "az://container/x"
    with pytest.raises(EvidenceError, match="file 'a' of 'az://container/x'"):
        Store.at("az://container/x").read("a")
