"""Steps of two or three people at once, in many orders of the statements inside of their functions."""

import os
from collections.abc import Iterator

import psycopg
import pytest

from support.study.gates import Gates, gates
from support.study.step_races import RACES, played

ORDERS = int(os.environ.get("THEODOLITE_STUDY_ORDERS", "1"))
"""Of each race, beside those one after the other; 0: all with at most three changes."""
NAMES = list(RACES) if "THEODOLITE_STUDY_ORDERS" in os.environ else list(RACES)[::3]
"""All races take two minutes: a third of them, else."""


@pytest.fixture(scope="module")
def gate(module_database_url: str) -> Iterator[Gates]:
    with gates(module_database_url) as made:
        yield made


@pytest.mark.parametrize("name", NAMES)
def test_every_order_of_statements_ends_well(
    name: str, gate: Gates, module_database_url: str
) -> None:
    with psycopg.connect(module_database_url, autocommit=True) as connection:
        done = played(connection, RACES[name], gate, name=name, most=ORDERS)
        assert done >= 2 + min(ORDERS, 1)
