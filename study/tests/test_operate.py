"""Figures that name nobody, what was done when, and exports that wait."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from support.study.stepped_study import SteppedStudy


@pytest.fixture
def connection(second_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(second_url, autocommit=True) as opened:
        yield opened


def test_figures_of_a_walk(connection: psycopg.Connection[Any]) -> None:
    study = SteppedStudy(connection, instances=2, votes=2, quota=2)
    ann = study.person("ann").begins()
    for _ in range(2):
        ann.votes(ann.next()["item"])
    ann.leaves()
    connection.execute("set role theodolite_jobs")
    connection.execute("select op_note('backup', '{}')")
    connection.execute("select op_count()")
    connection.execute("set role theodolite_serve")
    figures = study.one("select op_figures()")
    (counted,) = figures["studies"]
    assert counted["tally"] == {"arrived": 1, "votes": 2, "out finished": 1}
    assert figures["counted"]["seats"] == {"s": {"open": 2, "filled": 2}}
    assert figures["counted"]["payouts"] == {"s": {"owed": 1}}
    assert set(figures["ages"]) == {"backup", "figures"}
    assert figures["events"] == {"waiting": 0, "lag": 0}
    for refused in ("select op_count()", "select op_note('backup', '{}')", "table operation"):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(refused)
