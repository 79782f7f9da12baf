"""Call Prolific's API, as far as payments need it. Used by `money.pay` and the background job."""

import http.client
import json
import re
import ssl
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from theodolite.errors import UnsafeInputError

HOST = "api.prolific.com"
"""The only external host that is ever called."""
LOOPBACK = re.compile(r"127\.0\.0\.1:[0-9]{1,5}")
ID_PATTERN = re.compile(r"[A-Za-z0-9_-]{1,64}")
TIMEOUT_SECONDS = 20.0
MAX_RESPONSE_BYTES = 8 << 20
MAX_TRIES = 5
MAX_PAUSE_SECONDS = 30.0
PAGE_SIZE = 100
RETRIED_STATUSES = (429, 500, 502, 503, 504)
Status: TypeAlias = Literal[
    "RESERVED", "ACTIVE", "TIMED-OUT", "AWAITING REVIEW", "APPROVED", "RETURNED", "REJECTED",
    "SCREENED OUT", "PARTIALLY APPROVED",
]  # fmt: skip


class PlatformError(Exception):
    """Request that the platform understood and refused."""

    def __init__(self, status: int, what: str) -> None:
        super().__init__(f"Prolific answered {status} to {what}")
        self.status = status


class UnclearResponseError(Exception):
    """Request without a clear result, which must be read back."""


@dataclass(frozen=True)
class Submission:
    """Submission of one participant as the platform reports it."""

    id: str = field(repr=False)
    status: str
    bonuses: tuple[int, ...] = ()
    """Paid bonuses in minor units."""
    return_requested: bool = False
    """Whether the participant was already asked to return it."""


@dataclass(frozen=True)
class PlatformStudy:
    """Study as the platform reports it."""

    id: str
    status: str
    reward: int


