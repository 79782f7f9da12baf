"""What the pages of the desk say and do, with people, votes and payments in the database."""

import html
import re
from collections.abc import Iterator
from functools import partial
from itertools import count
from pathlib import Path
from uuid import uuid4

import pytest

from support.study.desk_browser import (
    HOSTILE,
    ORIGIN,
    SECRET_ANSWER,
    DeskWorld,
    home,
    played,
    send,
)
from support.study.stepped_study import SteppedStudy, template_database
from theodolite_study.desk.export_routes import stream_archive
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.money.platform_link import PlatformLink, load_linked_studies
from theodolite_study.watch.participants import list_people

_numbers = count()


@pytest.fixture(scope="module")
def world(cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DeskWorld]:
    name = f"desk_work{next(_numbers)}"
    create_database(cluster, name, template_database(cluster))
    made = DeskWorld(cluster.database(name), tmp_path_factory.mktemp("desk"))
    with made.visitor:
        yield made
    made.close()


@pytest.fixture
def study(world: DeskWorld) -> SteppedStudy:
    return played(world, f"s{next(_numbers)}")


def test_pages_say_what_is(world: DeskWorld, study: SteppedStudy) -> None:
    owner = world.browser("ada", slug=study.slug, role="owner")
    first = owner.get("/").text
    assert "3 of 8 votes" in first and "1 payment not made yet" in first
    live = owner.get(f"{home(study)}/live?refresh=1").text
    assert "3 of 8 votes" in live and "Seconds to the ratings" in live
    assert '<meta http-equiv="refresh" content="30">' in live
    everybody = owner.get(f"{home(study)}/people").text
    assert f"p-ann {study.slug}" in everybody and f"p-ben {study.slug}" in everybody
    left = owner.get(f"{home(study)}/people?outcome=finished").text
    assert f"p-ann {study.slug}" in left and f"p-ben {study.slug}" not in left
    person = owner.get(f"{home(study)}/people/p-ann {study.slug}").text
    assert ">vote<" in person and "finished" in person
    pay = owner.get(f"{home(study)}/pay").text
    assert "£4.00" in pay and "submission-" not in pay
    for page in (first, live, everybody, left, person, pay, owner.get(f"{home(study)}/log").text):
        assert HOSTILE not in page and "&lt;script&gt;" in page
        assert SECRET_ANSWER not in page
    viewer = world.browser("vic", slug=study.slug, role="viewer").get(f"{home(study)}/live").text
    assert "3 of 8 votes" in viewer and "Seconds to" not in viewer and "signs" not in viewer


