"""A Prolific of our own on loopback: harsh where the real one is (a batch paid twice pays twice)."""

import base64
import hashlib
import hmac
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any

import uvicorn

TOKEN = "token-of-a-researcher"
SECRET = "a-secret-of-the-workspace"
STUDY = "study0001"
Trouble = Callable[[str, str], str | None]
"""For a method and a path: None, "429", "500 before" (not done), "500 after" (done) or "redirect"."""


@dataclass
class DoubledSubmission:
    id: str
    status: str = "RESERVED"
    bonuses: list[int] = field(default_factory=list)
    return_requested: bool = False
    rewarded: int = 0


@dataclass
class ProlificDouble:
    """Its state is read by tests; people act on it by methods, we act on it by HTTP."""

    reward: int = 400
    screenout: int = 30
    places: int = 10_000
    delay: float = 0.0
    """Until a batch that was to be paid is paid."""
    trouble: Trouble = lambda method, path: None

    def __post_init__(self) -> None:
        self.submissions: dict[str, DoubledSubmission] = {}
        self.batches: dict[str, list[tuple[str, int]]] = {}
        self.due: list[tuple[float, str]] = []
        self.webhooks: list[tuple[dict[str, str], bytes]] = []
        self.calls: list[tuple[str, str, Any]] = []
        self.status = "ACTIVE"
        self.lock = threading.RLock()
        self.moment = time.time()

    # what people do

    def reserve(self) -> str | None:
        with self.lock:
            taken = [
                s for s in self.submissions.values() if s.status not in ("RETURNED", "REJECTED")
            ]
            if len(taken) >= self.places or self.status != "ACTIVE":
                return None
            name = f"sub{len(self.submissions):05d}"
            self.submissions[name] = DoubledSubmission(name)
            self._webhook(name)
            return name

    def starts(self, name: str) -> None:
        self._becomes(name, "ACTIVE")

    def submits(self, name: str, kind: str) -> None:
        """With the code of an outcome."""
        if kind == "approved":
            self._becomes(name, "AWAITING REVIEW")
            self._pay_reward(name)
        elif kind == "fixed screenout":
            self._becomes(name, "SCREENED OUT")
            self.submissions[name].rewarded = self.screenout
        elif kind == "return":
            self._becomes(name, "RETURNED")
        else:
            self._becomes(name, "AWAITING REVIEW")

    def returns(self, name: str) -> None:
        self._becomes(name, "RETURNED")

    def times_out(self, name: str) -> None:
        self._becomes(name, "TIMED-OUT")

    # what came of it

    def paid(self) -> dict[str, int]:
        """By submission, in minor units."""
        self._pay_due()
        everything = {s.id: s.rewarded + sum(s.bonuses) for s in self.submissions.values()}
        return {name: amount for name, amount in everything.items() if amount}

    def deliveries(
        self, random: Random, late: float = 0.0, lost: float = 0.0
    ) -> Iterator[tuple[dict[str, str], bytes]]:
        """Webhooks so far: in any order, some of them twice, some later, some never."""
        with self.lock:
            waiting, self.webhooks = self.webhooks, []
            self.webhooks = [hook for hook in waiting if random.random() < late]
            waiting = [hook for hook in waiting if hook not in self.webhooks]
        waiting = [hook for hook in waiting if random.random() >= lost]
        waiting += [hook for hook in waiting if random.random() < 0.3]
        random.shuffle(waiting)
        yield from waiting

    def _becomes(self, name: str, status: str) -> None:
        with self.lock:
            self.submissions[name].status = status
            self._webhook(name)

    def _pay_reward(self, name: str) -> None:
        with self.lock:
            if self.submissions[name].status == "AWAITING REVIEW":
                self.submissions[name].rewarded = self.reward
                self._becomes(name, "APPROVED")

    def _webhook(self, name: str) -> None:
        self.moment += 0.001
        body = json.dumps({
            "resource_id": name, "event_type": "submission.status.change", "study_id": STUDY,
            "status": self.submissions[name].status,
        }).encode()  # fmt: skip
        when = f"{self.moment:.6f}"
        mac = hmac.new(SECRET.encode(), when.encode() + body, hashlib.sha256).digest()
        self.webhooks.append(({
            "X-Prolific-Request-Signature": base64.b64encode(mac).decode(),
            "X-Prolific-Request-Timestamp": when,
            "X-Event-ID": f"evt-{name}-{when}",
        }, body))  # fmt: skip

    def _pay_due(self) -> None:
        with self.lock:
            now = time.monotonic()
            for moment, batch in list(self.due):
                if moment <= now:
                    self.due.remove((moment, batch))
                    for name, amount in self.batches[batch]:
                        self.submissions[name].bonuses.append(amount)

    # the API

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        path = scope["path"]
        query = scope["query_string"].decode()
        token = dict(scope["headers"]).get(b"authorization", b"").decode()
        trouble = self.trouble(scope["method"], path)
        headers = [(b"content-type", b"application/json")]
        if token != f"Token {TOKEN}":
            status, content = 401, dict[str, Any]()
        elif trouble == "429":
            status, content = 429, {}
            headers.append((b"retry-after", b"1"))
        elif trouble == "500 before":
            status, content = 500, {}
        elif trouble == "redirect":
            status, content = 302, {}
            headers.append((b"location", b"https://elsewhere.invalid/"))
        else:
            with self.lock:
                self._pay_due()
                given = json.loads(body or b"null")
                self.calls.append((scope["method"], path, given))
                status, content = self._answer(scope["method"], path, query, given)
            if trouble == "500 after":
                status, content = 500, {}
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(content).encode()})

    def _answer(self, method: str, path: str, query: str, given: Any) -> tuple[int, Any]:
        parts = path.removeprefix("/api/v1/").strip("/").split("/")
        if parts[0] == "studies":
            return self._of_study(method, parts, query, given)
        if parts == ["submissions", "bonus-payments"]:
            return self._set_up(given)
        if parts[0] == "bulk-bonus-payments":
            if parts[1] not in self.batches:
                return 404, {}
            self.due.append((time.monotonic() + self.delay, parts[1]))
            return 202, {}
        submission = self.submissions.get(parts[1])
        if submission is None:
            return 404, {}
        if method == "GET":
            return 200, self._shown(submission)
        if parts[2] == "request-return":
            submission.return_requested = True
            return 200, self._shown(submission)
        return self._transition(submission, given)

    def _of_study(self, method: str, parts: list[str], query: str, given: Any) -> tuple[int, Any]:
        if parts[1] != STUDY:
            return 404, {}
        if parts[2:] == ["submissions"]:
            page, size = (int(n) for n in re.findall(r"=(\d+)", query))
            every = [self._shown(s) for s in self.submissions.values()]
            return 200, {"results": every[(page - 1) * size : page * size]}
        if method == "POST" and given == {"action": "PAUSE"}:
            self.status = "PAUSED"
        return 200, {"id": STUDY, "status": self.status, "reward": self.reward}

    def _set_up(self, given: Any) -> tuple[int, Any]:
        lines = [line.split(",") for line in given["csv_bonuses"].split("\n")]
        if given["study_id"] != STUDY or any(name not in self.submissions for name, _ in lines):
            return 400, {}
        batch = f"batch{len(self.batches)}"
        self.batches[batch] = [(name, round(float(amount) * 100)) for name, amount in lines]
        return 201, {"id": batch}

    def _transition(self, submission: DoubledSubmission, given: Any) -> tuple[int, Any]:
        action = given["action"]
        if action == "APPROVE" and submission.status in ("AWAITING REVIEW", "APPROVED"):
            self._pay_reward(submission.id)
        elif action == "COMPLETE" and submission.status == "AWAITING REVIEW":
            percent = given["completion_code_data"]["percentage_of_reward"]
            submission.rewarded = self.reward * percent // 100
            self._becomes(submission.id, "PARTIALLY APPROVED")
        else:
            return 400, {}
        return 200, self._shown(submission)

    def _shown(self, submission: DoubledSubmission) -> dict[str, Any]:
        return {
            "id": submission.id, "status": submission.status, "study_id": STUDY,
            "bonus_payments": submission.bonuses,
            "return_requested": "2026-01-01T00:00:00Z" if submission.return_requested else None,
        }  # fmt: skip


@contextmanager
def doubled(double: ProlificDouble) -> Iterator[str]:
    """Serves it; yields host and port."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(double, log_level="error", lifespan="off", access_log=False)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield f"127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)
        listening.close()