@dataclass(frozen=True)
class Prolific:
    """Client of Prolific's API with one token.

    Redirects are refused, so the token is sent to one host only.
    """

    token: str = field(repr=False)
    host: str = HOST
    """Host of the API; any other than Prolific's must be this machine, for rehearsals."""
    seconds: float = TIMEOUT_SECONDS
    pause: Callable[[float], None] = field(default=time.sleep, repr=False)

    def __post_init__(self) -> None:
        if self.host != HOST and not LOOPBACK.fullmatch(self.host):
            raise UnsafeInputError("host of Prolific's API", "another one", HOST)
        if not re.fullmatch(r"[\x21-\x7e]{8,400}", self.token):
            raise UnsafeInputError(
                "token of Prolific", "nothing that is one", "the researcher's token"
            )

    def study(self, study: str) -> PlatformStudy:
        """Return the status and reward of a study."""
        content = self._call("GET", f"/studies/{_check_id(study)}/")
        return PlatformStudy(study, str(content.get("status")), int(content.get("reward", 0)))

    def submissions(self, study: str) -> Iterator[Submission]:
        """Yield all submissions of a study, page by page without following links."""
        page = 1
        while True:
            path = f"/studies/{_check_id(study)}/submissions/?page={page}&page_size={PAGE_SIZE}"
            results = self._call("GET", path).get("results", [])
            for content in results:
                yield _parse_submission(content)
            if len(results) < PAGE_SIZE:
                return
            page += 1

    def submission(self, submission: str) -> Submission:
        """Return the current state of one submission."""
        return _parse_submission(self._call("GET", f"/submissions/{_check_id(submission)}/"))

    def approve(self, submission: str) -> None:
        """Pay the whole reward. Repeating the call has no further effect."""
        self._call(
            "POST", f"/submissions/{_check_id(submission)}/transition/", {"action": "APPROVE"}
        )

    def complete(self, submission: str, code: str, percent: int) -> None:
        """Pay a percentage of the reward, where the workspace allows it."""
        self._call("POST", f"/submissions/{_check_id(submission)}/transition/", {
            "action": "COMPLETE", "completion_code": code,
            "completion_code_data": {"percentage_of_reward": percent},
        })  # fmt: skip

    def request_return(self, submission: str, reason: str) -> None:
        """Ask the participant to return the submission, which frees the place."""
        self._call("POST", f"/submissions/{_check_id(submission)}/request-return/",
                   {"request_return_reasons": [reason]})  # fmt: skip

    def set_up_bonuses(self, study: str, amounts: Iterable[tuple[str, int]]) -> str:
        """Set up a batch of bonuses and return its id. Nothing is paid, so it may be retried."""
        lines = [f"{_check_id(name)},{minor // 100}.{minor % 100:02d}" for name, minor in amounts]
        content = self._call("POST", "/submissions/bonus-payments/",
                             {"study_id": study, "csv_bonuses": "\n".join(lines)})  # fmt: skip
        return _check_id(str(content.get("id", "")))

    def pay_bonuses(self, batch: str) -> None:
        """Pay a batch once, as the call is not idempotent; retry only if it was refused (429)."""
        self._call("POST", f"/bulk-bonus-payments/{_check_id(batch)}/pay/", {}, again=(429,))

    def pause_study(self, study: str) -> None:
        """Stop sending new participants."""
        self._call("POST", f"/studies/{_check_id(study)}/transition/", {"action": "PAUSE"})

    def _call(
        self, method: str, path: str, body: Any = None, again: tuple[int, ...] = RETRIED_STATUSES
    ) -> dict[str, Any]:
        for attempt in range(1, MAX_TRIES + 1):
            try:
                status, content, wait = self._once(method, f"/api/v1{path}", body)
            except (OSError, http.client.HTTPException) as error:
                if again != RETRIED_STATUSES or attempt == MAX_TRIES:
                    raise UnclearResponseError(f"no answer to {method}") from error
                status, content, wait = 0, b"", 0.0
            if 200 <= status < 300:
                return _parse_json(content)
            if status and status not in again:
                if status >= 500:
                    raise UnclearResponseError(f"{status} to {method}")
                raise PlatformError(status, method)
            if attempt < MAX_TRIES:
                self.pause(min(MAX_PAUSE_SECONDS, max(wait, 0.5 * 2**attempt)))
        if status == 429:
            raise PlatformError(status, method)
        raise UnclearResponseError(f"{status} to {method}, {MAX_TRIES} times")

    def _once(self, method: str, path: str, body: Any) -> tuple[int, bytes, float]:
        connection: http.client.HTTPConnection
        if self.host == HOST:
            context = ssl.create_default_context()
            connection = http.client.HTTPSConnection(HOST, timeout=self.seconds, context=context)
        else:
            connection = http.client.HTTPConnection(self.host, timeout=self.seconds)
        try:
            headers = {"Authorization": f"Token {self.token}", "Accept": "application/json"}
            sent = None
            if body is not None:
                sent = json.dumps(body).encode()
                headers["Content-Type"] = "application/json"
            connection.request(method, path, sent, headers)
            answer = connection.getresponse()
            content = answer.read(MAX_RESPONSE_BYTES + 1)
            if len(content) > MAX_RESPONSE_BYTES:
                raise http.client.HTTPException("a large answer")
            wait = answer.getheader("Retry-After") or ""
            return answer.status, content, float(wait) if re.fullmatch(r"[0-9]{1,4}", wait) else 0.0
        finally:
            connection.close()


def _parse_json(content: bytes) -> dict[str, Any]:
    try:
        value = json.loads(content or b"{}")
    except ValueError as error:
        raise UnclearResponseError("an answer that cannot be read") from error
    return value if isinstance(value, dict) else {}


def _parse_submission(content: Any) -> Submission:
    bonuses = tuple(int(amount) for amount in content.get("bonus_payments") or ())
    status = str(content.get("status", "")).replace("_", " ")
    status = "TIMED-OUT" if status == "TIMED OUT" else status
    return Submission(
        str(content.get("id", "")), status, bonuses, bool(content.get("return_requested"))
    )


def _check_id(text: str) -> str:
    """Check that a text is an id, and cannot change the rest of an address."""
    if not ID_PATTERN.fullmatch(text):
        raise UnsafeInputError("id of Prolific", "something that is no id", "letters and digits")
    return text
