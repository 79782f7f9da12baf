"""For machines: whether the server lives, whether it can work, what platforms tell."""

import time
from typing import Annotated, TypeAlias

from fastapi import APIRouter, Depends, Request
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.responses import PlainTextResponse, Response

from theodolite.errors import EvidenceError
from theodolite_study.admission import note_event
from theodolite_study.database import revision
from theodolite_study.platforms.prolific_events import event
from theodolite_study.refusals import NotHere
from theodolite_study.web.asking import LOOK, ASite, Refused

router = APIRouter()


@router.api_route("/healthz", methods=LOOK)
async def alive() -> Response:
    """The process answers."""
    return PlainTextResponse("alive")


@router.api_route("/readyz", methods=LOOK)
def ready(site: ASite) -> Response:
    """The database answers too."""
    try:
        found = revision(site.database)
    except (DBAPIError, PoolTimeout):
        found = None
    if found is None:
        return PlainTextResponse("not ready", 503, headers={"retry-after": "3"})
    return PlainTextResponse("ready")


async def raw_body(request: Request) -> bytes:
    """The body as it was signed."""
    return await request.body()


Body: TypeAlias = Annotated[bytes, Depends(raw_body)]


@router.post("/platform/prolific/webhook")
def prolific_webhook(request: Request, site: ASite, body: Body) -> Response:
    """What Prolific tells, if it is Prolific. Each event is noted once."""
    secret = site.settings.webhook_secret
    if secret is None:
        raise NotHere
    try:
        told = event(dict(request.headers), body, secret, time.time())
    except EvidenceError as error:
        raise Refused(403, "This is not from Prolific.") from error
    note_event(site.database, told)
    return Response(status_code=204)
