import os
from pathlib import Path

import pytest
from support.study.played_races import played
from support.study.stepped import stepped
from support.study.study_races import RACES, set_up

from theodolite_study.database import Database

SCHEDULES = int(os.environ.get("THEODOLITE_STUDY_SCHEDULES", "5"))
"""Of each race; 0: all of those with at most three changes from one to the other."""


@pytest.mark.parametrize("name", RACES)
def test_every_order_of_statements_ends_well(
    name: str, empty_database: Database, tmp_path: Path
) -> None:
    play = set_up(empty_database, tmp_path / "s", RACES[name])
    with stepped(empty_database) as scheduler:
        assert played(play, RACES[name], scheduler, seed=name, most=SCHEDULES) > min(SCHEDULES, 9)
