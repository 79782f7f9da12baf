"""The ledger, events and the job, against a database and a Prolific of our own."""

import threading
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest
from starlette.testclient import TestClient

from support.study.money_study import MoneyStudy, PaidWalker
from support.study.prolific_double import SECRET, TOKEN, doubled
from theodolite.errors import UnsafeInputError
from theodolite_study.keys import Keys
from theodolite_study.money import ledger
from theodolite_study.money.background_job import Job, hold_job_lock, run_with_restarts
from theodolite_study.money.mturk import format_payouts_csv, list_aws_commands, list_owed_payouts
from theodolite_study.money.platform_link import digest_submission, load_linked_studies
from theodolite_study.money.webhook_events import apply_events, store_event, verify_event
from theodolite_study.serve.app import create_app
from theodolite_study.serve.settings import Settings

_numbers = count()


def _random(seed: int) -> Random:
    return Random(seed)  # noqa: S311


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys.create(Path(tmp_path_factory.mktemp("keys")) / "keys.json")


@pytest.fixture
def study(database_url: str, keys: Keys) -> Iterator[MoneyStudy]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        yield MoneyStudy(connection, instances=20, votes=3, quota=4, keys=keys)


@pytest.fixture
def host(study: MoneyStudy) -> Iterator[str]:
    with doubled(study.double) as served:
        yield served


def _rounds(job: Job, times: int = 4) -> None:
    for _ in range(times):
        job.round()


def test_token_and_secret_are_sealed(study: MoneyStudy, keys: Keys) -> None:
    (link,) = load_linked_studies(study.connection, keys)
    assert (link.token, link.secret) == (TOKEN, SECRET) and TOKEN not in repr(link)
    stored = study.one("select sealed_token || sealed_secret from platform_link")
    assert TOKEN.encode() not in stored and SECRET.encode() not in stored
    with pytest.raises(UnsafeInputError):
        keys.decrypt(study.one("select sealed_token from platform_link"), study.slug)


def test_every_kind_is_paid_in_its_way(study: MoneyStudy, host: str) -> None:
    double = study.double
    ann, bob, cat = (study.comes().begins() for _ in range(3))
    assert ann.finishes() == "finished"
    double.submits(ann.name, "finished")
    bob.works(2).leaves("stopped")
    double.submits(bob.name, "stopped")
    cat.works(1)
    double.times_out(cat.name)
    dan = study.comes()
    dan.arrives(), dan.agrees()
    dan.works(0).step("st_withdraw", dan.code, True)
    double.submits(dan.name, "return")
    study.hears(_random(1))
    job = study.job(host)
    _rounds(job)
    assert study.one("select difference ->> 'unreturned' from platform_link") == "1"
    double.returns(bob.name)
    _rounds(job, 1)
    assert double.paid() == {ann.name: 400, bob.name: 200, cat.name: 100}
    assert study.ledger() == {"confirmed": (3, 700)}
    assert double.submissions[bob.name].return_requested
    assert study.outcome(cat.name) == "timed_out" and study.broken() == []
    assert study.one("select difference from platform_link") == dict.fromkeys(
        (
            "unknown_here",
            "unknown_there",
            "out_here_only",
            "paid_not_owed",
            "owed_not_paid",
            "unreturned",
        ),
        0,
    )
    calls = len(double.calls)
    _rounds(job, 1)
    assert double.paid() == {ann.name: 400, bob.name: 200, cat.name: 100}
    assert {method for method, _, _ in double.calls[calls:]} == {"GET"}


def test_share_of_the_reward_where_the_workspace_has_it(database_url: str, keys: Keys) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        study = MoneyStudy(connection, instances=20, quota=4, keys=keys, partial_codes=True)
        with doubled(study.double) as host:
            bob = study.comes().begins()
            bob.works(2).leaves("stopped")
            study.double.submits(bob.name, "stopped")
            _rounds(study.job(host))
            assert study.double.submissions[bob.name].status == "PARTIALLY APPROVED"
            assert study.double.paid() == {bob.name: 200} and not study.double.batches
            assert study.ledger() == {"confirmed": (1, 200)}


def test_who_is_not_done_at_the_platform_is_waited_for(study: MoneyStudy, host: str) -> None:
    ann = study.comes().begins()
    ann.finishes()
    job = study.job(host)
    _rounds(job, 2)
    assert study.ledger() == {"owed": (1, 400)} and study.double.paid() == {}
    study.double.times_out(ann.name)  # the code was never entered: the work was done all the same
    _rounds(job)
    assert study.double.paid() == {ann.name: 400} and study.ledger() == {"confirmed": (1, 400)}


