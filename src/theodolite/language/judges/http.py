"""Judge behind an HTTP endpoint that implements OpenAI's ``/chat/completions``."""

import http.client
import json
import os
import queue
import random
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

from theodolite.errors import EvidenceError, printable
from theodolite.language.judges.base import JudgeAnswer, JudgeQuestion
from theodolite.language.judges.prompts import VERSION, build_messages, build_schema, read_reply

MAX_REPLY_BYTES = 1 << 20
"""Largest number of bytes of a reply."""
RETRY_STATUS = (408, 409, 429, 500, 502, 503, 504)
"""HTTP status codes after which a request is repeated."""
MAX_WAIT, MAX_TOLD_WAIT = 60.0, 120.0
"""Longest pause in seconds, and longest that a server may ask for."""
MAX_WORKERS = 64
PARAMETERS = ("response_format", "temperature", "max_tokens", "seed", "reasoning_effort")
"""Parameters that a server may refuse by name; the run then continues without them."""
MAX_SAVE_WAIT = 0.5
"""Seconds after which a worker looks whether the caller has stopped."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
"""Hosts to which a key may be sent unencrypted."""


@dataclass(frozen=True)
class HttpJudge:
    """Judge that asks a model over HTTP; the key comes from an environment variable.

    Each question is one request. A reply that is not a list of text numbers counts as no answer
    (NaN). A server that fails raises an error, after ``tries`` requests if the failure may be
    temporary.
    """

    address: str = ""
    """Base address such as ``https://host/v1``, without ``/chat/completions``."""
    model: str = ""
    key_variable: str = ""
    """Name of the environment variable with the key; no key is sent if empty."""
    seconds: float = 60.0
    """Timeout of a request in seconds."""
    tries: int = 3
    pause: float = 1.0
    """Seconds before a failed request is repeated; doubles each time, and is drawn between half of
    that and all of it. A server that says how long to wait is believed."""
    workers: int = 1
    """Number of requests at the same time; answers do not depend on it."""
    most_tokens: int = 200
    """Largest number of tokens of an answer."""
    with_schema: bool = True
    """Whether to send a JSON schema of the answer."""
    seed: int | None = None
    reasoning_effort: str = ""
    """Effort of a model that thinks first, such as ``low``; give it ``most_tokens`` to do so."""
    name: str = "http"
    refused: set[str] = field(default_factory=set, compare=False, repr=False)
    """Parameters that the server refused in this run."""

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise EvidenceError("address", printable(parts.scheme, 20), "http:// or https://")
        if parts.username or parts.password or parts.query or parts.fragment:
            # not repeated in the message: it may hold a password
            raise EvidenceError(
                "address", "a name, password or query in it", "only a host and a path",
                "Put the key into an environment variable, and its name into `key_variable`.",
            )  # fmt: skip
        if self.key_variable and parts.scheme == "http" and parts.hostname not in LOCAL_HOSTS:
            raise EvidenceError("address", "http:// with a key", "https://, or this machine")
        if not self.model:
            raise EvidenceError("model", "none", "its name at that address")
        if not 1 <= self.workers <= MAX_WORKERS:
            raise EvidenceError("workers", f"{self.workers}", f"1 to {MAX_WORKERS}")
        if self.tries < 1:
            raise EvidenceError("tries", f"{self.tries}", "1 or more")

    def settings(self) -> dict[str, Any]:
        """Return the settings that determine the answers."""
        return {
            "address": self.address, "model": self.model, "most_tokens": self.most_tokens,
            "with_schema": self.with_schema, "prompt": VERSION, "seed": self.seed,
            "reasoning_effort": self.reasoning_effort,
        }  # fmt: skip

    def build_body(self, question: JudgeQuestion) -> dict[str, Any]:
        """Return the body of the request of a question."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": build_messages(question),
            "temperature": 0,
            "max_tokens": self.most_tokens,
        }
        if self.seed is not None:
            body["seed"] = self.seed
        if self.reasoning_effort:
            body["reasoning_effort"] = self.reasoning_effort
        if self.with_schema:
            form = {"name": "answer", "strict": True, "schema": build_schema(question)}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        return body

    def __call__(self, questions: Sequence[JudgeQuestion]) -> list[JudgeAnswer]:
        """Return an answer to each question."""
        by_number = dict(self.answers(questions))
        return [by_number[number] for number in range(len(questions))]

    def answers(self, questions: Sequence[JudgeQuestion]) -> Iterator[tuple[int, JudgeAnswer]]:
        """Yield the number of a question and its answer as answers come in.

        After a failure no further question is asked; those under way are still yielded.
        """
        key = self._read_key()
        if self.workers == 1:
            yield from ((n, self._answer(question, key)) for n, question in enumerate(questions))
            return
        waiting, done = queue.SimpleQueue[int](), queue.SimpleQueue[Any]()
        stopped = threading.Event()
        for number in range(len(questions)):
            waiting.put(number)

        def work() -> None:
            while not stopped.is_set():
                try:
                    number = waiting.get_nowait()
                except queue.Empty:
                    break
                saved = threading.Event()
                try:
                    done.put((number, self._answer(questions[number], key), saved))
                except Exception as error:  # noqa: BLE001  raised in the thread that asked
                    stopped.set()
                    done.put(error)
                    break
                # the next request waits for the caller to save this answer
                while not saved.wait(MAX_SAVE_WAIT) and not stopped.is_set():
                    pass
            done.put(None)

        threads = [threading.Thread(target=work, daemon=True) for _ in range(self.workers)]
        for thread in threads:
            thread.start()
        yield from _collect(done, len(threads), stopped)

    def _read_key(self) -> str:
        if not self.key_variable:
            return ""
        key = os.environ.get(self.key_variable, "")
        if not key or not key.isprintable():
            raise EvidenceError(
                f"environment variable {self.key_variable}", "no key", "the key of the judge"
            )
        return key

    def _answer(self, question: JudgeQuestion, key: str) -> JudgeAnswer:
        return read_answer(question, self._request_reply(self.build_body(question), key))

    def _allowed(self, body: dict[str, Any]) -> bytes:
        """Return a body without what the server refused."""
        allowed = {name: value for name, value in body.items() if name not in self.refused}
        if "max_tokens" in self.refused:  # its name for models that think
            allowed["max_completion_tokens"] = body["max_tokens"]
        return json.dumps(allowed).encode()

    def _refuse(self, body: dict[str, Any], sent: bytes, content: bytes) -> bool:
        """Note the parameters that an error names; return whether another try may do."""
        text = content.decode("utf-8", "replace")
        self.refused.update(name for name in PARAMETERS if name in body and name in text)
        return self._allowed(body) != sent

    def _request_reply(self, body: dict[str, Any], key: str) -> bytes:
        headers = {"Content-Type": "application/json", "User-Agent": "theodolite"}
        if key:
            headers["Authorization"] = f"Bearer {key}"
        failure, delay, number = "", None, 0
        while number < self.tries:
            if number:
                share = random.Random(f"{number} {body}").uniform(0.5, 1.0)  # noqa: S311
                own = min(MAX_WAIT, self.pause * 2 ** (number - 1)) * share
                time.sleep(own if delay is None else delay)
            delay, sent, number = None, self._allowed(body), number + 1
            try:
                status, content, delay = self._send(sent, headers)
            except (OSError, http.client.HTTPException) as error:
                failure = type(error).__name__
                continue
            if status == http.HTTPStatus.OK:
                return content
            failure = f"status {status}"
            if status == http.HTTPStatus.BAD_REQUEST and self._refuse(body, sent, content):
                number -= 1  # asked once more without them
                continue
            if status not in RETRY_STATUS:
                break
        # the message of the server is not shown: it may repeat the key
        raise EvidenceError(f"judge {self.name}", failure, "an answer", "Look at the server.")

    def _send(self, body: bytes, headers: dict[str, str]) -> tuple[int, bytes, float | None]:
        """Send one request without following redirects, so that the key goes nowhere else."""
        parts = urlsplit(self.address)
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        connection = kind(str(parts.hostname), parts.port, timeout=self.seconds)
        try:
            path = f"{parts.path.rstrip('/')}/chat/completions"
            connection.request("POST", path, body, headers)
            reply = connection.getresponse()
            delay = read_wait(reply.getheader("Retry-After") or "")
            return reply.status, reply.read(MAX_REPLY_BYTES + 1), delay
        finally:
            connection.close()


def _collect(
    done: "queue.SimpleQueue[Any]", workers: int, stopped: threading.Event
) -> Iterator[tuple[int, JudgeAnswer]]:
    failure: Exception | None = None
    try:
        while workers:
            result = done.get()
            if result is None:
                workers -= 1
            elif isinstance(result, Exception):
                failure = result
            else:
                yield result[:2]
                result[2].set()
    finally:
        stopped.set()
    if failure is not None:
        raise failure


def read_wait(text: str) -> float | None:
    """Return the seconds that a server asks to wait, as a number or a date; None if it does not.

    >>> read_wait("2"), read_wait(""), read_wait("soon"), read_wait("9999")
    (2.0, None, None, 120.0)
    """
    if text.isascii() and text.isdigit():
        return min(float(text), MAX_TOLD_WAIT)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, TypeError):
        return None
    if moment.tzinfo is None:
        return None
    seconds = (moment - datetime.now(timezone.utc)).total_seconds()
    return min(max(seconds, 0.0), MAX_TOLD_WAIT)


def read_answer(question: JudgeQuestion, content: bytes) -> JudgeAnswer:
    """Return the answer in a chat reply; NaN if it cannot be read."""
    if len(content) > MAX_REPLY_BYTES:
        return JudgeAnswer.unread(question, "a reply of more than 1 MB")
    try:
        reply = json.loads(content)
        choice = reply["choices"][0]
        text, cut = choice["message"]["content"], choice.get("finish_reason") == "length"
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        return JudgeAnswer.unread(question, "no reply in the form of a chat")
    usage = reply.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    counts = [usage.get(name) for name in ("prompt_tokens", "completion_tokens")]
    sent, answered = (c if type(c) is int and 0 <= c < 1 << 40 else 0 for c in counts)
    if cut or not isinstance(text, str):
        return JudgeAnswer.unread(question, "", cut=cut, tokens_in=sent, tokens_out=answered)
    return read_reply(question, text, tokens_in=sent, tokens_out=answered)
