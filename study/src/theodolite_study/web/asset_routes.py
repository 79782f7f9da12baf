"""Pictures of items, served to whoever may see them now; styles and scripts, to everybody."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Path, Request
from starlette.responses import Response

from theodolite.ext.studies import picture_path, size_within
from theodolite_study.assignments import AFTER_ROLES, AssetFile, asset, assignment
from theodolite_study.practice import practice_asset, practice_item
from theodolite_study.refusals import NotHere, WrongStage
from theodolite_study.web.asking import LOOK, ASite, AVisitor
from theodolite_study.web.rendering import StaticFile
from theodolite_study.web.site import Site, Visitor
from theodolite_study.web.steps import NobodyKnown

router = APIRouter()
KEPT = "public, max-age=600"
"""Scripts and styles: asking for each of them again with each page is slow far away."""
MOST_BYTES = 64 << 20
PRIVATE = {"cache-control": "private, no-store", "content-disposition": "inline"}
SEEING = ("training", "active", "finished")
Number = Annotated[int, Path(ge=1, lt=2**63)]
PracticeNumber = Annotated[int, Path(ge=1, le=1000)]


@router.api_route("/a/{number}/asset/{role}", methods=LOOK)
def item_asset(
    number: Number, role: str, request: Request, site: ASite, asking: AVisitor
) -> Response:
    """A picture of one's own item."""
    who = _need_somebody(asking)
    if request.method == "HEAD" and role in AFTER_ROLES:
        return _only_asked(before=assignment(site.database, who, number).before)
    return _picture(site, asset(site.database, who, number, role))


@router.api_route("/training/{number}/asset/{role}", methods=LOOK)
def training_asset(
    number: PracticeNumber, role: str, request: Request, site: ASite, asking: AVisitor
) -> Response:
    """A picture of a practice item."""
    who = _need_somebody(asking)
    if request.method == "HEAD" and role in AFTER_ROLES:
        return _only_asked(before=practice_item(site.database, who, number).before)
    return _picture(site, practice_asset(site.database, who, number, role))


def _need_somebody(asking: Visitor) -> UUID:
    who = asking.participant
    if who is None:
        raise NobodyKnown
    if who.state not in SEEING:
        raise NotHere
    return who.id


def _only_asked(*, before: bool) -> Response:
    """Whether it could be had; nothing was seen."""
    if before:
        raise WrongStage("First say what you see yourself.")
    return Response(headers=PRIVATE)


def _picture(site: Site, file: AssetFile) -> Response:
    """The tables name it by its digest; its type is one of three."""
    path = picture_path(site.settings.folder, file.file)
    size_within(path, MOST_BYTES, "picture")
    return Response(path.read_bytes(), media_type=file.mime, headers=PRIVATE)


@router.api_route("/static/{name:path}", methods=LOOK)
def static(name: str, request: Request) -> Response:
    """A style, a script or a mark."""
    file: StaticFile | None = request.app.state.static.get(name)
    if file is None:
        raise NotHere
    headers = {"cache-control": KEPT, "etag": file.tag}
    if request.headers.get("if-none-match") == file.tag:
        return Response(status_code=304, headers=headers)
    return Response(file.content, media_type=file.kind, headers=headers)