def test_what_was_approved_by_itself_is_not_approved_again(study: MoneyStudy, host: str) -> None:
    ann = study.comes().begins()
    ann.finishes()
    study.double.submits(ann.name, "approved")
    _rounds(study.job(host), 1)
    assert study.ledger() == {"confirmed": (1, 400)}
    assert not [call for call in study.double.calls if call[0] == "POST"]


def test_a_reward_that_is_another_one_there_is_looked_at(study: MoneyStudy, host: str) -> None:
    study.double.reward = 500
    ann = study.comes().begins()
    ann.finishes()
    study.double.submits(ann.name, "finished")
    _rounds(study.job(host))
    assert study.double.paid() == {} and study.ledger() == {"failed": (1, 400)}


def test_two_take_different_payouts(study: MoneyStudy, database_url: str) -> None:
    for _ in range(4):
        study.comes().begins().finishes()
    with psycopg.connect(database_url) as other:
        study.connection.execute("set lock_timeout = '2s'")
        other.execute("select from payout order by at limit 1 for update")
        mine = ledger.take_due_payouts(study.connection, study.study)
        other.rollback()
    assert len(mine) == 3 and {payout.state for payout in mine} == {"sending"}
    assert len(ledger.take_due_payouts(study.connection, study.study)) == 1
    assert ledger.take_due_payouts(study.connection, study.study) == []


def test_ledger_moves_only_forward(study: MoneyStudy) -> None:
    study.comes().begins().finishes()
    change = study.connection.execute
    for wrong in ("state = 'confirmed'", "state = 'sent'", "amount_minor = 1", "kind = 'bonus'"):
        with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
            change(f"update payout set {wrong}")
    (payout,) = ledger.take_due_payouts(study.connection, study.study)
    assert ledger.set_state(study.connection, payout, "confirmed")
    assert not ledger.set_state(study.connection, payout, "owed"), "read before it was changed"
    with pytest.raises(psycopg.errors.IntegrityConstraintViolation):
        change("update payout set state = 'owed'")


def test_pay_without_an_answer_is_read_back(study: MoneyStudy, host: str) -> None:
    study.double.delay = 0.1
    for done in ("500 before", "500 after"):
        bob = study.comes().begins()
        bob.works(2).leaves("stopped")
        study.double.submits(bob.name, "stopped")
        study.double.trouble = lambda method, path, done=done: done if "/pay/" in path else None  # type: ignore[misc]
        job = study.job(host)
        _rounds(job, 2)
        assert study.ledger()["sending"] == (1, 200)
        study.double.trouble = lambda method, path: None
        _until_paid(study, job)
        assert study.double.paid()[bob.name] == 200


def _until_paid(study: MoneyStudy, job: Job) -> None:
    for _ in range(200):
        job.round()
        if study.ledger().keys() <= {"confirmed"}:
            return
        threading.Event().wait(0.02)
    raise AssertionError(study.ledger())


def test_events_come_late_twice_and_out_of_order(study: MoneyStudy) -> None:
    ann = study.comes().begins()
    ann.works(1)
    ann.next()
    before = study.one("select count(*) from slot where state = 'leased'")
    study.double.returns(ann.name)
    taken = study.hears(_random(5))
    assert set(taken) <= {"stored", "known"} and taken.count("stored") == 3
    went = apply_events(study.connection)
    assert went["ok"] == 1 and study.outcome(ann.name) == "returned"
    assert before == 1 and study.one("select count(*) from slot where state = 'leased'") == 0
    assert study.one("select count(*) from payout") == 0 and study.broken() == []
    assert apply_events(study.connection) == {}


def test_an_older_event_is_stored_and_not_applied(study: MoneyStudy) -> None:
    ann = study.comes().begins()
    hooks = study.double.webhooks
    study.double.times_out(ann.name)
    study.double.submits(ann.name, "finished")
    late = hooks.pop(-2)
    assert study.hears(_random(1)).count("stored") == 3
    apply_events(study.connection)
    hooks = study.double.webhooks
    hooks.append(late)
    assert "stored" in study.hears(_random(1))
    assert apply_events(study.connection) == {"older": 1}
    assert study.outcome(ann.name) is None
    assert study.one("select count(*) from platform_event where passed_over") == 1


