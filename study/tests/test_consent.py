"""What people agreed to is what was shown, byte for byte, in every language and version."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from support.study.served_studies import PersonBrowser, ServedStudies, served_studies
from support.study.stepped_study import SteppedStudy, template_database
from theodolite_study.local_postgres import LocalPostgres, create_database
from theodolite_study.model.markdown import extract_consent
from theodolite_study.serve import consent_routes
from theodolite_study.store.drafts import copy_version, put_consent
from theodolite_study.store.opening import open_version

LANGUAGES = ("en", "de")
UNDER = (
    "select array_agg(encode(c.form_sha256, 'hex') order by v.at) from vote v join consent c"
    " on c.participant_id = v.participant_id and c.version_id = v.version_id"
    " join participant p on p.id = v.participant_id where p.study_id = %s"
)
"""The digest under which each vote was given."""


@pytest.fixture(scope="module")
def place(
    cluster: LocalPostgres, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ServedStudies]:
    create_database(cluster, "consent", template_database(cluster))
    with served_studies(cluster.database("consent"), tmp_path_factory.mktemp("s")) as made:
        yield made


def next_version(study: SteppedStudy, text: str, **more: Any) -> int:
    """Another consent, open; the version before it takes nobody new."""
    draft = study.one("select max(id) from version where study_id = %s", study.study)
    with study.connection.transaction():
        version = copy_version(study.connection, draft)
        for language in LANGUAGES:
            put_consent(study.connection, version, language, f"{text} ({language})", **more)
        open_version(study.connection, version)
    return version


def shown_on(page: Any) -> str:
    return hashlib.sha256(extract_consent(page.content)).hexdigest()


def recorded(study: SteppedStudy) -> str:
    """The digest of the last consent."""
    query = (
        "select encode(form_sha256, 'hex') from consent c join participant p"
        " on p.id = c.participant_id where study_id = %s order by given_at desc limit 1"
    )
    return str(study.one(query, study.study))


def test_what_is_recorded_is_the_slice_of_the_page(place: ServedStudies) -> None:
    """In each language and three versions, and where a version opens while the page is open."""
    study = place.study("bytes", codes=False, instances=6, votes=8)
    digests = set()
    for number in range(3):
        if number:
            next_version(study, f"Version {number} *costs* `<b>` & \u00e9")
        for language in LANGUAGES:
            ann = place.browser()
            ann.begins("bytes", f"?lang={language}")
            shown = shown_on(ann.page)
            ann.post("/consent")
            assert recorded(study) == shown
            digests.add(shown)
    assert len(digests) == 5, "the first version has the same text in both languages"
    for language in LANGUAGES:
        ann = place.browser()
        ann.begins("bytes", f"?lang={language}")
        old = shown_on(ann.page)
        next_version(study, f"Changed while {language} was read")
        before = recorded(study)
        ann.post("/consent")
        assert ann.page.status_code == 409 and recorded(study) == before, "not what was read"
        new = shown_on(ann.page)
        assert new != old and b"Changed while" in ann.page.content
        ann.post("/consent")
        assert ann.page.url.path.startswith("/a/") and recorded(study) == new
    assert study.one("select count(*) from door where available <> st_available(version_id)") == 0


def test_one_byte_is_noticed(place: ServedStudies, monkeypatch: pytest.MonkeyPatch) -> None:
    study = place.study("byte", codes=False)
    part = consent_routes.render_consent_part

    def agreed(shown: Any, surroundings: str = "") -> tuple[str, str]:
        monkeypatch.setattr(
            consent_routes, "render_consent_part", lambda text: surroundings + part(shown(text))
        )
        ann = place.browser()
        ann.begins("byte")
        digest = shown_on(ann.page)
        ann.post("/consent")
        return digest, recorded(study)

    slice_, kept = agreed(lambda text: text, " ")
    assert slice_ == kept, "around it everything may change"
    slice_, kept = agreed(lambda text: text + b" ")
    assert slice_ != kept


def test_asked_again_or_not(place: ServedStudies) -> None:
    """Who is asked again is led to the new text before the next item; others stay as they are."""
    study = place.study("again", codes=False, instances=8, votes=4, quota=4)
    ann = place.browser()
    ann.begins("again")
    first = shown_on(ann.page)
    ann.post("/consent")
    ann.rates()
    next_version(study, "Not evaluated again")
    ann.rates()
    assert ann.page.url.path.startswith("/a/"), "stays with the first version"
    asking = next_version(study, "Asked again", reconsent=True)
    ann.rates()
    assert ann.page.url.path == "/consent" and "it has changed" in ann.page.text
    second = shown_on(ann.page)
    assert ann.get("/next").url.path == "/consent", "no way round it"
    stops = ann.get("/stop")
    assert "£3.00" in stops.text, "who does not agree is paid for what they did"
    ann.get("/consent")
    ann.post("/consent", digest=first)
    assert ann.page.status_code == 409
    ann.post("/consent")
    assert ann.page.url.path.startswith("/a/") and recorded(study) == second
    ann.rates()
    assert ann.page.url.path == "/done"
    assert study.one(UNDER, study.study) == [first] * 3 + [second]
    assert study.one("select version_id from vote order by at desc limit 1") == asking
    assert study.broken() == []


def test_a_new_round_takes_promises_along(place: ServedStudies) -> None:
    study = place.study("round", codes=False, instances=6, votes=1, quota=3)
    ann = place.browser()
    ann.agrees("round")
    draft = study.version
    with study.connection.transaction():
        version = copy_version(study.connection, draft)
        put_consent(study.connection, version, "en", "Another round", reconsent=True)
        open_version(study.connection, version, seats="new round")
    ann.rates()
    assert ann.page.url.path == "/consent"
    ann.post("/consent")
    assert study.one("select promised from participant where study_id = %s", study.study) == 3
    assert study.broken() == [], "both doors"
    ann.rates()
    ann.rates()
    assert ann.page.url.path == "/done"
    person = study.one("select id from participant where study_id = %s", study.study)
    code = place.keys.digest_code(place.keys.make_withdrawal_code(person))
    study.connection.execute("select st_withdraw(%s, false)", (code,))
    assert study.broken() == []


def ticked(ann: PersonBrowser, *boxes: str) -> int:
    ann.post("/consent", tick=list(boxes))
    return int(ann.page.status_code)


def test_boxes_have_to_be_ticked(place: ServedStudies) -> None:
    study = place.study("boxes", codes=False)
    text = "Please tick:\n\n- [ ] I am *18* or older\n- [ ] I have read this\n- no box [ ] here\n\nlast"
    next_version(study, text)
    ann = place.browser()
    ann.begins("boxes")
    assert ann.page.text.count('type="checkbox" name="tick"') == 2
    assert ann.page.text.count('form="agree" required') == 2 and 'id="agree"' in ann.page.text
    shown = shown_on(ann.page)
    for boxes in ((), ("1",), ("2", "2"), ("1", "3")):
        assert ticked(ann, *boxes) == 409 and "tick every box" in ann.page.text
    assert ticked(ann, "1", "2") == 200 and recorded(study) == shown
