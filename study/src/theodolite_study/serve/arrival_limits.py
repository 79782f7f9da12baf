"""Limit new participants and attempted codes by network, across all processes."""

import hashlib
import hmac
import ipaddress

from starlette.requests import Request

from theodolite_study.refusals import Refused
from theodolite_study.serve.site import StudySite

IPV4_BITS, IPV6_BITS = 24, 48
"""Bits of an IPv4 or IPv6 address that identify a network, not a person."""
TOO_QUICK_MESSAGE = "This was quick. Please try again in a moment."
WAIT_SECONDS = 5


def get_network(request: Request, *, behind_proxy: bool) -> str:
    """Return the network of a client; an entry of a proxy counts only if the proxy is ours.

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
    bits = IPV4_BITS if mapped.version == 4 else IPV6_BITS
    return str(ipaddress.ip_network(f"{mapped}/{bits}", strict=False))


def digest_network(site: StudySite, request: Request, purpose: str) -> bytes:
    """Return the keyed digest by which a network is counted, so that no address is stored."""
    place = get_network(request, behind_proxy=site.settings.behind_proxy)
    message = f"{purpose}\0{place}".encode()
    return hmac.new(site.keys.derive_key("networks"), message, hashlib.sha256).digest()


async def admit_newcomer(site: StudySite, request: Request, platform: str) -> bool:
    """Return whether a new participant is admitted now; otherwise they wait."""
    limits = site.settings.limits
    result = await site.calls.step(
        "st_newcomer", digest_network(site, request, platform),
        limits.newcomers_rate, float(limits.newcomers_burst),
        limits.landings_rate, float(limits.landings_burst),
    )  # fmt: skip
    if result["word"] == "quick":
        raise Refused(429, TOO_QUICK_MESSAGE, WAIT_SECONDS)
    return bool(result["word"] == "ok")


async def limit_code_attempts(site: StudySite, request: Request) -> None:
    """Limit attempts to enter codes from one network."""
    limits = site.settings.limits
    allowed = await site.calls.step(
        "st_allowed", digest_network(site, request, "codes"),
        limits.codes_rate, float(limits.codes_burst),
    )  # fmt: skip
    if not allowed:
        raise Refused(429, TOO_QUICK_MESSAGE, WAIT_SECONDS)