def test_a_copy_under_another_id_and_strangers(study: MoneyStudy, keys: Keys) -> None:
    ann = study.comes().begins()
    (headers, body) = study.double.webhooks[0]
    now = float(headers["X-Prolific-Request-Timestamp"])
    verified = verify_event(headers, body, SECRET, now)
    assert store_event(study.connection, keys, *verified) == "stored"
    copy = verify_event(headers | {"X-Event-ID": "another"}, body, SECRET, now)
    assert store_event(study.connection, keys, *copy) == "known"
    stranger = study.double.reserve()
    assert stranger is not None and ann.name != stranger
    headers, body = study.double.webhooks[-1]
    verified = verify_event(headers, body, SECRET, now)
    assert store_event(study.connection, keys, *verified) == "not ours"


def test_events_of_25_hours(study: MoneyStudy) -> None:
    study.comes()
    headers, body = study.double.webhooks[0]
    signed = float(headers["X-Prolific-Request-Timestamp"])
    assert verify_event(headers, body, SECRET, signed + 24.9 * 3600)[0].id
    for now in (signed + 25.1 * 3600, signed - 400):
        with pytest.raises(UnsafeInputError):
            verify_event(headers, body, SECRET, now)
    with pytest.raises(UnsafeInputError):
        verify_event(headers, body + b" ", SECRET, signed)
    early = {**headers, "X-Timestamp": f"{signed - 500:.3f}"}
    assert verify_event(early, body, SECRET, signed)[1].timestamp() == pytest.approx(signed - 500)
    later = {**headers, "X-Timestamp": f"{signed + 5000:.3f}"}
    assert verify_event(later, body, SECRET, signed)[1].timestamp() == pytest.approx(signed)


def test_a_lost_webhook_is_made_good(study: MoneyStudy, host: str) -> None:
    ann = study.comes().begins()
    ann.next()
    available = study.one("select available from door")
    study.double.returns(ann.name)
    study.double.webhooks.clear()
    study.job(host).round()
    assert study.outcome(ann.name) == "returned"
    assert study.one("select available from door") == available + 4
    assert study.one("select count(*) from place where state <> 'open'") == 0
    assert study.broken() == []


def test_differences_are_counted(study: MoneyStudy, host: str) -> None:
    study.comes()  # at work there, and never seen here
    ann = study.comes().begins()
    ann.finishes()
    study.double.submits(ann.name, "approved")
    job = study.job(host)
    _rounds(job, 2)
    study.double.submissions[ann.name].bonuses.append(5)
    _rounds(job, 1)
    found = study.one("select difference from platform_link")
    assert (found["unknown_here"], found["paid_not_owed"], found["owed_not_paid"]) == (1, 1, 0)


def test_a_full_study_is_paused_there(database_url: str, keys: Keys) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        study = MoneyStudy(connection, instances=4, votes=1, quota=4, keys=keys)
        with doubled(study.double) as host:
            study.job(host).round()
            assert study.double.status == "ACTIVE"
            study.comes().begins().finishes()
            study.job(host).round()
            assert study.double.status == "PAUSED"
            assert study.one("select paused_at is not null from platform_link")


def test_places_and_people_lapse(study: MoneyStudy, host: str) -> None:
    ann, bob = study.comes(), study.comes().begins()
    ann.arrives()
    bob.works(1)
    bob.next()
    job = study.job(host)
    job.round()
    assert study.outcome(bob.name) is None
    run = study.connection.execute
    run("update participant set alive_until = clock_timestamp() - interval '23 hours'")
    job.round()
    assert study.outcome(bob.name) is None
    run("update participant set alive_until = clock_timestamp() - interval '25 hours'")
    job.round()
    assert study.outcome(ann.name) is None and study.outcome(bob.name) == "timed_out"
    assert study.ledger()["owed"] == (1, 100) and study.broken() == []
    assert ann.agrees()["word"] == "ok", "who came back finds another place"
    assert study.broken() == []


def test_what_comes_after_the_lapse_is_paid_too(study: MoneyStudy, host: str) -> None:
    bob = study.comes().begins()
    item = bob.next()["item"]
    bob.says(item)
    bob.item(item)
    run = study.connection.execute
    run("update participant set alive_until = clock_timestamp() - interval '25 hours'")
    # as if another had taken the seat over and gone
    run("update slot set state = 'open', lease_expires_at = null, assignment_id = null")
    run(
        "update assignment set state = 'lost', finished_at = clock_timestamp(), reason = 'taken over'"
    )
    study.job(host).round()
    assert study.outcome(bob.name) == "timed_out" and study.ledger() == {}
    for _ in range(2):
        rated = bob.rates(item)
        assert rated["word"] in ("ok", "conflict")
    assert study.one("select count(*) from vote where not counted") == 1
    assert study.ledger() == {"owed": (1, 100)} and study.broken() == []


