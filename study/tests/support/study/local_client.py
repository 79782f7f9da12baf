"""A client that keeps cookies as a browser on this machine does."""

from typing import Any

import httpx


def local_client(origin: str, timeout: float = 10.0) -> Any:
    """A client that keeps Secure cookies on http://127.0.0.1 too, as browsers do."""
    kept: dict[str, str] = {}

    def with_cookies(request: Any) -> None:
        if kept:
            request.headers["cookie"] = "; ".join(f"{name}={kept[name]}" for name in kept)

    def keep(response: Any) -> None:
        for given in response.headers.get_list("set-cookie"):
            name, _, value = given.split(";")[0].partition("=")
            kept[name] = value.strip('"')

    hooks = {"request": [with_cookies], "response": [keep]}
    return httpx.Client(base_url=origin, timeout=timeout, event_hooks=hooks)
