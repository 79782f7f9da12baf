"""The desk: who may do what, from which page, and what its login cannot do."""

from collections.abc import Iterator
from itertools import count

import pytest
from starlette.testclient import TestClient

from support.study.desk_browser import DeskWorld
from support.study.stepped_study import second_form
from theodolite_study.local_postgres import LocalPostgres, cluster_has_database

_numbers = count()


@pytest.fixture(scope="module")
def world(cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskWorld]:
    name = f"desk{next(_numbers)}"
    cluster_has_database(cluster, name, second_form(cluster))
    made = DeskWorld(cluster.database(name), tmp_path_factory.mktemp("desk"))
    made.study("mine")
    made.study("theirs")
    with made.visitor:
        yield made
    made.close()


def test_studies_are_ones_own(world: DeskWorld) -> None:
    page = world.browser("ada", slug="mine", role="owner").get("/")
    assert page.status_code == 200
    assert "/studies/mine" in page.text and "/studies/theirs" not in page.text


def test_who_has_not_signed_in_is_led_there(world: DeskWorld) -> None:
    page = TestClient(world.app, base_url="https://desk.example.org").get("/")
    assert page.url.path == "/sign-in" and page.status_code == 200
