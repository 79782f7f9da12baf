"""Receive the webhooks of Prolific: verify, store and answer at once. A route of the server."""

import time
from typing import Any, Protocol

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from theodolite.errors import EvidenceError
from theodolite_study.keys import Keys
from theodolite_study.money.platform_link import decrypt_webhook_secret
from theodolite_study.money.webhook_events import get_stored_values, verify_event
from theodolite_study.platforms.prolific_events import MAX_BYTES
from theodolite_study.serve.security import WEBHOOK_ROUTES


class HookCalls(Protocol):
    """Database functions that a webhook calls."""

    async def step(self, name: str, *values: Any) -> Any:
        """Return the result of a database function."""


class HookSite(Protocol):
    """Server state that a webhook needs."""

    @property
    def calls(self) -> HookCalls:
        """Database functions of the server."""

    @property
    def keys(self) -> Keys:
        """Keys of the server."""


async def prolific_webhook(request: Request) -> Response:
    """Answer 400 if no secret of ours signed the request; else store it and answer 200."""
    site: HookSite = request.app.state.site
    body = await request.body()
    if len(body) > MAX_BYTES:
        return PlainTextResponse("too long", 400)
    for secret in await _secrets(site):
        try:
            verified, when = verify_event(dict(request.headers), body, secret, time.time())
        except EvidenceError:
            continue
        values = get_stored_values(site.keys, verified, when)
        word = "not ours" if values is None else await site.calls.step("hook_event", *values)
        return PlainTextResponse(str(word), 200)
    return PlainTextResponse("not signed by Prolific for a study here", 400)


async def _secrets(site: HookSite) -> list[str]:
    """Return the distinct webhook secrets: a workspace has one for all of its studies."""
    opened = []
    for slug, sealed in await site.calls.step("hook_secrets"):
        try:
            opened.append(decrypt_webhook_secret(site.keys, slug, bytes.fromhex(sealed)))
        except EvidenceError:  # a study of other keys
            continue
    return list(dict.fromkeys(opened))


ROUTES = [Route(WEBHOOK_ROUTES[0], prolific_webhook, methods=["POST"])]