def test_ids_of_who_withdrew_are_forgotten(study: MoneyStudy) -> None:
    bob = study.comes().begins()
    bob.works(1).step("st_withdraw", bob.code, True)
    assert study.ledger() == {"owed": (1, 100)}
    assert study.one("select job_forget()") == 0
    study.connection.execute("update payout set at = clock_timestamp() - interval '31 days'")
    assert study.one("select job_forget()") == 1
    assert study.ledger() == {"void": (1, 100)}
    assert study.one("select count(*) from payout where sealed_submission is not null") == 0


@pytest.mark.parametrize("paid", [True, False])
def test_who_finished_and_withdraws_is_paid_if_they_want(
    study: MoneyStudy, host: str, *, paid: bool
) -> None:
    ann = study.comes().begins()
    ann.finishes()
    assert ann.step("st_withdraw", ann.code, paid)["amount"] == (400 if paid else 0)
    study.double.submits(ann.name, "finished")
    assert study.one("select count(*) from payout where participant_id is not null") == 0
    _rounds(study.job(host))
    assert study.double.paid() == ({ann.name: 400} if paid else {})


def test_a_bonus_that_cannot_be_read_back_is_not_paid_again(study: MoneyStudy, host: str) -> None:
    bob = study.comes().begins()
    bob.works(2).leaves("stopped")
    study.double.submits(bob.name, "stopped")
    job = study.job(host)
    job.round()
    assert study.ledger() == {"sent": (1, 200)}
    study.double.trouble = lambda method, path: "429" if "/submissions/sub" in path else None
    _rounds(job, 2)
    assert study.ledger() == {"sent": (1, 200)}
    study.double.trouble = lambda method, path: None
    _rounds(job)
    assert study.ledger() == {"confirmed": (1, 200)} and study.double.paid() == {bob.name: 200}


def test_a_bonus_by_hand_is_looked_at(study: MoneyStudy, host: str) -> None:
    bob = study.comes().begins()
    bob.works(2).leaves("stopped")
    study.double.submits(bob.name, "stopped")
    study.double.submissions[bob.name].bonuses.append(200)
    _rounds(study.job(host))
    assert study.ledger() == {"failed": (1, 200)} and study.double.paid() == {bob.name: 200}


def test_a_second_job_waits(database_url: str, study: MoneyStudy) -> None:
    entered = threading.Event()

    def second() -> None:
        with hold_job_lock(database_url):
            entered.set()

    with hold_job_lock(database_url):
        waiting = threading.Thread(target=second)
        waiting.start()
        assert not entered.wait(0.3)
    assert entered.wait(5)
    waiting.join()


def test_platform_takes_people_out_while_they_work(study: MoneyStudy, database_url: str) -> None:
    """The same locks in the same order as the steps: nobody waits for ever, nothing is half done."""
    people = [study.comes().begins() for _ in range(8)]
    troubles: list[BaseException] = []

    def work(person: PaidWalker) -> None:
        try:
            with psycopg.connect(database_url, autocommit=True) as connection:
                person.connection = connection
                for _ in range(4):
                    went = person.next()
                    if went["go"] != "item" or person.says(went["item"])["word"] != "ok":
                        return
                    person.item(went["item"])
                    person.rates(went["item"])
        except BaseException as error:  # noqa: BLE001  told below
            troubles.append(error)

    threads = [threading.Thread(target=work, args=(person,)) for person in people]
    for thread in threads:
        thread.start()
    for number, person in enumerate(people):
        digest = digest_submission(study.keys, person.name)
        way = ("returned", "timed_out")[number % 2]
        assert study.one("select job_out(%s, %s)", digest, way) == "ok"
        study.one("select job_expire()")
    for thread in threads:
        thread.join(30)
    assert troubles == [] and study.broken() == []
    assert study.one("select count(*) from slot where state = 'leased'") == 0
    owed = study.one("select coalesce(sum(amount_minor), 0) from payout")
    votes = study.one(
        "select count(*) from vote v join participant p on p.id = v.participant_id"
        " where p.outcome = 'timed_out'"
    )
    assert owed == 100 * votes


def test_job_goes_on_after_the_database_was_away(
    study: MoneyStudy, database_url: str, host: str
) -> None:
    ended, met = threading.Event(), []

    def job_of(connection: Any) -> Job:
        met.append(connection.info.backend_pid)
        job = study.job(host)
        job.connection = connection
        return job

    thread = threading.Thread(target=run_with_restarts, args=(database_url, ended, job_of, 0.01))
    thread.start()
    try:
        ann = study.comes().begins()
        _waits(lambda: bool(met))
        assert study.one("select pg_terminate_backend(%s)", met[0])
        _waits(lambda: len(met) == 2)
        ann.finishes()
        study.double.submits(ann.name, "finished")
        _waits(lambda: study.ledger() == {"confirmed": (1, 400)})
    finally:
        ended.set()
        thread.join(10)
    assert study.double.paid() == {ann.name: 400}


