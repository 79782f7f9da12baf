"""The door: who comes in and how, who is turned away, and what each way out says."""

import hashlib
import json
import re
import time
from collections.abc import Iterator
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from support.study.served_studies import (
    PLATFORM_STUDY,
    PersonBrowser,
    ServedStudies,
    prolific_link,
    served_studies,
)
from support.study.stepped_study import INSTRUMENT, template_database
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.money.platform_link import digest_submission
from theodolite_study.platforms.invitations import make_invitations
from theodolite_study.serve.cookies import ARRIVAL, FORM_COOKIE, SESSION
from theodolite_study.serve.previews import make_preview_link

SIGNED = {"access": {"kind": "prolific", "signed": True, "audience": PLATFORM_STUDY}}
CLAIMED = {"access": {"kind": "prolific", "signed": False}}
TURK = {"access": {"kind": "mturk", "sandbox": True}}
DOOR = [{"blocks": [{"name": "age", "kind": "number", "least": 0, "most": 120, "step": 1}]}]
ADULTS = {"screening": [{"when": {"block": "age", "op": "lt", "value": 18}}], "smallest_width": 600}


@pytest.fixture(scope="module")
def place(
    cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedStudies]:
    create_database(cluster, "door", template_database(cluster))
    with served_studies(cluster.database("door"), tmp_path_factory.mktemp("door")) as made:
        yield made


def said(page: Any) -> str:
    """What a page says, without its marks."""
    main = re.search(r"<main.*?</main>", page.text, re.S)[0]  # type: ignore[index]
    return " ".join(re.sub(r"<[^>]*>", " ", main).split())


def test_a_signed_link_lets_its_person_in_once(place: ServedStudies) -> None:
    study = place.study("signed", settings=SIGNED)
    ann, eve = place.browser(), place.browser()
    link = prolific_link("signed")
    ann.get(f"/s/signed{link}")
    assert "prolific_token" not in str(ann.page.url) and place.people(study) == 0
    ann.post("/s/signed/begin")
    assert ann.page.url.path == "/consent" and place.people(study) == 1
    ann.begins("signed", link)
    assert ann.page.url.path == "/consent", "the same browser"
    eve.begins("signed", link)
    assert eve.page.status_code == 403 and SESSION not in eve.cookies
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    forged = [
        prolific_link("signed", key=other), prolific_link("signed", exp=int(time.time()) - 5),
        prolific_link("signed", aud="https://evil.test/s/signed"), "?prolific_token=",
        f"?prolific_token={jwt.encode({'sub': 'x'}, '', algorithm='none')}",
        "?prolific_token=" + "x" * 9000, "?PROLIFIC_PID=a&STUDY_ID=b&SESSION_ID=c",
    ]  # fmt: skip
    for query in forged:
        assert eve.get(f"/s/signed{query}").status_code == 400
        assert ARRIVAL not in eve.page.headers.get("set-cookie", "")
    again = place.browser()
    again.begins("signed", prolific_link("signed", jti="2"))
    assert again.page.url.path == "/consent" and place.people(study) == 1, "another device"
    stored = place.run(
        "select submission, submission_digest, sealed_id from participant where study_id = %s",
        study.study,
    ).fetchone()
    assert place.keys.decrypt(stored[0], "signed") == "sub5f00aa11"
    assert stored[1] == digest_submission(place.keys, "sub5f00aa11")
    assert place.keys.decrypt(stored[2], "signed") == "5f00aa11"


