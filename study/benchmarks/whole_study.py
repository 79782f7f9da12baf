"""A study from nothing without a shell, with 200 people who leave in all ways (D1).

A browser makes the study at the desk, people walk by the pages, a double of Prolific is paid, the
export is downloaded and verified, the study is closed. Printed as JSON: people by way out, seconds,
load average, and what is wrong. Run, some minutes: python study/benchmarks/whole_study.py
"""

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from support.study.stepped_study import template_database  # noqa: E402
from support.study.study_browser import chromium  # noqa: E402
from support.study.whole_study import WholeStudy, play  # noqa: E402
from theodolite_study.local_postgres import create_cluster, create_database, open_cluster  # noqa: E402


def main(each: int, pilot: int) -> int:
    """Play it; 1 if anything is wrong."""
    begun = time.monotonic()
    place = Path(tempfile.mkdtemp(prefix="whole-study-"))
    (place / "store").mkdir()
    database = Path(tempfile.mkdtemp(prefix="whole-study-pg-"))
    create_cluster(database, durable=False)
    cluster = open_cluster(database)
    try:
        create_database(cluster, "whole", template_database(cluster))
        study = WholeStudy(cluster.database("whole"), place / "store", real=48, votes=5, quota=4)
        with chromium() as browser:
            wrong = play(study, browser, each=each, pilot=pilot)
        print(json.dumps({
            "people": sum(study.met.values()), "ways": study.met, "wrong": wrong,
            "votes": study.one("select count(*) from vote where counted"),
            "seconds": round(time.monotonic() - begun), "load": os.getloadavg(),
        }))  # fmt: skip
        study.close()
    finally:
        cluster.stop()
        shutil.rmtree(cluster.folder)
        shutil.rmtree(place)
    return int(bool(wrong))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--each", type=int, default=17, help="people for each way out")
    parser.add_argument("--pilot", type=int, default=10)
    given = parser.parse_args()
    raise SystemExit(main(given.each, given.pilot))
