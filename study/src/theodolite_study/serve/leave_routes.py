"""Ways out: the end, a break-off with part pay, taking everything back."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.refusals import NotHere
from theodolite_study.serve import cookies
from theodolite_study.serve.door_routes import NOTHING_KEPT, site_of
from theodolite_study.serve.newcomers import need_patience
from theodolite_study.serve.outcomes import ended, way_out
from theodolite_study.serve.site import StudySite, form_of, onward
from theodolite_study.sessions import digest_of


async def finish(request: Request) -> Response:
    """All items are done, or nothing is left: questions at the end, then the way out."""
    site = site_of(request)
    session = digest_of(site.token(request))
    how = "finished"
    if request.method == "POST":
        await form_of(request, site, session)
        how = "not waiting"
    result = await site.calls.step("st_leave", session, how)
    if result["word"] == "stage" and result.get("missing") == "end":
        return onward(request, "/stage/end")
    if result["word"] == "stage":
        return onward(request, "/go")
    return onward(request, "/done")


async def stop_page(request: Request) -> Response:
    """What stopping now would mean, before anybody does it."""
    site = site_of(request)
    session = digest_of(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["outcome"] is not None:
        return onward(request, "/done")
    if here["state"] == "landed":
        return onward(request, "/go")
    version = await site.version(here, session)
    context = {"amount": here["if_stopped"], "currency": here["currency"], "done": here["done"]}
    return site.page("stop", version, here["language"], session, context)


async def stop(request: Request) -> Response:
    """The person stops, and is paid for what they did."""
    site = site_of(request)
    session = digest_of(site.token(request))
    await form_of(request, site, session)
    await site.calls.taken("st_leave", session, "stopped")
    return onward(request, "/done")


async def done(request: Request) -> Response:
    """How it ended, what is paid, and the way back."""
    site = site_of(request)
    session = digest_of(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["outcome"] is None:
        return onward(request, "/go")
    version = await site.version(here, session)
    context = ended(version, here, site.keys)
    return site.page("ended", version, here["language"], session, context)


async def withdraw_page(request: Request) -> Response:
    """Taking everything back: with the code, or as whoever is here."""
    site = site_of(request)
    token = cookies.cookies_of(request).session
    here = await _here(site, token)
    known = "version" in here
    fresh = cookies.cookies_of(request).before or cookies.new_before()
    session = digest_of(token) if known else cookies.before_digest(fresh)
    version = await site.version(here, session) if known else None
    context = {
        "known": known,
        "amount": here.get("if_stopped", 0),
        "currency": here.get("currency", ""),
    }
    response = site.page("withdraw", version, here.get("language") or "en", session, context)
    if not known:
        cookies.keep_before(response, fresh)
    return response


async def withdraw(request: Request) -> Response:
    """Everything goes; who wants to be paid for what they did is."""
    site = site_of(request)
    sent = cookies.cookies_of(request)
    here = await _here(site, sent.session)
    known = "version" in here
    session = digest_of(sent.session) if known else cookies.before_digest(sent.before)
    fields = await form_of(request, site, session)
    paid = (fields.get("paid") or ["no"])[0] == "yes"
    version = await site.version(here, session) if known else None
    if not known:
        await need_patience(site, request)
    result = await site.calls.step("st_withdraw", _code(site, here, fields), paid)
    if result["word"] != "ok":
        raise NotHere(REFUSALS["code"])
    version = version or await site.versions.version(result["version"])
    language = here.get("language") or version.languages[0]
    context = {
        "outcome": "withdrawn", "amount": result["amount"], "currency": here.get("currency", ""),
        "way": way_out(version, "withdrawn"), "code": "",
        "kept": "submission" if result["amount"] else NOTHING_KEPT,
    }  # fmt: skip
    response = site.page("ended", version, language, session, context)
    cookies.forget_session(response)
    return response


async def _here(site: StudySite, token: str) -> dict[str, Any]:
    """Where whoever asks is; nothing for somebody unknown."""
    return await site.calls.step("st_here", digest_of(token)) if token else {}


def _code(site: StudySite, here: dict[str, Any], fields: Any) -> bytes:
    code = (fields.get("code") or [""])[0]
    if not code and "person" in here:
        code = site.keys.withdrawal_code(here["person"])
    return site.keys.code_digest(code)


async def wait_page(request: Request) -> Response:
    """Others look at the last images just now."""
    return await _notice(request, "wait")


async def closed_page(request: Request) -> Response:
    """The study has a break, or is over."""
    return await _notice(request, "closed")


async def _notice(request: Request, name: str) -> Response:
    site = site_of(request)
    session = digest_of(site.token(request))
    here = await site.calls.taken("st_here", session)
    version = await site.version(here, session)
    text = request.query_params.get("seconds", "5")
    seconds = min(int(text), 60) if text.isascii() and text.isdigit() else 5
    context = {"seconds": max(seconds, 1), "study_state": here["study_state"]}
    return site.page(name, version, here["language"], session, context)


ROUTES = [
    Route("/finish", finish),
    Route("/finish", finish, methods=["POST"]),
    Route("/stop", stop_page),
    Route("/stop", stop, methods=["POST"]),
    Route("/done", done),
    Route("/withdraw", withdraw_page),
    Route("/withdraw", withdraw, methods=["POST"]),
    Route("/wait", wait_page),
    Route("/closed", closed_page),
]
