"""The program of ``atomic_s3``."""

import asyncio
import hashlib
import json
import os
import random
import re
import sys
import threading
from collections import Counter
from email.utils import formatdate
from pathlib import Path
from xml.sax.saxutils import escape

from aiohttp import web


class Objects(dict[str, bytes]):
    """Objects in memory and, if there is a folder, in files that outlive the server."""

    def __init__(self, folder: Path | None) -> None:
        super().__init__()
        self._folder = folder
        for path in folder.iterdir() if folder else ():
            if path.suffix != ".partial":
                super().__setitem__(bytes.fromhex(path.name).decode(), path.read_bytes())

    def __setitem__(self, key: str, content: bytes) -> None:
        if self._folder:
            path = self._folder / key.encode().hex()
            path.with_suffix(".partial").write_bytes(content)
            path.with_suffix(".partial").rename(path)
        super().__setitem__(key, content)

    def pop(self, key: str, *_: object) -> bytes | None:
        if self._folder:
            (self._folder / key.encode().hex()).unlink(missing_ok=True)
        return super().pop(key, None)


def serve(
    *, late: float, failing: float, drops_conditions: bool, folder: str = "", port: int = 0
) -> None:
    objects = Objects(Path(folder) if folder else None)
    counts: Counter[str] = Counter()
    luck = random.Random(0)  # noqa: S311  the same faults each time
    under_way = 0

    def tag(content: bytes) -> str:
        return f'"{hashlib.md5(content, usedforsecurity=False).hexdigest()}"'

    def error(status: int, code: str) -> web.Response:
        text = f"<Error><Code>{code}</Code><Message>{code}</Message></Error>"
        return web.Response(status=status, text=text, content_type="application/xml")

    tags = {key: tag(content) for key, content in objects.items()}

    def put(key: str, content: bytes, headers: dict[str, str]) -> web.Response:
        if not drops_conditions:
            if headers.get("If-None-Match") == "*" and key in objects:
                return error(412, "PreconditionFailed")
            if "If-Match" in headers and tags.get(key) != headers["If-Match"]:
                return error(412, "PreconditionFailed")
        objects[key], tags[key] = content, tag(content)
        return web.Response(headers={"ETag": tags[key]})

    def listed(bucket: str, prefix: str) -> web.Response:
        entries = "".join(
            f"<Contents><Key>{escape(key.partition('/')[2])}</Key><Size>{len(content)}</Size>"
            f"<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>{tags[key]}</ETag></Contents>"
            for key, content in sorted(objects.items())
            if key.startswith(f"{bucket}/{prefix}")
        )
        text = f"<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>"
        return web.Response(text=text, content_type="application/xml")

    def got(key: str, span: str | None, *, body: bool) -> web.Response:
        if key not in objects:
            return error(404, "NoSuchKey")
        content = objects[key]
        headers = {"ETag": tags[key], "Last-Modified": formatdate(0, usegmt=True)}
        status, match = 200, re.fullmatch(r"bytes=(\d+)-(\d*)", span or "")
        part = memoryview(content)
        if match:
            first, last = int(match[1]), int(match[2] or len(content) - 1)
            if first >= len(content):
                return error(416, "InvalidRange")
            status, part = 206, part[first : last + 1]
            headers["Content-Range"] = f"bytes {first}-{first + len(part) - 1}/{len(content)}"
        if not body:
            headers["Content-Length"] = str(len(part))
            return web.Response(status=status, headers=headers)
        return web.Response(status=status, headers=headers, body=bytes(part))

    async def answer(request: web.Request) -> web.Response:
        nonlocal under_way
        bucket, _, rest = request.path.lstrip("/").partition("/")
        if (bucket, rest) == ("-", "counts"):
            told = dict(counts)
            counts.clear()
            return web.json_response(told)
        content = await request.read()
        counts[request.method] += 1
        under_way += 1
        counts["at_once"] = max(counts["at_once"], under_way)
        try:
            await asyncio.sleep(late)
            if luck.random() < failing:
                return error(503, "SlowDown")
            key = f"{bucket}/{rest}"
            if request.method == "PUT":
                return put(key, content, dict(request.headers))
            if request.method == "DELETE":
                objects.pop(key, None)
                return web.Response(status=204)
            if request.method == "POST":
                for name in re.findall(r"<Key>([^<]*)</Key>", content.decode()):
                    objects.pop(f"{bucket}/{name}", None)
                return web.Response(text="<DeleteResult/>", content_type="application/xml")
            if not rest:
                return listed(bucket, request.query.get("prefix", ""))
            return got(key, request.headers.get("Range"), body=request.method == "GET")
        finally:
            under_way -= 1

    async def main() -> None:
        app = web.Application(client_max_size=1 << 32)
        app.router.add_route("*", "/{tail:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port, backlog=512)
        await site.start()
        print(runner.addresses[0][1], flush=True)  # noqa: T201
        await asyncio.Event().wait()

    def end() -> None:  # with whoever started it
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=end, daemon=True).start()
    asyncio.run(main())


if __name__ == "__main__":
    serve(**json.loads(sys.argv[1]))