def test_a_claimed_id_that_is_known_needs_the_code(place: ServedStudies) -> None:
    study = place.study("claimed", settings=CLAIMED)
    query = "?PROLIFIC_PID=5f00&STUDY_ID=60ff&SESSION_ID=7e00"
    ann, eve, bob = (place.browser() for _ in range(3))
    eve.begins("claimed", query)
    ann.begins("claimed", query)
    assert eve.get("/consent").status_code == 401, "who came under this name before is out"
    ann.post("/consent")
    assert ann.page.url.path.startswith("/a/")
    assert ann.get("/s/claimed").url.path.startswith("/a/"), "whoever is inside goes on"
    eve.begins("claimed", query)
    assert eve.page.url.path == "/s/claimed/again" and "5f00" not in eve.page.text
    eve.post("/s/claimed/begin", again="0000-0000")
    assert eve.page.status_code == 422 and f"{SESSION}=" not in str(eve.page.headers)
    person = place.one("select id from participant where study_id = %s", study.study)
    eve.post("/s/claimed/begin", again=place.keys.make_withdrawal_code(person).lower())
    assert eve.page.url.path.startswith("/a/") and place.people(study) == 1
    other = query.replace("5f00", "6a00")
    ann.begins("claimed", other)
    assert "You are taking part already" in ann.page.text and place.people(study) == 1
    assert ann.get("/go").url.path.startswith("/a/")
    ann.begins("claimed", other, instead="yes")
    assert ann.page.url.path == "/consent" and place.people(study) == 2
    for bad in ("?PROLIFIC_PID={{%PROLIFIC_PID%}}", "?PROLIFIC_PID=a%20b", "?PROLIFIC_PID="):
        assert bob.get(f"/s/claimed{bad}").status_code == 400
    assert place.client.head(f"/s/claimed{query}").status_code == 200
    bob.get("/s/claimed")
    assert "/begin" not in bob.page.text, "nobody begins without the platform"


def test_agreeing_ends_what_others_hold(place: ServedStudies) -> None:
    place.study("agreed", settings=SIGNED)
    ann, other = place.browser(), place.browser()
    ann.begins("agreed", prolific_link("agreed"))
    other.begins("agreed", prolific_link("agreed", jti="2"))
    ann.get("/consent")
    ann.post("/consent")
    assert other.get("/go").status_code == 401


def test_the_code_comes_before_the_first_item(place: ServedStudies) -> None:
    study = place.study("coded", settings={})
    ann, fresh = place.browser(), place.browser()
    ann.begins("coded")
    assert ann.get("/code").url.path == "/consent", "whoever has not agreed has none"
    agreed = ann.post("/consent", follow_redirects=False)
    assert (agreed.status_code, agreed.headers["location"]) == (303, "/code")
    page = ann.get("/code")
    link = re.search(r'href="([^"]+/s/coded/withdraw)#([^"]+)"', page.text)
    assert link is not None and f">{link[2]}</code>" in page.text and "<svg" in page.text
    file = ann.get("/code.txt")
    assert file.text.split() == [link[2], f"{link[1]}#{link[2]}"]
    assert "attachment" in file.headers["content-disposition"]
    ann.get("/go")
    ann.rates()
    fresh.get(link[1])
    assert 'id="code"' in fresh.page.text
    fresh.post("/withdraw", code=link[2])
    assert "is deleted" in said(fresh.page)
    left = "select count(*), count(*) filter (where state = 'withdrawn') from participant"
    assert place.run(f"{left} where study_id = %s", study.study).fetchone() == (1, 1)


def test_mechanical_turk(place: ServedStudies) -> None:
    study = place.study("turk", settings=TURK, instances=1, quota=1, places=1)
    looks = "?assignmentId=ASSIGNMENT_ID_NOT_AVAILABLE&hitId=H1"
    ann, bob = place.browser(), place.browser()
    ann.get(f"/s/turk{looks}")
    assert "This is a preview" in ann.page.text and "/begin" not in ann.page.text
    query = "?workerId=W1&assignmentId=A1&hitId=H1&turkSubmitTo=https://evil.test"
    framed = ann.get(f"/s/turk{query}", headers={"sec-fetch-dest": "iframe"})
    assert "window of its own" in framed.text and "<form" not in framed.text
    assert "frame-ancestors https://worker.mturk.com" in framed.headers["content-security-policy"]
    assert "x-frame-options" not in framed.headers and place.people(study) == 0
    ann.agrees("turk", query)
    ann.rates()
    assert ann.page.url.path == "/done"
    assert 'action="https://workersandbox.mturk.com/mturk/externalSubmit"' in ann.page.text
    assert 'name="assignmentId" value="A1"' in ann.page.text and "evil" not in ann.page.text
    assert "https://workersandbox.mturk.com" in ann.page.headers["content-security-policy"]
    person = place.one("select id from participant where study_id = %s", study.study)
    assert place.keys.make_completion_code("turk", person) in ann.page.text, "one's own code"
    bob.get(f"/s/turk{looks}")
    assert "All places are taken at the moment" in bob.page.text, "full before anybody accepts"


