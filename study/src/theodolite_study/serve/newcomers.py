"""How many come at once: limits that all processes share, for people who are not known yet."""

import hashlib
import hmac
import ipaddress

from starlette.requests import Request

from theodolite_study.refusals import Refused
from theodolite_study.serve.site import StudySite

V4, V6 = 24, 48
"""Bits of an address that are looked at: a network, not a person."""
QUICK = "This was quick. Please try again in a moment."
WAIT = 5


def network(request: Request, *, behind_proxy: bool) -> str:
    """The part of the network that somebody comes from.

    Only a proxy of ours is believed: it adds what it saw as the last entry.
    """
    seen = request.client.host if request.client else ""
    if behind_proxy:
        seen = request.headers.get("x-forwarded-for", seen).rpartition(",")[2].strip()
    try:
        address = ipaddress.ip_address(seen)
    except ValueError:
        return "unknown"
    mapped = getattr(address, "ipv4_mapped", None) or address
    bits = V4 if mapped.version == 4 else V6
    return str(ipaddress.ip_network(f"{mapped}/{bits}", strict=False))


def network_key(site: StudySite, request: Request, purpose: str) -> bytes:
    """By what a network is counted: the database learns no address."""
    place = network(request, behind_proxy=site.settings.behind_proxy)
    message = f"{purpose}\0{place}".encode()
    return hmac.new(site.keys.derived("networks"), message, hashlib.sha256).digest()


async def room_for_newcomer(site: StudySite, request: Request, platform: str) -> bool:
    """Whether somebody new is let in now; if not, they wait. Many of one network are refused."""
    limits = site.settings.limits
    result = await site.calls.step(
        "st_newcomer", network_key(site, request, platform),
        limits.newcomers_rate, float(limits.newcomers_burst),
        limits.landings_rate, float(limits.landings_burst),
    )  # fmt: skip
    if result["word"] == "quick":
        raise Refused(429, QUICK, WAIT)
    return bool(result["word"] == "ok")


async def need_patience(site: StudySite, request: Request) -> None:
    """Codes are not tried out: so many from one network, then slowly."""
    limits = site.settings.limits
    allowed = await site.calls.step(
        "st_allowed", network_key(site, request, "codes"),
        limits.codes_rate, float(limits.codes_burst),
    )  # fmt: skip
    if not allowed:
        raise Refused(429, QUICK, WAIT)