def _waits(ready: Callable[[], bool]) -> None:
    for _ in range(500):
        if ready():
            return
        threading.Event().wait(0.02)
    raise AssertionError


def test_login_of_the_job_writes_money_and_nothing_else(
    study: MoneyStudy, database_url: str, keys: Keys, host: str
) -> None:
    ann = study.comes().begins()
    ann.finishes()
    study.double.submits(ann.name, "finished")
    study.hears(_random(1))
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("set role theodolite_jobs")
        job = study.job(host)
        job.connection = connection
        _rounds(job)
        assert study.ledger() == {"confirmed": (1, 400)} and job.problems == []
        for wrong in ("delete from payout", "insert into payout default values", "delete from vote",
                      "update vote set counted = false", "update participant set state = 'active'",
                      "select sealed_id from participant", "update payout set amount_minor = 1",
                      "select hook_event('a', 'a', 'a', 'a', now())"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(wrong)
        connection.execute("set role theodolite_serve")
        digest = digest_submission(keys, ann.name)
        event = connection.execute(
            "select hook_event('x', '\\x01', %s, 'APPROVED', now())", (digest,)
        ).fetchone()
        assert event == ("stored",)
        for wrong in ("select * from platform_event", "select job_expire()",
                      "select sealed_token from platform_link"):  # fmt: skip
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(wrong)


def test_platform_that_is_down_stops_nothing_for_good(study: MoneyStudy, host: str) -> None:
    ann = study.comes().begins()
    ann.finishes()
    study.double.submits(ann.name, "finished")
    study.double.trouble = lambda method, path: "500 before"
    job = study.job(host)
    _rounds(job, 2)
    assert job.problems and study.ledger() == {"owed": (1, 400)}
    study.double.trouble = lambda method, path: "500 after" if method == "POST" else None
    _rounds(job)
    assert study.double.paid() == {ann.name: 400} and study.ledger() == {"confirmed": (1, 400)}


def test_webhooks_are_answered_at_once(database_url: str, tmp_path: Path) -> None:
    keys = Keys.create(tmp_path / "keys.json")
    address = "/platform/prolific/webhook"
    with psycopg.connect(database_url, autocommit=True) as connection:
        study = MoneyStudy(connection, instances=4, keys=keys)
        app = create_app(Settings(database_url, tmp_path, "https://study.example.org"))
        with TestClient(app, base_url="https://study.example.org") as prolific:
            ann = study.comes().begins()
            study.double.returns(ann.name)
            said = [prolific.post(address, headers=headers, content=body)
                    for headers, body in study.double.webhooks * 2]  # fmt: skip
            assert [(s.status_code, s.text) for s in said] == [(200, "stored")] * 3 + [
                (200, "known")
            ] * 3
            assert study.outcome(ann.name) is None, "the job applies it"
            stranger = study.double.reserve()
            headers, body = study.double.webhooks[-1]
            assert stranger and prolific.post(address, headers=headers, content=body).text == (
                "not ours"
            )
            for wrong in (body + b" ", b"x" * (1 << 16) + b"x"):
                assert prolific.post(address, headers=headers, content=wrong).status_code == 400
            assert prolific.get(address).status_code in (404, 405)
        assert apply_events(connection)["ok"] == 1 and study.outcome(ann.name) == "returned"


def test_mturk_is_a_table_and_commands(study: MoneyStudy, keys: Keys) -> None:
    ann, bob = study.comes().begins(), study.comes().begins()
    ann.finishes()
    bob.works(2).leaves("stopped")
    rows = list_owed_payouts(study.connection, keys, study.study)
    assert format_payouts_csv(rows).splitlines() == [
        "assignment,kind,outcome,amount,currency,state",
        f"{ann.name},reward,finished,4.00,GBP,owed", f"{bob.name},partial,stopped,2.00,GBP,owed",
    ]  # fmt: skip
    assert list_aws_commands(rows, {bob.name: "A1'; rm"}) == [
        f"aws mturk approve-assignment --assignment-id {ann.name}",
        f"aws mturk send-bonus --assignment-id {bob.name} --worker-id 'A1'\"'\"'; rm'"
        f" --bonus-amount 2.00 --unique-request-token {bob.name}-partial"
        " --reason 'For the part of the study that you did.'",
    ]