def test_invitations_are_for_one_person_each(place: ServedStudies) -> None:
    study = place.study("invited", settings={"access": {"kind": "invite"}})
    other = place.study("uninvited", settings={"access": {"kind": "invite"}})
    made = make_invitations(2)
    for digest in made.digests:
        place.run("insert into invite values (%s, %s)", digest, study.study)
    ann, bob = place.browser(), place.browser()
    for wrong in ("", "0000", made.codes[0][:-1]):
        ann.begins("invited", code=wrong)
        assert ann.page.status_code == 422 and "no such code" in ann.page.text
    ann.begins("uninvited", code=made.codes[0])
    assert ann.page.status_code == 422 and place.people(study) == place.people(other) == 0
    ann.begins("invited", code=made.codes[0].lower().replace("-", " "))
    assert ann.page.url.path == "/consent" and place.people(study) == 1
    bob.begins("invited", f"?code={made.codes[0]}")
    assert bob.page.url.path == "/consent" and made.codes[0] not in bob.page.text
    assert place.people(study) == 1, "the code is the person"
    bob.get("/consent")
    bob.post("/decline")
    assert "One fingerprint" in said(bob.page)
    ann.begins("invited", code=made.codes[0])
    assert ann.page.status_code == 409 and "cannot take part in it again" in said(ann.page)


def test_the_open_link_makes_one_person_a_browser(place: ServedStudies) -> None:
    study = place.study("open", settings={})
    ann = place.browser()
    ann.begins("open")
    ann.begins("open")
    assert ann.page.url.path == "/consent" and place.people(study) == 1
    assert place.one("select submission from participant where study_id = %s", study.study) is None
    landing = place.browser().get("/s/open", follow_redirects=False)
    for name, answer in ((FORM_COOKIE, landing),):
        (given,) = answer.headers.get_list("set-cookie")
        parts = {part.strip().lower() for part in given.split(";")[1:]}
        assert given.startswith(f"{name}=")
        assert {"httponly", "secure", "path=/", "samesite=lax"} <= parts
        assert not any(part.startswith("domain") for part in parts)
    assert place.browser().get("/s/nowhere").status_code == 404


@pytest.mark.parametrize(
    ("state", "words"),
    [("paused", "has a break"), ("closed", "is over"), ("archived", "is over"), ("draft", "not begun yet")],
)  # fmt: skip
def test_a_study_that_is_not_open_says_so(place: ServedStudies, state: str, words: str) -> None:
    study = place.study(f"is-{state}", settings=CLAIMED)
    ann = place.browser()
    ann.begins(study.slug, "?PROLIFIC_PID=5f00&STUDY_ID=60ff&SESSION_ID=7e00")
    place.run("update study set state = %s where id = %s", state, study.study)
    bob = place.browser()
    bob.get(f"/s/{study.slug}")
    assert words in said(bob.page) and "<form" not in bob.page.text
    ann.post("/consent")
    assert ann.page.status_code == 409
    assert place.one("select count(*) from consent c join participant p on p.id = c.participant_id"
                     " where study_id = %s", study.study) == 0  # fmt: skip


