"""Serve the code by which participants can delete their answers, before the first item."""

from typing import Any

import segno
from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from theodolite_study.refusals import NotHere
from theodolite_study.serve.landing_routes import get_site
from theodolite_study.serve.site import StudySite, redirect
from theodolite_study.session_tokens import digest_session_token


async def code_page(request: Request) -> Response:
    """Show the code, its link and a QR code."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["state"] == "landed":
        return redirect(request, "/go")
    version = await site.version(here, session)
    code, link = make_code_link(site, here)
    context = {"code": code, "link": link, "qr": _render_qr(link)}
    return site.page("code", version, here["language"], session, context)


async def code_file(request: Request) -> Response:
    """Return the code and its link as a text file."""
    site = get_site(request)
    here = await site.calls.taken("st_here", digest_session_token(site.token(request)))
    if here["state"] == "landed":
        raise NotHere
    headers = {"content-disposition": 'attachment; filename="code.txt"'}
    return PlainTextResponse("\n".join(make_code_link(site, here)) + "\n", headers=headers)


def make_code_link(site: StudySite, here: dict[str, Any]) -> tuple[str, str]:
    """Return the withdrawal code of somebody, and the address of its page.

    The code is the fragment of the address, which reaches no server and no log.
    """
    code = site.keys.make_withdrawal_code(here["person"])
    return code, f"{site.settings.public_origin}/s/{here['slug']}/withdraw#{code}"


def _render_qr(link: str) -> Markup:
    svg = segno.make_qr(link, error="m").svg_inline(
        scale=4, border=2, omitsize=True, svgclass=None, lineclass=None, dark="#000", light="#fff"
    )
    return Markup(svg)  # noqa: S704  squares by segno


ROUTES = [Route("/code", code_page), Route("/code.txt", code_file)]
