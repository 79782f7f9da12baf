"""Drafts of versions and how they open: seats, places, rounds, what is frozen, what closing deletes."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import psycopg
import pytest

from support.study.stepped_study import INSTRUMENT, OUTCOMES, PAY, SteppedStudy, Walker
from theodolite.errors import EvidenceError, UnsafeInputError
from theodolite.ext.studies import Material
from theodolite_study.demo.material import write_demo_material
from theodolite_study.model.markdown import render_consent
from theodolite_study.refusals import Invalid, WrongStage
from theodolite_study.store.drafts import (
    StudyCondition,
    StudyOutcome,
    copy_version,
    new_study,
    new_version,
    put_conditions,
    put_consent,
    put_outcomes,
    put_texts,
)
from theodolite_study.store.material import add_material
from theodolite_study.store.opening import (
    digest_version,
    iterate_condition_order,
    open_version,
    set_study_state,
    start_last_call,
)

CONSENT = "You can *stop* at any time."


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Material]:
    folder = tmp_path_factory.mktemp("drawn")
    return folder, write_demo_material(folder, seed=0)


@pytest.fixture
def connection(database_url: str) -> Iterator[psycopg.Connection[Any]]:
    with psycopg.connect(database_url, autocommit=True) as opened:
        yield opened


class DraftedStudy(SteppedStudy):
    """A study made by the functions under test; its people take the same steps."""

    def __init__(
        self, connection: psycopg.Connection[Any], instances: int = 3, **settings: Any
    ) -> None:
        self.connection, self.slug, self.votes = connection, f"s{uuid4().hex[:6]}", 2
        self.study = new_study(connection, self.slug, "T", "k")
        self.version = self.draft(settings)
        for number in range(instances):
            connection.execute(
                "insert into instance (study_id, key, image_key, technique, modality, kind,"
                " place, record, shown) values (%s, %s, %s, 'map', 'saliency', 'real', %s, '{}',"
                " '{\"shown\": {\"image\": \"x\"}}')", (self.study, f"i{number}", f"p{number}", number),
            )  # fmt: skip

    def draft(self, settings: dict[str, Any], votes: int = 2) -> int:
        version = new_version(
            self.connection, self.study, instrument=INSTRUMENT, settings={"pay": PAY} | settings,
            n_votes=votes, quota=3, least_items=2, lease_seconds=60, languages=["en"],
            default_language="en",
        )  # fmt: skip
        put_consent(self.connection, version, "en", CONSENT)
        put_outcomes(
            self.connection, version, [StudyOutcome(key, pay) for key, pay in OUTCOMES.items()]
        )
        keys = self.connection.execute("select key from missing_texts(%s)", (version,)).fetchall()
        put_texts(self.connection, version, "en", {key: key for (key,) in keys})
        return version

    def seats(self) -> Counter[tuple[Any, ...]]:
        return Counter(
            self.connection.execute(
                "select instance_id, round, condition_id from slot where study_id = %s",
                (self.study,),
            ).fetchall()
        )

    def state(self, version: int) -> str:
        return str(self.one("select state from version where id = %s", version))


class VersionWalker(Walker):
    """Agrees to whichever version they came to."""

    def agrees(self) -> dict[str, Any]:
        version, digest = self.connection.execute(
            "select p.version_id, t.digest from session s join participant p on p.id ="
            " s.participant_id join consent_text t on t.version_id = p.version_id"
            " where s.token_sha256 = %s", (self.token,),
        ).fetchone()  # fmt: skip
        return self.step("st_consent", self.token, version, "en", digest, self.code)


def somebody(study: DraftedStudy, name: str, votes: int = 0) -> VersionWalker:
    person = VersionWalker(study, name, study.connection)
    person.begins()
    step = person.next()
    for _ in range(votes):
        step = person.votes(step["item"])
    return person


def test_a_version_opens_with_exact_seats_and_is_frozen(connection: Any) -> None:
    study = DraftedStudy(connection)
    before = digest_version(connection, study.version)
    put_texts(connection, study.version, "en", {"title": "Another title"})
    assert digest_version(connection, study.version) != before
    open_version(connection, study.version, places=7)
    assert set(study.seats().values()) == {2} and len(study.seats()) == 3
    assert study.one("select count(*) from place where version_id = %s", study.version) == 7
    assert study.one("select available from door where version_id = %s", study.version) == 6
    assert study.one("select state from study where id = %s", study.study) == "open"
    assert study.one("select digest from version where id = %s", study.version) == (
        digest_version(connection, study.version)
    )
    for change in (
        lambda: put_texts(connection, study.version, "en", {"title": "Late"}),
        lambda: put_consent(connection, study.version, "en", "Late"),
        lambda: put_conditions(connection, study.version, [StudyCondition("a")]),
        lambda: put_outcomes(connection, study.version, []),
        lambda: connection.execute("update version set quota = 9 where id = %s", (study.version,)),
    ):
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
            change()
    with pytest.raises(WrongStage, match="is open"):
        open_version(connection, study.version)


def test_a_version_without_all_texts_does_not_open(connection: Any) -> None:
    study = DraftedStudy(connection)
    put_texts(connection, study.version, "en", {"q1.text": " "})
    with pytest.raises(psycopg.errors.IntegrityConstraintViolation, match=r"q1\.text"):
        open_version(connection, study.version)
    with pytest.raises(Invalid):
        put_texts(connection, study.version, "en", {"consent": "by the back door"})
    with pytest.raises(ValueError, match="contact"):
        put_consent(connection, study.version, "en", "Write to {contact}.")


def test_a_round_goes_on_in_the_next_version(connection: Any) -> None:
    study = DraftedStudy(connection)
    open_version(connection, study.version)
    early = somebody(study, "early", votes=1)
    second = copy_version(connection, study.version)
    for table in ("wording", "consent_text", "outcome"):
        assert study.one(
            f"select count(*) from {table} where version_id = %s", second
        ) == study.one(f"select count(*) from {table} where version_id = %s", study.version)
    open_version(connection, second)
    assert study.state(study.version) == "finishing"
    assert set(study.seats().values()) == {2}
    assert study.broken() == []
    late = somebody(study, "late", votes=3)
    early.votes(early.next()["item"])  # those inside go on
    assert early.leaves("stopped")["word"] == late.leaves()["word"] == "ok"
    assert study.broken() == []
    start_last_call(connection, second, 1)  # the door is that of the version which takes people
    somebody(study, "last", votes=1).leaves("stopped")
    assert study.one("select count(*) from vote where counted") == 6
    assert study.one("select count(distinct version_id) from vote") == 2
    assert study.broken() == []
    study.version = study.draft({}, votes=1)
    with pytest.raises(WrongStage, match="new round"):
        open_version(connection, study.version)


def test_a_new_round_has_seats_of_its_own(connection: Any) -> None:
    study = DraftedStudy(connection)
    open_version(connection, study.version)
    early = somebody(study, "early", votes=1)
    open_version(connection, copy_version(connection, study.version), seats="new round")
    assert set(study.seats().values()) == {2} and len(study.seats()) == 6
    somebody(study, "late", votes=3)
    early.votes(early.next()["item"])
    assert dict(
        connection.execute(
            "select s.round, count(*) from vote v join slot s on s.id = v.slot_id group by 1"
        ).fetchall()
    ) == {1: 2, 2: 3}
    assert study.broken() == []


def test_a_pilot_is_kept_or_discarded(connection: Any) -> None:
    study = DraftedStudy(connection)
    open_version(connection, study.version, state="pilot", places=1)
    somebody(study, "first", votes=1)
    assert study.person("second").arrives()["word"] == "full"
    open_version(connection, study.version)  # kept
    assert study.state(study.version) == "open" and set(study.seats().values()) == {2}
    assert study.one("select pilot from version where id = %s", study.version) is False
    somebody(study, "second")
    assert study.broken() == []
    other = DraftedStudy(connection)
    open_version(connection, other.version, state="pilot", places=1)
    somebody(other, "first", votes=1)
    with pytest.raises(WrongStage, match="copy"):
        open_version(connection, other.version, seats="new round")
    kept = copy_version(connection, other.version)
    open_version(connection, kept, seats="new round")
    assert other.one("select array_agg((no, round, pilot)::text order by no) from version"
                     " where study_id = %s", other.study) == ["(1,1,t)", "(2,2,f)"]  # fmt: skip


def test_conditions_have_seats_of_their_own(connection: Any) -> None:
    study = DraftedStudy(connection, votes_per="explanation_and_condition")
    with pytest.raises(Invalid):
        open_version(connection, study.version)
    groups = [StudyCondition("a", 2), StudyCondition("b", overrides={"texts": {}})]
    put_conditions(connection, study.version, groups)
    open_version(connection, study.version)
    assert set(study.seats().values()) == {2} and len(study.seats()) == 6
    first = copy_version(connection, study.version)
    open_version(connection, first)
    somebody(study, "late", votes=1)
    assert study.broken() == []
    assert len(study.seats()) == 6
    second = copy_version(connection, first)
    put_conditions(connection, second, [StudyCondition("c")])
    with pytest.raises(WrongStage, match="new round"):
        open_version(connection, second)
    with pytest.raises(Invalid, match="votes"):
        put_conditions(connection, second, [StudyCondition("c", overrides={"votes": 3})])


def test_conditions_are_balanced_among_those_who_gave_votes() -> None:
    """500 arrivals, a fifth of whom leave before a vote, three conditions 2:1:1."""
    weights = {1: 2, 2: 1, 3: 1}
    places = list(iterate_condition_order(list(weights.items()), b"seed", 500))
    assert places != list(iterate_condition_order(list(weights.items()), b"other", 500))
    chance = Random(0)  # noqa: S311
    open_places, used = list(range(500)), []
    for _ in range(500):
        place = open_places.pop(0)
        if chance.random() < 0.2:
            open_places = sorted([place, *open_places])
        else:
            used.append(places[place])
    counts = Counter(used)
    block = 2 * sum(weights.values())
    for condition, weight in weights.items():
        assert abs(counts[condition] - len(used) * weight / 4) < block
    for first in range(0, 496, block):
        assert Counter(places[first : first + block]) == {1: 4, 2: 2, 3: 2}


def test_a_planned_design_keeps_seats_for_its_panel(connection: Any) -> None:
    study = DraftedStudy(connection, design="planned", panel=2, seed=3)
    open_version(connection, study.version)
    rows = "select reserved_for, array_agg(planned_position order by 1) from slot where round = %s"
    assert connection.execute(f"{rows} group by 1 order by 1", (1,)).fetchall() == [
        (1, [1, 2, 3]), (2, [1, 2, 3]),
    ]  # fmt: skip
    somebody(study, "first", votes=3)
    open_version(connection, copy_version(connection, study.version), seats="new round")
    somebody(study, "second", votes=3)
    assert study.one("select array_agg(design_row order by 1) from participant") == [1, 10001]
    assert study.broken() == []


def test_a_last_call_fills_the_last_seats(connection: Any) -> None:
    study = DraftedStudy(connection)
    open_version(connection, study.version)
    somebody(study, "a", votes=3).leaves()
    somebody(study, "b", votes=2).leaves("stopped")
    assert study.person("c").arrives()["word"] == "full"
    with pytest.raises(Invalid):
        start_last_call(connection, study.version, 2)
    start_last_call(connection, study.version, 1)
    assert study.person("c").arrives()["word"] == "ok"


def test_closing_settles_and_deletes(connection: Any) -> None:
    study = DraftedStudy(connection)
    with pytest.raises(WrongStage):
        set_study_state(connection, study.study, "paused")
    open_version(connection, study.version)
    set_study_state(connection, study.study, "paused")
    set_study_state(connection, study.study, "open")
    somebody(study, "inside", votes=1)
    away = VersionWalker(study, "away", connection)
    away.arrives()
    away.step("st_decline", away.token)
    with pytest.raises(WrongStage, match="1 payments"), connection.transaction():
        set_study_state(connection, study.study, "closed")
    assert study.one("select count(*) from participant where outcome is null") == 1
    study.connection.execute("select st_out(st_held(id), 'stopped') from participant")
    owed = study.one("select id from payout")
    set_study_state(connection, study.study, "closed", void=[owed])
    assert study.one("select state from payout") == "void"
    assert study.one("select count(*) from declined") == 0
    assert study.one("select count(*) from participant where sealed_id is not null"
                     " or submission is not null or submission_digest is not null") == 0  # fmt: skip
    assert study.state(study.version) == "closed"
    with pytest.raises(WrongStage):
        set_study_state(connection, study.study, "open")
    set_study_state(connection, study.study, "archived")
    with pytest.raises(Invalid):
        set_study_state(connection, study.study, "gone")


def test_material_becomes_rows_and_files(
    connection: Any, drawn: tuple[Path, Material], tmp_path: Path
) -> None:
    folder, material = drawn
    study = DraftedStudy(connection, instances=0)
    assert add_material(connection, study.study, material, folder, tmp_path) == len(
        material.instances
    )
    assert add_material(connection, study.study, material, folder, tmp_path) == len(
        material.instances
    )  # replaced
    file = material.instances[0].shown.image
    assert (tmp_path / "images" / file).read_bytes() == (folder / "images" / file).read_bytes()
    shown = study.one("select shown from instance order by place limit 1")
    assert shown["sizes"][file][0] > 0 and "check" not in shown
    open_version(connection, study.version)
    assert len(study.seats()) == len(material.of("real"))
    assert add_material(connection, study.study, material, folder) == 0
    first, *others = material.instances
    changed = material.model_copy(
        update={"instances": [first.model_copy(update={"technique": "x"}), *others]}
    )
    with pytest.raises(EvidenceError, match="another key"):
        add_material(connection, study.study, changed, folder)
    (tmp_path / "images" / file).write_bytes(b"another")
    with pytest.raises(UnsafeInputError, match="its name tells"):
        add_material(connection, study.study, material, tmp_path)


def test_the_consent_has_the_bytes_that_pages_show(connection: Any) -> None:
    study = DraftedStudy(connection)
    assert study.one("select shown from consent_text") == render_consent(CONSENT)
    assert study.one("select body from wording where key = 'consent'") == CONSENT