def reaches(ann: PersonBrowser, outcome: str) -> str:
    """The last page of somebody, and what it says."""
    assert ann.page.status_code == 200 and ann.page.url.path == "/done", ann.page.text
    kind = ann.place.one(
        "select outcome from participant order by outcome_at desc nulls last limit 1"
    )
    assert kind == outcome
    code = f"C{outcome.upper().replace('_', '')}"
    assert f"https://app.prolific.com/submissions/complete?cc={code}" in ann.page.text
    return said(ann.page)


def test_every_way_out_says_what_is_kept_and_paid(place: ServedStudies) -> None:
    """All outcomes by pages; each with its code and the way back."""
    rules = SIGNED | ADULTS | {
        "training": {"attempts": 1, "pass_mark": 0.5},
        "checks": {"every": 2, "allowed": 0, "then": "screen_out"},
    }  # fmt: skip
    study = place.study(
        "ways", settings=rules, instrument=INSTRUMENT | {"door": DOOR}, instances=8, votes=9,
        quota=3, gold=1, training=1,
    )  # fmt: skip
    names = iter(range(100))

    def comes(width: int = 1200, **fields: Any) -> PersonBrowser:
        ann = place.browser()
        client = json.dumps({"width": width, "pointer": "fine"})
        ann.begins("ways", prolific_link("ways", f"p{next(names)}"), client=client, **fields)
        return ann

    def passes(age: int = 30) -> PersonBrowser:
        ann = comes()
        ann.post("/consent")
        assert ann.page.url.path == "/stage/door"
        ann.post("/stage/door", age=str(age))
        return ann

    def works(votes: int = 0, practice: int = 5) -> PersonBrowser:
        ann = passes()
        ann.rates(practice)
        ann.post("/practice/end")
        for _ in range(votes):
            ann.rates(5)
        return ann

    before = place.people(study)
    narrow = comes(width=400)
    assert "needs another device" in said(narrow.page) and "Nothing about you is kept" in said(
        narrow.page
    )
    assert "cc=CWRONGDEVICE" in narrow.page.text and place.people(study) == before
    text = reaches(passes(age=12), "screened_out")
    assert "for other people" in text and "£0.30" in text and "take your answers back" in text
    text = reaches(works(practice=1), "failed_practice")
    assert "practice did not work out" in text and "£0.30" in text
    ann = works(3)
    while ann.page.url.path != "/done":
        ann.rates(5)
    assert "£4.00" in reaches(ann, "finished")
    ann = works(2)
    ann.rates(1)  # the hidden check
    text = reaches(ann, "failed_checks")
    assert "£2.66" in text
    ann = works(1)
    ann.get("/stop")
    assert "£1.33" in ann.page.text
    ann.post("/stop")
    assert "£1.33" in reaches(ann, "stopped")
    ann = comes()
    ann.post("/decline")
    assert "You did not agree" in said(ann.page) and "Nothing is paid" in said(ann.page)
    assert "cc=CDECLINED" in ann.page.text
    for paid, amount in (("yes", "£1.33"), ("no", "Nothing is paid")):
        ann = works(1)
        ann.get("/withdraw")
        ann.post("/withdraw", paid=paid)
        assert "is deleted" in said(ann.page) and amount in said(ann.page)
        assert ("30 days" in said(ann.page)) == (paid == "yes")
        assert "cc=CWITHDRAWN" in ann.page.text and ann.get("/done").status_code == 401
    for outcome, words in (("returned", "You returned"), ("timed_out", "time at the platform")):
        ann = works(1)
        person = place.one(
            "select submission_digest from participant order by created_at desc limit 1"
        )
        place.run("select job_out(%s, %s)", person, outcome)
        ann.get("/go")
        assert words in reaches(ann, outcome)
    ann = works(1)
    place.run("update study set state = 'closed' where id = %s", study.study)
    ann.get("/next")
    assert "The study is over" in said(ann.page)
    ann.get("/finish")
    assert "£4.00" in reaches(ann, "ran_out"), "not their fault"
    assert place.one("select count(*) from door where version_id = %s and available <>"
                     " st_available(version_id)", study.version) == 0  # fmt: skip


