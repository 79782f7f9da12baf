"""Every page, for people at each step: one table of who gets what, held against the routes."""

from collections.abc import Iterator
from typing import Any

import pytest

from support.study.served_studies import PersonBrowser, ServedStudies, served_studies
from support.study.stepped_study import INSTRUMENT, template_database
from theodolite_study.local_postgres import LocalPostgres, create_database

DOOR = [{"blocks": [{"name": "age", "kind": "number", "least": 0, "most": 120, "step": 1}]}]
PLACES = {
    "C": "/consent", "D": "/stage/door", "T": "/practice", "G": "/go", "N": "/next", "A": "/a/",
    "E": "/done", "W": "/wait", "F": "/finish",
}  # fmt: skip
"""Where answers lead; numbers are answers themselves."""
# steps:                     nobody landed door   training item   done
TABLE = """
/s/{slug}                    200    200    G      G        G      G
/s/{slug}/again              200    G      G      G        G      G
/s/{slug}/preview            404    404    404    404      404    404
/consent                     401    200    G      G        G      G
/code                        401    G      200    200      200    200
/code.txt                    401    404    200    200      200    200
/s/{slug}/withdraw           200    200    200    200      200    200
/go                          401    C      D      T        N      E
/stage/{stage}               401    G      200    G        G      G
/practice                    401    G      G      200      200    200
/practice/{number:short}     401    G      G      200      200    200
/next                        401    G      G      G        A      E
/a/{item:long}               401    404    404    404      200    200
/p/{expiry}/{mac}/{file}     401    404    404    404      404    404
/finish                      401    G      G      G        G      E
/stop                        401    G      200    200      200    E
/done                        401    G      G      G        G      200
/withdraw                    200    200    200    200      200    200
/wait                        401    200    200    200      200    200
/closed                      401    200    200    200      200    200
/static/{name}               200    200    200    200      200    200
/healthz                     200    200    200    200      200    200
/readyz                      200    200    200    200      200    200
"""


@pytest.fixture(scope="module")
def place(
    cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedStudies]:
    create_database(cluster, "routes", template_database(cluster))
    with served_studies(cluster.database("routes"), tmp_path_factory.mktemp("s")) as made:
        yield made


def at_each_step(place: ServedStudies) -> dict[str, PersonBrowser]:
    """People, each as far as a step."""
    place.study(
        "small", instances=2, votes=9, quota=1, training=1, instrument=INSTRUMENT | {"door": DOOR}
    )
    steps = ("nobody", "landed", "door", "training", "item", "done")
    people = {step: place.browser() for step in steps}
    for number, (step, ann) in enumerate(people.items()):
        if number > 0:
            ann.begins("small")
        if number > 1:
            ann.post("/consent")
        if number > 2:
            ann.post("/stage/door", age="30")
        if number > 3:
            ann.rates(5)
            ann.post("/practice/end")
        if step == "done":
            ann.rates()
            assert ann.page.url.path == "/done"
    return people


def found(ann: PersonBrowser, address: str) -> str:
    answer: Any = ann.get(address, follow_redirects=False)
    to = answer.headers.get("location", "")
    return next((letter for letter, where in PLACES.items() if to.startswith(where)), "") or str(
        answer.status_code
    )


def test_who_gets_what_by_looking(place: ServedStudies) -> None:
    people = at_each_step(place)
    items = {"item": people["item"].page.url.path.split("/")[-1]}
    items["done"] = str(place.one("select max(assignment_id) from vote"))
    table = {line.split()[0]: line.split()[1:] for line in TABLE.strip().splitlines()}
    looked = [r.path for r in place.app.routes if "GET" in (getattr(r, "methods", None) or ())]
    assert sorted(table) == sorted(looked), "every route is in the table"
    wrong = {}
    for path, expected in table.items():
        for (step, ann), answer in zip(people.items(), expected, strict=True):
            address = (
                path.replace("{slug}", "small").replace("{stage}", "door")
                .replace("{number:short}", "1").replace("{name}", "pages.css")
                .replace("{item:long}", items.get(step, items["item"]))
            )  # fmt: skip
            came = found(ann, address)
            if came != answer:
                wrong[path, step] = came
    assert wrong == {}
