"""Pay what is owed at Prolific: read, decide, act, read back. Used by the background job."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Literal, TypeAlias

from theodolite_study.keys import Keys
from theodolite_study.money import ledger
from theodolite_study.money.ledger import MAX_TRIES, Payout
from theodolite_study.money.platform_link import Connection, PlatformLink
from theodolite_study.money.prolific import (
    PlatformError,
    Prolific,
    Submission,
    UnclearResponseError,
)

PayAction: TypeAlias = Literal["done", "approve", "share", "return", "bonus", "wait", "look"]
"""Next action for a payout; `look`: a person has to check it."""
UNDER_WAY = ("RESERVED", "ACTIVE")
GONE = ("RETURNED", "TIMED-OUT")
REASON = "Withdrew consent or did not complete the study."


@dataclass(frozen=True)
class PayTimes:
    """Waiting times of payments, in seconds."""

    look: float = 60.0
    """Seconds until an undecided payout is checked again."""
    grace: float = 86_400.0
    """Seconds until a batch that was told to be paid, but reached nobody, counts as unpaid.
    Prolific pays some minutes after it is told."""


def choose_action(
    payout: Payout, submission: Submission, reward: int, *, shares: bool
) -> PayAction:
    """Decide the next action for a payout from its current status at the platform."""
    status = submission.status
    if payout.kind == "bonus":
        return "wait" if status in UNDER_WAY else "bonus"
    if status in UNDER_WAY:
        return "wait"
    if status in GONE:
        return "bonus"
    if payout.kind == "reward":
        if payout.amount != reward:
            return "look"
        return {"APPROVED": "done", "AWAITING REVIEW": "approve"}.get(status, "look")  # type: ignore[return-value]
    if status == {"partial": "PARTIALLY APPROVED", "screenout": "SCREENED OUT"}[payout.kind]:
        return "done"
    if status != "AWAITING REVIEW":
        return "look"
    if payout.kind == "partial" and shares and to_percent(payout.amount, reward) is not None:
        return "share"
    return "bonus" if submission.return_requested else "return"


def to_percent(amount: int, reward: int) -> int | None:
    """Return the amount as a whole percentage of the reward; None if it is not exactly one.

    >>> to_percent(200, 400), to_percent(133, 400)
    (50, None)
    """
    exact = reward > 0 and amount < reward and amount * 100 % reward == 0
    return amount * 100 // reward if exact else None


@dataclass
class Payer:
    """Pays the payouts of one study. The job's lock ensures that only one works."""

    connection: Connection
    keys: Keys
    link: PlatformLink
    client: Prolific
    times: PayTimes
    point: Callable[[str], None]
    """Callback between any two lasting actions; tests end the process there."""

    def __post_init__(self) -> None:
        self._reward = self.client.study(self.link.external_id).reward

    def run(self) -> int:
        """Settle what was under way, then pay what is owed; return the number handled."""
        self._finish_batches()
        for payout in ledger.fetch_unsettled(self.connection, self.link.study):
            try:
                self._settle(payout)
            except (UnclearResponseError, PlatformError):  # not read: it may have been paid
                ledger.postpone(self.connection, payout, payout.state, self.times.look)
        payouts = ledger.take_due_payouts(self.connection, self.link.study)
        if payouts:
            self.point("taken")
        bonuses = [payout for payout in payouts if self._acted(payout)]
        if bonuses:
            self._set_up(bonuses)
        return len(payouts)

    def _id(self, payout: Payout) -> str:
        return self.keys.decrypt(payout.sealed, self.link.slug)

    def _acted(self, payout: Payout) -> bool:
        """Act on a payout; an unavailable platform stops one payout, not all."""
        try:
            return self._act(payout)
        except UnclearResponseError:  # it stays as it is: read back next time
            ledger.postpone(self.connection, payout, payout.state, self.times.look)
        except PlatformError as error:
            self._failed(payout, str(error))
        return False

    def _failed(self, payout: Payout, why: str) -> None:
        """Record a refusal: nothing was paid. After several tries a person has to check."""
        if payout.tries < MAX_TRIES:
            ledger.postpone(self.connection, payout, "owed", self.times.look * 2**payout.tries)
        else:
            ledger.set_state(self.connection, payout, "failed", why)

    def _act(self, payout: Payout) -> bool:
        """Do the next action of a payout; return whether a bonus is needed."""
        name = self._id(payout)
        submission = self.client.submission(name)
        self.point("read")
        way = choose_action(payout, submission, self._reward, shares=self.link.partial_codes)
        if way in ("bonus", "return") and self._strange_bonus(payout, submission):
            ledger.set_state(self.connection, payout, "failed", "a bonus that is not in the ledger")
            return False
        if way == "bonus":
            return True
        if way == "return":
            self.client.request_return(name, REASON)
            self.point("return asked")
            return True
        if way == "approve":
            self.client.approve(name)
            self.point("approved")
            ledger.set_state(self.connection, payout, "sent")
        elif way == "share":
            percent = to_percent(payout.amount, self._reward)
            self.client.complete(name, self._code(payout), percent or 0)
            self.point("shared")
            ledger.set_state(self.connection, payout, "sent")
        elif way == "done":
            ledger.set_state(self.connection, payout, "confirmed")
        elif way == "look":
            ledger.set_state(
                self.connection, payout, "failed", f"{payout.kind}: {submission.status}"
            )
        else:
            ledger.postpone(self.connection, payout, "owed", self.times.look)
        self.point("marked")
        return False

    def _strange_bonus(self, payout: Payout, submission: Submission) -> bool:
        """Return whether an unknown bonus was paid, which a person has to check first."""
        known = ledger.sum_possible_bonuses(self.connection, payout)
        return sum(submission.bonuses) > known

    def _code(self, payout: Payout) -> str:
        row = self.connection.execute(
            "select o.code from outcome o join version v on v.id = o.version_id"
            " where v.study_id = %s and o.key = %s and o.code is not null"
            " order by v.no desc limit 1",
            (self.link.study, payout.outcome),
        ).fetchone()  # fmt: skip
        return "" if row is None else str(row[0])

    def _set_up(self, payouts: Sequence[Payout]) -> None:
        """Set up one batch for all payouts, and store its id before it is paid."""
        amounts = [(self._id(payout), payout.amount) for payout in payouts]
        try:
            batch = self.client.set_up_bonuses(self.link.external_id, amounts)
        except UnclearResponseError:
            return  # nothing is paid by setting up: they are owed again when they are settled
        except PlatformError as error:
            for payout in payouts:
                self._failed(payout, str(error))
            return
        self.point("set up")
        ledger.store_batch(self.connection, payouts, batch)
        self.point("batch stored")
        self._pay(batch)

    def _pay(self, batch: str) -> None:
        if not ledger.begin_paying(self.connection, batch):
            return
        self.point("paying")
        try:
            self.client.pay_bonuses(batch)
        except UnclearResponseError:
            ledger.set_batch_state(self.connection, batch, "sending", self.times.look)
            return
        except PlatformError as error:
            ledger.refuse_batch(self.connection, batch, str(error), self.times.look)
            return
        self.point("paid")
        ledger.set_batch_state(self.connection, batch, "sent", self.times.look)
        self.point("batch marked")

    def _finish_batches(self) -> None:
        """Pay batches that were set up and never told to be paid."""
        rows = self.connection.execute(
            "select distinct batch from payout where study_id = %s and state = 'sending'"
            " and batch is not null and paying_at is null", (self.link.study,),
        ).fetchall()  # fmt: skip
        for (batch,) in rows:
            self._pay(batch)

    def _settle(self, payout: Payout) -> None:
        """Settle a payout from the platform's records only."""
        submission = self.client.submission(self._id(payout))
        if payout.batch is not None:
            self._settle_bonus(payout, submission)
        else:
            way = choose_action(payout, submission, self._reward, shares=self.link.partial_codes)
            if way == "done":
                ledger.set_state(self.connection, payout, "confirmed")
            elif payout.state == "sending":  # it was not done, so it is still owed
                ledger.postpone(self.connection, payout, "owed", 0.0)
            else:
                self._late(payout, way)
        self.point("settled")

    def _settle_bonus(self, payout: Payout, submission: Submission) -> None:
        before = ledger.sum_confirmed_bonuses(self.connection, payout)
        if sum(submission.bonuses) >= before + payout.amount:
            ledger.set_state(self.connection, payout, "confirmed")
        elif payout.paying_at is not None and _has_passed(payout.paying_at, self.times.grace):
            if payout.state == "sending":
                ledger.postpone(self.connection, payout, "owed", 0.0)
            else:
                ledger.set_state(
                    self.connection, payout, "failed", "batch taken, and no bonus seen"
                )
        else:
            ledger.postpone(self.connection, payout, payout.state, self.times.look)

    def _late(self, payout: Payout, way: PayAction) -> None:
        """Handle a payout that the platform accepted and does not show as paid."""
        if way in ("approve", "share", "return", "wait"):
            ledger.postpone(self.connection, payout, payout.state, self.times.look)
        else:
            ledger.set_state(self.connection, payout, "failed", f"sent, and then {way}")


def _has_passed(moment: datetime, seconds: float) -> bool:
    return datetime.now(timezone.utc) - moment > timedelta(seconds=seconds)