def test_pages_of_people_and_log(
    world: DeskWorld, study: SteppedStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = world.browser("ada", slug=study.slug, role="owner")
    monkeypatch.setattr("theodolite_study.desk.log_routes.PAGE_SIZE", 5)
    monkeypatch.setattr(
        "theodolite_study.desk.people_routes.list_people", partial(list_people, limit=1)
    )
    ann, ben = f"p-ann {study.slug}", f"p-ben {study.slug}"
    first = browser.get(f"{home(study)}/people")
    assert ann in first.text and f">{ben}<" not in first.text
    more = html.unescape(first.text.split('class="button" href="')[1].split('"')[0])
    second = browser.get(more).text
    assert f">{ben}<" in second and f">{ann}<" not in second and "More people" not in second
    send(browser, "/", f"{home(study)}/pause")
    seen, address = 0, f"{home(study)}/log"
    while address:
        page = browser.get(address).text
        seen += page.count('<td class="wrap">')
        address = html.unescape((page.split('class="button" href="')[1:] or [""])[0].split('"')[0])
    assert seen == study.one("select count(*) from log where study_id = %s", study.study) > 10
    by_staff = browser.get(f"{home(study)}/log?staff=1").text
    assert "state: paused" in by_staff and by_staff.count('<td class="wrap">') == 1
    left = browser.get(f"{home(study)}/log?kind=left").text
    assert "outcome: finished" in left and left.count('<td class="wrap">') == 1
    assert browser.get(f"{home(study)}/log?kind=x&before=y").status_code == 200


def test_votes_are_taken_out_and_seats_open_again(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("ada", slug=study.slug, role="researcher")
    page = f"{home(study)}/people/p-ann {study.slug}"
    assert send(browser, page, f"{page}/take-out", reason="x").status_code == 422
    assert study.broken() == []
    said = send(browser, page, f"{page}/take-out", reason="wrote nonsense")
    assert "2 votes no longer count." in said.text
    assert study.broken() == []
    counted = "select count(*) from vote v join participant p on p.id = v.participant_id" \
              " where p.study_id = %s and v.counted"  # fmt: skip
    assert study.one(counted, study.study) == 1
    tally = "select sum(n) from tally where version_id = %s and what = %s"
    assert study.one(tally, study.version, "votes") == 1
    assert study.one(tally, study.version, "surplus") == 2
    detail = study.one("select detail from log where kind = 24 and study_id = %s", study.study)
    assert detail == {"votes": 2, "reason": "wrote nonsense"}


def test_items_of_one_person(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("ada", slug=study.slug, role="owner")
    page = f"{home(study)}/people/p-ben {study.slug}"
    for items, fits in ((4, True), (1, True), (100, False), (2, True)):
        got = send(browser, page, f"{page}/quota", items=str(items))
        assert (got.status_code == 200) == fits, items
        assert study.broken() == [], items
    out = f"{home(study)}/people/p-ann {study.slug}"
    assert send(browser, page, f"{out}/quota", items="3").status_code == 422, "they have left"


def test_pay_by_hand(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("ada", slug=study.slug, role="owner")
    page = f"{home(study)}/pay"
    payout = study.one("select id from payout where study_id = %s", study.study)
    shown = send(browser, page, f"{page}/{payout}/id")
    assert f"submission-{study.slug}" in shown.text
    assert study.one("select count(*) from log where kind = 30 and study_id = %s", study.study) == 1
    assert send(browser, page, f"{page}/{payout}", how="void").status_code == 422, "why"
    assert send(browser, page, f"{page}/{payout}", how="retry").status_code == 422, "not failed"
    study.connection.execute("update payout set state = 'sending' where id = %s", (payout,))
    study.connection.execute("update payout set state = 'failed' where id = %s", (payout,))
    assert "1 payment failed" in browser.get("/").text
    send(browser, page, f"{page}/{payout}", how="retry")
    assert study.one("select state from payout where id = %s", payout) == "owed"
    send(browser, page, f"{page}/{payout}", how="paid", reason="cash in hand")
    assert study.one("select state from payout where id = %s", payout) == "confirmed"
    assert send(browser, page, f"{page}/{payout}", how="void", reason="again").status_code == 422
    kinds = study.connection.execute(
        "select detail ->> 'how' from log where kind = 26 and study_id = %s order by id",
        (study.study,),
    ).fetchall()
    assert kinds == [("retry",), ("paid",)]


def test_prolific_is_joined_and_its_token_never_shown(
    world: DeskWorld, study: SteppedStudy
) -> None:
    browser = world.browser("ada", slug=study.slug, role="owner")
    page, external = f"{home(study)}/pay", uuid4().hex[:24]
    fields = {"external_id": external, "token": "token-of-mine", "secret": "secret-of-mine"}
    after = send(browser, page, f"{page}/platform", **fields)
    assert external in after.text and "of-mine" not in after.text
    links = {link.slug: link for link in load_linked_studies(world.connection, world.keys)}
    expected = PlatformLink(study.study, study.slug, external, "token-of-mine", "secret-of-mine")
    assert links[study.slug] == expected
    assert "of-mine" not in browser.get(f"{home(study)}/log").text


def test_a_study_closes_after_its_payments(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("ada", slug=study.slug, role="owner")
    page = f"{home(study)}/close"
    assert "1 payment not settled" in browser.get(page).text
    assert send(browser, page, page, state="closed", name="other").status_code == 409
    got = send(browser, page, page, state="closed", name=study.slug)
    assert got.status_code == 409 and "payments are not settled" in got.text
    assert study.one("select outcome from participant where pseudonym = %s",
                     f"p-ben {study.slug}") is None, "nothing was done"  # fmt: skip
    study.person(f"ben {study.slug}")
    study.connection.execute(
        "update participant set outcome = 'stopped', state = 'finished' where pseudonym = %s",
        (f"p-ben {study.slug}",),
    )
    got = send(browser, page, page, state="closed", name=study.slug, void="yes")
    assert "The study is closed." in got.text
    left = "select count(*) from participant where study_id = %s and sealed_id is not null"
    assert study.one(left, study.study) == 0
    assert study.one("select state from payout where study_id = %s", study.study) == "void"
    assert send(browser, page, page, state="archived", name=study.slug).status_code == 200
    assert study.one("select state from study where id = %s", study.study) == "archived"


def test_there_is_always_an_owner(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("ada", slug=study.slug, role="owner")
    page = f"{home(study)}/members"
    ada = world.account("ada")
    for role in ("viewer", "none"):
        assert send(browser, page, f"{page}/{ada}", role=role).status_code == 422
    name = f"new {study.slug}"
    made = send(browser, page, page, name=name, role="owner")
    link = re.search(rf"{ORIGIN}/enroll/[\w-]+", made.text)
    assert link is not None and link[0] not in browser.get(page).text
    again = send(browser, page, page, name=name, role="viewer")
    assert "/enroll/" in again.text, "the first one was not used"
    study.connection.execute("update staff set password_hash = 'x' where name = %s", (name,))
    again = send(browser, page, page, name=name, role="viewer")
    assert "/enroll/" not in again.text, "no link takes over an account that is there"
    role = "select role from member m join staff s on s.id = m.staff_id where s.name = %s"
    assert study.one(role, name) == "owner", "adding changes no role"
    assert send(browser, page, f"{page}/{ada}", role="viewer").url.path == "/"
    assert browser.get(page).status_code == 403
    kinds = study.one("select count(*) from log where kind = 23 and study_id = %s", study.study)
    assert kinds == 4


def test_no_link_takes_over_an_account(world: DeskWorld, study: SteppedStudy) -> None:
    owner = world.browser("ada", slug=study.slug, role="owner")
    page, run = f"{home(study)}/members", study.connection.execute
    other = played(world, f"s{next(_numbers)}")
    world.browser(f"bob {study.slug}", slug=other.slug, role="viewer")
    world.account(f"opa {study.slug}", operator=True)
    world.account(f"old {study.slug}")
    for name in ("bob", "opa"):
        for _ in range(2):
            added = send(owner, page, page, name=f"{name} {study.slug}", role="viewer")
            assert added.status_code == 200 and "/enroll/" not in added.text, name
    run("update staff set disabled = true where name = %s", (f"old {study.slug}",))
    assert send(owner, page, page, name=f"old {study.slug}", role="viewer").status_code == 422
    operator = world.browser("oda", operator=True)
    for name in ("bob", "opa"):
        made = send(operator, "/server", "/server/links", name=f"{name} {study.slug}")
        assert made.status_code == 422, name


def test_exports_are_listed_and_viewers_see_aggregates(
    world: DeskWorld, study: SteppedStudy, tmp_path: Path
) -> None:
    owner = world.browser("ada", slug=study.slug, role="owner")
    viewer = world.browser("vic", slug=study.slug, role="viewer")
    page = f"{home(study)}/export"
    assert send(owner, page, page).status_code == 200
    assert send(owner, page, page).status_code == 422, "one is on its way"
    number = study.one(
        "update export_request set state = 'done', ended_at = now(), manifest_sha256 = sha256('x')"
        " where study_id = %s returning id", study.study,
    )  # fmt: skip
    folder = world.settings.folder / "exports" / f"{study.slug}-{number}"
    folder.mkdir(parents=True)
    for name in ("votes.csv", "aggregates.csv"):
        (folder / name).write_text(name)
    (folder / "manifest.json").write_text('{"files": {"votes.csv": "f00d"}}')
    (folder / "link").symlink_to(world.settings.folder / "keys.json")
    listed = owner.get(page).text
    assert "f00d" in listed and "votes.csv" in listed and "keys" not in listed
    assert owner.get(f"{page}/{number}/votes.csv").text == "votes.csv"
    for name in ("link", "..%2F..%2Fkeys.json", "nothing"):
        assert owner.get(f"{page}/{number}/{name}").status_code == 404, name
    packed = owner.get(f"{page}/{number}/all.zip")
    assert packed.headers["content-type"] == "application/zip" and packed.content[:2] == b"PK"
    assert b"".join(stream_archive(folder, ["votes.csv"], "x"))[:2] == b"PK"
    assert "votes.csv" not in viewer.get(page).text
    assert viewer.get(f"{page}/{number}/aggregates.csv").text == "aggregates.csv"
    assert viewer.get(f"{page}/{number}/votes.csv").status_code == 404
    assert viewer.get(f"{page}/{number}/all.zip").status_code == 403
    other = world.browser("bob", slug=played(world, f"s{next(_numbers)}").slug, role="owner")
    address = other.get("/").text.split('href="/studies/')[1].split('"')[0]
    assert other.get(f"/studies/{address}/export/{number}/votes.csv").status_code == 404


def test_operators_see_the_server_and_no_people(world: DeskWorld, study: SteppedStudy) -> None:
    browser = world.browser("opa", operator=True)
    page = browser.get("/server").text
    assert world.keys.id in page and study.slug in page and "never" in page
    assert "p-ann" not in page and SECRET_ANSWER not in page
    assert send(browser, "/server", f"{home(study)}/pause").url.path == "/server"
    assert study.one("select state from study where id = %s", study.study) == "paused"
    assert send(browser, "/server", f"{home(study)}/resume").status_code == 403
    made = send(browser, "/server", "/server/links", name=f"new {study.slug}")
    assert f"{ORIGIN}/enroll/" in made.text
    assert send(browser, "/server", "/server/links", name="opa").status_code == 422
    victim = world.browser("vera")
    assert victim.get("/").status_code == 200
    send(browser, "/server", f"/server/accounts/{world.account('vera')}/disable")
    assert victim.get("/").url.path == "/sign-in"
