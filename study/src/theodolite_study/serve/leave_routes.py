"""Serve the pages that end a participation: finish, stop, withdraw."""

from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from theodolite_study.locale.refusal_messages import REFUSALS
from theodolite_study.refusals import NotHere
from theodolite_study.serve import cookies
from theodolite_study.serve.arrival_limits import limit_code_attempts
from theodolite_study.serve.landing_routes import NOTHING_KEPT, get_site
from theodolite_study.serve.outcomes import build_final_context, get_way_out
from theodolite_study.serve.site import StudySite, parse_form, redirect
from theodolite_study.session_tokens import digest_session_token


async def finish(request: Request) -> Response:
    """Store the final answers and end the participation."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    how = "finished"
    if request.method == "POST":
        await parse_form(request, site, session)
        how = "not waiting"
    result = await site.calls.step("st_leave", session, how)
    if result["word"] == "stage" and result.get("missing") == "end":
        return redirect(request, "/stage/end")
    if result["word"] == "stage":
        return redirect(request, "/go")
    return redirect(request, "/done")


async def stop_page(request: Request) -> Response:
    """Explain what stopping now means, before it is confirmed."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["outcome"] is not None:
        return redirect(request, "/done")
    if here["state"] == "landed":
        return redirect(request, "/go")
    version = await site.version(here, session)
    context = {"amount": here["if_stopped"], "currency": here["currency"], "done": here["done"]}
    return site.page("stop", version, here["language"], session, context)


async def stop(request: Request) -> Response:
    """End the participation early, with pay for completed items."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    await parse_form(request, site, session)
    await site.calls.taken("st_leave", session, "stopped")
    return redirect(request, "/done")


async def done(request: Request) -> Response:
    """Return the final page: outcome, pay and the way back to the platform."""
    site = get_site(request)
    session = digest_session_token(site.token(request))
    here = await site.calls.taken("st_here", session)
    if here["outcome"] is None:
        return redirect(request, "/go")
    version = await site.version(here, session)
    context = build_final_context(version, here, site.keys)
    return site.page("ended", version, here["language"], session, context)


async def withdraw_page(request: Request) -> Response:
    """Return the form that withdraws all data, by session or by code."""
    site = get_site(request)
    token = cookies.read_cookies(request).session
    here = await _here(site, token)
    known = "version" in here
    fresh = cookies.read_cookies(request).before or cookies.make_form_cookie()
    session = digest_session_token(token) if known else cookies.digest_form_cookie(fresh)
    version = await site.version(here, session) if known else None
    context = {
        "known": known,
        "amount": here.get("if_stopped", 0),
        "currency": here.get("currency", ""),
    }
    response = site.page("withdraw", version, here.get("language") or "en", session, context)
    if not known:
        cookies.set_form_cookie(response, fresh)
    return response


async def withdraw(request: Request) -> Response:
    """Delete all data of a participant, who can still be paid."""
    site = get_site(request)
    sent = cookies.read_cookies(request)
    here = await _here(site, sent.session)
    known = "version" in here
    session = (
        digest_session_token(sent.session) if known else cookies.digest_form_cookie(sent.before)
    )
    fields = await parse_form(request, site, session)
    paid = (fields.get("paid") or ["no"])[0] == "yes"
    version = await site.version(here, session) if known else None
    if not known:
        await limit_code_attempts(site, request)
    result = await site.calls.step("st_withdraw", _code(site, here, fields), paid)
    if result["word"] != "ok":
        raise NotHere(REFUSALS["code"])
    version = version or await site.versions.version(result["version"])
    language = here.get("language") or version.languages[0]
    context = {
        "outcome": "withdrawn", "amount": result["amount"], "currency": here.get("currency", ""),
        "way": get_way_out(version, "withdrawn"), "code": "",
        "kept": "submission" if result["amount"] else NOTHING_KEPT,
    }  # fmt: skip
    response = site.page("ended", version, language, session, context)
    cookies.forget_session(response)
    return response


async def _here(site: StudySite, token: str) -> dict[str, Any]:
    """Return the participant's state; empty for an unknown session."""
    return await site.calls.step("st_here", digest_session_token(token)) if token else {}


def _code(site: StudySite, here: dict[str, Any], fields: Any) -> bytes:
    code = (fields.get("code") or [""])[0]
    if not code and "person" in here:
        code = site.keys.make_withdrawal_code(here["person"])
    return site.keys.digest_code(code)


async def wait_page(request: Request) -> Response:
    """Ask to wait, as all remaining items are reserved for others."""
    return await _notice(request, "wait")


async def closed_page(request: Request) -> Response:
    """Report that the study is paused or closed."""
    return await _notice(request, "closed")


async def _notice(request: Request, name: str) -> Response:
    site = get_site(request)
    session = digest_session_token(site.token(request))
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
    Route("/s/{slug}/withdraw", withdraw_page),
    Route("/withdraw", withdraw, methods=["POST"]),
    Route("/wait", wait_page),
    Route("/closed", closed_page),
]