def test_full_at_the_door_and_after_waiting_too_long(place: ServedStudies) -> None:
    study = place.study("full", settings=SIGNED, places=1, instances=1, quota=1)
    ann, bob = place.browser(), place.browser()
    ann.begins("full", prolific_link("full", "a"))
    bob.get(f"/s/full{prolific_link('full', 'b')}")
    assert "this page looks again every minute" in said(bob.page)
    assert bob.page.headers["refresh"].startswith("60; url=/s/full?")
    bob.get("/s/full?looked=15")
    assert "All places of this study are taken" in said(bob.page)
    assert "refresh" not in bob.page.headers
    assert "cc=CFULL" in bob.page.text and "Nothing about you was kept" in said(bob.page)
    place.run("update participant set alive_until = clock_timestamp() - interval '1 second'"
              " where version_id = %s", study.version)  # fmt: skip
    bob.begins("full", prolific_link("full", "b"))
    assert bob.page.url.path == "/consent"
    ann.get("/consent")
    ann.post("/consent")
    assert "Nothing about you is kept" in said(ann.page) and "cc=CFULL" in ann.page.text
    assert place.people(study) == 1
    bob.post("/consent")
    bob.rates()
    assert bob.page.url.path == "/done"


def test_previews_take_no_seat(place: ServedStudies) -> None:
    """Also of a draft, whose words nobody else may read."""
    study = place.study("looked", settings=SIGNED, instances=2, quota=2)
    place.run("alter table version disable trigger version_frozen")
    place.run("update version set state = 'draft' where id = %s", study.version)
    ends = time.time() + 600
    link = make_preview_link(place.keys, "looked", study.version, "", "de", ends)
    ann = place.browser()
    ann.get(link)
    assert place.people(study) == 0, "looking begins nothing"
    ann.post(link)
    assert ann.page.url.path == "/consent" and "Vorschau" in ann.page.text
    ann.post("/consent")
    for _ in range(2):
        assert ann.page.url.path.startswith("/a/") and "Vorschau" in ann.page.text
        ann.rates()
    assert ann.page.url.path == "/done" and "Vorschau" in ann.page.text
    assert (
        place.one("select count(*) from slot where study_id = %s and state <> 'open'", study.study)
        == 0
    )
    assert (
        place.one(
            "select count(*) from place where version_id = %s and state <> 'open'", study.version
        )
        == 0
    )
    assert place.one("select count(*) from vote v join participant p on p.id = v.participant_id"
                     " where study_id = %s", study.study) == 0  # fmt: skip
    bad = [
        link.replace("language=de", "language=en"), link[:-1], link.replace("looked", "full"),
        make_preview_link(place.keys, "looked", study.version, "", "de", time.time() - 1),
        make_preview_link(place.keys, "looked", study.version, "", "de", time.time() + 2 * 86400),
    ]  # fmt: skip
    for other in bad:
        assert place.browser().get(other).status_code == 404
    place.run("alter table version enable trigger version_frozen")
    bob = place.browser()
    place.study("seen")
    bob.agrees("seen")
    session = hashlib.sha256(bob.cookies[SESSION].encode()).digest()
    assert place.one("select st_preview(%s)", session) == {"word": "nobody"}


def test_image_addresses_are_of_one_session(place: ServedStudies) -> None:
    place.study("images")
    ann, bob = place.browser(), place.browser()
    ann.agrees("images")
    (address,) = re.findall(r'src="(/p/[^"]+)"', ann.page.text)
    bob.agrees("images")
    assert ann.get(address).status_code == 200
    assert bob.get(address).status_code == 404, "copied to another session"
    expiry = address.split("/")[2]
    older = address.replace(expiry, str(int(time.time()) - 1))
    assert ann.get(older).status_code == 404
    assert place.browser().get(address).status_code == 401
